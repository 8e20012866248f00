"""The risk in all order parameters, for tasks that have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpmath import mpf

from symslr.evaluation.engine import digits_of
from symslr.evaluation.landscape.landscape import Confirmed, Landscape
from symslr.evaluation.routes import WEIGHT, check
from symslr.expression.value import Kind, Value
from symslr.face.numbers import Wanted
from symslr.face.quantity import Quantity
from symslr.model.attention import Attention
from symslr.model.catalogue import kernel_attention_of
from symslr.model.exact import check_is, check_not_negative, exact
from symslr.model.ranges import real_number
from symslr.model.request import ORDER_PARAMETER_NAMES
from symslr.model.symbols import by_name
from symslr.model.task import Task
from symslr.theory.landscape import LandscapeRisk


def landscape(task: Task, attention: Attention | str, values: Mapping[Any, object] = {}, **named: object) -> Landscape:
    """The risk and its gradient in the seven order parameters of key and value, and its minima, as ``Landscape``.

    Args:
        values, named: numbers for the parameters of task and attention, by symbol or name.

    Raises:
        ValueError: as ``Landscape.of``.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    given = by_name({**values, **named})
    check_not_negative(given)
    return Landscape.of(task, kernel_attention_of(attention), given)


def landscape_risk(task: Task, attention: Attention | str) -> Quantity:
    """The risk of an attention whose key and value have given order parameters, m_kk = k.k*/D to q_kv = k.v/D.

    These are its parameters, beside those of the task: ``landscape_risk(task, "softmax")(nu=2, m_kk=1, q_kk=1)``; one that is not
    named is 0. ``landscape`` has its gradient, its minima and flows.

    Raises:
        ValueError: as ``Landscape.of``, for order parameters that no vectors have, and where the risk is not finite.

    Source: arXiv 2509.21936, section 4.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    chosen = kernel_attention_of(attention)
    check(f"task {task.name} off the manifold", task, WEIGHT)
    moved = {*ORDER_PARAMETER_NAMES, *(symbol.name for symbol in chosen.bounds)}

    def found_at(values: dict[Any, Any], wanted: Wanted) -> tuple[Landscape, Confirmed]:
        if wanted.digits is not None:
            raise ValueError("digits: found for a landscape, whose numbers are those of float64; leave it out")
        at = {name: real_number(exact(own, name), name) for name, own in values.items() if name in moved}
        here = Landscape.of(task, chosen, {name: own for name, own in values.items() if name not in moved})
        return here, here.confirmed(here.point(at))

    def answer(values: dict[Any, Any], wanted: Wanted) -> Value:
        _, found = found_at(values, wanted)
        return _value(found.risk, found.error)

    def slope(name: str) -> Quantity:
        if name not in moved:
            return risk._by_values(name)

        def of_gradient(values: dict[Any, Any], wanted: Wanted) -> Value:
            here, found = found_at(values, wanted)
            k = here.names.index(name)
            return _value(found.gradient[k], found.gradient_errors[k])

        return Quantity(f"d/d{name} of {title}", None, of_gradient, names, origin, task=task, has_proofs=False)

    names = frozenset(moved.union(str(symbol) for own in (task, *chosen.parameters) for symbol in own.free_symbols))
    origin = dict.fromkeys(ORDER_PARAMETER_NAMES, 0)
    title = f"risk of {chosen.title} at order parameters, {task.name}"
    expr = LandscapeRisk.of(task, chosen)
    risk = Quantity(title, expr, answer, names, origin, task=task, has_proofs=False, slope=slope)
    return risk


def _value(number: float, error: float) -> Value:
    found = mpf(float(number)), mpf(float(error))
    return Value(*found, Kind.ESTIMATED, digits_of(*found), "meshes over tokens, the finest of several")
