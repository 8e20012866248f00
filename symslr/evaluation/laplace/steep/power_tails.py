"""Laplace forms under token laws with a power tail and a kernel that grows exponentially, in float64.

Here the outer integrand itself has a power tail in v = log u: exp(-u kappa) cuts the tokens where kappa = 1/u, and for kappa =
exp(a x) that place moves as -v/a into the tail of the law. Both variables therefore run on meshes with algebraic reach,
v = v_0 + width sinh t, and every v has a token mesh of its own with one centre at its cut. Tokens on a half line, and those
between places where the kernel turns or has a kink, are unfolded to a whole one first, s: what is said of centres, cuts and
windows is said of s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.laplace.code import Family, Moments, log_near_one
from symslr.evaluation.laplace.floats import FloatSums, FloatTable
from symslr.evaluation.laplace.rule import Outer
from symslr.evaluation.laplace.survey import VANISHING_KERNEL, bends
from symslr.evaluation.laplace.table import TINY, Table, joined_moments
from symslr.evaluation.laplace.tokens import extrema
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.quadrature.mesh import ArsinhSumMap, Mesh, SinhMap, well_separated
from symslr.evaluation.quadrature.scan import Window, scan
from symslr.evaluation.quadrature.token_mesh import changes_of_sign, kinks_between
from symslr.evaluation.quadrature.unfolded import Unfolded

FAR, FURTHER = 1e6, 1e12
"""Tokens between which tails are told apart."""
STEEPEST_POWER = 60.0
"""A density that falls faster than with this power is no power tail."""
SEEN = 0.01
"""Rounding of a logarithm up to which it is still told from others."""
EXPONENTIAL = 1e3
"""log kappa moves by less between the two far tokens where kappa is algebraic."""
FIRST_STEP = 0.22
"""Of t, and of the token meshes, to begin with."""
FURTHEST = 0.1 / FLOAT.eps
"""Largest |log u|: beyond, sums of it and of log kappa are rounded by more than a tenth; a tail 1/v^2 leaves 1e-15 there."""
LOOKS = 200
"""Values of v at which its window is looked for."""
MOST_BENDS = 4
"""Of log kappa, around which nodes lie a few tenths apart."""
BLOCK = 200_000
"""Numbers in one array: what stays in the cache."""
MOST_NODES = 40_000_000
"""Of all token meshes of one table: some seconds."""
HIGHEST = 50.0
PLACES = np.sinh(np.linspace(-HIGHEST, HIGHEST, 4001))
"""Tokens to which log kappa is seen, on both sides."""
ROUNDED, MOST_TURNS = 1e-13, 4
"""A move of log kappa that may be rounding; and how often a kernel may turn."""
SLOWEST = 0.2
"""A power by which less and less of a law is left beside an end, at the smallest: of d^(1/10), at 1e-40 there is 1e-4."""
WITHIN = 101
"""Tokens of a law's window at which rounding is measured."""
BISECTIONS = 64
"""Of arcsinh(x) within +-60: to the last bit of a float64 number."""


def has_power_tail(family: Family) -> bool:
    """Whether some token law has a power tail on a side where log kappa is no longer a logarithm itself."""
    if all(family.are_gaussian):
        return False
    for k in range(len(family.form.kernels)):
        ends = np.isinf(np.array(family.constants.ends[k], float))
        slopes, rows = _far_out(family, k)
        moves = np.abs(slopes[:, [0, 3]] - slopes[:, [1, 2]])
        exponential = ends & np.any(~(moves < EXPONENTIAL), axis=0)
        if not exponential.any():
            continue
        q = _powers(rows, slopes[0])[:, None]
        sizes = np.abs(slopes[0][np.repeat(ends, 2)])
        seen = float(np.max(sizes, where=~np.isnan(sizes), initial=0.0)) * FLOAT.eps < SEEN
        rows = np.where(q == 0, rows, rows - q * slopes[0])
        fall = np.array([rows[:, 1] - rows[:, 0], rows[:, 2] - rows[:, 3]]).T / np.log(FURTHER / FAR)
        if np.any(((q == 0) | seen) & exponential & (fall > 1.0) & (fall < STEEPEST_POWER)):
            return True
    return False


def _far_out(family: Family, k: int) -> tuple[Any, Any]:
    """log kappa, ... and the logs of the moments' weights at far tokens, two on either side, or at an end."""
    low, high = family.constants.ends[k].tolist()
    far = np.clip(np.array([-FURTHER, -FAR, FAR, FURTHER]), float(low), float(high))
    slopes, exponents, rests = family.code.weights(k, far, family.p)
    return slopes, exponents + np.log(np.abs(rests))


def _powers(rows: Any, slope: Any) -> Any:
    """q of weights kappa^q p, from where kappa grows or falls exponentially (the first or the last two far tokens)."""
    found = np.zeros(len(rows))
    for i, j in ((1, 0), (2, 3)):
        move, risen = slope[j] - slope[i], rows[:, j] - rows[:, i]
        if np.isfinite(move) and abs(move) > EXPONENTIAL:
            found = np.where(np.isfinite(risen), np.rint(risen / move), found)
    return found


@dataclass(frozen=True, slots=True)
class Laws:
    """Of one kernel on an interval: how it is unfolded, and on the line of s peaks and widths of the laws under it, half the window
    of the tokens, and whether the kernel rises.

    ``left`` are (moments, ends): what lies beyond a place near an end of s, in units of the density there times its distance.
    """

    line: Unfolded
    centres: Any
    widths: Any
    reach: float
    rises: bool
    left: Any

    @property
    def within(self) -> Any:
        """Tokens of the laws' windows."""
        return self.line.places((self.centres[:, None] + self.widths[:, None] * np.linspace(-1.0, 1.0, WITHIN)).ravel())

    def ends_of_v(self, family: Family, k: int) -> list[float]:
        """v = -log kappa at the finite ends, where kappa is not 0: the integrands bend there within steps of order one."""
        s = self.reach * np.array([-1.0, -0.1, 0.1, 1.0])
        first, second, third, last = (-_slope(family, k, self.line.places(s))).tolist()
        known = ((self.line.low, first, second), (self.line.high, last, third))
        return [one for end, one, other in known if np.isfinite(end) and abs(one - other) < 1.0]


class TailSums(FloatSums):
    """The integrals of a form with power tails: every outer node has token meshes of its own.

    A bend of a kernel, as of log(1 + e^{a x}) at 0, takes a few nats of v between nodes that lie many apart, and 1/a of x between
    nodes that crowd elsewhere: no error is claimed to be smaller than twice what another mesh changes.

    Raises:
        CannotEvaluate: for other than one Laplace variable, kernels that turn too often or are 0 somewhere, or where a law has no
            window.
    """

    is_geometric = False

    def __init__(self, family: Family) -> None:
        self.family, self.tolerance, self.largest, form = family, family.tolerance, np.inf, family.form
        if len(form.logs) > 1:
            raise CannotEvaluate(REFUSED)
        self.laws = [_laws(family, k) for k in range(len(form.kernels))]
        axis = _axis(family, self.laws)
        self.axes, self.steps, self.level = [axis], [FIRST_STEP * axis.scale], 1.0

    def inner(self, level: float) -> float:
        return FIRST_STEP / 2.0 ** (level - 1.0)

    def table(self, outer: Outer, inner: float, rules: int = 1) -> FloatTable:
        return FloatTable(self, TailTable(self.family, self.laws, outer.v, inner, rules), outer.density)


def _laws(family: Family, k: int) -> list[Laws]:
    """On every interval on which a kernel is monotone and without kinks, and some token is."""
    slopes, rows = _far_out(family, k)
    powers, found = _powers(rows, slopes[0]), []
    for low, high in pairwise(_cuts_of_line(family, k)):
        line = Unfolded(low, high)
        if np.all(family.code.slopes(k, line.places(PLACES), family.p)[0] == -np.inf):
            raise CannotEvaluate(REFUSED)
        if len(line.ends) == 1:  # of the size of the distances from the end at which tokens are
            own = _windows(family, k, powers, lambda t, line=line: (line.beside(np.exp(t)), t))
            line = replace(line, width=min((float(np.exp(window.peak)) for window in own), default=1.0))
        windows = _windows(family, k, powers, lambda s, line=line: (line.places(s), np.log(line.density(s))))
        if not windows:
            continue
        places = [(window.peak, window.width / 2) for window in sorted(windows, key=lambda w: w.width)]
        kept: list[tuple[float, float]] = []
        for peak, width in [*places, (0.0, line.width)] if line.ends else places:
            if all(abs(peak - centre) > own for centre, own in kept):
                kept.append((peak, width))
        centres, widths = np.array(kept).T
        reach = 4.0 * max(max(abs(w.low), abs(w.high)) for w in windows)
        slope = family.code.slopes(k, line.places(line.width * PLACES), family.p)[0]
        rises = bool(np.sum(np.diff(slope[np.isfinite(slope)])) > 0)
        found.append(Laws(line, centres, widths, reach, rises, _left(family, k, line, reach)))
    if not found:
        raise CannotEvaluate("a token integral has a weight that vanishes everywhere")
    return found


def _windows(family: Family, k: int, powers: Any, unfold: Any) -> list[Window]:
    """Of the moments' weights without their powers of kappa, for x and log dx of a variable on the line."""
    found = []
    for row, q in enumerate(powers):

        def log_weight(s: Any, row: int = row, q: float = q) -> Any:
            x, log_density = unfold(s)
            slopes, exponents, rests = family.code.weights(k, x, family.p)
            values = exponents[row] + np.log(np.abs(rests[row])) - (q * slopes[0] if q else 0.0) + log_density
            return np.where(np.abs(q * slopes[0]) * FLOAT.eps > SEEN, -np.inf, values) if q else values

        found.append(scan(log_weight, -np.inf, np.inf, family.depth))
    return [window for window in found if window is not None]


def _left(family: Family, k: int, line: Unfolded, reach: float) -> Any:
    """``Laws.left`` from how slowly weights fall at the ends: 1/q where it is as s^-(q + 1), and 2 at least."""
    last = np.minimum(reach, line.resolved_reach / 16.0)
    s = np.array([-last[0], -last[0] / 16.0, last[1] / 16.0, last[1]])
    _, exponents, rests = family.code.weights(k, line.places(s), family.p)
    rows = exponents + np.log(np.abs(rests)) + np.log(line.density(s)) + np.log(np.abs(s))
    fall = (rows[:, [1, 2]] - rows[:, [0, 3]]) / np.log(16.0)
    is_slow = (fall > 0.0) & (fall < 0.5)
    if np.any(is_slow & (fall < SLOWEST) & np.isfinite([line.low, line.high])):
        raise CannotEvaluate(
            f"a density that grows faster than with the power {SLOWEST - 1:g} of the distance from an end has too many tokens "
            "there for float64; expected a slower one"
        )
    return np.where(is_slow, 1.0 / fall, 2.0)


def _cuts_of_line(family: Family, k: int) -> list[float]:
    """Both ends of the tokens' interval, and between them the places where the kernel or a weight has a kink, or the kernel turns.

    Raises:
        CannotEvaluate: where it turns too often.
    """
    code, (low, high) = family.code, [float(end) for end in family.constants.ends[k]]
    line = Unfolded(low, high)
    exact = [own for own in code.kinks[k] if own[0] is not None]
    found = [place for place in kinks_between(exact, family.p, low, high) if low < place < high]
    for _, equation in (own for own in code.kinks[k] if own[0] is None):
        heights = changes_of_sign(lambda y, f=equation: f(line.places(np.sinh(y)), *family.p)[0], -HIGHEST, HIGHEST)
        found += line.places(np.sinh(np.array(heights))).tolist()
    kinks = sorted({low, *found, high})
    return sorted({*kinks, *(place for ends in pairwise(kinks) for place in _turns(family, k, Unfolded(*ends)))})


def _turns(family: Family, k: int, line: Unfolded) -> list[float]:
    """Where log kappa has an extremum inside an interval."""

    def log_kernel(s: Any) -> Any:
        return family.code.slopes(k, line.places(s.ravel()), family.p)[0].reshape(s.shape)

    slope = log_kernel(PLACES)
    s, slope = PLACES[np.isfinite(slope)], slope[np.isfinite(slope)]
    moves = np.diff(slope)
    moves = np.sign(moves) * (np.abs(moves) > ROUNDED * (1.0 + np.abs(slope[1:])))
    steps = np.flatnonzero(moves)
    before = np.flatnonzero(moves[steps[1:]] * moves[steps[:-1]] < 0)
    if len(before) > MOST_TURNS:
        raise CannotEvaluate(REFUSED)
    return line.places(
        extrema(log_kernel, s[steps[before]], s[steps[before + 1] + 1], moves[steps[before]][:, None])
    ).tolist()


def _axis(family: Family, laws: list[list[Laws]]) -> SinhMap:
    """v = centre + width sinh t around the places where u kappa is 1 at the peaks of the laws."""
    own = laws[0]
    beside = [one.line.places(np.concatenate([one.centres - one.widths, one.centres + one.widths])) for one in own]
    slopes = -_slope(family, 0, np.concatenate(beside))
    slopes = slopes[np.isfinite(slopes)]
    if not len(slopes):
        raise CannotEvaluate(VANISHING_KERNEL)
    centre, width = float(np.median(slopes)), max(1.0, float(np.ptp(slopes)) / 2)
    ends = -_slope(family, 0, np.concatenate([one.line.places(np.array([-one.reach, one.reach])) for one in own]))
    furthest = max(float(np.max(np.abs(np.where(np.isfinite(ends), ends, 0.0) - centre))), 100.0 * width)
    furthest = min(furthest, FURTHEST)
    axis = SinhMap(centre - furthest, centre + furthest, (centre,), (width,))
    v, density, _ = axis.nodes(axis.length / LOOKS)
    table = TailTable(family, laws, [v], 2 * FIRST_STEP)
    mass = np.abs(family.sums(family.values(table.grid, table.moments)[0])[:, 0]).max(axis=0) * density
    keep = np.flatnonzero(mass > np.max(mass) * np.exp(-family.depth))
    axis = replace(axis, low=float(v[max(keep[0] - 1, 0)]), high=float(v[min(keep[-1] + 1, len(v) - 1)]))
    (offset,) = family.code.offsets(family.p)
    places = [-float(np.log(offset))] if offset > 0 else []
    for k, pieces in enumerate(laws):
        for one in pieces:
            places += [
                *one.ends_of_v(family, k),
                *bends(PLACES, _slope(family, k, one.line.places(one.line.width * PLACES))),
            ]
    more = tuple(place for place in well_separated(places) if axis.low < place < axis.high)[:MOST_BENDS]
    return replace(axis, centres=(centre, *more), widths=(width, *(1.0 for _ in more)))


def _slope(family: Family, k: int, x: Any) -> Any:
    slope = family.code.slopes(k, x, family.p)[0]
    return np.where(np.isnan(slope), -np.inf, slope)


def _cuts(family: Family, k: int, v: Any, own: Laws) -> tuple[Any, Any]:
    """Where v + log kappa(x(s)) = 0, and over which width of s it moves by one."""

    def log_kernel(y: Any) -> Any:
        return _slope(family, k, own.line.places(np.sinh(y)))

    low = np.full(len(v), -np.arcsinh(own.reach))
    high = -low
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        is_below = (v + log_kernel(middle) > 0) == own.rises
        low, high = np.where(is_below, low, middle), np.where(is_below, middle, high)
    y, near = (low + high) / 2, 1e-4
    moved = np.abs(log_kernel(y + near) - log_kernel(y - near))
    width = np.abs(np.sinh(y + near) - np.sinh(y - near)) / np.maximum(moved, TINY)
    return np.sinh(y), np.clip(width, 1e-6, own.reach)


class TailTable(Table):
    """Moments at outer nodes, each of which has token meshes of its own with a ``step``."""

    def __init__(self, family: Family, laws: list[list[Laws]], v: list[Any], step: float, rules: int = 1) -> None:
        nodes = sum(6.0 * np.log(own.reach) for pieces in laws for own in pieces) / step
        if nodes * len(v[0]) > MOST_NODES:
            raise OutOfDigits("the token meshes of a power tail are too large for float64")
        self.family, self.laws, self.v, self.step, self.rules, self.shape = family, laws, v, step, rules, (len(v[0]),)
        self.blocks = np.array_split(v[0], min(len(v[0]), max(1, int(np.ceil(nodes * len(v[0]) / BLOCK)))))

    @cached_property
    def moments(self) -> Moments:
        return joined_moments([own for own, _, _ in self._found])

    @cached_property
    def _found(self) -> list[tuple[Moments, Any, Any]]:
        return [self._block(block) for block in self.blocks]

    def lost(self) -> Any:
        return np.concatenate([lost for _, lost, _ in self._found], axis=1)

    def roundings(self) -> list[Any]:
        """A place v + log kappa(x) = 0 in the tail is known to a rounding of v; of the rest the worst in the law's window.

        And the tokens beside an end that float64 does not tell from it.
        """
        family, at_ends = self.family, np.concatenate([untold for _, _, untold in self._found], axis=1)
        found = list(np.abs(self.v[0]) + at_ends / FLOAT.eps)
        for k, pieces in enumerate(self.laws):
            within = np.sort(np.concatenate([own.within for own in pieces]))
            slopes, weights = family.code.shaken(k, within, family.p)
            for i, shaken in zip(family.moments_of[k], weights):
                found[i] = found[i] + 16.0 + np.max(shaken) + max(float(np.max(slope)) for slope in slopes)
        return found

    def _block(self, v: Any) -> tuple[Moments, Any, Any]:
        """The moments, what the ends of the meshes leave out, and what is not told from an end of x, (moments, outer nodes)."""
        family, count = self.family, len(self.family.form.moments)
        found, (lost, untold) = Moments.zeros(count, (self.rules, len(v))), np.zeros((2, count, len(v)))
        for k, pieces in enumerate(self.laws):
            meshes = [self._mesh(k, own, v) for own in pieces]
            counts = np.cumsum([mesh.nodes.shape[1] for mesh in meshes])[:-1]
            x, log_densities = (
                np.concatenate([part(own.line, mesh.nodes) for own, mesh in zip(pieces, meshes)], axis=1)
                for part in (Unfolded.places, lambda line, s: np.log(line.density(s)))
            )
            weights, shape = np.concatenate([mesh.weights for mesh in meshes], axis=1), x.shape
            slopes, exponents, rests = family.code.weights(k, x.ravel(), family.p)
            load = np.exp(v[:, None] + np.where(np.isnan(slopes[0]), -np.inf, slopes[0]).reshape(shape))
            for n, (i, exponent, rest) in enumerate(zip(family.moments_of[k], exponents, rests)):
                moment = family.form.moments[i]
                height = float(family.constants.gaussians[i][2]) if moment.gaussian is not None else 0.0
                row, rest = (exponent + height).reshape(shape) + log_densities, rest.reshape(shape)
                size = row - load + np.log(np.abs(rest))
                size = np.where(np.isnan(size), -np.inf, size)
                top = np.max(size, axis=-1)
                density = np.exp(size - top[:, None]) * np.sign(rest)
                mass = density * weights
                whole = np.maximum(np.sum(np.abs(mass), axis=-1), TINY)
                for own, mesh, one in zip(pieces, meshes, np.split(density, counts, axis=1)):
                    below, above = own.left[n] * own.reach
                    lost[i] += (below * np.abs(one[:, 0]) + above * np.abs(one[:, -1])) / whole
                    for factor, told, side in zip(own.left[n], own.line.resolved_reach, (-1.0, 1.0)):
                        near = np.abs(one) * (side * mesh.nodes > told)
                        untold[i] += factor * np.sum(near * mesh.weights, axis=-1) / whole
                found.means[i], found.scales[i] = self._nested(mass, counts), np.broadcast_to(top, (self.rules, len(v)))
                if moment.is_survival:
                    gone = self._nested(np.exp(row) * rest * -np.expm1(-load) * weights, counts)
                    known = np.log(np.maximum(found.means[i], TINY)) + top
                    found.logs[i] = log_near_one(gone, known)
        return found, lost, untold

    def _mesh(self, k: int, own: Laws, v: Any) -> Mesh:
        """Of s, with a centre at the cut, (outer nodes, nodes)."""
        cut, width = _cuts(self.family, k, v, own)
        centres = np.column_stack([np.tile(own.centres, (len(v), 1)), cut])
        widths = np.column_stack([np.tile(own.widths, (len(v), 1)), width])
        return ArsinhSumMap(centres, widths).mesh(own.reach, self.step)

    def _nested(self, mass: Any, counts: Any) -> Any:
        """Sums over the meshes and over those with twice and four times their steps, (rules, rows)."""
        parts = np.split(mass, counts, axis=1)
        return np.array([sum(np.sum(one[:, :: 2**n], axis=-1) for one in parts) * 2**n for n in range(self.rules)])


REFUSED = (
    "a token law with a power tail under a kernel that grows or falls exponentially is evaluated in float64 for one normaliser "
    f"and a kernel that turns at most {MOST_TURNS} times between its kinks and is 0 on no interval; found another (one that moves "
    "as a power of x far out, as p1/p0 does, has no such limits)"
)
