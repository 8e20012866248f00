"""Risks at a scale or a signal so large that meshes end: the limit itself, or a series through values nearer by.

The way is chosen for a risk at a scale and for the least one alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
from sympy import Expr, S, Symbol, cancel, sign

from symslr.evaluation.engine import DEFAULT_DIGITS, digits_of, evaluate
from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.minima.at_infinity import growth
from symslr.evaluation.minima.features import Attended
from symslr.evaluation.minima.search.series import SETTLED, USEFUL, Series, settled
from symslr.evaluation.numbers.exponent import exponential
from symslr.expression.value import Kind, Value
from symslr.model.attention import Attention
from symslr.model.exact import exact
from symslr.model.exponential import exponential_slope
from symslr.model.largest import IsLargest
from symslr.model.length_law import LengthLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, a, epsilon, x
from symslr.model.task import Task
from symslr.theory import bayes_risk

FAR_SCALE = 300.0
"""A softplus value takes half a second at scale 128; its table is too large at 1000."""

FAR_SLOPE = 1500.0
"""Slope of the posterior kernel of a shifted token, the root of nu: meshes take seconds at 1000."""

STEEP = 300.0
"""Slope of a selection from where on its limit is looked at: meshes take seconds at 64."""

SIZES = 24.0 * 1.6 ** np.arange(6.0)
"""Scales, or slopes, of the values: 24 to 252, at which series in the inverse converge and meshes take well under a second."""

STEEPEST = 10
"""A risk that falls faster than this power of the inverse, as e^(-nu/8), is no series in it."""

SPARE = 4
"""Digits of the values beyond those of the risk: a series through six enlarges their errors by some thousand."""

METHOD = "series in 1/{name} through values at {low:g} to {high:g}, its error what the last of them changed"

SOME = 4
"""Digits with which the limit of a strong selection is taken where meshes end; a series through nearer values takes seconds."""

Answers = dict[str, Value]
"""Numbers by name: the risk, and where it is attained."""

RISK = "risk"


@dataclass(frozen=True)
class Far:
    """A parameter beyond meshes, of ``size`` = unit |value|^power; ``decays`` are the powers of 1/size that a value may fall as.

    Attributes:
        may_be_met: whether meshes may reach it, as under an exponential kernel, and are tried first.
        met: the size from which on tokens meet all that the kernel does; a series has no value nearer by.
    """

    symbol: Symbol
    sign: Expr
    size: float
    unit: Expr
    power: Expr
    name: str
    decays: tuple[int, ...]
    may_be_met: bool = False
    met: float = 0.0

    @property
    def sizes(self) -> Any:
        """Sizes of the values for a series, beyond all that the kernel does: before, it is constant, and so is the series."""
        return SIZES * max(1.0, self.met / SIZES[0])

    def nearer(self, size: float) -> Expr:
        """The parameter's value at another size."""
        return exact((self.sign * (exact(size) / self.unit) ** (1 / self.power)).evalf(20))


def met_at(task: Task, attention: Attention, values: Mapping[Any, object]) -> tuple[float, float]:
    """The scales from which on tokens, and the relevant token, meet all that the kernel does; 0 where it has no features, or a
    parameter no number."""
    base, weight = task.law.base, task.law.relevant_factor or S.One
    numbers = numbers_of(attention.kernel + base.density + weight, values)
    relevant = base.func(base.density * weight, *base.support)
    met = Attended((attention.kernel,), base).met(numbers)
    is_one = exponential(attention.kernel, x) is not None  # alike at every token, up to a factor
    return met, met if is_one else Attended((attention.kernel,), relevant).met(numbers)


def far_scale(scale: Expr, task: Task, attention: Attention, values: Mapping[Any, object]) -> Far | None:
    """The scale of a key, if it is that large; an offset is a token at 0, beside which an exponential kernel is steep, too.

    Meshes are tried first for a kernel that changes so far out that values nearer by do not see it, too, and for one that grows as
    no exponential: they take no longer there, and under a logarithm values follow no series.
    """
    size = float(abs(scale))
    if size < FAR_SCALE:
        return None
    met, _ = met_at(task, attention, values)
    slope, is_selection = _posterior(task.law)
    # before a kernel selects as sharply as the law does, values do not show the limit
    if slope is not None and is_selection:
        selects = abs(slope.xreplace(numbers_of(slope, values)))
        met = max(met, float(selects)) if selects.is_number else met
    is_one = exponential(attention.kernel, x) is not None and attention.offset == 0
    sides = [growth(attention.kernel, side) for side in (1, -1)]
    is_slow = any(own is None for own in sides) or all(own is not None and own.rate == 0 for own in sides)
    return Far(a, sign(scale), size, S.One, S.One, "the scale", (0,), is_one or is_slow or met > SIZES[0], met)


@lru_cache(maxsize=512)
def _posterior(law: SequenceLaw) -> tuple[Expr | None, bool]:
    """The slope of a law's posterior kernel, if that is an exponential, and whether the law selects a token."""
    return exponential_slope(law), law.is_selection


def far_signal(task: Task, values: Mapping[Any, object]) -> Far | None:
    """The signal strength, if the posterior is an exponential that is that steep."""
    slope, is_selection = _posterior(task.law)
    if slope is None or len(slope.free_symbols) != 1:
        return None
    (symbol,) = slope.free_symbols
    value = numbers_of(slope, values).get(symbol)
    if value is None:
        return None
    size = abs(slope.subs(symbol, value))
    if not (size.is_finite and float(size) >= (STEEP if is_selection else FAR_SLOPE)):
        return None
    power = cancel(symbol * slope.diff(symbol) / slope)
    if not (power.is_Rational and power.is_positive):
        return None
    name = str(symbol) if power == 1 else f"{symbol}^({power})"
    return Far(symbol, sign(value), float(size), size / abs(value) ** power, power, name, (0, 1, 2))


@dataclass(frozen=True)
class StrongSelection:
    """The limit of a strong selection, and how far it is.

    Attributes:
        task: the one whose relevant token is the largest.
        missed: the Bayes risk without noise, r = E[1 - sum p_l^2] for the posterior p, at most.
        kind: of that number.
        longest: the greatest length, under weights that are not negative and sum to 1; else None.
    """

    task: Task
    missed: Any
    kind: Kind
    longest: int | None

    def moves(self, share: Any = 1) -> Any:
        """By how much a risk differs from that of the limit at most, where M^2/Q of either is ``share`` (of both <= 1).

        With e_l whether token l is the largest, M = E sum p_l A_l and Q = E sum A_l^2. By Cauchy and Schwarz M/sqrt(Q) <= 1 moves
        by sqrt(E sum (p_l - e_l)^2) at most, whatever the weights A are. With d = E[1 - max_l p_l] that is sqrt(2 d - r), which is
        at most sqrt(r), as r >= d. With weights A_l >= 0 of sum 1, M moves by d <= r and Q >= 1/L: M/sqrt(Q) by r sqrt(L) then.
        """
        moved = mpmath.sqrt(self.missed)
        if self.longest is not None:
            moved = min(moved, self.missed * mpmath.sqrt(self.longest))
        return moved * min(2, 2 * mpmath.sqrt(max(share, 0)) + moved)


def with_largest(
    task: Task, attention: Attention, values: Mapping[Any, object], steep: float = STEEP
) -> StrongSelection | None:
    """The limit of a strong selection; None where the slope of the selection is less than ``steep``."""
    slope, is_selection = _posterior(task.law)
    if slope is None or not is_selection:
        return None
    size = slope.xreplace(numbers_of(slope, values))
    if not (size.is_number and size >= steep):
        return None
    missed = evaluate(
        bayes_risk(replace(task, noise=S.Zero)), {key: values[key] for key in values if str(key) != "Delta"}, 6
    )
    longest = None
    if attention.is_normalised and attention.offset == 0:
        length = task.length if task.length != L else exact(next(values[key] for key in values if str(key) == "L"))
        longest = max(int(n) for n, _ in length) if isinstance(length, LengthLaw) else int(length)
    limit = Task(L * IsLargest.of(epsilon, L), task.length, task.noise, task.base, task.name)
    return StrongSelection(limit, missed.value + missed.error, missed.kind, longest)


def numbers_of(expr: Expr, values: Mapping[Any, object]) -> dict[Symbol, Expr]:
    """The symbols of an expression that have a number, which are given by name or by symbol."""
    given = {str(key): value for key, value in values.items()}
    return {s: exact(given[s.name]) for s in expr.free_symbols if isinstance(given.get(s.name), (int, float, Expr))}


Compute = Callable[[Task, Mapping[Any, object], "int | None", bool], Answers]
"""The answers for a task, values, digits; and whether they are for a series, which takes what float64 has."""


def answered(
    compute: Compute,
    task: Task,
    attention: Attention,
    values: Mapping[Any, object],
    digits: int | None,
    backend: str | None,
    far: Far | None,
) -> Answers:
    """By the limit of a strong selection where it has the digits, else on meshes or by a series through nearer values.

    Where a selection is too strong for meshes, by the limit or the series, whichever has more digits.
    """
    if backend is not None:
        return compute(task, values, digits, False)
    near = with_largest(task, attention, values)
    if near is None:
        try:
            return _where_meshes_end(compute, task, values, digits, far)
        except CannotEvaluate:
            near = with_largest(task, attention, values, steep=1.0)
            found = None if near is None else _by_limit(compute, task, values, digits, near)
            if found is None or found[RISK].digits < (digits or 1):
                raise
            return found
    if near.moves() < mpmath.mpf(10) ** -(digits or DEFAULT_DIGITS):  # of a risk below 1 it may have the digits
        found = _by_limit(compute, task, values, digits, near)
        if found[RISK].digits >= (digits or 1):
            return found
    try:
        return compute(task, values, digits, False)
    except CannotEvaluate as reason:
        refusal = reason
    found = _by_limit(compute, task, values, digits, near)
    is_near = all(mpmath.isfinite(place.value) for name, place in found.items() if name != RISK)
    if found[RISK].digits < (digits or SOME) and far is not None and is_near:  # else nearer values take the longest
        with suppress(CannotEvaluate):
            found = max(_by_series(compute, task, values, digits, far), found, key=lambda one: one[RISK].digits)
    if found[RISK].digits < (digits or 1):
        raise refusal
    return found


def _by_limit(
    compute: Compute, task: Task, values: Mapping[Any, object], digits: int | None, limit: StrongSelection
) -> Answers:
    """The answers for the limit of a strong selection, and what is known of the task from them.

    The lower a risk is the more it may move, but by less than it is lower: so it is with the least one as with one at a scale.
    """
    at = of_the_limit(task, values)
    found = compute(limit.task, at, digits, False)
    value = found.pop(RISK)
    noise = evaluate(task.noise**2, {name: own for name, own in at.items() if str(name) == "Delta"}).value
    error = value.error + limit.moves(1 + noise - value.value + value.error)
    kind = value.kind if value.kind == limit.kind else Kind.ESTIMATED
    method = f"limit of a strong signal, its remainder bounded by the Bayes risk: {value.method}"
    risk = replace(value, error=error, kind=kind, digits=digits_of(value.value, error), method=method)
    return {RISK: risk, **{name: _in_the_limit(name, place) for name, place in found.items()}}


def of_the_limit(task: Task, values: Mapping[Any, object]) -> dict[Any, object]:
    """The values that the limit of a strong selection has, too: not those of its weight."""
    names = {symbol.name for symbol in task.law.weight.free_symbols} - {"L"}
    return {key: value for key, value in values.items() if str(key) not in names}


def _in_the_limit(name: str, place: Value) -> Value:
    """A place of the limit, which may be far from that of the task."""
    return replace(place, error=mpmath.inf, digits=1, method=f"{name} = {place} in the limit")


def _where_meshes_end(
    compute: Compute, task: Task, values: Mapping[Any, object], digits: int | None, far: Far | None
) -> Answers:
    """By the series through nearer values where a parameter is far and that has the digits asked for, else on meshes.

    Raises:
        CannotEvaluate: where meshes do not reach, with the digits that the series has.
    """

    def on_meshes() -> Answers:
        return compute(task, values, digits, False)

    if far is None:
        return on_meshes()
    if far.may_be_met:
        try:
            return on_meshes()
        except CannotEvaluate as reason:
            if not far.sizes[-1] < far.size:
                raise CannotEvaluate(
                    f"{reason}; a series in 1/{far.name} has no values to go by, as the kernel changes so far out that "
                    f"{far.name} meets it from about {far.met:.2g} on"
                ) from reason
    elif not far.sizes[-1] < far.size:
        return on_meshes()
    try:
        answers = _by_series(compute, task, values, digits, far)
    except CannotEvaluate:
        return on_meshes()
    known = answers[RISK].digits
    if known >= (digits or 1):
        return answers
    try:
        return on_meshes()
    except CannotEvaluate as reason:
        raise OutOfDigits(
            f"{reason}; by a series in 1/{far.name} at most {known} digits are known (--digits {known})"
        ) from reason


def _by_series(compute: Compute, task: Task, values: Mapping[Any, object], digits: int | None, far: Far) -> Answers:
    """By the series through nearer values.

    Raises:
        CannotEvaluate: where they do not settle.
    """
    others = {key: value for key, value in values.items() if str(key) != far.symbol.name}
    each, enough = (None, SETTLED) if digits is None else (digits + SPARE, 0.1 ** (digits + 1))

    risks: list[float] = []

    def nearer(size: float) -> Answers:
        found = compute(task, {**others, far.symbol: far.nearer(float(size))}, each, True)
        risks.append(float(found[RISK].value))
        before = risks[-2] if len(risks) > 1 else far.sizes[0] ** -float(STEEPEST)
        if risks[-1] < before * (far.sizes[0] / far.sizes[1]) ** STEEPEST:
            raise CannotEvaluate(f"the risk falls faster than powers of {far.name} do")
        return found

    def fit(found: list[Answers]) -> tuple[Answers, float, float]:
        answers = {name: _continued(far, [own[name] for own in found]) for name in found[0]}
        return answers, float(answers[RISK].value), float(answers[RISK].error)

    return settled(far.sizes, nearer, fit, enough, max(USEFUL, enough))


def _continued(far: Far, values: list[Value]) -> Value:
    """The series of least error at the parameter's size."""
    sizes = far.sizes[: len(values)]
    numbers, errors = (np.array([float(part) for part in own]) for own in zip(*((v.value, v.error) for v in values)))
    seconds = sum(v.seconds for v in values)
    if np.all(np.isinf(numbers)) and np.ptp(np.sign(numbers)) == 0:
        return replace(values[-1], seconds=seconds)
    if not np.all(np.isfinite(numbers + errors)):
        raise CannotEvaluate(f"a place at infinity has no series in {far.name}")
    candidates = [_at(far.size, sizes, numbers, errors, decay) for decay in far.decays]
    value, error = min(candidates, key=lambda pair: pair[1] / abs(pair[0]) if pair[0] else np.inf)
    method = METHOD.format(name=far.name, low=sizes[0], high=sizes[-1])
    return Value(mpmath.mpf(value), mpmath.mpf(error), Kind.ESTIMATED, digits_of(value, error), method, seconds)


def _at(size: float, sizes: Any, numbers: Any, errors: Any, decay: int) -> tuple[float, float]:
    """(value, error) at a size of size^-decay times the series."""
    grown, at = (sizes / sizes[0]) ** decay, sizes[0] / size
    own = Series(numbers * grown, sizes[1] / sizes[0], float(np.max(errors * grown)))
    value = float(own(at))
    return value * at**decay, (own.doubt(at) + 1e-15 * abs(value)) * at**decay
