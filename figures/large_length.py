"""What Figure 2 of the paper could not show: every attention at a hundred and at a million tokens.

Source: symslr; the transition is that of the random-energy model (Derrida 1981).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from symslr.cache.parts import computed_once, measured
from symslr.export.curves import computed
from symslr.export.figures import NAMES, STYLES, TEXT_WIDTH, Figure, Table, colour, smooth
from symslr.model.attention import Attention
from symslr.model.catalogue import TASKS, erf, linear, softmax, softmax1, softplus
from symslr.validation.validation import NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LENGTHS = (10**2, 10**6)
STRENGTHS = np.linspace(0.05, 2.5, 50)
"""nu in units of 2 log L on spiked-SLR, of sqrt(2 log L) on max-SLR."""
SEARCHED = [3, 9, 15, 21, 27, 34, 41, 49]
"""Those of them where the attentions without a derived scale are searched for; not a number elsewhere."""
ATTENTIONS = {"spiked": (softmax1, erf, softplus), "max": (softmax1, erf)}
"""These; the scale of softmax and of linear attention is derived. Softplus on max-SLR takes minutes a strength."""
DIGITS = 7
CLOSE = 10.0**-DIGITS
"""Relative error of risks that were found by search."""
UNITS = {"spiked": r"\nu/(2\log L)", "max": r"\nu/\sqrt{2\log L}"}


def figure_large_length() -> Figure:
    """Least risk of every attention on spiked-SLR and max-SLR at L = 10^2 and 10^6, Delta = 0."""
    caption = (
        r"Least population risk at large length, without noise, against the signal strength in units of $2\log L$ on spiked-SLR "
        r"(top) and of $\sqrt{2\log L}$ on max-SLR (bottom), where the largest of $L$ keys begins to stand out. Softmax attention "
        r"attains the Bayes risk and steepens towards a transition at 1; softmax-1 cannot be told from it. Erf attention with its "
        r"free scale and shift follows at a distance, linear attention needs $\nu\gg L$ on spiked-SLR, and softplus attention is "
        r"no better than linear where $L$ is large. Softplus on max-SLR is not drawn: two Laplace variables and a scale that "
        r"runs off to infinity make it minutes a point. Dots: where a scale was searched for, joined by monotone cubics."
    )
    alt = "Risk against signal strength at L = 100 and a million: softmax and softmax-1 fall first, erf later, linear stays near 1."
    return Figure("figure-large-length", caption, _table, _draw, alt, _claims)


def _strengths(task: str, length: int) -> Any:
    size = 2 * np.log(length)
    return STRENGTHS * (size if task == "spiked" else np.sqrt(size))


def least(job: tuple[str, int, Attention, int | None]) -> dict[str, object]:
    """The least risk at one strength, whose scale is searched; without its place, those at all strengths, by formula."""
    from symslr.evaluation import evaluate, least_risk
    from symslr.theory import minimal_risk

    name, length, attention, place = job
    task, strengths = TASKS[name](length=length, noise=0), _strengths(name, length)
    if place is None:
        return measured(evaluate(minimal_risk(task, attention), {"nu": strengths}))
    return measured(least_risk(task, attention, {"nu": float(strengths[place])}, DIGITS)[0])


def _table() -> Table:
    jobs: list[tuple[str, int, Attention, int | None]] = []
    for name in TASKS:
        for length in LENGTHS:
            jobs += [(name, length, attention, None) for attention in (softmax, linear)]
            jobs += [(name, length, attention, place) for attention in ATTENTIONS[name] for place in SEARCHED]
    columns: dict[str, list[float]] = {"strength": STRENGTHS.tolist()}
    for (name, length, attention, place), risk in zip(jobs, computed_once(least, jobs), strict=True):
        column = columns.setdefault(f"{name}_{attention.name}_L{length}", [math.nan] * len(STRENGTHS))
        column[slice(None) if place is None else slice(place, place + 1)] = np.atleast_1d(risk["value"])
    return columns


def _claims(table: Table) -> list[NamedComparison]:
    """Softmax is below every other attention, at any length."""
    rows = []
    for name, others in ATTENTIONS.items():
        ratios = []
        for length in LENGTHS:
            least = np.array(table[f"{name}_softmax_L{length}"], dtype=float)
            ratios += [
                np.array(table[f"{name}_{item.name}_L{length}"], dtype=float) / least for item in (linear, *others)
            ]
        smallest = float(np.nanmin(ratios))
        note = (
            f"smallest ratio of another attention's least risk to that of softmax at L = 10^2 and 10^6: {smallest:.9g}"
        )
        rows.append(states(f"no attention is below softmax at large length, {name}-SLR", smallest > 1 - CLOSE, note))
    return rows


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(2, len(LENGTHS), figsize=(TEXT_WIDTH, 4.6), sharey=True)
    for row, name in zip(panels, TASKS, strict=True):
        for axes, length in zip(row, LENGTHS, strict=True):
            for attention in (softmax, linear, *ATTENTIONS[name]):
                style: dict[str, Any] = {"color": colour(attention.name), "linestyle": STYLES[attention.name]}
                column = table[f"{name}_{attention.name}_L{length}"]
                label = NAMES.get(attention.name, attention.name)
                computed(*axes.plot(*smooth(STRENGTHS, column), label=label, linewidth=1.8, **style), STRENGTHS, column)
                if attention in ATTENTIONS[name]:
                    axes.plot(STRENGTHS, column, "o", color=style["color"], markersize=3.5)
            axes.axvline(1, color="#666666", linewidth=0.8)
            axes.set(title=rf"{name}-SLR, $L=10^{round(np.log10(length))}$", ylim=(0, 1.05), xlim=(0, STRENGTHS[-1]))
            axes.set_xlabel(f"${UNITS[name]}$")
        row[0].set_ylabel("least risk")
    panels[0, 0].legend(loc="lower left", fontsize=8)
    return drawing
