"""The least risk of an attention and where it is attained: the best scale of the key, and the kernel's own parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from typing import Any

import mpmath
from sympy import Expr, S, Symbol, oo

from symslr.evaluation.admission.inputs import checked_inputs
from symslr.evaluation.engine import MULTIPRECISION_DIGITS, evaluate, symbols_of
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.minima.far import RISK, Answers, Far, beside, far_or_near, far_scale, far_signal, with_largest
from symslr.evaluation.minima.minimise import minimise
from symslr.expression.folded import Activation
from symslr.expression.value import Kind, Value
from symslr.model.attention import Attention
from symslr.model.homogeneous import degree, has_parity
from symslr.model.symbols import a, epsilon
from symslr.model.task import Task
from symslr.theory.population import matched_scale, minimal_risk, population_risk

AROUND, SMALL = (0.5, 1.5), 0.5
"""Where no bounds are given, a least risk is proved for scales between these multiples of the one that a search finds, or for
|a| <= SMALL where that is smaller."""

PLACE_DIGITS = 10
"""Digits of a search that is made for the place alone, the least value being known in another way."""


def least_risk(
    task: Task,
    attention: Attention,
    values: Mapping[Any, object],
    digits: int | None = None,
    backend: str | None = None,
    bounds: Mapping[Symbol, tuple[float, float]] | None = None,
) -> tuple[Value, dict[str, Value]]:
    """(least risk, {"a": best scale, "c": ...}); a place may be infinite where the risk is only approached.

    The value is that of ``minimal_risk``: exact where the attention is Bayes-optimal or a closed form is derived, else by search.

    Args:
        task, attention: as for ``minimal_risk``.
        values, digits, backend: as for ``evaluate``.
        bounds: for a variable by symbol, the interval in which it is searched; the whole line otherwise.

    Raises:
        CannotEvaluate: where the minimum is not found, or the digits are out of reach.
    """
    risk, least = population_risk(task, attention), minimal_risk(task, attention)
    moving = list(least.variables)
    if bounds:
        if backend == "arb":
            return _certified(task, attention, values, digits, bounds)
        value, places = minimise(risk, moving, values, digits, bounds)
        return value, _named(places)
    scale = matched_scale(Activation.of(epsilon, attention, a), task.law)
    if scale is not None:
        return evaluate(least, values, digits, backend), {"a": _scale(scale, values)}
    if moving == [a] and attention.offset == 0 and degree(attention.kernel) is not None:
        return _without_scale(task, attention, values, digits, backend)
    near = with_largest(task, attention, values) if backend is None else None
    if near is not None:
        limit, remainder = near
        value, places = least_risk(limit, attention, _without_signal(task, values), None)
        if beside(value, remainder).digits >= (digits or 1):
            return beside(value, remainder), {name: _in_the_limit(name, place) for name, place in places.items()}
    far = far_signal(task, values) if backend is None else None
    if far is not None:
        return _far_out(task, attention, values, digits, far)
    return _by_search(task, attention, values, digits, backend)


def _by_search(
    task: Task, attention: Attention, values: Mapping[Any, object], digits: int | None, backend: str | None
) -> tuple[Value, dict[str, Value]]:
    """On meshes, whatever the size of the parameters."""
    risk, least = population_risk(task, attention), minimal_risk(task, attention)
    moving = list(least.variables)
    if backend == "arb" and least.closed() is None:
        return _certified(task, attention, values, digits)
    if backend is not None or least.closed() is not None:
        value = evaluate(least, values, digits, backend)
        _, places = minimise(risk, moving, values, PLACE_DIGITS)
        return value, _named(places)
    value, places = minimise(risk, moving, values, digits)
    return value, _named(places)


def _certified(
    task: Task,
    attention: Attention,
    values: Mapping[Any, object],
    digits: int | None,
    bounds: Mapping[Symbol, tuple[float, float]] | None = None,
) -> tuple[Value, dict[str, Value]]:
    """Proved over an interval of the scale: the one given, else one around the scale that a search finds."""
    from symslr.evaluation.certified.least.least import least_certified

    risk, variables = population_risk(task, attention), minimal_risk(task, attention).variables
    if variables != (a,):
        raise CannotEvaluate(
            f"certified: no proof is available for a minimum over {', '.join(map(str, variables))} at once"
        )
    _, places = minimise(risk, [a], values, PLACE_DIGITS, bounds)
    guess = float(places[a])
    if bounds:
        interval = bounds[a]
    else:
        if not isfinite(guess):
            raise CannotEvaluate(
                "certified: the risk falls as the scale grows, to a limit that is not proved; give an interval (--bounds a:0:8)"
            )
        ends = [float(f"{factor * guess:.2g}") for factor in AROUND]
        interval = (min(ends), max(ends)) if abs(guess) > SMALL else (-SMALL, SMALL)
    needed, known = symbols_of(risk)
    inputs = checked_inputs(needed - {a}, known - {a}, values)
    if inputs.arrays:
        raise ValueError("certified: found an array in values; expected single numbers")
    value, place = least_certified(risk, a, inputs.scalars, digits or MULTIPRECISION_DIGITS, interval, guess)
    return value, {"a": place}


def _far_out(
    task: Task, attention: Attention, values: Mapping[Any, object], digits: int | None, far: Far
) -> tuple[Value, dict[str, Value]]:
    """The least risk where the signal is too strong for meshes."""

    def answers(found: tuple[Value, dict[str, Value]]) -> Answers:
        return {RISK: found[0], **found[1]}

    def at(value: Expr) -> Answers:
        return answers(_by_search(task, attention, _with(values, far, value), None, None))

    found = far_or_near(far, at, digits, lambda: answers(_by_search(task, attention, values, digits, None)))
    return found.pop(RISK), found


def risk_at(
    task: Task,
    attention: Attention,
    scale: Expr,
    values: Mapping[Any, object],
    digits: int | None = None,
    backend: str | None = None,
) -> Value:
    """The risk at a scale of the key, which may be infinite.

    Args:
        task, attention, scale: as for ``population_risk``.
        values, digits, backend: as for ``evaluate``.

    Raises:
        CannotEvaluate: where the digits are out of reach.
    """

    def directly() -> Answers:
        if scale.is_infinite:
            raise CannotEvaluate("the risk does not settle as the scale grows; expected a finite scale")
        return {RISK: evaluate(population_risk(task, attention, scale), values, digits, backend)}

    near = with_largest(task, attention, values) if backend is None else None
    if near is not None:
        limit, remainder = near
        found = beside(risk_at(limit, attention, scale, _without_signal(task, values)), remainder)
        if found.digits >= (digits or 1):
            return found
    large = far_scale(scale)
    strong = far_signal(task, values) if large is None else None
    if backend is not None or (large is None and strong is None):
        return directly()[RISK]

    def at_scale(value: Expr) -> Answers:
        return {RISK: evaluate(population_risk(task, attention, value), values, backend="numpy")}

    def at_signal(value: Expr) -> Answers:
        assert strong is not None
        return {RISK: evaluate(population_risk(task, attention, scale), _with(values, strong, value), backend="numpy")}

    if large is not None:
        return far_or_near(large, at_scale, digits, directly)[RISK]
    assert strong is not None
    return far_or_near(strong, at_signal, digits, directly)[RISK]


def _without_signal(task: Task, values: Mapping[Any, object]) -> dict[Any, object]:
    """The values without those that the weight alone takes."""
    names = {symbol.name for symbol in task.law.weight.free_symbols} - {"L"}
    return {key: value for key, value in values.items() if str(key) not in names}


def _in_the_limit(name: str, place: Value) -> Value:
    """A place of the limit, which may be far from that of the task."""
    return replace(place, error=mpmath.inf, digits=1, method=f"{name} = {place} in the limit")


def _with(values: Mapping[Any, object], far: Far, value: Expr) -> dict[Any, object]:
    """The values with that parameter elsewhere."""
    return {**{key: known for key, known in values.items() if str(key) != far.symbol.name}, far.symbol: value}


def _without_scale(
    task: Task, attention: Attention, values: Mapping[Any, object], digits: int | None, backend: str | None
) -> tuple[Value, dict[str, Value]]:
    """The risk of a homogeneous kernel, the same at every scale of one sign: the lower of the two.

    The place has an infinite error.
    """
    sides = [S.One] if has_parity(attention.kernel) else [S.One, S.NegativeOne]
    found = [evaluate(population_risk(task, attention, side), values, digits, backend) for side in sides]
    lowest = min(range(len(sides)), key=lambda i: found[i].value)
    value = replace(found[lowest], error=max(item.error for item in found))
    which = "every a != 0" if len(sides) == 1 else f"every a {'>' if sides[lowest] > 0 else '<'} 0"
    place = Value(mpmath.mpf(int(sides[lowest])), mpmath.inf, value.kind, 1, f"{which}: the kernel is homogeneous")
    return value, {"a": place}


def _named(places: Mapping[Symbol, Value]) -> dict[str, Value]:
    return {str(symbol): place for symbol, place in places.items()}


def _scale(scale: Expr, values: Mapping[Any, object]) -> Value:
    """The scale at which the attention is the posterior."""
    if scale == oo:
        return Value(
            mpmath.inf, mpmath.mpf(0), Kind.ESTIMATED, 15, "matched scale: the posterior is the limit of the attention"
        )
    names = {str(symbol) for symbol in scale.free_symbols}
    return evaluate(scale, {name: value for name, value in values.items() if str(name) in names})
