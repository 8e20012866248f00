"""Corollary 4.4 drawn: least risks at a fixed length and at random ones of the same mean, for every attention.

Source: arXiv 2509.21936, Corollary 4.4; the drawing is symslr's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sympy import Rational

from symslr.cache.parts import computed_once, measured
from symslr.export.curves import computed
from symslr.export.figures import NAMES, STYLES, TEXT_WIDTH, Figure, Table, colour, smooth
from symslr.model.catalogue import ATTENTIONS, TASKS, softmax
from symslr.validation.validation import NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

MEAN = 3
LAWS = {
    "fixed": MEAN,
    "uniform": {length: Rational(1, 5) for length in range(1, 6)},
    "split": {1: Rational(1, 2), 5: Rational(1, 2)},
}
"""Laws of the length of one mean."""
TITLES = {"fixed": "$L=3$", "uniform": r"$L\sim\mathrm{Unif}\{1,...,5\}$", "split": "$L=1$ or $5$, each 1/2"}
NU = tuple(float(strength) for strength in np.geomspace(0.2, 10, 7))
DIGITS = 7
CLOSE = 2e-7
"""Relative error of risks that were found by search."""


def figure_random_length(strengths: Sequence[float] = NU, attentions: Sequence[str] = tuple(ATTENTIONS)) -> Figure:
    """Least risk against nu at each law of the length, spiked-SLR left, max-SLR right, Delta = 0."""
    caption = (
        rf"Least population risk at a fixed length and at two random ones of the same mean, $\mathbb{{E}}[L]={MEAN}$,"
        r" without noise. On spiked-SLR element-wise attention, linear or erf, depends on the mean alone, so that its three"
        r" curves are one; on max-SLR the key of the relevant token has a law that the length changes. Under a normaliser"
        r" the law of the length matters; softmax attains the Bayes risk at each of them with one key."
    )
    alt = (
        "Risk against nu at three laws of the length; the curves of linear and of erf attention on spiked-SLR coincide."
    )
    settings = (
        ("length", "; ".join(TITLES.values())),
        (r"signal $\nu$", f"{strengths[0]:g} to {strengths[-1]:g}, {len(strengths)} values"),
        (r"noise $\Delta$", "0"),
        ("attentions", ", ".join(attentions)),
    )
    compute = partial(_table, tuple(strengths), tuple(attentions))
    draw, claims = partial(_draw, tuple(attentions)), partial(_claims, tuple(attentions))
    return Figure("figure-random-length", caption, compute, draw, alt, claims, settings=settings)


def _table(strengths: Sequence[float], attentions: Sequence[str]) -> Table:
    curves = [(task, law, name) for task in TASKS for law in LAWS for name in attentions]
    jobs = [(*curve, strength) for curve in curves for strength in strengths]
    risks = dict(zip(jobs, computed_once(_risk, jobs), strict=True))
    columns = {"_".join(curve): [risks[*curve, strength]["value"] for strength in strengths] for curve in curves}
    return {"nu": list(strengths), **columns}


def _risk(job: tuple[str, str, str, float]) -> dict[str, object]:
    """The least risk of one attention at one law of the length: of softmax by its formula, of the others by search."""
    from symslr.evaluation import evaluate, minimise
    from symslr.model.symbols import a
    from symslr.theory import minimal_risk, population_risk

    name, law, kind, strength = job
    task, attention, at = TASKS[name](length=LAWS[law], noise=0), ATTENTIONS[kind], {"nu": strength}
    if attention is softmax:
        found = evaluate(minimal_risk(task, attention), at)
    else:
        free = [a, *sorted(attention.bounds, key=str)]
        found, _ = minimise(population_risk(task, attention), free, at, digits=DIGITS)
    return measured(found)


def _claims(attentions: Sequence[str], table: Table) -> list[NamedComparison]:
    """The law of the length is felt through its mean alone by element-wise attention on spiked-SLR, and by nothing else."""
    rows = []
    for task in TASKS:
        apart = {}
        for name in attentions:
            fixed, *others = (np.asarray(table[f"{task}_{law}_{name}"], dtype=float) for law in LAWS)
            apart[name] = max(float(np.max(np.abs(other / fixed - 1))) for other in others)
        felt = {name: gap for name, gap in apart.items() if gap > CLOSE}
        expected = {name for name in attentions if task != "spiked" or ATTENTIONS[name].is_normalised}
        note = "largest relative distance from the fixed length: " + ", ".join(f"{n} {g:.2g}" for n, g in apart.items())
        rows.append(
            states(
                f"the mean length decides for element-wise attention on spiked-SLR alone: {task}-SLR",
                set(felt) == expected,
                note,
            )
        )
    return rows


def _draw(attentions: Sequence[str], table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(len(TASKS), len(TITLES), figsize=(TEXT_WIDTH, 4.2), sharex=True, sharey=True)
    for row, task in zip(panels, TASKS, strict=True):
        for axes, (law, title) in zip(row, TITLES.items(), strict=True):
            for position, name in enumerate(attentions):
                risk = table[f"{task}_{law}_{name}"]
                style = {"color": colour(name, position), "linestyle": STYLES.get(name, "-")}
                curve = axes.plot(*smooth(table["nu"], risk), label=NAMES.get(name, name), **style)
                computed(*curve, table["nu"], risk)
            axes.set(xscale="log", title=f"{task}-SLR, {title}", ylim=(0, 0.8))
            axes.set_xticks([0.2, 0.5, 1, 2, 5, 10], labels=["0.2", "0.5", "1", "2", "5", "10"])
            axes.title.set_fontsize(8.5)
            axes.minorticks_off()
        row[0].set_ylabel("least risk")
    for axes in panels[-1]:
        axes.set_xlabel(r"signal strength $\nu$")
    panels[0, 0].legend(loc="lower left", fontsize=7.5, handlelength=2.6)
    return drawing
