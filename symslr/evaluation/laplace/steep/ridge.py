"""Integrals over Laplace variables along the ridge that a steep exponential kernel makes of it: token meshes of their own there.

Where a weight e^(nu x) and a kernel are both steep their product mesh is nearly empty, as what counts lies along a ridge of width
1/nu. With t = e^(-nu y) the integral over u is smooth in y on the scale of the tokens, y being the largest x + g/nu, g of Gumbel's
law. Its window in log u moves with y, and so do the tokens, which crowd at y, where their weights bend: every y has nodes of its
own, and the refinement loop takes both axes. So it is with the variable of a steep exponential kernel alone; then an offset
exp(-u o) goes from 0 to 1 within 1/rate of one y, and y = that one + sinh(rate w)/rate. Where a kernel bends, the axis is cut.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from math import log
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from symslr.evaluation.errors import CannotEvaluate, TooDear
from symslr.evaluation.laplace.code import Family, Moments
from symslr.evaluation.laplace.floats import FloatSums, FloatTable
from symslr.evaluation.laplace.rule import WIDER, Outer, refined
from symslr.evaluation.laplace.steep.iterated import VANISHES, Iterated
from symslr.evaluation.laplace.survey import first_steps, layout
from symslr.evaluation.laplace.table import TINY, Table
from symslr.evaluation.laplace.tokens import pieces, weighed
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.quadrature.mesh import ArsinhSumMap, Mesh, Piece, Sinh, SinhMap, TanhSinh, nested_weights
from symslr.evaluation.quadrature.scan import converged_windows
from symslr.evaluation.quadrature.token_mesh import kinks_between

STEEPEST = 1e8
"""Largest rate of an exponential of x: what x - y is rounded by moves it by 1e-8 of itself then, which the error counts. At 10^10
a risk of 0.29 was 1."""
FINEST = 1e-12
"""Relative error aimed at, at best: below it the rounding of x - y decides."""
LAYOUTS, LOOKS = 7, 24
"""Values of y at which the others' windows are looked for, and of either axis by which all are found."""
FINEST_LOOK, ALIKE = 8.0, 1.0
"""The finest level of the token meshes meanwhile: coarser ones do where a finer one changes no logarithm by so much."""
FIRST_STEPS, FIRST_LEVEL = 32, 2.0
"""Steps of y, and the level of the token meshes, to begin with. No power of the last change is claimed, as a step of a weight
where hardly a largest token lies is hidden by all that lies elsewhere: 1 + tanh(117 x/5) at L = 32, nu = 326.4 was off by 39
claims."""
NOWHERE = -1e12
"""log u of a variable that is 0, where none is left."""
STEP = 0.25
"""Of the tokens at level 0, in asinh(rate (x - y))."""
LONG = 6.8
"""w of a double exponential rule goes over so much in float64."""
GUESSES = 4
"""Of the window of y: where it is found elsewhere, tokens are looked for there."""
NEAREST = 1e-6
"""The nearest tokens to 0 at which a kernel's steepness is looked at."""
LARGEST, MOST, BLOCK, SHARED = 1.5e8, 6e8, 3e5, 8.0
"""Numbers in one table, a second, and where steep bends need more, seconds; of those made at once; an exponential in
products."""
SEARCHED, POOR = 1e-8, 1e-7
"""Tolerance above which a value is one of a search, and seconds for it are too dear; a relative error that is worse than such a
value's. 1 + |x| at L = 10, nu = 60, scale 30 had 0.25 to 12 digits, and has 1e-9 to 8 in as much time."""
COUNTS = 1e-4
"""Part of the largest integrand at a y from where on its rounding is looked at."""


def integrals(way: Iterated, family: Family) -> list[tuple[float, float]]:
    """(value, error) of every integral of a family of the whole form.

    Where tables for many digits are too large before they have as many as a search needs, tables for these are made.

    Raises:
        CannotEvaluate: where they have no window, or the exponential is too steep.
    """
    if way.rate(family.p) > STEEPEST:
        raise CannotEvaluate("a kernel or a weight is too steep for float64; ask for a smaller scale or signal")
    found = refined(RidgeSums(way, family))
    if family.tolerance >= SEARCHED or all(error <= POOR * abs(value) for value, error in found):
        return found
    coarse = refined(RidgeSums(way, Family(family.code, family.p, -log(SEARCHED))))
    return [min(pair, key=itemgetter(1)) for pair in zip(found, coarse)]


@dataclass(frozen=True, slots=True)
class CutAxis:
    """An axis cut at places where an integrand is not smooth, with double exponential rules between them."""

    edges: tuple[float, ...]
    widths: ClassVar[tuple[float, ...]] = ()

    @property
    def low(self) -> float:
        return self.edges[0]

    @property
    def high(self) -> float:
        return self.edges[-1]

    @property
    def length(self) -> float:
        """Of one piece, in w."""
        return LONG

    def nodes(self, step: float) -> tuple[Any, Any, float]:
        """(v, dv/dw, step of w), of a number of pieces with a multiple of four nodes each."""
        made = [TanhSinh(*ends, step).mesh(FLOAT, 0.0) for ends in pairwise(self.edges)]
        exact = float(made[0].weights.max()) / (np.pi / 4.0) / (self.edges[1] - self.edges[0])
        nodes, weights = (
            np.concatenate([own[:-1] for own in column]) for column in zip(*((m.nodes, m.weights) for m in made))
        )
        return nodes, weights / exact, exact


class RidgeSums(FloatSums):
    """The integrals over y, and over the other variable where there is one, its logarithm counted from where it lives at y.

    Attributes:
        cuts: where tokens, and y, have kinks.
        is_shared: whether the other variable is counted from 1/kappa(y): exp(-u kappa) depends on x - y alone then.

    Raises:
        CannotEvaluate: where they have no window, or tokens reach far.
    """

    def __init__(self, way: Iterated, family: Family) -> None:
        self.way, self.whole, self.largest = way, family, np.inf
        self.tolerance = max(family.tolerance, FINEST)
        self.level = FIRST_LEVEL
        low, high = way.guess(family)
        for _ in range(GUESSES):
            self.axes, self.steps = self._windows(low, high)
            own = self.axes[0]
            if low <= own.low and own.high <= high:
                break
            low, high = min(low, own.low), max(high, own.high)

    def _windows(self, low: float, high: float) -> tuple[list[Any], list[float]]:
        """The axes and their first steps; sets the tokens' window and cuts, and where the other variable lives."""
        nats, looks = -float(np.log(self.tolerance)), np.linspace(low, high, LAYOUTS).tolist()
        families = [Family(self.way.code, (*self.whole.p, y), nats) for y in looks]
        self.family = families[LAYOUTS // 2]
        self.steepest = max(self.way.rate(self.whole.p), float(abs(self.family.constants.exponentials[0][1])))
        own: list[Family] = []
        made: list[Piece] = []
        for family in families:
            try:
                (found,) = pieces(family, [(NOWHERE,)])
            except CannotEvaluate:  # where hardly a token comes, every weight may vanish
                continue
            own.append(family)
            made += found
        if not own:
            raise CannotEvaluate(VANISHES)
        ends = [(piece.low, piece.high) for piece in made if isinstance(piece, TanhSinh)]
        if len(ends) < len(made):
            raise CannotEvaluate(
                "one Laplace variable is integrated after another for token laws with light tails alone"
            )
        self.reach = min(low for low, _ in ends), max(high for _, high in ends)
        kinks = kinks_between(self.way.whole.kinks[0], self.whole.p, *self.reach)  # of a kernel or a weight
        self.cuts = [kink for kink in kinks if self.reach[0] < kink < self.reach[1]]
        self.width = self._width()
        middle, rate = self.way.bend(self.whole.p)
        if np.isinf(middle) and self.width is not None:
            middle, rate = 0.0, 1.0 / self.width
        bent = SinhMap(low, high, (middle,), (1.0 / rate,)) if low < middle < high else SinhMap(low, high)
        first = [bent.ends, *([] if self.way.is_last else [self._begun(own)])]

        def seen(nodes: list[Any], level: float) -> tuple[Any, Any]:
            """Logarithms of all terms, and which of them count."""
            table = RidgeTable(self, [bent.places(nodes[0]), *nodes[1:]], level)
            sizes = np.array(table.family.logs(table.grid, table.moments))[:, 0]
            tops = np.fmax.reduce(sizes, axis=tuple(range(1, sizes.ndim)), keepdims=True)
            if not np.any(np.isfinite(tops)):
                raise CannotEvaluate(VANISHES)
            return sizes, sizes > tops - self.family.depth

        # tokens far from y stand between the nodes of a coarse mesh that crowd at y
        few, level = [np.linspace(*ends, LAYOUTS) for ends in first], FIRST_LEVEL - 1.0
        while level < FINEST_LOOK:
            (sizes, counts), (finer, _) = seen(few, level), seen(few, level + 1.0)
            if np.all(np.abs(finer - sizes)[counts] < ALIKE):
                break
            level += 1.0

        def look(nodes: list[Any]) -> tuple[Any, None]:
            return np.any(seen(nodes, level)[1], axis=0), None

        (along_w, *others), _ = converged_windows(look, first, LOOKS)
        low, high = bent.places(np.array(along_w)).tolist()
        cuts = [cut for cut in self.cuts if low < cut < high]
        along: Any = CutAxis((low, *cuts, high)) if cuts else replace(bent, low=low, high=high)
        steps = first_steps(self.family) if others else []
        return [along, *(SinhMap(*ends) for ends in others)], [along.length / FIRST_STEPS, *steps]

    def _begun(self, families: list[Family]) -> tuple[float, float]:
        """The window of the other variable's logarithm to begin with, beside ``starts`` of it at y."""
        rate = float(self.family.constants.exponentials[0][1])
        offset = float(np.delete(self.way.whole.offsets(self.whole.p), self.way.axis)[0])
        self.is_shared = rate != 0.0 and offset == 0.0 and not self.cuts
        if rate * self.way.signed_rate(self.whole.p) >= 0.0:
            least = np.log(offset)
            if rate == 0.0:
                seen = self._slope(np.linspace(families[0].p[-1], families[-1].p[-1], LOOKS))
                least = max(least, float(np.min(seen, where=np.isfinite(seen), initial=np.inf)))
            self.starts = lambda y: -np.logaddexp(self._slope(y), least)
            return -self.family.depth, float(np.log(self.family.depth))
        self.is_shared = False
        places, windows = [], []
        for family in families:
            family.integrals = [family.active]
            try:
                (axis,) = layout(family).axes
            except CannotEvaluate:
                continue
            places.append(family.p[-1])
            windows.append((axis.low, axis.high))
        if not windows:
            raise CannotEvaluate(VANISHES)
        middles = np.mean(windows, axis=1)
        self.starts = partial(np.interp, xp=places, fp=middles)
        half = float(np.max(np.array(windows)[:, 1] - middles))
        return -half, half

    def _slope(self, x: Any) -> Any:
        """log kappa of the other variable."""
        return self.family.code.slopes(0, x, self.family.p)[0]

    def _width(self) -> float | None:
        """Of what another kernel than an exponential does: a large scale moves it all towards 0."""
        if self.way.is_last or self.family.constants.exponentials[0][1] != 0.0:
            return None
        near = np.geomspace(NEAREST, max(map(abs, self.reach)), LOOKS * LOOKS)
        x = np.concatenate([-near[::-1], near])
        slope = self._slope(x)
        moves = np.abs(np.diff(slope) / np.diff(x))
        return 1.0 / max(float(np.max(moves, where=np.isfinite(moves), initial=0.0)), 1.0)

    def is_smooth(self, axis: int) -> bool:
        return False

    def widen(self, late: list[int]) -> None:
        self.axes = [replace(a, high=a.high + WIDER) if n in late and n > 0 else a for n, a in enumerate(self.axes)]

    def inner(self, level: float) -> float:
        return level

    def table(self, outer: Outer, inner: float, rules: int = 1) -> FloatTable:
        made = RidgeTable(self, outer.v, inner, rules)
        if outer.is_whole and self.largest == np.inf:  # where there is no other way, an answer may take longer
            is_dear = made.size > LARGEST and sum(self.way.whole.form.are_exponential) == 1
            self.largest = MOST if is_dear and self.tolerance < SEARCHED else LARGEST
        if made.size > self.largest:
            raise TooDear("the table of exponentials is too large for float64; ask for fewer digits")
        return FloatTable(self, made, outer.density)

    def meshes(self, y: Any, level: float) -> Mesh:
        """Of the tokens at every y, (y, tokens): those of steep weights crowd at y."""
        low, high = self.reach
        if self.cuts:
            ends = np.tile([low, *self.cuts, high], (len(y), 1))
            edges = np.sort(np.column_stack([ends, np.clip(y, low, high)]), axis=1)
            made = TanhSinh(0.0, 1.0).mesh(FLOAT, level)
            start, end, span, t = edges[:, :-1, None], edges[:, 1:, None], np.diff(edges)[:, :, None], made.nodes
            nodes = np.where(t < 0.5, start + span * t, end - span * t[::-1])
            return Mesh(nodes.reshape(len(y), -1), (span * made.weights).reshape(len(y), -1))
        if self.width is None:
            made = Sinh(0.0, 1.0 / self.steepest, float(np.arcsinh(self.steepest * (high - low))), STEP).mesh(
                FLOAT, level
            )
            return Mesh(y[:, None] + made.nodes, np.broadcast_to(made.weights, (len(y), len(made.nodes))))
        centres = np.column_stack([y, 0.0 * y])
        widths = np.broadcast_to([1.0 / self.steepest, self.width], centres.shape)
        return ArsinhSumMap(centres, widths).mesh(1.0 + max(map(abs, self.reach)), STEP / 2.0**level)

    def factors(self, count: int, rules: int) -> Any:
        """Of the weights in the rules with once, twice and four times the step, (rules, tokens)."""
        pieces_of = len(self.cuts) + 2 if self.cuts else 1
        return np.tile(nested_weights(rules, count // pieces_of), pieces_of)


class RidgeTable(Table):
    """The moments where every y has tokens, and values of the other variable, of its own."""

    def __init__(self, sums: RidgeSums, v: list[Any], level: float, rules: int = 1) -> None:
        self.sums, self.y, self.level, self.rules, self.shape = sums, v[0], level, rules, tuple(map(len, v))
        mesh = sums.meshes(v[0], level)
        self.nodes, self.weights = mesh.nodes, mesh.weights
        self.factors_of_rules = sums.factors(self.nodes.shape[1], rules)
        self.is_alone, self.is_shared = len(v) == 1, len(v) > 1 and sums.is_shared
        self.others = 1 if self.is_alone or self.is_shared else self.shape[1]
        self.size = self.nodes.size * max(self.others, float(np.prod(self.shape[1:])) / SHARED)
        self.family = copy(sums.family)
        self.family.p = (*sums.whole.p, v[0] if self.is_alone else v[0][:, None])
        self.logs = None
        if not self.is_alone:
            self.beside, self.starts = v[1], sums.starts(v[0])[:, None]
            self.logs = self.beside + self.starts

    @property
    def grid(self) -> list[Any]:
        return [np.full(self.shape, NOWHERE) if self.logs is None else self.logs]

    @cached_property
    def moments(self) -> Moments:
        step = max(1, int(BLOCK / (self.nodes.shape[1] * self.others)))
        parts = [self._block(slice(start, start + step)) for start in range(0, len(self.y), step)]
        means, scales = (np.concatenate(own, axis=2) for own in zip(*parts))
        means[np.abs(means) < TINY] = TINY  # of what underflows the logarithm is still a number
        return Moments(list(means), list(np.zeros_like(means)), list(scales))

    def _block(self, some: slice) -> tuple[Any, Any]:
        """Means and scales at some y: (moments, rules, y) and the other variable's values last, where there are any."""
        x = self.nodes[some]
        at = (*self.sums.whole.p, np.repeat(self.y[some], x.shape[1]))
        slopes, exponents, rests = self.family.code.weights(0, x.ravel(), at)
        exponents, rests = (part.reshape(-1, *x.shape) for part in (exponents, rests))
        known = np.where(np.isfinite(exponents), exponents, -np.inf)
        tops = known.max(axis=2, keepdims=True)
        tops[~np.isfinite(tops)] = 0.0
        rows = np.exp(known - tops) * rests * self.weights[some]
        rows[~np.isfinite(rows)] = 0.0
        if self.logs is None:
            means = (rows @ self.factors_of_rules.T).swapaxes(1, 2)
            return means, np.broadcast_to(tops.swapaxes(1, 2), means.shape)
        rows = rows[:, None] * self.factors_of_rules[:, None, :]
        loads = slopes[0].reshape(x.shape)
        if self.is_shared:
            means = rows @ np.exp(np.exp(self.beside)[:, None] * -np.exp(loads[0] + self.starts[some][0])).T
        else:
            factors = np.exp(self.beside)[None, :, None] * -np.exp(loads + self.starts[some])[:, None, :]
            means = np.exp(factors, out=factors) @ rows.reshape(-1, *x.shape).transpose(1, 2, 0)
            means = means.transpose(2, 0, 1).reshape(*rows.shape[:3], -1)
        return means, np.broadcast_to(tops[:, None], means.shape)

    @cached_property
    def _each(self) -> list[Table | None]:
        """Tables of every y alone, where it counts."""
        sizes = np.array(self.family.logs(self.grid, self.moments))[:, 0]
        highest = np.fmax.reduce(sizes.reshape(*sizes.shape[:2], -1), axis=2)
        counts = np.any(highest > np.fmax.reduce(highest, axis=1, keepdims=True) + np.log(COUNTS), axis=0)
        found: list[Table | None] = [None] * len(self.y)
        for n in np.flatnonzero(counts).tolist():
            own, y = copy(self.family), float(self.y[n])
            own.p = (*self.sums.whole.p, y)
            v = np.array([NOWHERE]) if self.logs is None else self.logs[n]
            found[n] = Table(own, [weighed(own, 0, Mesh(self.nodes[n], self.weights[n]))], [v])
        return found

    def roundings(self) -> Any:
        return self._of_each(lambda table: table.roundings())

    def lost(self) -> Any:
        return self._of_each(lambda table: table.lost())

    def _of_each(self, part: Any) -> Any:
        """What is told of the moments at every y that counts, and the worst of it elsewhere."""
        found = [None if table is None else part(table) for table in self._each]
        worst = np.max([own for own in found if own is not None], axis=0)
        whole = np.stack([worst if own is None else own for own in found], axis=1)
        return whole[:, :, 0] if self.logs is None else whole
