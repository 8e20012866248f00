"""The layout of the integrals of a Laplace form: windows of v = log u, and the intervals of tokens that contribute.

Logarithms neither overflow nor underflow, so that the same layout serves float64 and a thousand digits.
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
from symslr.evaluation.quadrature.scan import converged_windows

SCAN_NODES = {1: 48, 2: 24}
"""Nodes of an outer axis in the scan for its window, by the number of axes."""
LARGEST_MOVE = 2.6
"""Largest change of log kappa between neighbouring nodes: with more, a steep weight could end between two nodes unseen."""
CROWDING = 16.0
"""Where nodes lie closer together than elsewhere, the change counts by that ratio, up to so much."""
ROUGH_MOVE = 2.0
"""Where log kappa moves by more than so many LARGEST_MOVE between nodes, moments are unreliable."""
SHORTENED = 0.9
"""A layout found on such a mesh is checked again where it is shorter by this factor or more. e^(2 a x) p(x) is widest around 2 a,
and its tokens that contribute at a = 500 lie within seven of 0."""
MOST_ROUNDS = 24
"""Of the layout; each lengthens the pieces by half on one side, and 1.5^24 is 10^4 times the first guess."""
LATER_PLACES = 6
"""Places of an outer axis at which windows of tokens are sought once more."""
LEAST_GROWTH = 0.02
"""The relative growth of the windows from which on that counts."""
END_PART = 0.05
"""Tokens within this part of their interval from an end are near the end."""
END_NATS = 6.0
"""A share near an end may lie so many nats above the depth; where it lies higher, the interval ends too early."""
TAIL_NATS = 10.0
"""The left tail of an integrand begins so many nats below its top."""
OFFSET_NATS = 16.0
"""An axis ended by exp(-u o) goes so many nats beyond the depth, for the powers of u beside it."""
LEAST_BEND = 0.1
"""A bend of log kappa is a change of the logarithm of its slope by at least this per nat of log kappa."""
SMOOTH_LEVEL = 4.0
"""Level of a mesh on a piece without steep places; steepness is measured on its nodes."""
SPARE_LEVELS = 0.5
"""Where the first token meshes leave less than so many levels for a confirming mesh, they are made coarser; they have digits
too."""
SMOOTH_STEP, STRIP_STEP = 3.0, 0.87
"""The same for other kernels."""

VANISHING_KERNEL = (
    "a kernel is 0 or no real number at every token, as sqrt(x) is at a negative scale: the integral over a Laplace variable does "
    "not converge; expected a positive scale, as by bounds (--bounds a:0:10)"
)

LARGEST_TOLERANCE = 1e-6
"""First meshes are made for this tolerance or a smaller one: coarser ones do not show how fast they converge."""


@dataclass(frozen=True)
class Layout:
    """Pieces of every kernel's tokens, the outer axes, and for every kernel (tokens, log of their largest share in the
    integrals).
    """

    pieces: list[tuple[Piece, ...]]
    axes: list[SinhMap]
    shares: list[tuple[Any, Any]]

    def first_level(self, family: Family) -> float:
        """The level of token meshes at which log kappa changes between nodes by no more than exp(-u kappa) needs for the
        digits, plus a half.

        Fewer nodes are needed where tokens have a small share: there exp(exp(x)) is steep. Between kinks nodes crowd towards
        the ends of the pieces anyway, where a kernel may vanish.
        """
        level, finest = 1.5, np.inf
        for k, (made, (x, share)) in enumerate(zip(self.pieces, self.shares)):
            if len(made) > 1 or not isinstance(made[0], Line):
                continue
            nodes = joined(made, FLOAT, 0).nodes
            for tolerance in (min(family.tolerance, LARGEST_TOLERANCE), family.tolerance):
                steepest = _steepness(family, k, nodes, (x, share), tolerance)
                if len(nodes) * steepest < most_nodes(family) / 4:
                    break
            level = max(level, float(np.log2(max(steepest, 1.0))))
            finest = min(finest, float(np.log2(most_nodes(family) / DETUNED / len(nodes))))
        return finest if finest < level + 0.5 < finest + SPARE_LEVELS else level + 0.5


def first_steps(family: Family) -> list[float]:
    """First steps of log u for each axis."""
    step = outer_step(min(family.tolerance, LARGEST_TOLERANCE))
    return [step * (SMOOTH_STEP if is_one else STRIP_STEP) for is_one in family.form.are_exponential]


def layout(family: Family) -> Layout:
    """The layout that keeps everything above exp(-depth) of the largest contribution to every integral.

    Raises:
        CannotEvaluate: where a token integral or the outer integral shows no decay.
    """
    lowest = (-2.0 * family.depth - 20.0,) * len(family.form.logs)
    own = pieces(family, [lowest])
    is_complete = all(family.are_gaussian)
    is_seen_again = False
    for _ in range(MOST_ROUNDS):
        tokens, is_rough = _resolving_tokens(family, own)
        windows, table, logs = _outer_windows(family, tokens)
        before = own
        own, cut_short, shares = _trimmed(family, before, table, logs)
        if cut_short:
            continue
        if is_rough and not is_seen_again and _length(own) < SHORTENED * _length(before):
            is_seen_again = True  # what was seen on rough meshes, once more on shorter ones
            continue
        early = [_ends_too_early(family, k, *both) for k, both in enumerate(zip(before, shares))]
        uncut = any(is_uncut(family, k, made) for k, made in enumerate(own))
        if is_complete and (uncut or any(map(any, early))):
            own = pieces(family, [lowest], [_lengthened_ends(made, *sides) for made, sides in zip(own, early)])
            continue
        if any(map(any, early)):
            reach = itertools.product(*(np.linspace(*window, LATER_PLACES) for window in windows))
            longer = pieces(family, [lowest, *reach])
            if _span(longer) > (1.0 + LEAST_GROWTH) * _span(before):
                own = longer
                continue
        if is_complete or all(low > least for (low, _), least in zip(windows, lowest)):
            peak = np.unravel_index(int(np.argmax(np.max(logs, axis=0))), table.shape)
            at = [float(w[i]) for w, i in zip(table.v, peak)]
            smooth = family.form.are_exponential
            tails = [-np.inf if smooth[n] else _start_of_left_tail(logs, w, n) for n, w in enumerate(table.v)]
            bent = _bends_of_moments(family, table.tokens, shares)
            axes = [SinhMap.over(own, [v, *more], tail) for own, v, more, tail in zip(windows, at, bent, tails)]
            offset, *others = family.code.offsets(family.p)
            if not others and is_complete and smooth[0] and offset > 0:
                axes = [_ended_by_offset(axes[0], family.depth, offset)]
            steps = [_with_shorter_steps(family, k, *both) for k, both in enumerate(zip(own, shares))]
            return Layout(steps, axes, shares)
        lowest = tuple(min(least, low - family.depth) for (low, _), least in zip(windows, lowest))
        own = pieces(family, [lowest])
    raise CannotEvaluate(
        "the outer integrand has no window: a law is too narrow, or it decays too slowly and the integral may not converge"
    )


def _ends_too_early(family: Family, kernel: int, made: tuple[Piece, ...], seen: tuple[Any, Any]) -> tuple[bool, bool]:
    """(lower, upper): whether tokens near that end of the pieces contribute, and there are more beyond it.

    The windows of the weights are those at small u. At large u other tokens contribute: those with a small kappa, for a weight
    such as kappa^2 p(x).
    """
    if len(made) == 1 and isinstance(made[0], Line):
        return False, False
    x, share = seen
    apart, found = np.gradient(x), []
    for end, place, piece in zip(family.constants.ends[kernel].tolist(), x[[0, -1]], (made[0], made[-1])):
        length = piece.high - piece.low if isinstance(piece, TanhSinh) else x[-1] - x[0]
        beside = (np.abs(x - place) < END_PART * length) & (apart > EPS * length)
        with np.errstate(divide="ignore"):
            density = share - np.log(apart / length)
        found.append(bool(np.isinf(end) and np.max(density, where=beside, initial=-np.inf) > END_NATS - family.depth))
    return found[0], found[1]


def _lengthened_ends(made: tuple[Piece, ...], early: bool, late: bool) -> tuple[float, float]:
    """The ends of the pieces, moved outwards by half their length where they end too early."""
    low, high = joined(made, FLOAT, 0).nodes[[0, -1]].tolist()
    half = (high - low) / 2
    return low - early * half, high + late * half


def _span(pieces_of: list[tuple[Piece, ...]]) -> float:
    """The length covered by the pieces, summed over the kernels."""
    return float(sum(np.ptp(joined(made, FLOAT, 0).nodes) for made in pieces_of))


def _with_shorter_steps(
    family: Family, kernel: int, made: tuple[Piece, ...], seen: tuple[Any, Any]
) -> tuple[Piece, ...]:
    """The pieces, with shorter steps in those where log kappa changes by more between nodes than exp(-u kappa) allows.

    With one step for all, a short piece next to a kink would need too many nodes.
    """
    found = []
    for piece in made:
        if isinstance(piece, TanhSinh):
            nodes = piece.mesh(FLOAT, SMOOTH_LEVEL).nodes
            needed = _steepness(family, kernel, nodes, seen, family.tolerance)
            piece = replace(piece, step=piece.step / max(needed, 1.0))
        found.append(piece)
    return tuple(found)


def _moves_of_log_kappa(nodes: Any, slopes: Any) -> Any:
    """|Changes| of log kappa between nodes, reduced where nodes lie closer together than elsewhere, as at the ends of pieces."""
    apart = np.diff(nodes)
    return np.abs(np.diff(slopes, axis=-1)) / np.minimum(np.max(apart) / np.maximum(apart, TINY), CROWDING)


def _steepness(family: Family, kernel: int, nodes: Any, seen: tuple[Any, Any], tolerance: float) -> float:
    """The largest change of log kappa between nodes, in units of what exp(-u kappa) allows for the share of the tokens there."""
    nats = -float(np.log(tolerance))
    moves = _moves_of_log_kappa(nodes, family.code.slopes(kernel, nodes, family.p))
    x, share = seen
    left = np.maximum(nats + np.interp(nodes, x, np.maximum(share, -2 * nats)), 0.0)
    needed = moves * np.maximum(left[1:], left[:-1]) / 8.2
    return float(np.max(needed, where=np.isfinite(needed), initial=0.0))


def _within(made: tuple[Piece, ...], low: float, high: float) -> tuple[Piece, ...]:
    """The parts of finite pieces between two places."""
    parts = [(max(own.low, low), min(own.high, high), own) for own in made if isinstance(own, TanhSinh)]
    return tuple(replace(own, low=start, high=end) for start, end, own in parts if start < end)


def _length(pieces_of: list[tuple[Piece, ...]]) -> float:
    """The length of the finite pieces, summed over the kernels."""
    return sum(piece.high - piece.low for made in pieces_of for piece in made if isinstance(piece, (Line, TanhSinh)))


def _resolving_tokens(family: Family, own: list[tuple[Piece, ...]]) -> tuple[list[Tokens], bool]:
    """(token meshes on which log kappa changes little between nodes, whether it still changes too much at the largest size)."""
    level = 0.0
    while True:
        tokens = placed(family, own, level)
        steepest = 0.0
        for one in tokens:
            moves = _moves_of_log_kappa(one.mesh.nodes, one.slopes)
            alive = np.any(one.logs[:, 1:] > -np.inf, axis=0) & np.isfinite(moves)
            steepest = max(steepest, float(np.max(moves, where=alive, initial=0.0)) / LARGEST_MOVE)
        nodes = max(len(one.mesh.nodes) for one in tokens)
        if steepest <= 1.0 or nodes * min(steepest, 2.0) > most_nodes(family) / 4:
            return tokens, steepest > ROUGH_MOVE
        level += float(np.log2(min(steepest * 1.05, most_nodes(family) / 4 / nodes)))


def _outer_windows(family: Family, tokens: list[Tokens]) -> tuple[list[tuple[float, float]], Table, Any]:
    """(windows of the outer variables, the last table, log of its integrands (integrals, nodes) relative to their tops).

    Raises:
        CannotEvaluate: where the windows do not converge.
    """

    def look(nodes: list[Any]) -> tuple[Any, tuple[Table, Any]]:
        table = Table(family, tokens, nodes)
        logs = _logs(family, table)
        return np.any(logs > -family.depth, axis=0), (table, logs)

    turns = _turning_points(family, tokens)
    first = [(float(own[0]) - 20.0, float(own[-1]) + 4.0) for own in turns]
    windows, seen = converged_windows(look, first, SCAN_NODES[len(first)], turns)
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


def _ended_by_offset(axis: SinhMap, depth: float, offset: float) -> SinhMap:
    """A long axis ended where exp(-u o) falls, with a sinh map centred there, as that fall has a width of order one.

    Under an exponential kernel and Gaussian weights all else is smooth on the length of the axis. With a second variable, or a
    weight that bends, the error rules missed an error of 1e-7 at a = 40, nu = 17.
    """
    end = min(axis.high, float(np.log((depth + OFFSET_NATS) / offset)))
    return axis if np.isinf(axis.scale) else replace(axis, high=end, centres=(end,), widths=(SCALE,))


def _start_of_left_tail(logs: Any, v: Any, axis: int) -> float:
    """The v left of which every integrand has fallen so far that it is a power of u."""
    profile = np.max(logs, axis=tuple(n for n in range(logs.ndim) if n != axis + 1))
    return float(v[np.flatnonzero(profile > -TAIL_NATS)[0]])


def _turning_points(family: Family, tokens: list[Tokens]) -> list[Any]:
    """For every Laplace variable the v = log u at which u kappa = 1 for some token, in increasing order.

    All u kappa are negligible well below the first, all exp(-u kappa) beyond the last. A kernel that is nearly constant on half
    of the tokens, as log(1 + e^{a x}) where it is large, has half of them within a few nats on an axis of thousands.
    """
    found = []
    for n in range(len(family.form.logs)):
        sizes = np.concatenate([own.slopes[n][np.any(own.logs > -np.inf, axis=0)] for own in tokens])
        sizes = sizes[np.isfinite(sizes)]
        if not len(sizes):
            raise CannotEvaluate(VANISHING_KERNEL)
        found.append(np.sort(-sizes))
    return found


def _bends_of_moments(family: Family, tokens: list[Tokens], shares: list[tuple[Any, Any]]) -> list[list[float]]:
    """For every Laplace variable the v = log u near which the integrands vary over steps of order one, however long the axis.

    Moments of e^{-u kappa} end at the token with u kappa = 1: with v they vary as the law and the slope of log kappa do with
    that token. For log(1 + e^{a x}), e^{a x} + e^{3 a x} and 1 + e^{a x} that slope bends within nats of v near 0. A factor
    e^{-u o} ends at u o = 1.
    """
    found: list[list[float]] = [[-float(np.log(o))] if o > 0 else [] for o in family.code.offsets(family.p)]
    for own, (x, share) in zip(tokens, shares):
        matters = share > -family.depth
        for n, logs in enumerate(own.slopes):
            found[n] += bends(x[matters], logs[matters])
    return found


def bends(x: Any, logs: Any) -> list[float]:
    """The v = -log kappa(x) at which the slope of log kappa bends, one for every cluster.

    Args:
        x, logs: tokens in increasing order and log kappa there.
    """
    kept = np.isfinite(logs)
    x, logs = x[kept], logs[kept]
    moves, found = np.diff(logs), []
    with np.errstate(divide="ignore", invalid="ignore"):  # where kappa is constant
        bent = np.abs(np.diff(np.log(np.abs(moves / np.diff(x)))))
    beside = np.maximum(np.abs(moves[1:]), np.abs(moves[:-1]))
    places = np.sort(-logs[1:-1][~(bent < np.minimum(LEAST_BEND * np.maximum(beside, LEAST_BEND), 1.0))])
    while len(places):
        found.append(float(places[len(places) // 2]))
        places = places[np.abs(places - found[-1]) > SCALE]
    return found


def _trimmed(
    family: Family, own: list[tuple[Piece, ...]], table: Table, logs: Any
) -> tuple[list[tuple[Piece, ...]], bool, list[tuple[Any, Any]]]:
    """(pieces trimmed to the tokens that contribute or lengthened where they end too early, whether any was lengthened,
    shares).

    A Gaussian weight e^{a x} p(x) may peak at tokens that e^{-u kappa} suppresses; those that contribute lie outside its
    window.

    Raises:
        CannotEvaluate: where float64 has no number between the ends of the tokens that contribute.
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
            margin = END_PART * (x[index[-1]] - x[index[0]])  # none where one node alone counts
            low = min(x[max(index[0] - 1, 0)], x[index[0]] - margin)
            high = max(x[min(index[-1] + 1, len(x) - 1)], x[index[-1]] + margin)
            made = _within(made, float(low), float(high))
            if not made:
                raise CannotEvaluate("the tokens that count lie too near each other for float64")
        found.append(made)
    return found, cut_short, shares
