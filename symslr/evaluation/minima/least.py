"""The least risk of an attention and where it is attained: the best scale of the key, and the kernel's own parameters."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from math import isfinite
from typing import Any

import mpmath
import numpy as np
from sympy import Expr, S, Symbol, oo

from symslr.evaluation.admission.inputs import checked_digits, checked_inputs
from symslr.evaluation.engine import EXPONENTIAL, MULTIPRECISION_DIGITS, evaluate, symbols_of
from symslr.evaluation.errors import CannotEvaluate, NoLeastValue
from symslr.evaluation.minima.at_infinity import is_sum_of_rising_exponentials, limit_of_large_scales
from symslr.evaluation.minima.minimise import minimise
from symslr.evaluation.minima.tokens import Attended
from symslr.expression.folded import Activation
from symslr.expression.value import Kind, Value
from symslr.model.attention import Attention
from symslr.model.catalogue import kernel_attention_of
from symslr.model.exact import check_is
from symslr.model.homogeneous import degree, has_parity
from symslr.model.symbols import a, epsilon, x
from symslr.model.task import Task
from symslr.theory.population import matched_scale, minimal_risk, population_risk

CERTIFIED_MULTIPLES = (0.5, 1.5)
"""Without bounds a least risk is proved for scales between these multiples of the one that the search finds."""
CERTIFIED_NEAR_ZERO = 0.5
"""Where that one is smaller than this in units of the kernel, and the kernel does not vanish at 0, it is proved for scales up to
this."""

INTERVAL_IN_ERRORS = 10.0
"""Half the length of the short interval on which a minimum is proved, in errors of the place found by the search."""
INTERVAL_PART = 1e-6
"""The least such half length, relative to the place."""

TOWARDS_ZERO = "as a goes to 0"
"""The method of a best scale 0 that is only approached, as the kernel vanishes at 0 itself."""

PLACE_DIGITS = 10
"""Digits of a search that is made for the place alone, where the least value is known otherwise."""


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
    check_is(task, Task, "task", "SpikedSLR()")
    attention = kernel_attention_of(attention)
    check_is(values, Mapping, "values", '{"L": 3, "nu": 2}')
    risk, least = population_risk(task, attention), minimal_risk(task, attention)
    variables = list(least.variables)
    if bounds:
        if backend == "arb":
            return _certified(task, attention, values, digits, bounds)
        value, places = minimise(risk, variables, values, digits, bounds)
        return value, _by_name(places)
    if least.is_alone:
        value = evaluate(least, values, digits, backend)
        exactly = replace(value, value=mpmath.mpf(0), error=mpmath.mpf(0))
        anywhere = replace(exactly, error=mpmath.inf, digits=1)
        return value, {str(s): exactly if s == a else replace(anywhere, method=f"any {s}") for s in variables}
    if variables == [a] and attention.offset == 0 and degree(attention.kernel) is not None:
        return _for_homogeneous_kernel(task, attention, values, digits, backend)
    scale = _matched_scale(Activation.of(epsilon, attention, a), task.law)
    if scale is not None:
        return evaluate(least, values, digits, backend), {"a": _value_of_matched_scale(scale, values)}

    # no risk is less; the limit of a kernel as it is seen to grow is estimated
    if variables == [a] and limit_of_large_scales(risk, 1) == task.noise**2:
        proved = is_sum_of_rising_exponentials(attention.kernel)
        value = evaluate(task.noise**2, values, digits, backend if proved else None)
        if proved or backend is None:
            return all_on_the_largest(value if proved else replace(value, kind=Kind.ESTIMATED))
    if backend == "arb" and least.closed() is None:
        return _certified(task, attention, values, digits)
    if backend == EXPONENTIAL and least.closed() is None:
        raise CannotEvaluate(f"{EXPONENTIAL}: found no closed form of the least risk; ask arb for an interval")
    if backend is not None or least.closed() is not None:
        value = evaluate(least, values, digits, backend)
        _, places = minimise(risk, variables, values, PLACE_DIGITS)
        return value, _by_name(places)
    if (
        variables == [a] and digits is not None and digits > MULTIPRECISION_DIGITS
    ):  # up to so many the search is as fast
        with suppress(CannotEvaluate):
            return _certified_near_search(risk, values, digits)
    value, places = minimise(risk, variables, values, digits)
    if variables == [a] and places[a].value == 0 and attention.kernel.subs(x, 0) == 0:
        places = {a: replace(places[a], method=TOWARDS_ZERO)}
    if variables == [a] and places[a].value < 0 and has_parity(attention.kernel):  # of two alike the positive one
        places = {a: replace(places[a], value=-places[a].value)}
    return value, _by_name(places)


_matched_scale = lru_cache(maxsize=512)(matched_scale)


def all_on_the_largest(value: Value) -> tuple[Value, dict[str, Value]]:
    """The answer where the largest token is the relevant one: the noise alone, the least possible risk, at an infinite scale."""
    value = replace(value, method="limit of large scales: all weight on the largest token")
    return value, {"a": replace(value, value=mpmath.inf, error=mpmath.mpf(0), digits=15)}


def _certified_near_search(risk: Expr, values: Mapping[Any, object], digits: int) -> tuple[Value, dict[str, Value]]:
    """The least risk proved on a short interval around the scale that the search finds; no proof covers the other scales.

    Raises:
        CannotEvaluate: where no proof is found, or the minimum is not inside the interval.
    """
    _, places = minimise(risk, [a], values, PLACE_DIGITS)
    guess = float(places[a])
    reach = max(INTERVAL_IN_ERRORS * float(places[a].error), INTERVAL_PART * abs(guess))
    interval = (guess - reach, guess + reach)
    if not 0 < reach < np.inf:  # it is nothing where the risk is only approached at 0
        raise CannotEvaluate("the minimum lies at no finite scale")
    value, place = _enclosed(risk, values, digits, interval, guess)
    if value.digits < digits or not abs(place.value - guess) + place.error < reach / 2:
        raise CannotEvaluate("the minimum is not seen inside of a short interval")
    method = f"{places[a].method}; there {value.method}"
    estimated = [replace(found, kind=Kind.ESTIMATED, method=method) for found in (value, place)]
    return estimated[0], {"a": estimated[1]}


def _certified(
    task: Task,
    attention: Attention,
    values: Mapping[Any, object],
    digits: int | None,
    bounds: Mapping[Symbol, tuple[float, float]] | None = None,
) -> tuple[Value, dict[str, Value]]:
    """The least risk proved over an interval of the scale: the one given, else one around the scale that the search finds."""
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
        vanishes = attention.kernel.subs(x, 0) == 0
        if not isfinite(guess) or (guess == 0 and vanishes):
            raise NoLeastValue(
                "certified: the risk falls as the scale {}, to a limit that is not proved; give a scale (--scale 1) or a short "
                "interval of scales (--bounds a:1:2)",
                "vanishes" if guess == 0 else "grows",
            )
        numbers = {s: values[key] for s in risk.free_symbols for key in values if str(key) == s.name}
        near = CERTIFIED_NEAR_ZERO * min(1.0, Attended.of(risk).view(numbers).unit)
        ends = [float(f"{factor * guess:.2g}") for factor in CERTIFIED_MULTIPLES]
        interval = (min(ends), max(ends)) if vanishes or abs(guess) > near else (-near, near)
    wanted = MULTIPRECISION_DIGITS if digits is None else checked_digits(digits)
    value, place = _enclosed(risk, values, wanted, interval, guess)
    return value, {"a": place}


def _enclosed(
    risk: Expr, values: Mapping[Any, object], digits: int, interval: tuple[float, float], guess: float
) -> tuple[Value, Value]:
    """(least risk, best scale) by ``least_certified`` over the scale in an interval, ``guess`` being near the minimum."""
    from symslr.evaluation.certified.least import least_certified

    needed, known = symbols_of(risk)
    inputs = checked_inputs(needed - {a}, known - {a}, values)
    if inputs.arrays:
        raise CannotEvaluate("certified: found an array in values; expected single numbers")
    return least_certified(risk, a, inputs.scalars, digits, interval, guess)


def _for_homogeneous_kernel(
    task: Task, attention: Attention, values: Mapping[Any, object], digits: int | None, backend: str | None
) -> tuple[Value, dict[str, Value]]:
    """The least risk of a homogeneous kernel: it is the same at all scales of one sign, so the lower of the two values.

    The scale is 1 or -1 with an infinite error.
    """
    sides = [S.One] if has_parity(attention.kernel) else [S.One, S.NegativeOne]
    found = [evaluate(population_risk(task, attention, side), values, digits, backend) for side in sides]
    lowest = min(range(len(sides)), key=lambda i: found[i].value)
    value = replace(found[lowest], error=max(item.error for item in found))
    which = "every a != 0" if len(sides) == 1 else f"every a {'>' if sides[lowest] > 0 else '<'} 0"
    place = Value(mpmath.mpf(int(sides[lowest])), mpmath.inf, value.kind, 1, f"{which}: the kernel is homogeneous")
    return value, {"a": place}


def _by_name(places: Mapping[Symbol, Value]) -> dict[str, Value]:
    return {str(symbol): place for symbol, place in places.items()}


def _value_of_matched_scale(scale: Expr, values: Mapping[Any, object]) -> Value:
    """The value of the scale at which the attention is the posterior."""
    if scale == oo:
        return Value(
            mpmath.inf, mpmath.mpf(0), Kind.ESTIMATED, 15, "matched scale: the posterior is the limit of the attention"
        )
    names = {str(symbol) for symbol in scale.free_symbols}
    return evaluate(scale, {name: value for name, value in values.items() if str(name) in names})
