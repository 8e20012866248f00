"""The token variable of a Laplace form: its meshes, and the weights of every moment on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate, TooDear
from symslr.evaluation.laplace.code import Family, LaplaceCode
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.quadrature.mesh import Line, Mesh, Piece, joined
from symslr.evaluation.quadrature.scan import Window, scan_all
from symslr.evaluation.quadrature.token_mesh import changes_of_sign, cover, gaussian_window, kinks_between

MOST_NODES = {1: 40_000, 2: 160_000}
"""Of one token mesh, by the number of outer axes: with 200 outer nodes the table then takes a tenth of a second. With two axes
the weight e^(nu x) of a strong signal asks for some 100 nu nodes and there is no other way; a table takes seconds then."""
HIGH = 8.0
"""Height of a Gaussian weight, a logarithm, from which on its rounding is a few of the least."""
FEW_NODES, ROUGH = {1: 12_000, 2: 48_000}, 1e-5
"""Nodes at a tolerance above ROUGH, as in the scan for a minimum: a value that takes more is too dear to look at."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Nodes of one kernel, its slopes log kappa there, and its moments' weights: rows exp(tops), one row per moment.

    ``logs`` are log |rows| and ``signs`` their signs, also where they underflow.
    """

    mesh: Mesh
    slopes: Any
    rows: Any
    logs: Any
    signs: Any
    tops: Any

    def of_rules(self, count: int) -> Any:
        """Rows (moments and rules, tokens) of this mesh and of those with twice and four times its step, which are 0 elsewhere."""
        if count == 1:
            return self.rows
        return (self.rows[:, None] * self.mesh.factors(count)).reshape(-1, self.rows.shape[1])

    def log(self, moment: int, rule: int) -> Any:
        """log |weights| of a moment under one of these."""
        return self.logs[moment] + np.log(self.mesh.factors()[rule])


def placed(family: Family, pieces: list[tuple[Piece, ...]], level: float) -> list[Tokens]:
    """Nodes and weights of every kernel; a level more halves the steps.

    Raises:
        CannotEvaluate: where that takes too many nodes, or a weight overflows.
    """
    found = []
    for k, own in enumerate(pieces):
        mesh = joined(own, FLOAT, level)
        if len(mesh.nodes) > most_nodes(family):
            raise TooDear(
                f"an integral over a token needs more than {most_nodes(family)} nodes in float64, as where a kernel or a weight is "
                "very steep; ask for fewer digits, or for a smaller scale or signal"
            )
        found.append(weighed(family, k, mesh))
    return found


def weighed(family: Family, k: int, mesh: Mesh) -> Tokens:
    """A kernel's tokens on a mesh.

    Raises:
        CannotEvaluate: where a weight overflows.
    """
    slopes, squares, own_logs, rests = family.code.parts(k, mesh.nodes, family.p)
    exponents = squares + own_logs
    known = np.where(np.isfinite(exponents), exponents, -np.inf)
    tops = known.max(axis=1)
    below = exponents - tops[:, None]
    heights = family.constants.gaussians[family.moments_of[k], 2]
    tops = tops + heights
    for n in np.flatnonzero(
        (np.abs(heights) > HIGH) & np.isfinite(tops)
    ).tolist():  # of Gaussians: others have height 0
        at = int(np.argmax(known[n]))
        gaussian, top = _from_the_top(family, k, n, family.moments_of[k][n], mesh.nodes, at)
        below[n], tops[n] = gaussian + (own_logs[n] - own_logs[n, at]), top + own_logs[n, at]
    rows = np.exp(below) * (rests * mesh.weights)
    lost = ~np.isfinite(rows)
    if lost.any():
        if not np.all(below[lost] <= -600.0):
            raise CannotEvaluate("a token weight overflows in float64")
        rows[lost] = 0.0
    logs = below + np.log(np.abs(rests)) + np.log(mesh.weights)
    logs[np.isnan(logs) | lost] = -np.inf
    return Tokens(mesh, slopes, rows, logs, np.sign(rests), tops)


def _from_the_top(family: Family, k: int, n: int, i: int, x: Any, at: int) -> tuple[Any, float]:
    """Exponents of a Gaussian weight relative to that at its top node, and that exponent with the Gaussian's height.

    The height of e^(nu x) under N(0, 1) is nu^2/2: where the tokens lie far from the middle, nu, it and the square of their
    distance cancel, and left eleven digits of a risk at nu = 300, as the height is rounded once for all nodes.
    """
    curvature, centre, _ = family.constants.gaussians[i]
    step = x - x[at]
    return curvature * step * (step + 2.0 * (x[at] - centre)), family.code.whole(k, n, x[at], family.p)


def most_nodes(family: Family) -> int:
    """Nodes that one token mesh may have."""
    return (FEW_NODES if family.tolerance > ROUGH else MOST_NODES)[len(family.form.logs)]


def pieces(
    family: Family, reach: Sequence[tuple[float, ...]], spans: Sequence[tuple[float, float]] = ()
) -> list[tuple[Piece, ...]]:
    """Pieces of the token variable that hold the windows of all weights, for every kernel.

    ``reach`` are values of log u, log t at which they are looked for, the smallest of interest among them: a weight such as
    kappa^2 p(x) need not be integrable without the factor exp(-u kappa), and its window ends where the smallest u cuts it off.
    Squares are looked at without that factor; tokens live on ``spans``, one for every kernel, where these are given.
    """
    code, form = family.code, family.form
    found = []
    for k, own in enumerate(family.moments_of):
        low, high = (float(end) for end in family.constants.ends[k])
        on_line = np.isinf(low) and np.isinf(high)
        if on_line and all(family.are_gaussian[i] for i in own):
            squares = family.constants.gaussians[own].tolist()
            seen = [gaussian_window(curvature, centre, family.depth) for curvature, centre, _ in squares]
            if spans:
                (start, end), width = spans[k], min(window.width for window in seen)
                seen = [window for window in seen if start <= window.peak <= end]
                seen.append(Window(start, end, (start + end) / 2, width, family.depth))
        else:

            def log_weights(x: Any, logs: tuple[float, ...], k: int = k) -> Any:
                slopes, exponents, rests = code.weights(k, x, family.p)
                return exponents + np.log(np.abs(rests)) - sum(np.exp(v + s) for v, s in zip(logs, slopes))

            seen = [
                window
                for logs in reach
                for window in scan_all(partial(log_weights, logs=logs), low, high, family.depth)
                if window is not None
            ]
        if not seen:
            raise CannotEvaluate("a token integral has a weight that vanishes everywhere")
        kinks = zeros(code, k, family.p, seen, (low, high)) if form.kinks[k] or form.touches[k] else []
        widths = APART if kinks else most_nodes(family) / REFINED
        if kinks or spread_out(seen, widths):
            kinks = sorted({*kinks, *lone(seen, widths)})
        bumps = hidden(family, k, seen, kinks, (low, high))
        if bumps and not kinks:
            kinks = lone(seen, APART)
        found.append(cover(seen, low, high, kinks + bumps))
    return found


def spread_out(windows: list[Window], widths: float) -> bool:
    """Whether windows span more than so many widths of the narrowest."""
    return max(w.high for w in windows) - min(w.low for w in windows) > widths * min(w.width for w in windows)


def lone(windows: list[Window], widths: float) -> list[float]:
    """The ends of windows between which nodes of their own are laid, as steps to those of others would pass over them.

    Of all windows, where they span more than so many widths of the narrowest; else of narrow ones, as of the narrow part of a
    mixture: where the line is cut no equal steps are laid. Beside a heavy tail steps are longer the further out they are.
    """
    are_apart = spread_out(windows, widths)
    heavy, widest = [w for w in windows if w.is_heavy], max(w.width for w in windows)
    centre, narrowest = float(np.median([w.peak for w in windows])), min((w.width for w in heavy), default=0.0)
    found: list[float] = []
    for window in windows:
        own = float(np.hypot(narrowest, window.peak - centre)) if heavy else widest
        is_narrow = (are_apart and not heavy) or window.width < own / FAR_WIDER
        if is_narrow and not window.is_heavy:
            ends = window.low, window.high
            found += [end for end in ends if all(abs(end - other) > SLIVER * window.width for other in found)]
    return sorted(found)


Support = tuple[float, float]


def is_uncut(family: Family, kernel: int, made: tuple[Piece, ...]) -> bool:
    """Whether the tokens of a kernel live on one line that has a kink inside."""
    form, ends, line = family.form, family.constants.ends[kernel], made[0]
    if not (isinstance(line, Line) and (form.kinks[kernel] or form.touches[kernel])):
        return False
    low, high = (float(end) for end in ends)
    seen = Window(line.low, line.high, (line.low + line.high) / 2, line.high - line.low, family.depth)
    return any(line.low < x < line.high for x in zeros(family.code, kernel, family.p, [seen], (low, high)))


def zeros(code: LaplaceCode, kernel: int, p: tuple[float, ...], windows: list[Window], support: Support) -> list[float]:
    """Kinks of a kernel: exact where the equation is linear, else by sign changes and bisection."""
    start, end = min(w.low for w in windows), max(w.high for w in windows)
    found = kinks_between(code.kinks[kernel], p, start, end)
    for slope in code.touches[kernel]:
        places = changes_of_sign(lambda x, f=slope: f(x, *p)[0], start, end)
        found += [x for x in places if _is_zero(code, kernel, p, x, end - start, support)]
    return sorted(set(found))


def hidden(family: Family, kernel: int, windows: list[Window], kinks: list[float], support: Support) -> list[float]:
    """Bumps and dips of log kappa between the nodes, as of 1 + exp(-50 a^2 x^2) at a large scale a: no rule would see them.

    And those of the weights, as of a mixture of a wide law and a narrow one.

    Where nodes beside it have an extremum of the same kind, it shows. They are sought on equal steps, on steps in proportion
    to |x|, as a large scale moves all that a kernel does towards 0, and around the places where their expression turns.
    Where the line is cut somewhere, at a kink or here, its narrow bends are found too: nodes crowd at cuts alone. Where no
    token is, a kernel has no value here.
    """
    start, end = min(w.low for w in windows), max(w.high for w in windows)
    heavy, reach = any(w.is_heavy for w in windows), max(abs(start), abs(end))
    # between cuts no equal steps are laid, and the width of another window does not say what nodes see
    width = (max if kinks and not heavy else min)(w.width for w in windows)
    centre = float(np.median([w.peak for w in windows])) if heavy else 0.0
    smallest = SMALLEST * (width if heavy else reach)
    around = np.exp(np.linspace(np.log(smallest), np.log(reach), 2 + int(STEPS_TO_E * np.log(reach / smallest))))
    equal = [centre - around, centre + around] if heavy else [np.linspace(start, end, EQUAL_STEPS)]

    def sorted_inside(parts: list[Any]) -> Any:
        x = np.concatenate(parts)
        x = np.sort(x[(x >= start) & (x <= end)], kind="stable")  # merges what is sorted in parts
        return x[np.diff(x, prepend=-np.inf) > 0.0]

    x = sorted_inside([*equal, -around, [0.0], around])
    turns = [place for place in kinks_between(family.turns[kernel], family.p, start, end) if abs(place) > smallest]
    nearby = reach * np.exp(np.linspace(np.log(NEAREST), 0.0, int(-TURN_STEPS_TO_E * np.log(NEAREST))))
    denser = sorted_inside([x, turns, *(place + sign * nearby for place in turns[:MOST_TURNS] for sign in (-1.0, 1.0))])

    def width_at(places: Any) -> Any:
        return np.hypot(width, places - centre) if heavy else np.full(len(places), width)

    def step_at(places: Any) -> Any:
        return width_at(places) * (0.175 if heavy else 0.35)

    found: list[float] = []
    rows = family.code.logs(kernel, denser, family.p)
    for n, row in enumerate(rows):

        def log_kernel(at: Any, n: int = n) -> Any:
            is_token = (at > support[0]) & (at < support[1])
            values = family.code.logs(kernel, np.where(is_token, at, x[len(x) // 2]).ravel(), family.p)[n].reshape(
                at.shape
            )
            return np.where(is_token, values, np.nan)

        unseen = _unseen(log_kernel, denser, row, step_at)
        found += [place for place in unseen if all(abs(place - kink) > SAME * width for kink in kinks)]
        cuts = kinks + found
        if cuts:
            bends = _bends(log_kernel, x, row[np.searchsorted(denser, x)], width_at)
            found += [bend for bend in bends if min(abs(bend - cut) for cut in cuts) > SAME * width]
    return sorted(set(found))


def _unseen(log_kernel: Any, x: Any, row: Any, step_at: Any) -> list[float]:
    """Extrema that nodes beside them, some steps of a rule away, do not show."""
    change = np.nan_to_num(np.diff(row), posinf=0.0, neginf=0.0)  # where a weight underflows
    moves = np.sign(change) * (np.abs(change) > SEEN * (1.0 + np.abs(row[1:])))
    steps = np.flatnonzero(moves)
    turns = np.flatnonzero(moves[steps[1:]] * moves[steps[:-1]] < 0)
    before, after = steps[turns], steps[turns + 1]
    low, high = x[before], x[after + 1]
    # at a narrow top there are places between which nothing moves; what is flat over a step of a rule is no top
    is_one = (after == before + 1) | (high - low <= step_at((low + high) / 2))
    if not 0 < np.count_nonzero(is_one) <= MOST_HIDDEN:
        return []
    places = extrema(log_kernel, low[is_one], high[is_one], moves[before[is_one]][:, None])
    far, near, at, close, beyond = log_kernel(places + np.arange(-2.0, 3.0)[:, None] * step_at(places))
    left, right = near - at, close - at
    shown = left * right > 0.0
    for inner, outer in ((left, far - near), (right, beyond - close)):
        shown &= (inner * outer > 0.0) & (np.abs(outer) >= np.abs(inner) / 8.0)
    return [float(place) for place in places[~shown]]


def _bends(log_kernel: Any, x: Any, row: Any, width_at: Any) -> list[float]:
    """Where the slope of log kappa moves within a small part of the width of a weight, as that of log(1 + exp(1000 x)) at 0."""
    slopes = np.diff(row) / np.diff(x)
    moved = np.abs(np.diff(slopes))
    curvature = np.nan_to_num(moved / (x[2:] - x[:-2]), nan=0.0, posinf=0.0)
    counts = moved * width_at(x[1:-1]) > SLIGHT
    tops = np.flatnonzero(counts[1:-1] & (curvature[1:-1] >= curvature[:-2]) & (curvature[1:-1] > curvature[2:])) + 2
    if not 0 < len(tops) <= MOST_HIDDEN:
        return []

    def seconds(places: Any, step: Any) -> Any:
        far, at, near = log_kernel(places + np.array([-1.0, 0.0, 1.0]).reshape(3, *[1] * places.ndim) * step)
        return np.abs(far - 2.0 * at + near) / step**2

    low, high = x[tops - 1], x[tops + 1]
    for _ in range(6):
        step = (high - low)[:, None] / 16
        at = low[:, None] + step * np.arange(17.0)
        moves = np.nan_to_num(seconds(at, step))
        best, rows = np.argmax(moves, axis=1), np.arange(len(at))
        is_rough = moves[rows, best] * step[:, 0] ** 2 > ROUNDED
        low = np.where(is_rough, at[rows, np.maximum(best - 1, 0)], low)
        high = np.where(is_rough, at[rows, np.minimum(best + 1, 16)], high)
    places, near = (low + high) / 2, width_at((low + high) / 2) * STEEP
    sharp, whole = seconds(places, (high - low) / 2), seconds(places, near)
    is_bend = (whole * near * width_at(places) > SLIGHT) & (whole < sharp / 2)
    return [float(place) for place in places[is_bend]]


def extrema(function: Any, low: Any, high: Any, sign: Any) -> Any:
    """The largest sign * function in each interval, to a billionth of it or to rounding."""
    for _ in range(10):
        at = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, 17)
        best = np.argmax(sign * function(at), axis=1)
        rows = np.arange(len(at))
        low, high = at[rows, np.maximum(best - 1, 0)], at[rows, np.minimum(best + 1, 16)]
    return (low + high) / 2


EQUAL_STEPS, SMALLEST, STEPS_TO_E = 1025, 1e-6, 87
"""Where bumps are sought: some twenty places to a standard deviation, and steps of a hundredth of |x|."""
NEAREST, TURN_STEPS_TO_E, MOST_TURNS = 1e-16, 4, 32
"""The same around places that an expression shows, at so many of them at most: two hundred to each."""
MOST_HIDDEN = 64
"""More bumps than this are an oscillation, which rules of other steps show."""
STEEP, SLIGHT = 1 / 10, 1e-3
"""A bend is cut at where the slope moves within so much of the width, by so much over it."""
SAME = 1e-6
"""A bend this near to a cut, over the width, is the cut: the top of a narrow bump is both."""
FAR_WIDER, SLIVER, APART = 8.0, 1e-2, 100.0
"""A window so many times wider shares no equal steps with another; ends nearer than so much of a width are one.
Where the line is cut anyway, nodes crowd at the cuts, and windows that span so many widths are far apart."""
REFINED = 8.0
"""Equal steps are made finer: windows that span the most nodes that there may be, over this, are far apart, too."""
ROUNDED = 1e-7
"""A move of the slope of log kappa, over a step, that begins to drown in rounding: there a bend is resolved."""
SEEN = 1e-13
"""A move of log kappa that is no rounding."""
NEAR_ZERO = 1e-12
"""A kernel this far below its size around is 0 there but for rounding."""


def _is_zero(code: LaplaceCode, kernel: int, p: tuple[float, ...], x: float, length: float, support: Support) -> bool:
    """Whether one of the kernel's factors vanishes at a place, beside its size at the tokens around."""
    around = np.array([x, *(x + length * step for step in (-0.03, -0.01, 0.01, 0.03))])
    around = around[(around > support[0]) & (around < support[1]) | (around == x)]
    return any(values[0] < np.max(values[1:]) + np.log(NEAR_ZERO) for values in code.slopes(kernel, around, p))
