"""Checks that the input is a model: a weight must be a density (mean 1, nonnegative), a normaliser must not vanish.

These are input checks in float64, at a few values of the free parameters; the theory's numbers are made elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache

import numpy as np
from sympy import Expr, Float, Integer, Mul, Rational, S, atanh, erfc, oo

from symslr.model.breakpoints import CUT
from symslr.model.float64 import compiled, logs_of_one_more, uncancelled
from symslr.model.form import check_parameters, check_weight, in_brief
from symslr.model.places import far_nodes
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, x
from symslr.model.weight_mean import Mean, lowest_kernel, weight_mean

MEAN_TOLERANCE = 1e-12
"""Beside three times the error of the quadrature, which is 1e-15 for smooth densities."""

NOTHING = Float((0, 1, -332193, 1))
"""2^-332193, about 1e-100000: a kernel with less than this on the line is too steep there for any of its numbers to be found.

Unless it is known to be positive. A power of two, as making one of ten from its decimals takes 0.08 s."""

NOT_FOUND = 0.03
"""An error of the mean beyond which it counts as not found."""

PARAMETER_VALUES = (0.7, 1.3)
FURTHER_VALUES = (0.3, -0.6)
"""Where a weight is no density at the first values: its parameter may be meant to be small or negative."""

LENGTHS = (2, 3)

GOLDEN = (5**0.5 - 1) / 2
GOLDEN_SECTIONS = 52
"""The interval of two steps of the grid is 1e-12 wide after so many."""

NEIGHBOURS = (Rational(1, 10**9), Rational(1, 10**6), Rational(1, 10**3))
"""How far beside 0, where a kernel vanishes, it is asked whether the kernel vanishes there too."""


_HELD_WEIGHTS: set[Expr] = set()
_HELD_KERNELS: set[Expr] = set()


def hold_admissible(*, weights: Iterable[Expr] = (), kernels: Iterable[Expr] = ()) -> None:
    """Take weights under standard normal tokens and kernels as admissible from now on.

    The catalogue's are not looked at in every process that loads them; tests/model look at them.
    """
    _HELD_WEIGHTS.update(weights)
    _HELD_KERNELS.update(kernels)


class NoDensity(ValueError):
    """A weight that is negative somewhere or has no mean, at values of its parameters."""


def check_mean_one(law: SequenceLaw) -> None:
    """Refuse a weight with E_0[g] != 1 at L = 2, 3 and a few values of its parameters, or with no values that make it a density.

    Raises:
        ValueError: with the mean that was found and how to mend it.
    """
    if law.base != STANDARD_NORMAL:
        check_density(law.base)
    elif law.weight in _HELD_WEIGHTS:
        return
    check_weight(law.weight)

    def check_at(values: tuple[tuple[Expr, float], ...]) -> None:
        for length in LENGTHS:
            check_weight_at(law, length, values)

    _check_trials(tuple(sorted(law.free_symbols - {L}, key=str)), check_at)


def _check_trials(parameters: tuple[Expr, ...], check_at: Callable[[tuple[tuple[Expr, float], ...]], None]) -> None:
    """Refuse what is no density at any of a few values of its parameters, with the refusal at the first of them."""
    refusals: list[NoDensity] = []
    for start in PARAMETER_VALUES + FURTHER_VALUES:
        if start in FURTHER_VALUES and not (parameters and len(refusals) == len(PARAMETER_VALUES)):
            break
        try:
            check_at(_trial(parameters, start))
        except NoDensity as refusal:
            refusals.append(refusal)
        else:
            if start in FURTHER_VALUES:
                return
    if len(refusals) >= len(PARAMETER_VALUES):
        raise refusals[0]


@lru_cache(maxsize=1024)
def check_weight_at(law: SequenceLaw, length: int, values: tuple[tuple[Expr, float], ...]) -> None:
    """Refuse a weight that is negative somewhere, or whose mean is not 1, at a length and at values of its parameters.

    Its token law is looked at too.

    Args:
        length: for the symbol ``L``; the law may also stand at a number of its own.
        values: (parameter, value) pairs for its other free symbols.

    Raises:
        NoDensity: when it is negative somewhere or has no mean.
        ValueError: when its mean is not 1.
    """
    if law.base != STANDARD_NORMAL:
        parameters = law.base.free_symbols
        check_density_at(law.base, tuple((symbol, value) for symbol, value in values if symbol in parameters))
    if law.selects_largest:
        return
    given = dict(values)
    try:
        here = law.subs(L, length)
    except ValueError:
        raise ValueError(
            f"weight {in_brief(law.weight)}: not a number at L={length}; expected lengths at which it is one"
        ) from None
    at = ", ".join([f"L={here.length}", *(f"{symbol}={value:g}" for symbol, value in values)])
    try:
        # a selection has sum_l g(l, chi) = L at every chi, so its mean is 1 by symmetry
        mean = Mean(1.0, 0.0, lowest_kernel(law, given)) if law.is_selection else weight_mean(here, given)
    except OverflowError:
        raise ValueError(f"weight {in_brief(law.weight)}: holds a number beyond 1e308; expected smaller ones") from None
    if not np.isfinite(mean.value):
        raise NoDensity(
            f"weight {in_brief(law.weight)}: found no finite mean under the token law ({at}); expected mean 1"
        )
    if not mean.lowest >= -1e-12:
        raise NoDensity(
            f"weight {in_brief(law.weight)}: found the negative value {mean.lowest:.4g} ({at}); expected g >= 0"
        )
    if mean.error > NOT_FOUND * max(1.0, abs(mean.value)):
        raise NoDensity(
            f"weight {in_brief(law.weight)}: its mean is not found ({at}): quadrature gives {mean.value:.4g} with an error of "
            f"{mean.error:.1g}; expected a weight with fewer or wider features"
        )
    if abs(mean.value - 1) > MEAN_TOLERANCE + 3 * mean.error:
        raise ValueError(
            f"weight {in_brief(law.weight)}: found mean {_near_one(mean.value)} ({at}); expected 1, so divide the weight by it"
        )


def check_density(law: ScalarLaw) -> None:
    """Refuse a token law whose density does not integrate to 1, or is negative somewhere at all of a few parameters.

    Raises:
        ValueError: with the mass that was found.
    """
    check_parameters(law.density, "token law", allowed={x})
    _check_trials(tuple(sorted(law.free_symbols, key=str)), lambda values: check_density_at(law, values))


@lru_cache(maxsize=1024)
def check_density_at(law: ScalarLaw, values: tuple[tuple[Expr, float], ...]) -> None:
    """Refuse a token law whose density is negative somewhere or does not integrate to 1 at these values of its parameters.

    Raises:
        NoDensity: when it is negative somewhere or has no mass that is found.
        ValueError: when its mass is not 1.
    """
    named = f"token law {in_brief(law.density)}"
    at = f" ({', '.join(f'{symbol}={value:g}' for symbol, value in values)})" if values else ""
    try:
        mass = weight_mean(SequenceLaw(S.One, Integer(2), law), dict(values))
    except OverflowError:
        raise ValueError(f"{named}: holds a number beyond 1e308; expected smaller ones") from None
    if not mass.lowest >= 0:
        raise NoDensity(f"{named}: found the negative value {mass.lowest:.4g}{at}; expected a density")
    if np.isnan(mass.value):
        raise NoDensity(
            f"{named}: not a number somewhere on ({law.lower}, {law.upper}){at}; expected a density "
            "there, or a support that leaves such places out"
        )
    if np.isinf(mass.value):
        raise NoDensity(f"{named}: found no finite mass{at}; expected a density with mass 1")
    if mass.error > NOT_FOUND:
        raise NoDensity(
            f"{named}: its mass is not found in float64{at}, as its features are too narrow or too many; "
            "expected a density with fewer or wider ones"
        )
    if abs(mass.value - 1) > MEAN_TOLERANCE + 3 * mass.error:
        raise ValueError(f"{named}: found total mass {_near_one(mass.value)}{at}; expected a density with mass 1")


def check_dominated(relevant: ScalarLaw, others: ScalarLaw) -> None:
    """Refuse a law of the relevant token with mass where the others have none: such a token has no likelihood ratio.

    Raises:
        ValueError: naming a place.
    """
    if not others.density.has(*CUT):  # it may be 0 in float64, but is not
        return
    values = dict(_trial(tuple(sorted(relevant.free_symbols | others.free_symbols, key=str)), PARAMETER_VALUES[0]))
    grid = _within(others.support, np.linspace(-20, 20, 1601), NEAR)
    with np.errstate(all="ignore"):
        try:
            p1, p0 = (
                np.broadcast_to(compiled((x, *values), law.density)(grid, *values.values()), grid.shape)
                for law in (relevant, others)
            )
        except (OverflowError, ZeroDivisionError):
            return
    exact_values = {symbol: Rational(value) for symbol, value in values.items()}
    for place in grid[(p0 == 0) & (p1 > 0)][:SOME]:
        if others.density.xreplace({**exact_values, x: Rational(float(place))}).is_zero:
            raise ValueError(
                f"token laws: at x = {place:g} others is 0 and relevant is not; expected others > 0 where relevant is"
            )


def _near_one(value: float) -> str:
    """A number to six digits, or to as many as tell it from 1."""
    return next(text for digits in range(6, 18) if (text := f"{value:.{digits}g}") != "1" or digits == 17)


def _trial(parameters: tuple[Expr, ...], start: float) -> tuple[tuple[Expr, float], ...]:
    """A value for each parameter, of the sign and kind that its symbol demands."""
    return tuple((symbol, _suited(symbol, start + index / 8)) for index, symbol in enumerate(parameters))


def _suited(symbol: Expr, value: float) -> float:
    if symbol.is_integer:
        value = float(np.ceil(abs(value)) * np.sign(value))
    if symbol.is_negative or symbol.is_nonpositive:
        return -abs(value)
    return abs(value) if symbol.is_nonnegative else value


NEAR, NEAREST = 1e-4, 1e-9
"""How near to an end of the tokens a kernel is looked at, over how far: for zeros, as e^(-1/x) has none, and for signs."""
SOME = 8
"""Places that float64 finds wanting and that are looked at exactly."""


def check_kernel(
    kernel: Expr,
    parameters: set[Expr],
    *,
    normalised: bool,
    may_vanish: bool,
    support: tuple[Expr, Expr] = (-oo, oo),
) -> None:
    """Refuse a kernel that is not real where tokens are; under a normaliser, one that is negative there or,
    without an offset, vanishes elsewhere than at x = 0.

    Args:
        support: the interval of the tokens.

    Raises:
        ValueError: naming the point where the kernel fails.
    """
    if kernel in _HELD_KERNELS:
        return
    values = dict(_trial(tuple(sorted(parameters, key=str)), PARAMETER_VALUES[0]))
    function = compiled((x, *values), kernel)

    def at(points: np.ndarray | np.float64) -> np.ndarray:
        with np.errstate(all="ignore"):
            try:
                return np.broadcast_to(np.real(function(points, *values.values())), np.shape(points)).astype(float)
            except OverflowError:
                raise ValueError(f"kernel {kernel}: holds a number beyond 1e308; expected smaller ones") from None
            except ZeroDivisionError:
                at_values = ", ".join(f"{symbol} = {value:g}" for symbol, value in values.items())
                raise ValueError(
                    f"kernel {kernel}: divides by zero at {at_values}; expected one that does not"
                ) from None

    grid = _within(support, np.linspace(-20, 20, 1601), NEAR)
    table = at(grid)
    if np.any(np.isnan(table)):
        raise ValueError(
            f"kernel {kernel}: not a real number at x = {grid[np.isnan(table)][0]:g}; expected one for every x"
        )
    if not normalised:
        return
    mend = "add an offset, or use normalise none"
    far = np.concatenate([grid, _within(support, far_nodes(-1e4, 1e4), NEAREST)])
    negative = next((place for place in _negative(far, at(far)) if not _is_positive(kernel, values, place)), None)
    if negative is not None:
        mend = "use normalise none" if may_vanish else mend
        raise ValueError(f"kernel {kernel}: negative at x = {negative:g}, so its normaliser can vanish; {mend}")
    if may_vanish:
        return
    lower = (table[1:-1] <= table[:-2]) & (table[1:-1] <= table[2:]) & np.isfinite(table[1:-1])
    inner = np.flatnonzero(lower) + 1
    for i, found, least in zip(inner, *_lowest(at, grid[inner - 1], grid[inner + 1])):
        place = float(grid[i] if table[i] <= least else found)
        lowest = min(table[i], least)
        if lowest <= 1e-9 * max(table[i - 1], table[i + 1]) and not _harmless(
            kernel, values, place, grid[i - 1 : i + 2]
        ):
            raise ValueError(
                f"kernel {kernel}: vanishes at x = {place:.4g} as far as float64 tells, so its normaliser can vanish; {mend}"
            )


def _within(support: tuple[Expr, Expr], points: np.ndarray, nearest: float) -> np.ndarray:
    """The points inside an interval, of which an end with parameters is none, and others ever nearer to an end.

    Args:
        nearest: how near, over the span of the points or of the interval.
    """
    low, high = (
        float(end) if end.is_comparable or end.is_infinite else sign * np.inf for end, sign in zip(support, (-1, 1))
    )
    inside = points[(points > low) & (points < high)]
    reach = min(np.ptp(points), high - low)
    away = reach * np.concatenate([np.linspace(0.0, 1.0, len(points)), np.geomspace(nearest, 1.0, len(points) // 4)])
    near = [end + side * away for end, side in ((low, 1), (high, -1)) if np.isfinite(end)]
    found = np.unique(np.concatenate([inside, *near]))
    return found[(found > low) & (found < high)]


def _negative(points: np.ndarray, values: np.ndarray) -> list[float]:
    """Points with negative values: the first, some others, and the lowest."""
    below = np.flatnonzero(values < 0)
    if not below.size:
        return []
    some = below[np.linspace(0, len(below) - 1, min(len(below), SOME)).astype(int)]
    return [float(points[i]) for i in (*some, below[np.argmin(values[below])])]


def _is_positive(kernel: Expr, values: Mapping[Expr, float], place: float) -> bool:
    """Whether a value that float64 takes for a negative one is positive in 30 digits, as that of e^x - 1 - x beside 0."""
    fixed = kernel.subs({s: Rational(v) for s, v in values.items()})
    value = fixed.subs(x, Rational(place)).evalf(30)
    return bool(value.is_comparable and value > 0)


def _lowest(function: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, ...]:
    """Where a function is least between each pair of points, to 1e-12, and its value there: golden sections of all at once."""
    for _ in range(GOLDEN_SECTIONS):
        first, second = high - (high - low) * GOLDEN, low + (high - low) * GOLDEN
        left = function(first) <= function(second)
        low, high = np.where(left, low, first), np.where(left, second, high)
    place = (low + high) / 2
    return place, function(place)


@cache
def check_nonnegative(kernel: Expr, support: tuple[Expr, Expr] = (-oo, oo)) -> None:
    """Refuse a function of ``x`` that is negative somewhere on the line, or on a part of it, whatever it is called.

    Raises:
        ValueError: naming the point where it is negative.
    """
    if not kernel.is_nonnegative:
        check_kernel(kernel, kernel.free_symbols - {x}, normalised=True, may_vanish=True, support=support)


def _harmless(kernel: Expr, values: Mapping[Expr, float], place: float, around: np.ndarray) -> bool:
    """Whether the kernel in 30 digits is something after all, where float64 underflows, or nothing at the point 0 alone.

    No token lies at a point, and tokens near 0 keep all their digits; those near another zero do not. A factor that is known to
    be positive, as exp(-exp(-x)), has no zero however far it underflows: only the others are looked at.
    """
    signed = Mul(*(factor for factor in Mul.make_args(kernel) if not factor.is_positive))
    if signed is S.One:
        return True
    apart = uncancelled(signed, lambda y: erfc(-y, evaluate=False))
    apart = logs_of_one_more(apart, lambda u: 2 * atanh(u / (u + 2)))
    fixed = apart.subs({s: Rational(v) for s, v in values.items()})

    def at(point: Expr) -> Expr:
        return fixed.subs(x, point).evalf(30)

    lowest, *sides = (at(Rational(float(point))) for point in (place, around[0], around[-1]))
    if all(value.is_comparable for value in (lowest, *sides)) and lowest > max(1e-9 * min(sides), NOTHING):
        return True
    return abs(place) < 1e-6 and at(S.Zero) == 0 and all(at(side * step) > 0 for side in (-1, 1) for step in NEIGHBOURS)
