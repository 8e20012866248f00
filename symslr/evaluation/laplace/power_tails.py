"""Laplace forms under token laws with a power tail and a kernel that grows exponentially, in float64.

Here the outer integrand itself has a power tail in v = log u: exp(-u kappa) cuts the tokens where kappa = 1/u, and for kappa =
exp(a x) that place moves as -v/a into the tail of the law. Both variables therefore run on meshes with algebraic reach,
v = v_0 + width sinh t, and every v has a token mesh of its own with one centre at its cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.laplace.code import Family, Moments, log_near_one
from symslr.evaluation.laplace.floats import FloatSums, FloatTable
from symslr.evaluation.laplace.rule import Outer
from symslr.evaluation.laplace.survey import bends
from symslr.evaluation.laplace.table import TINY, Table, joined_moments
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.quadrature.mesh import SinhMap, Stretch, apart
from symslr.evaluation.quadrature.scan import scan

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
PLACES = np.sinh(np.linspace(-50.0, 50.0, 4001))
"""Tokens to which log kappa is seen, on both sides."""
WITHIN = 101
"""Tokens of a law's window at which rounding is measured."""
BISECTIONS = 64
"""Of arcsinh(x) within +-60: to the last bit of a float64 number."""


def has_power_tail(family: Family) -> bool:
    """Whether some token law has a power tail on a side where log kappa is no longer a logarithm itself."""
    if all(family.are_gaussian):
        return False
    code, far = family.code, np.array([-FURTHER, -FAR, FAR, FURTHER])
    for k, (low, high) in enumerate(family.constants.ends):
        ends = np.isinf([float(low), float(high)])
        slopes, exponents, rests = code.weights(k, np.clip(far, float(low), float(high)), family.p)
        moves = np.abs(slopes[:, [0, 3]] - slopes[:, [1, 2]])
        exponential = ends & np.any(~(moves < EXPONENTIAL), axis=0)
        if not exponential.any():
            continue
        rows = exponents + np.log(np.abs(rests))
        q = _powers(rows, slopes[0])[:, None]
        seen = float(np.nanmax(np.abs(slopes[0]))) * FLOAT.eps < SEEN
        rows = np.where(q == 0, rows, rows - q * slopes[0])
        fall = np.array([rows[:, 1] - rows[:, 0], rows[:, 2] - rows[:, 3]]).T / np.log(FURTHER / FAR)
        if np.any(((q == 0) | seen) & exponential & (fall > 1.0) & (fall < STEEPEST_POWER)):
            return True
    return False


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
    """Of one kernel: peaks and widths of the laws under it, and half the window of the tokens."""

    centres: Any
    widths: Any
    reach: float


class TailSums(FloatSums):
    """The integrals of a form with power tails: every outer node has token meshes of its own.

    A bend of a kernel, as of log(1 + e^{a x}) at 0, takes a few nats of v between nodes that lie many apart, and 1/a of x between
    nodes that crowd elsewhere: no error is claimed to be smaller than twice what another mesh changes.

    Raises:
        CannotEvaluate: for other than one Laplace variable and monotone kernels without kinks on the whole line, or where a
            law has no window.
    """

    is_geometric = False

    def _laid_out(self, family: Family) -> tuple[list[SinhMap], list[float], float]:
        form = family.form
        if len(form.logs) > 1 or any(form.kinks) or not np.all(np.isinf(np.array(family.constants.ends, float))):
            raise CannotEvaluate(REFUSED)
        self.laws = [_laws(family, k) for k in range(len(form.kernels))]
        axis = _axis(family, self.laws)
        return [axis], [FIRST_STEP * axis.scale], 1.0

    def inner(self, level: float) -> float:
        return FIRST_STEP / 2.0 ** (level - 1.0)

    def table(self, outer: Outer, inner: float, rules: int = 1) -> FloatTable:
        return FloatTable(self, TailTable(self.family, self.laws, outer.v, inner, rules), outer.density)


def _laws(family: Family, k: int) -> Laws:
    far = np.array([-FURTHER, -FAR, FAR, FURTHER])
    slopes, exponents, rests = family.code.weights(k, far, family.p)
    powers = _powers(exponents + np.log(np.abs(rests)), slopes[0])
    windows = []
    for row, q in enumerate(powers):

        def log_weight(x: Any, row: int = row, q: float = q) -> Any:
            slopes, exponents, rests = family.code.weights(k, x, family.p)
            values = exponents[row] + np.log(np.abs(rests[row])) - (q * slopes[0] if q else 0.0)
            return np.where(np.abs(q * slopes[0]) * FLOAT.eps > SEEN, -np.inf, values) if q else values

        window = scan(log_weight, -np.inf, np.inf, family.depth)
        if window is None:
            raise CannotEvaluate("a token integral has a weight that vanishes everywhere")
        windows.append(window)
    slope = family.code.slopes(k, PLACES, family.p)[0]
    moves = np.diff(slope[np.isfinite(slope)])
    if not (np.all(moves >= 0) or np.all(moves <= 0)):
        raise CannotEvaluate(REFUSED)
    found: list[tuple[float, float]] = []
    for window in sorted(windows, key=lambda w: w.width):
        if all(abs(window.peak - centre) > width for centre, width in found):
            found.append((window.peak, window.width / 2))
    centres, widths = np.array(found).T
    return Laws(centres, widths, 4.0 * max(max(abs(w.low), abs(w.high)) for w in windows))


def _axis(family: Family, laws: list[Laws]) -> SinhMap:
    """v = centre + width sinh t around the places where u kappa is 1 at the peaks of the laws."""
    own = laws[0]
    slopes = -_slope(family, 0, np.concatenate([own.centres - own.widths, own.centres + own.widths]))
    slopes = slopes[np.isfinite(slopes)]
    if not len(slopes):
        raise CannotEvaluate("a Laplace variable multiplies nothing: the integral over it does not converge")
    centre, width = float(np.median(slopes)), max(1.0, float(np.ptp(slopes)) / 2)
    ends = -_slope(family, 0, np.array([-own.reach, own.reach]))
    furthest = max(float(np.max(np.abs(np.where(np.isfinite(ends), ends, 0.0) - centre))), 100.0 * width)
    furthest = min(furthest, FURTHEST)
    axis = SinhMap(centre - furthest, centre + furthest, (centre,), (width,))
    v, density, _ = axis.nodes(axis.length / LOOKS)
    table = TailTable(family, laws, [v], 2 * FIRST_STEP)
    mass = np.abs(family.sums(family.values(table.grid, table.moments)[0])[:, 0]).max(axis=0) * density
    keep = np.flatnonzero(mass > np.max(mass) * np.exp(-family.depth))
    axis = replace(axis, low=float(v[max(keep[0] - 1, 0)]), high=float(v[min(keep[-1] + 1, len(v) - 1)]))
    (offset,) = family.code.offsets(family.p)
    places = apart([*([-float(np.log(offset))] if offset > 0 else []), *bends(PLACES, _slope(family, 0, PLACES))])
    more = tuple(place for place in places if axis.low < place < axis.high)[:MOST_BENDS]
    return replace(axis, centres=(centre, *more), widths=(width, *(1.0 for _ in more)))


def _slope(family: Family, k: int, x: Any) -> Any:
    slope = family.code.slopes(k, x, family.p)[0]
    return np.where(np.isnan(slope), -np.inf, slope)


def _cuts(family: Family, k: int, v: Any, reach: float) -> tuple[Any, Any]:
    """Where v + log kappa(x) = 0, and over which width it moves by one."""
    low = np.full(len(v), -np.arcsinh(reach))
    high = -low
    rising = bool(np.diff(_slope(family, k, np.array([-1.0, 1.0])))[0] > 0)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        beyond = (v + _slope(family, k, np.sinh(middle)) > 0) == rising
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    y, near = (low + high) / 2, 1e-4
    moved = np.abs(_slope(family, k, np.sinh(y + near)) - _slope(family, k, np.sinh(y - near)))
    width = np.abs(np.sinh(y + near) - np.sinh(y - near)) / np.maximum(moved, TINY)
    return np.sinh(y), np.clip(width, 1e-6, reach)


class TailTable(Table):
    """Moments at outer nodes, each of which has token meshes of its own with a ``step``."""

    def __init__(self, family: Family, laws: list[Laws], v: list[Any], step: float, rules: int = 1) -> None:
        nodes = sum(6.0 * np.log(own.reach) for own in laws) / step
        if nodes * len(v[0]) > MOST_NODES:
            raise OutOfDigits("the token meshes of a power tail are too large for float64")
        self.family, self.laws, self.v, self.step, self.rules, self.shape = family, laws, v, step, rules, (len(v[0]),)
        self.blocks = np.array_split(v[0], max(1, int(np.ceil(nodes * len(v[0]) / BLOCK))))

    @cached_property
    def moments(self) -> Moments:
        return joined_moments([own for own, _ in self._found])

    @cached_property
    def _found(self) -> list[tuple[Moments, Any]]:
        return [self._block(block) for block in self.blocks]

    def lost(self) -> Any:
        return np.concatenate([lost for _, lost in self._found], axis=1)

    def roundings(self) -> list[Any]:
        """A place v + log kappa(x) = 0 in the tail is known to a rounding of v; of the rest the worst in the law's window."""
        family, found = self.family, [np.abs(self.v[0])] * len(self.family.form.moments)
        for k, own in enumerate(self.laws):
            within = (own.centres[:, None] + own.widths[:, None] * np.linspace(-1.0, 1.0, WITHIN)).ravel()
            slopes, weights = family.code.shaken(k, np.sort(within), family.p)
            for i, shaken in zip(family.moments_of[k], weights):
                found[i] = found[i] + 16.0 + np.max(shaken) + max(float(np.max(slope)) for slope in slopes)
        return found

    def _block(self, v: Any) -> tuple[Moments, Any]:
        """The moments, and what the ends of the meshes leave out (moments, outer nodes)."""
        family, count = self.family, len(self.family.form.moments)
        found, lost = Moments.zeros(count, (self.rules, len(v))), np.zeros((count, len(v)))
        for k, own in enumerate(self.laws):
            cut, width = _cuts(family, k, v, own.reach)
            centres = np.column_stack([np.tile(own.centres, (len(v), 1)), cut])
            widths = np.column_stack([np.tile(own.widths, (len(v), 1)), width])
            mesh = Stretch(centres, widths).mesh(own.reach, self.step)
            shape = mesh.nodes.shape
            slopes, exponents, rests = family.code.weights(k, mesh.nodes.ravel(), family.p)
            load = np.exp(v[:, None] + np.where(np.isnan(slopes[0]), -np.inf, slopes[0]).reshape(shape))
            for i, exponent, rest in zip(family.moments_of[k], exponents, rests):
                moment = family.form.moments[i]
                height = float(family.constants.gaussians[i][2]) if moment.gaussian is not None else 0.0
                row, rest = (exponent + height).reshape(shape), rest.reshape(shape)
                size = row - load + np.log(np.abs(rest))
                size = np.where(np.isnan(size), -np.inf, size)
                top = np.max(size, axis=-1)
                density = np.exp(size - top[:, None]) * np.sign(rest)
                mass = density * mesh.weights
                # Beyond its last node a power tail of at least x^-(1 + 1/2) holds twice its density times its distance.
                gap = 2.0 * own.reach * (np.abs(density[:, 0]) + np.abs(density[:, -1]))
                lost[i] = gap / np.maximum(np.sum(np.abs(mass), axis=-1), TINY)
                found.means[i], found.scales[i] = self._nested(mass), np.broadcast_to(top, (self.rules, len(v)))
                if moment.is_survival:
                    gone = self._nested(np.exp(row) * rest * -np.expm1(-load) * mesh.weights)
                    whole = np.log(np.maximum(found.means[i], TINY)) + top
                    found.logs[i] = log_near_one(gone, whole)
        return found, lost

    def _nested(self, mass: Any) -> Any:
        """Sums over the mesh and over those with twice and four times its step, (rules, rows)."""
        return np.array([np.sum(mass[:, :: 2**n], axis=-1) * 2**n for n in range(self.rules)])


REFUSED = (
    "a token law with a power tail under a kernel that grows or falls exponentially is evaluated in float64 for one normaliser "
    "and a monotone kernel without kinks on the whole line; found another (one that moves as a power of x far out, as p1/p0 does, "
    "has no such limits)"
)
