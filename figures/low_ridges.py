"""Where theory and fits part at low ridges: the readers' dispute, drawn.

Source: readers' reports on arXiv 2509.21936, Section 5; ``validation/low_ridges.py`` has the numbers point by point.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Rational

from symslr.cache.parts import OTHER_SEEDS, computed_once, measured
from symslr.export.figures import TEXT_WIDTH, Figure, Table, colour
from symslr.model.catalogue import SpikedSLR, linear, softmax
from symslr.model.task import Task
from symslr.validation.validation import LARGEST_Z, NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LENGTH, DIMENSION, SEEDS = 3, 300, tuple(range(10))
RIDGES = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
ATTENTIONS = (softmax, linear)
TASKS: dict[str, tuple[str, float, Task]] = {
    "weak": (r"$\nu=1/2$, $\alpha=2$", 2.0, SpikedSLR(Rational(1, 2), length=LENGTH, noise=0)),
    "strong": (r"$\nu=2$, $\alpha=4$", 4.0, SpikedSLR(2, length=LENGTH, noise=0)),
}
TICKS: dict[str, tuple[list[float], list[str]]] = {
    "weak": ([0.8, 1, 1.5, 2, 3], ["0.8", "1", "1.5", "2", "3"]),
    "strong": ([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"]),
}
"""Of the risk: the panels have axes of their own."""
PRECISION = 0.01
FRESH = 100_000


def figure_low_ridges(ridges: Sequence[float] = RIDGES, seeds: Sequence[int] = SEEDS) -> Figure:
    """Test risk against the ridge, both equal: theory, crossed where replica symmetry is broken, and fits."""
    caption = (
        rf"Test risk on spiked-SLR against the ridge, $r_k=r_v$, $L={LENGTH}$, without noise. Lines: replica-symmetric"
        rf" theory; a cross where replica symmetry is broken. Markers: L-BFGS fits from the informed start, $D={DIMENSION}$,"
        rf" {len(seeds)} training sets each, all of them counted, with two standard errors. Towards low ridges the two part,"
        r" and where they do by more than four standard errors it is the theory that is wrong: replica symmetry, on which it"
        r" rests, is unstable there, and every fit is stationary. Crosses where the two agree say that the theory need not"
        r" hold, not that it fails."
    )
    alt = "Risk against the ridge for softmax and linear attention; theory and fits agree at large ridges and part at low ones."
    settings = (
        ("tasks", "spiked-SLR, " + "; ".join(title for title, _, _ in TASKS.values())),
        ("length", f"$L={LENGTH}$"),
        (r"ridges $r_k=r_v$", ", ".join(f"{ridge:g}" for ridge in ridges)),
        ("dimension of the fits", f"{DIMENSION}"),
        ("training sets", f"{len(seeds)}"),
    )
    compute = partial(_table, tuple(ridges), tuple(seeds))
    drawn = f"training sets: {seeds[0]} to {seeds[-1]} at every point"
    return Figure("figure-low-ridges", caption, compute, _draw, alt, _claims, drawn, settings)


COLUMNS = (
    "panel",
    "attention",
    "ridge",
    "theory",
    "theory_error",
    "replicon",
    "stable",
    "fits",
    "fits_error",
    "stationary",
)


def _table(ridges: Sequence[float], seeds: Sequence[int]) -> Table:
    jobs = [(panel, item.name, ridge) for panel in TASKS for item in ATTENTIONS for ridge in ridges]
    fits = computed_once(
        _fits,
        [(*job, seeds[0], seeds[-1] + 1) for job in jobs],
        again=lambda job, run: (*job[:3], job[3] + OTHER_SEEDS * run, job[4] + OTHER_SEEDS * run),
    )
    rows = []
    for job, ours, theirs in zip(jobs, computed_once(_theory, jobs), fits, strict=True):
        told = ours["risk"]["value"], ours["risk"]["error"], ours["replicon"]["value"], ours["stable"]
        rows.append((*job, *told, theirs["risk"]["value"], theirs["risk"]["error"], theirs["stationary"]))
    return {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}


def _theory(job: tuple[str, str, float]) -> dict[str, object]:
    """Risk, replicon, whether replica symmetry is stable."""
    from symslr.evaluation.finite_sample import finite_sample

    panel, name, ridge = job
    _, alpha, task = TASKS[panel]
    attention = next(item for item in ATTENTIONS if item.name == name)
    theory = finite_sample(
        task, attention, {}, alpha=alpha, ridge=(ridge, ridge), precision=PRECISION, branch="informed"
    )
    replicon = measured(theory.replicon, 0.005)
    return {"risk": measured(theory.risk), "replicon": replicon, "stable": float(theory.stable)}


def _fits(job: tuple[str, str, float, int, int]) -> dict[str, object]:
    """Mean risk and share of the fits that are stationary: of all fits, so that none is chosen."""
    from symslr.evaluation.sampling.scatter import standard_error
    from symslr.simulate.erm import erm_replicates

    panel, name, ridge, first, end = job
    _, alpha, task = TASKS[panel]
    attention = next(item for item in ATTENTIONS if item.name == name)
    fits = erm_replicates(
        *(task, attention, {}),
        **{"alpha": alpha, "dimension": DIMENSION, "r_k": ridge, "r_v": ridge},
        seeds=range(first, end),
        starts=("informed",),
        fresh=FRESH,
    )
    risks = [run.risk.mean for run in fits.runs]
    stationary = sum(run.fit.converged for run in fits.runs) / len(risks)
    return {"risk": measured(float(np.mean(risks)), standard_error(risks)), "stationary": stationary}


def _rows(table: Table) -> list[dict[str, Any]]:
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def _claims(table: Table) -> list[NamedComparison]:
    """No point where replica symmetry holds is one where theory and fits part, and what is concluded rests on fits that arrived.

    Two things are concluded: that theory and fits agree where replica symmetry holds, and that the theory is wrong where
    the two part. A fit that stopped early is no minimum, and neither for nor against a theory of minima; so every fit of
    such a point has to be stationary. Where symmetry is broken and the two agree nothing is concluded.
    """
    rows = _rows(table)
    for row in rows:
        row["z"] = (row["fits"] - row["theory"]) / np.hypot(row["fits_error"], row["theory_error"])
    stable = [row for row in rows if row["stable"]]
    broken = [row for row in rows if not row["stable"]]
    apart = [row for row in broken if abs(row["z"]) > LARGEST_Z]
    largest = f"{len(stable)} points, largest |z| {max(abs(row['z']) for row in stable):.1f}"
    differ = ", ".join(f"{_place(row)}: {row['fits']:.3f} against {row['theory']:.3f}" for row in apart)
    away = f"{len(apart)} of {len(broken)} points where replica symmetry is broken differ: {differ or 'none'}"
    stopped = [
        f"{1 - row['stationary']:.0%} of {_place(row)}{', from which nothing is concluded' * (row not in (*stable, *apart))}"
        for row in rows
        if row["stationary"] < 1
    ]
    return [
        states(
            "fits and theory agree where replica symmetry holds",
            all(abs(row["z"]) <= LARGEST_Z for row in stable),
            largest,
        ),
        states(
            "where fits and theory agree as they should, and where they part, every fit is stationary",
            all(row["stationary"] == 1 for row in (*stable, *apart)),
            f"{away}; not stationary: {'; '.join(stopped) or 'none'}",
        ),
    ]


def _place(row: dict[str, Any]) -> str:
    return f"{row['attention']} at {row['ridge']:g} ({row['panel']})"


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(1, len(TASKS), figsize=(TEXT_WIDTH, 2.8))
    rows = _rows(table)
    for axes, (panel, (title, _, _)) in zip(panels, TASKS.items(), strict=True):
        for attention in ATTENTIONS:
            mine = [row for row in rows if (row["panel"], row["attention"]) == (panel, attention.name)]
            ridge, theory, fits, error, stable = (
                np.array([row[name] for row in mine], dtype=float)
                for name in ("ridge", "theory", "fits", "fits_error", "stable")
            )
            shade = colour(attention.name)
            axes.plot(ridge, theory, color=shade, label=attention.name)
            axes.plot(ridge[stable == 0], theory[stable == 0], "x", color=shade, markersize=6)
            bars: dict[str, Any] = {
                "fmt": "o",
                "markersize": 4,
                "capsize": 2,
                "elinewidth": 0.9,
                "markerfacecolor": "white",
            }
            axes.errorbar(ridge, fits, 2 * error, color=shade, **bars)
        axes.set(xscale="log", yscale="log", xlabel="ridge $r_k=r_v$", title=f"spiked-SLR, {title}")
        axes.set_xticks([0.05, 0.1, 0.2, 0.5, 1], ["0.05", "0.1", "0.2", "0.5", "1"])
        axes.minorticks_off()
        axes.set_yticks(*TICKS[panel])
    panels[0].set_ylabel("test risk")
    panels[0].legend(loc="best")
    return drawing
