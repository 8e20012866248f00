"""What is asked of a task and an attention, under one name for every kind of task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sympy import Expr, Integer

from symslr.evaluation.location.bayes import bayes_value, with_values
from symslr.evaluation.location.posterior import posterior as posterior_at
from symslr.evaluation.location.risk import has_kernel_alone, least_value, moment_values, risk_value
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.sampling.sequences import posterior_of
from symslr.expression.value import Value
from symslr.face.numbers import Wanted
from symslr.face.quantity import Quantity
from symslr.model.attention import Attention
from symslr.model.catalogue import attention_of
from symslr.model.exact import check_is, exact
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import L, a, by_name
from symslr.model.task import Task, without_fixed
from symslr.theory import bayes, population
from symslr.theory.configurations import location_bayes_risk

AnyAttention = Attention | str
"""An attention, or its name: one of the catalogue, or sparsemax, entmax, top(k)."""


def bayes_risk(task: Task) -> Quantity:
    """The Bayes risk of any task: a formula, called with values for its parameters, as in ``bayes_risk(task)(nu=2)``.

    Raises:
        TypeError: for what is no task.

    Source: arXiv 2509.21936, Prop. 4.1.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    if task.has_weight:
        return Quantity.of(bayes.bayes_risk(task), task, f"Bayes risk, {task.name}")

    def answer(values: dict[Any, Any], wanted: Wanted) -> Value:
        return bayes_value(task, values, wanted.digits, wanted.backend, wanted.seconds)

    expr = None if isinstance(task.length, LengthLaw) else location_bayes_risk(task)
    return Quantity(f"Bayes risk, {task.name}", expr, answer, _names(task), task=task)


def population_risk(task: Task, attention: AnyAttention, scale: Expr = a) -> Quantity:
    """The risk of an attention at a scale of its key, and at the best value vector; the scale is the parameter ``a``.

    Raises:
        TypeError, ValueError: in one line, for what is no task or no attention.

    Source: arXiv 2509.21936, section 4.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    chosen = attention_of(attention)
    if has_kernel_alone(task, chosen):
        expr = population.population_risk(task, chosen.having(filter=None), exact(scale, "scale"))
        return Quantity.of(expr, task, f"risk of {chosen.title}, {task.name}")

    def answer(values: dict[Any, Any], wanted: Wanted) -> Value:
        return risk_value(task, chosen, scale, values, wanted.digits, wanted.seconds, wanted.backend)

    names = _names(task, exact(scale, "scale"), *chosen.parameters)
    return Quantity(f"risk of {chosen.title}, {task.name}", None, answer, names, task=task)


def least_risk(task: Task, attention: AnyAttention, bounds: Mapping[Any, tuple[float, float]] = {}) -> Quantity:
    """The least risk of an attention over its scale, and over other parameters for which it, or this call, has bounds.

    ``least_risk(task, "softmax")(nu=2).at["a"]`` is the best scale, which may be infinite.

    Args:
        bounds: the interval in which a parameter is searched, by symbol or name; the whole line otherwise.

    Raises:
        TypeError, ValueError: in one line, for what is no task or no attention.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    check_is(bounds, Mapping, "bounds", '{"a": (0, 10)}')
    chosen = attention_of(attention)
    own: dict[str, Any] = {symbol.name: symbol for symbol in (a, *chosen.bounds, *chosen.parameters)}
    searched = {own.get(name, name): ends for name, ends in by_name(bounds).items()}
    if opened := {
        symbol: searched[symbol] for symbol in searched if symbol in chosen.parameters - chosen.bounds.keys()
    }:
        chosen = replace(chosen, bounds={**chosen.bounds, **opened})

    def answer(values: dict[Any, Any], wanted: Wanted) -> Value:
        value, places = least_value(
            task, chosen, values, wanted.digits, wanted.seconds, wanted.backend, searched or None
        )
        return replace(value, at=places)

    alone = has_kernel_alone(task, chosen) and not searched  # of intervals there is no formula
    expr = population.minimal_risk(task, chosen.having(filter=None)) if alone else None
    names = _names(task, *chosen.parameters)
    return Quantity(f"least risk of {chosen.title}, {task.name}", expr, answer, names, task=task)


def _names(task: Task, *others: Expr) -> frozenset[str]:
    """Of the parameters of a task and of other formulas."""
    return frozenset(str(symbol) for expr in (task, *others) for symbol in expr.free_symbols)


@dataclass(frozen=True)
class Moments:
    """The moments of which the risk of an attention at its best value vector is made, Delta^2 + E[r^T C_v r] - hit^2/square.

    Attributes:
        hit: E[r^T C_v sigma], of one relevant token the weight that it gets.
        square: E[sigma^T C_v sigma].
    """

    hit: Value
    square: Value


def moments(
    task: Task, attention: AnyAttention, scale: Expr = a, *, digits: int | None = None, **values: object
) -> Moments:
    """``hit`` = E[r^T C_v sigma] and ``square`` = E[sigma^T C_v sigma] of an attention on any task, r being the read-out.

    Its risk at the best value vector is Delta^2 + E[r^T C_v r] - hit^2/square. The scale of its key is the parameter ``a``.

    Raises:
        TypeError, ValueError: in one line, as ``population_risk``.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    given = without_fixed(by_name(values), L=task.length, Delta=task.noise)
    given.pop("Delta", None)
    return Moments(*moment_values(task, attention_of(attention), scale, given, digits))


def posterior(task: Task, chi: Any, **values: object) -> np.ndarray:
    """P(position l is relevant | keys), shape (..., L), for every kind of task; of one relevant position they add up to 1.

    ``optimal_attention`` gives it as a formula, over s where s positions are relevant.

    Args:
        chi: keys, shape (..., L); (..., L, p) where they have p > 1 directions.
        values: numbers for the parameters of the task, by name.

    Raises:
        ValueError: in one line, for another shape, and for a value that is missing or unknown.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    keys, directions = np.asarray(chi, dtype=float), task.signal.directions if task.is_located else 1
    several = keys if directions > 1 else keys[..., None]
    length = several.shape[-2] if several.ndim > 1 else 0
    fixed = isinstance(task.length, Integer) and task.length != length
    if not length or several.shape[-1] != directions or fixed:
        expected = f"{task.length}, {directions}" if directions > 1 else f"{task.length}"
        raise ValueError(f"chi: found the shape {keys.shape}; expected (..., {expected})")
    given = without_fixed(by_name(values), L=Integer(length), Delta=task.noise)
    given.pop("Delta", None)
    here = with_values(replace(task, length=length, noise=0), given)
    flat = several.reshape(-1, length, directions)
    if here.is_located:
        setting = Setting.of(here)
        found = posterior_at(setting)(flat)[0] * max(setting.size, 1)
    else:
        found = posterior_of(here.law.subs(L, length))[0](flat[..., 0])[0]
    return np.asarray(found.reshape(several.shape[:-1]))
