"""Figure 3: test risk at finite alpha = N/D, theory and fits, beside the Bayes-optimal risk.

Source: arXiv 2509.21936, Figure 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from symslr.export.figures import TEXT_WIDTH, Figure, Table, colour
from symslr.kept.processes import mapped
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax
from symslr.model.task import Task
from symslr.validation.validation import LARGEST_Z, NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

PANELS = (
    (r"spiked-SLR, $\nu=1$", SpikedSLR(1, length=3, noise=0)),
    (r"spiked-SLR, $\nu=4$", SpikedSLR(4, length=3, noise=0)),
    (r"max-SLR, $\nu=2$", MaxSLR(2, length=3, noise=0)),
)
ALPHA = tuple(float(alpha) for alpha in np.geomspace(0.5, 20, 13).round(10))
FITTED = (1, 4, 7, 10)
"""Places in ALPHA at which training sets are sampled and fitted."""
SEEDS = tuple(range(12))
ENTRIES = 500
"""sqrt(N D) of a training set."""
STARTS = ("informed", *("random",) * 5)
"""Starts of a fit, until the lowest minimum has been met twice: near alpha = 1 softmax has many minima, and the one
nearest to the truth, of lower risk than the lowest, is what the informed start alone would find."""
ATTENTIONS = (softmax, linear)
PRECISION = 0.004


def figure3(
    alpha: Sequence[float] = ALPHA, fitted: Sequence[int] = FITTED, seeds: Sequence[int] = SEEDS, entries: int = ENTRIES
) -> Figure:
    """Test risk against alpha at tuned ridges: theory with error band, fits with error bars, Bayes-optimal, limits."""
    caption = (
        r"Test risk against the number of samples per dimension $\alpha=N/D$, for $L=3$ without noise, ridges tuned at"
        r" every $\alpha$. Solid: replica-symmetric theory, with a band of two standard errors; a cross where"
        rf" replica symmetry is broken; {len(alpha)} values of $\alpha$, joined by monotone cubics. Markers: L-BFGS fits of"
        rf" {len(seeds)} training sets each, $\sqrt{{ND}}={entries}$, at the same ridges, the lowest minimum of several"
        r" starts, with two standard errors. Dotted: $\alpha\to\infty$. Black: Bayes-optimal risk ($\Delta\to0$); dashed,"
        r" in the grey hard phase, what message passing reaches from an uninformed start."
    )
    alt = (
        "Three panels of test risk against alpha for softmax and linear attention, theory and fits, and Bayes-optimal."
    )
    compute = partial(_table, tuple(alpha), tuple(fitted), tuple(seeds), entries)
    drawn = f"training sets: 1000 panel + 100 place in alpha + seed, seeds {seeds[0]} to {seeds[-1]}"
    return Figure("figure3", caption, compute, _draw, alt, _claims, drawn)


COLUMNS = ("panel", "curve", "alpha", "risk", "error", "r_k", "r_v", "stable")
"""One row per point; ``curve`` is <attention>, <attention>_fit, <attention>_limit, bayes, uninformed or hard."""


def _table(alpha: Sequence[float], fitted: Sequence[int], seeds: Sequence[int], entries: int) -> Table:
    names = [attention.name for attention in ATTENTIONS]
    jobs = [(panel, name) for panel in range(len(PANELS)) for name in (*names, "bayes")]
    curves = mapped(partial(_rows, alpha, fitted, seeds, entries), jobs)
    rows = [row for curve in curves for row in curve]
    return {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}


def _rows(
    alpha: Sequence[float], fitted: Sequence[int], seeds: Sequence[int], entries: int, job: tuple[int, str]
) -> list[tuple[object, ...]]:
    """One attention in one panel, or the Bayes-optimal curve."""
    panel, name = job
    task = PANELS[panel][1]
    if name == "bayes":
        return _optimum(panel, task, alpha)
    attention = next(item for item in ATTENTIONS if item.name == name)
    return _curve(panel, task, attention, alpha, fitted, seeds, entries)


def _curve(
    panel: int,
    task: Task,
    attention: Attention,
    alpha: Sequence[float],
    fitted: Sequence[int],
    seeds: Sequence[int],
    entries: int,
) -> list[tuple[object, ...]]:
    """Theory at tuned ridges, continued from alpha to alpha; fits at some of them; the limit."""
    from symslr.evaluation import evaluate
    from symslr.evaluation.finite_sample import finite_sample_curve
    from symslr.simulate.erm import erm_replicates
    from symslr.theory import minimal_risk

    name, nan = attention.name, math.nan
    rows: list[tuple[object, ...]] = []
    for place, point in enumerate(finite_sample_curve(task, attention, {}, alphas=alpha, precision=PRECISION)):
        risk = point.fit.risk
        rows.append((panel, name, point.alpha, float(risk), float(risk.error), *point.ridge, float(point.fit.stable)))
        if place in fitted:
            fits = erm_replicates(
                task,
                attention,
                {},
                alpha=point.alpha,
                dimension=round(entries / math.sqrt(point.alpha)),
                r_k=point.ridge[0],
                r_v=point.ridge[1],
                seeds=[1000 * panel + 100 * place + seed for seed in seeds],
                starts=STARTS,
                fresh=100_000,
            )
            rows.append((panel, f"{name}_fit", point.alpha, fits.risk, fits.standard_error, *point.ridge, nan))
    limit = float(evaluate(minimal_risk(task, attention), {}, digits=6))
    return [*rows, (panel, f"{name}_limit", math.inf, limit, 0.0, nan, nan, nan)]


def _optimum(panel: int, task: Task, alpha: Sequence[float]) -> list[tuple[object, ...]]:
    """The Bayes-optimal curve, with a point on each side of its jump, and the hard phase."""
    from symslr.evaluation.finite_sample import bayes_optimal, hard_phase

    rest = (math.nan,) * 3
    phase = hard_phase(task, {}, low=0.9, high=1.9, count=256, randomisations=2, scan=12, halvings=4)
    edges = [] if phase is None else [float(phase.overtakes), float(phase.reached)]
    beside = [edge * (1 + side) for edge in edges for side in (-3e-3, 3e-3)]
    rows: list[tuple[object, ...]] = []
    for at in sorted([*alpha, *beside]):
        found = bayes_optimal(task, {}, alpha=at, count=256)
        rows.append((panel, "bayes", at, float(found.risk), float(found.risk.error), *rest))
        if found.hard:
            stuck = found.uninformed_risk
            rows.append((panel, "uninformed", at, float(stuck), float(stuck.error), *rest))
    return rows + [(panel, "hard", edge, math.nan, math.nan, *rest) for edge in edges]


SHOWN = ("alpha", "risk", "error", "stable")
MARKERS = {"softmax": "o", "linear": "s"}


MANY = 2.0
"""Alpha from which softmax is claimed to be ahead; with fewer samples than dimensions linear attention may be."""


def _claims(table: Table) -> list[NamedComparison]:
    """By 4 standard errors: softmax lies above the Bayes-optimal risk, and below linear attention from ``MANY`` on."""
    data = {name: np.asarray(column, dtype=object) for name, column in table.items()}
    found = []
    for panel, (title, _) in enumerate(PANELS):
        where = title.replace("$", "").replace("\\nu", "nu")
        ours, linear_risk, best = (_curve_of(data, panel, name) for name in ("softmax", "linear", "bayes"))
        not_below = _not_below(ours, linear_risk)
        wrong = [at for at in not_below if at >= MANY]
        note = f"not below at {_pairs(not_below, ours, linear_risk)}" if not_below else "and at every smaller one"
        found.append(states(f"softmax lies below linear attention from alpha = {MANY:g} on, {where}", not wrong, note))
        not_above = _not_below(best, ours)
        note = f"not at {_pairs(not_above, ours, best)}" if not_above else f"at {len(ours)} alpha"
        found.append(states(f"softmax lies above the Bayes-optimal risk, {where}", not not_above, note))
    return found


def _not_below(low: dict[float, tuple[float, float]], high: dict[float, tuple[float, float]]) -> list[float]:
    """The alphas of both curves at which the first is not below the second by 4 standard errors."""
    both = [at for at in low if at in high]
    return [at for at in both if high[at][0] - low[at][0] <= LARGEST_Z * math.hypot(low[at][1], high[at][1])]


def _pairs(alphas: list[float], ours: dict[float, tuple[float, float]], other: dict[float, tuple[float, float]]) -> str:
    return ", ".join(f"alpha = {at:.3g}: {ours[at][0]:.4g} against {other[at][0]:.4g}" for at in alphas)


def _curve_of(data: dict[str, np.ndarray], panel: int, curve: str) -> dict[float, tuple[float, float]]:
    """alpha -> (risk, error)."""
    here = (data["panel"] == panel) & (data["curve"] == curve)
    columns = (data[name][here] for name in ("alpha", "risk", "error"))
    return {float(at): (float(risk), float(error)) for at, risk, error in zip(*columns)}


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(1, len(PANELS), figsize=(TEXT_WIDTH, 2.6), sharey=True)
    data = {name: np.asarray(column, dtype=object) for name, column in table.items()}
    for panel, (axes, (title, _)) in enumerate(zip(panels, PANELS, strict=True)):
        mine = data["panel"] == panel
        curves = {
            str(name): {key: data[key][mine & (data["curve"] == name)].astype(float) for key in SHOWN}
            for name in dict.fromkeys(data["curve"][mine])
        }
        _panel(axes, curves)
        axes.set(xscale="log", xlabel=r"$\alpha=N/D$", title=title)
        axes.set_xticks([0.5, 1, 2, 5, 10, 20], labels=["0.5", "1", "2", "5", "10", "20"])
        axes.minorticks_off()
    panels[0].set(ylabel=r"test risk $\mathcal{E}$", ylim=(0, 1.08))
    panels[0].legend(loc="lower left", handlelength=2.2)
    return drawing


def _panel(axes: Axes, curves: dict[str, dict[str, np.ndarray]]) -> None:
    edges = curves.get("hard")
    if edges is not None:
        axes.axvspan(*edges["alpha"], color="#DDDDDD", linewidth=0)
    for attention in ATTENTIONS:
        name, shade = attention.name, dict[str, Any](color=colour(attention.name))
        line = curves[name]
        alpha, risk, band = _smooth(line)
        axes.plot(alpha, risk, label=name, **shade)
        axes.fill_between(alpha, risk - band, risk + band, alpha=0.25, linewidth=0, **shade)
        broken = line["stable"] == 0
        axes.plot(line["alpha"][broken], line["risk"][broken], "x", markersize=5, **shade)
        axes.axhline(curves[f"{name}_limit"]["risk"][0], linestyle=":", linewidth=1.0, **shade)
        fits = curves.get(f"{name}_fit")
        if fits is not None:
            bars: dict[str, Any] = {"fmt": MARKERS.get(name, "^"), "markersize": 4, "capsize": 2, "elinewidth": 0.9}
            axes.errorbar(fits["alpha"], fits["risk"], 2 * fits["error"], markerfacecolor="white", **bars, **shade)
    best, jump = curves["bayes"], math.inf if edges is None else edges["alpha"][0]
    sides = [_smooth({key: column[side] for key, column in best.items()}) for side in _sides(best["alpha"], jump)]
    alpha, risk, _ = (np.concatenate(parts) for parts in zip(*sides, strict=True))
    axes.plot(alpha, risk, color="black", linewidth=1.2, label="Bayes-optimal")
    stuck = curves.get("uninformed")
    if stuck is not None:
        axes.plot(stuck["alpha"], stuck["risk"], color="black", linewidth=1.0, linestyle=(0, (3, 2)))


def _sides(alpha: np.ndarray, jump: float) -> list[np.ndarray]:
    """The points on each side of a jump, as masks."""
    return [side for side in (alpha < jump, alpha >= jump) if side.any()]


def _smooth(line: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(alpha, risk, two standard errors) between the points, by monotone cubics in log alpha."""
    from scipy.interpolate import PchipInterpolator

    if len(line["alpha"]) == 1:
        return line["alpha"], line["risk"], 2 * line["error"]
    places = np.log(line["alpha"])
    between = np.linspace(places[0], places[-1], 200)
    risk, error = (PchipInterpolator(places, line[name])(between) for name in ("risk", "error"))
    return np.exp(between), risk, 2 * error
