"""Where the integrals of a Laplace form live: windows of v = log u, and the tokens that count there.

Logarithms neither overflow nor underflow, so the same windows serve float64 and a thousand digits.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.code import Family
from symslr.evaluation.laplace.table import EPS, TINY, Table
from symslr.evaluation.laplace.tokens import Tokens, is_uncut, most_nodes, pieces, placed
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.quadrature.convergence import DETUNED, outer_step
from symslr.evaluation.quadrature.mesh import SCALE, Line, Piece, SinhMap, TanhSinh, joined
from symslr.evaluation.quadrature.scan import zoomed

NODES = {1: 48, 2: 24}
"""Nodes of an outer axis, by the number of axes."""
STEEPEST = 2.6
"""log kappa moves by at most so much between nodes: where it moves by more, a steep weight would be cut off between two."""
CROWDED = 16.0
"""Nodes that lie closer together than others may have as much larger moves, up to so much."""
ROUGH, SHORTER = 2.0, 0.9
"""Moves of log kappa, in units of STEEPEST, on which moments are not what they seem; and how much shorter a line is made at least
where it is looked at again: e^(2 a x) p(x) is widest around 2 a, and its tokens at a = 500 live within seven of 0."""
MOST_ROUNDS = 24
"""Each makes the pieces half as long again on one side: 1.5^24 is 10^4 times the first guess."""
LOOKS, LONGER = 6, 0.02
"""Places of an outer axis at which windows of tokens are looked for once more, and the part by which they have to grow to count."""
BESIDE, SMALL_END = 0.05, 6.0
"""The part of the tokens' axis that lies beside an end, and the nats above the depth that a share may have there, as at the end of
a window."""
FALLEN = 10.0
"""Nats by which an integrand has fallen where its left tail begins."""
BEYOND = 16.0
"""Nats beyond the depth at which exp(-u o) ends an axis: powers of u stand beside it."""
BEND = 0.1
"""By so much the logarithm of the slope of log kappa changes where it bends: per nat of log kappa, and at least at all."""
SMOOTH_LEVEL = 4.0
"""The level of a mesh on a piece on which nothing is steep: its nodes are the measure of what is."""
SPARE = 0.5
"""Levels by which first token meshes may be too fine for others to confirm them and are made coarser: these have digits, too."""
SMOOTH, STRIP = 3.0, 0.87
"""First steps of log u, beside that which a strip of half-width pi/2 asks for."""

NOTHING = (
    "a kernel is 0 or no real number at every token, as sqrt(x) is at a negative scale: the integral over a Laplace variable does "
    "not converge; expected a positive scale, as by bounds (--bounds a:0:10)"
)

ROUGHEST = 1e-6
"""Tolerance for which first meshes are made at least where they are small: on fewer nodes it is not seen how fast they converge."""


@dataclass(frozen=True)
class Layout:
    """Pieces of every kernel, the outer axes, and for every kernel (tokens, log of their largest share in the integrals)."""

    pieces: list[tuple[Piece, ...]]
    axes: list[SinhMap]
    shares: list[tuple[Any, Any]]

    def first_level(self, family: Family) -> float:
        """The level at which log kappa moves by no more between nodes than exp(-u kappa) needs for the digits, and a half.

        Fewer are needed where tokens have a small share: there exp(exp(x)) is steep. Between kinks the nodes crowd towards
        the ends of the pieces by themselves, where a kernel may vanish.
        """
        level, finest = 1.5, np.inf
        for k, (made, (x, share)) in enumerate(zip(self.pieces, self.shares)):
            if len(made) > 1 or not isinstance(made[0], Line):
                continue
            nodes = joined(made, FLOAT, 0).nodes
            for tolerance in (min(family.tolerance, ROUGHEST), family.tolerance):
                steepest = _steepness(family, k, nodes, (x, share), tolerance)
                if len(nodes) * steepest < most_nodes(family) / 4:
                    break
            level = max(level, float(np.log2(max(steepest, 1.0))))
            finest = min(finest, float(np.log2(most_nodes(family) / DETUNED / len(nodes))))
        return finest if finest < level + 0.5 < finest + SPARE else level + 0.5


def first_steps(family: Family) -> list[float]:
    """Of log u, to begin with: under exponential kernels moments are smoother than a strip of half-width pi/2 asks for."""
    step = outer_step(min(family.tolerance, ROUGHEST))
    return [step * (SMOOTH if is_one else STRIP) for is_one in family.form.are_exponential]


def layout(family: Family) -> Layout:
    """Keeps everything above exp(-depth) of the largest contribution to every integral.

    Raises:
        CannotEvaluate: where a token integral or the outer integral shows no decay.
    """
    lowest = (-2.0 * family.depth - 20.0,) * len(family.form.logs)
    own = pieces(family, [lowest])
    is_complete = all(family.are_gaussian)
    is_seen_again = False
    for _ in range(MOST_ROUNDS):
        tokens, is_rough = _resolving(family, own)
        windows, table, logs = _outer_windows(family, tokens)
        before = own
        own, cut_short, shares = _needed(family, before, table, logs)
        if cut_short:
            continue
        if is_rough and not is_seen_again and _length(own) < SHORTER * _length(before):
            is_seen_again = True  # what was seen on rough meshes, once more on shorter ones
            continue
        early = [_end_early(family, k, *both) for k, both in enumerate(zip(before, shares))]
        uncut = any(is_uncut(family, k, made) for k, made in enumerate(own))
        if is_complete and (uncut or any(map(any, early))):
            own = pieces(family, [lowest], [_longer(made, *sides) for made, sides in zip(own, early)])
            continue
        if any(map(any, early)):
            reach = itertools.product(*(np.linspace(*window, LOOKS) for window in windows))
            longer = pieces(family, [lowest, *reach])
            if _span(longer) > (1.0 + LONGER) * _span(before):
                own = longer
                continue
        if is_complete or all(low > least for (low, _), least in zip(windows, lowest)):
            peak = np.unravel_index(int(np.argmax(np.max(logs, axis=0))), table.shape)
            at = [float(w[i]) for w, i in zip(table.v, peak)]
            smooth = family.form.are_exponential
            tails = [-np.inf if smooth[n] else _tail(logs, w, n) for n, w in enumerate(table.v)]
            bent = _bends(family, table.tokens, shares)
            axes = [SinhMap.over(own, [v, *more], tail) for own, v, more, tail in zip(windows, at, bent, tails)]
            offset, *others = family.code.offsets(family.p)
            if not others and is_complete and smooth[0] and offset > 0:
                axes = [_ended(axes[0], family.depth, offset)]
            steps = [_stepped(family, k, *both) for k, both in enumerate(zip(own, shares))]
            return Layout(steps, axes, shares)
        lowest = tuple(min(least, low - family.depth) for (low, _), least in zip(windows, lowest))
        own = pieces(family, [lowest])
    raise CannotEvaluate(
        "the outer integrand has no window: a law is too narrow, or it decays too slowly and the integral may not converge"
    )


def _end_early(family: Family, kernel: int, made: tuple[Piece, ...], seen: tuple[Any, Any]) -> tuple[bool, bool]:
    """Whether tokens beside the lower and the upper end of the pieces matter, and there are more of them.

    The windows of the weights are those at small u. At large u tokens count that had lost to others there: those with a small
    kappa, of a weight such as kappa^2 p(x).
    """
    if len(made) == 1 and isinstance(made[0], Line):
        return False, False
    x, share = seen
    apart, found = np.gradient(x), []
    for end, place, piece in zip(family.constants.ends[kernel].tolist(), x[[0, -1]], (made[0], made[-1])):
        length = piece.high - piece.low if isinstance(piece, TanhSinh) else x[-1] - x[0]
        beside = (np.abs(x - place) < BESIDE * length) & (apart > EPS * length)
        with np.errstate(divide="ignore"):
            density = share - np.log(apart / length)
        found.append(bool(np.isinf(end) and np.max(density, where=beside, initial=-np.inf) > SMALL_END - family.depth))
    return found[0], found[1]


def _longer(made: tuple[Piece, ...], early: bool, late: bool) -> tuple[float, float]:
    """The ends of the pieces, half as far again where they end too early."""
    low, high = joined(made, FLOAT, 0).nodes[[0, -1]].tolist()
    half = (high - low) / 2
    return low - early * half, high + late * half


def _span(pieces_of: list[tuple[Piece, ...]]) -> float:
    """Of all kernels together, the length that their pieces cover."""
    return float(sum(np.ptp(joined(made, FLOAT, 0).nodes) for made in pieces_of))


def _stepped(family: Family, kernel: int, made: tuple[Piece, ...], seen: tuple[Any, Any]) -> tuple[Piece, ...]:
    """The pieces with shorter steps in those where log kappa moves by more between nodes than exp(-u kappa) needs for the digits.

    One step for all would take as many nodes for a short piece beside a kink.
    """
    found = []
    for piece in made:
        if isinstance(piece, TanhSinh):
            nodes = piece.mesh(FLOAT, SMOOTH_LEVEL).nodes
            needed = _steepness(family, kernel, nodes, seen, family.tolerance)
            piece = replace(piece, step=piece.step / max(needed, 1.0))
        found.append(piece)
    return tuple(found)


def _moves(nodes: Any, slopes: Any) -> Any:
    """|Moves| of log kappa between nodes, less of those that lie closer together than others do: they crowd where a piece ends."""
    apart = np.diff(nodes)
    return np.abs(np.diff(slopes, axis=-1)) / np.minimum(np.max(apart) / np.maximum(apart, TINY), CROWDED)


def _steepness(family: Family, kernel: int, nodes: Any, seen: tuple[Any, Any], tolerance: float) -> float:
    """By how much log kappa moves between nodes at most, in units of what exp(-u kappa) allows where tokens have their share."""
    nats = -float(np.log(tolerance))
    moves = _moves(nodes, family.code.slopes(kernel, nodes, family.p))
    x, share = seen
    left = np.maximum(nats + np.interp(nodes, x, np.maximum(share, -2 * nats)), 0.0)
    needed = moves * np.maximum(left[1:], left[:-1]) / 8.2
    return float(np.max(needed, where=np.isfinite(needed), initial=0.0))


def _within(made: tuple[Piece, ...], low: float, high: float) -> tuple[Piece, ...]:
    """What of finite pieces lies between two places."""
    parts = [(max(own.low, low), min(own.high, high), own) for own in made if isinstance(own, TanhSinh)]
    return tuple(replace(own, low=start, high=end) for start, end, own in parts if start < end)


def _length(pieces_of: list[tuple[Piece, ...]]) -> float:
    """Of all kernels together, the length on which tokens with light tails live."""
    return sum(piece.high - piece.low for made in pieces_of for piece in made if isinstance(piece, (Line, TanhSinh)))


def _resolving(family: Family, own: list[tuple[Piece, ...]]) -> tuple[list[Tokens], bool]:
    """Token meshes on which log kappa moves little between nodes, and whether it moves too much for all that."""
    level = 0.0
    while True:
        tokens = placed(family, own, level)
        steepest = 0.0
        for one in tokens:
            moves = _moves(one.mesh.nodes, one.slopes)
            alive = np.any(one.logs[:, 1:] > -np.inf, axis=0) & np.isfinite(moves)
            steepest = max(steepest, float(np.max(moves, where=alive, initial=0.0)) / STEEPEST)
        nodes = max(len(one.mesh.nodes) for one in tokens)
        if steepest <= 1.0 or nodes * min(steepest, 2.0) > most_nodes(family) / 4:
            return tokens, steepest > ROUGH
        level += float(np.log2(min(steepest * 1.05, most_nodes(family) / 4 / nodes)))


def _outer_windows(family: Family, tokens: list[Tokens]) -> tuple[list[tuple[float, float]], Table, Any]:
    """Windows of the outer variables, and the last table with the logs of the integrands (integrals, nodes), 0 at their tops.

    Raises:
        CannotEvaluate: where they do not end.
    """

    def look(nodes: list[Any]) -> tuple[Any, tuple[Table, Any]]:
        table = Table(family, tokens, nodes)
        logs = _logs(family, table)
        return np.any(logs > -family.depth, axis=0), (table, logs)

    turns = _turns(family, tokens)
    first = [(float(own[0]) - 20.0, float(own[-1]) + 4.0) for own in turns]
    windows, seen = zoomed(look, first, NODES[len(first)], turns)
    return windows, *seen


def _logs(family: Family, table: Table) -> Any:
    """log |largest term| of every integral on the mesh, relative to its top.

    Raises:
        CannotEvaluate: where an integrand vanishes everywhere.
    """
    sizes = np.array(family.logs(table.grid, table.moments))[:, 0]
    tops = np.fmax.reduce(sizes, axis=tuple(range(1, sizes.ndim)), keepdims=True)
    if not np.all(np.isfinite(tops)):
        raise CannotEvaluate("the outer integrand vanishes or is not a number in float64")
    return np.where(np.isnan(sizes), -np.inf, sizes - tops)


def _ended(axis: SinhMap, depth: float, offset: float) -> SinhMap:
    """A long axis that exp(-u o) ends, within a step of order one there: that end is its centre.

    Under an exponential kernel and Gaussian weights all else is smooth on the length of the axis; beside a second variable, or a
    weight that bends, the rules did not see an error of 1e-7 at a = 40, nu = 17.
    """
    end = min(axis.high, float(np.log((depth + BEYOND) / offset)))
    return axis if np.isinf(axis.scale) else replace(axis, high=end, centres=(end,), widths=(SCALE,))


def _tail(logs: Any, v: Any, axis: int) -> float:
    """Where every integrand has fallen on the left by so much that little but a power of u is left."""
    profile = np.max(logs, axis=tuple(n for n in range(logs.ndim) if n != axis + 1))
    return float(v[np.flatnonzero(profile > -FALLEN)[0]])


def _turns(family: Family, tokens: list[Tokens]) -> list[Any]:
    """For every Laplace variable the v = log u with u kappa = 1 at the tokens, in increasing order.

    From well below the first of them, where all u kappa are negligible, to beyond the last, where all exp(-u kappa) are, lies what
    counts. A kernel that is nearly constant on half of the tokens, as log(1 + e^{a x}) is beside its fall, has half of them within
    a few nats of an axis of thousands.
    """
    found = []
    for n in range(len(family.form.logs)):
        sizes = np.concatenate([own.slopes[n][np.any(own.logs > -np.inf, axis=0)] for own in tokens])
        sizes = sizes[np.isfinite(sizes)]
        if not len(sizes):
            raise CannotEvaluate(NOTHING)
        found.append(np.sort(-sizes))
    return found


def _bends(family: Family, tokens: list[Tokens], shares: list[tuple[Any, Any]]) -> list[list[float]]:
    """For every Laplace variable the v = log u around which the integrands vary over steps of order one, however long the axis.

    Moments of e^{-u kappa} take the token with u kappa = 1 for their end: they vary with v as the law and the slope of log kappa do
    with that token. The slope bends within nats of v at 0 where kappa is log(1 + e^{a x}), e^{a x} + e^{3 a x} or 1 + e^{a x}.
    A factor e^{-u o} ends at u o = 1.
    """
    found: list[list[float]] = [[-float(np.log(o))] if o > 0 else [] for o in family.code.offsets(family.p)]
    for own, (x, share) in zip(tokens, shares):
        matters = share > -family.depth
        for n, logs in enumerate(own.slopes):
            found[n] += bends(x[matters], logs[matters])
    return found


def bends(x: Any, logs: Any) -> list[float]:
    """The v = -log kappa(x) at which the slope of log kappa bends, from tokens in increasing order; one of all that lie near."""
    kept = np.isfinite(logs)
    x, logs = x[kept], logs[kept]
    moves, found = np.diff(logs), []
    with np.errstate(divide="ignore", invalid="ignore"):  # where kappa is constant
        bent = np.abs(np.diff(np.log(np.abs(moves / np.diff(x)))))
    beside = np.maximum(np.abs(moves[1:]), np.abs(moves[:-1]))
    places = np.sort(-logs[1:-1][~(bent < np.minimum(BEND * np.maximum(beside, BEND), 1.0))])
    while len(places):
        found.append(float(places[len(places) // 2]))
        places = places[np.abs(places - found[-1]) > SCALE]
    return found


def _needed(
    family: Family, own: list[tuple[Piece, ...]], table: Table, logs: Any
) -> tuple[list[tuple[Piece, ...]], bool, list[tuple[Any, Any]]]:
    """The pieces cut to the tokens that count, or made longer where they end too early, whether any was, and the shares.

    A Gaussian weight e^{a x} p(x) peaks at tokens that e^{-u kappa} may forbid; those that are left lie beyond its window.

    Raises:
        CannotEvaluate: where no number in float64 lies between the ends of those that count.
    """
    size = np.max(logs, axis=0)
    found, cut_short, shares = [], False, []
    for k, (share, made) in enumerate(zip(table.largest_shares(size, family.depth), own)):
        x = table.tokens[k].mesh.nodes
        shares.append((x, share))
        matters = share > -family.depth
        for log, i in zip(table.tokens[k].logs, family.moments_of[k]):
            if family.form.moments[i].is_survival and family.power > 0:
                matters |= log > np.max(log) - family.depth
        index = np.flatnonzero(matters) if matters.any() else np.arange(len(x))
        line = made[0]
        if len(made) == 1 and isinstance(line, Line):
            half = (line.high - line.low) / 2
            early, late = bool(index[0] == 0), bool(index[-1] == len(x) - 1)
            low = line.low - half if early else float(x[index[0] - 1])
            high = line.high + half if late else float(x[index[-1] + 1])
            cut_short |= early or late
            made = (Line(low, high, line.step),)
        elif all(isinstance(piece, TanhSinh) for piece in made):
            margin = BESIDE * (x[index[-1]] - x[index[0]])  # none where one node alone counts
            low = min(x[max(index[0] - 1, 0)], x[index[0]] - margin)
            high = max(x[min(index[-1] + 1, len(x) - 1)], x[index[-1]] + margin)
            made = _within(made, float(low), float(high))
            if not made:
                raise CannotEvaluate("the tokens that count lie too near each other for float64")
        found.append(made)
    return found, cut_short, shares
