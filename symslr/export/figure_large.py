"""What Figure 2 of the paper could not show: every attention at lengths up to a million, and the transition at nu = 2 log L.

Source: symslr; the transition is that of the random-energy model (Derrida 1981).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symslr.export.figure2 import LABELS, searched
from symslr.export.figures import STYLES, TEXT_WIDTH, Figure, Table, colour
from symslr.model.catalogue import ATTENTIONS, MaxSLR, SpikedSLR, erf, linear, softmax, softmax1, softplus
from symslr.verify.validation import NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LENGTHS = (10**2, 10**4, 10**6)
KAPPA = np.linspace(0.1, 2.5, 13)
SEARCHED = {"spiked": (softmax1, softplus, erf), "max": (erf,)}
"""Attentions whose best scale is searched; on max-SLR those that reach a million tokens at the cost of a few."""
DERIVED = (softmax, linear)
NOISE = 1e-6
"""Relative error within which curves may touch."""


def figure_large() -> Figure:
    """Least risk of every attention at L = 10^2, 10^4 and 10^6, Delta = 0; spiked-SLR above, max-SLR below."""
    caption = (
        r"Least population risk at large length, without noise: spiked-SLR (top) against $\kappa=\nu/(2\log L)$, max-SLR (bottom) "
        r"against $\nu/\sqrt{2\log L}$, where the largest of $L$ keys begins to dominate. Softmax, which attains the Bayes "
        r"risk, steepens towards a transition at $\kappa=1$; softmax-1 cannot be told from it, erf attention with free scale and "
        r"shift follows at some distance, and linear attention needs $\nu\gg L$ and stays near one, as softplus attention does at its "
        r"best scale, which is often infinite. On max-SLR softmax-1 and softplus are not drawn: their normaliser is not that of the weight, "
        r"so that a risk takes two Laplace variables instead of one, and a search at $L=10^6$ minutes a point."
    )
    alt = "Risk against signal strength for L = 100, 10000 and 1000000: softmax and softmax-1 fall near kappa = 1, erf later."
    return Figure("figure-large-length", caption, _table, _draw, alt, _claims)


def _strengths(task: str, length: int) -> np.ndarray:
    size = np.log(length)
    return 2 * KAPPA * size if task == "spiked" else KAPPA * np.sqrt(2 * size)


def _table() -> Table:
    from symslr.evaluation import evaluate
    from symslr.theory import minimal_risk

    columns: dict[str, list[float]] = {"kappa": KAPPA.tolist()}
    for name, make in (("spiked", SpikedSLR), ("max", MaxSLR)):
        for length in LENGTHS:
            task, nu = make(length=length, noise=0), _strengths(name, length)
            for attention in DERIVED:
                values = evaluate(minimal_risk(task, attention), {"nu": nu}).value
                columns[f"{name}_{attention.name}_L{length}"] = [float(value) for value in values]
            for attention in SEARCHED[name]:
                for quantity, column in searched(task, attention, nu).items():
                    ending = "" if quantity == "risk" else f"_{quantity}"
                    columns[f"{name}_{attention.name}_L{length}{ending}"] = [float(value) for value in column]
    return columns


def _claims(table: Table) -> list[NamedComparison]:
    """Softmax is below every other attention, at any length."""
    rows = []
    for name, items in SEARCHED.items():
        worst = np.inf
        for length in LENGTHS:
            least = np.asarray(table[f"{name}_softmax_L{length}"], dtype=float)
            for attention in (*items, linear):
                other = np.asarray(table[f"{name}_{attention.name}_L{length}"], dtype=float)
                worst = min(worst, float(np.min(other / least)))
        note = f"smallest ratio of another attention's least risk to that of softmax, over lengths up to 10^6: {worst:.9g}"
        rows.append(states(f"softmax is the best at large length, {name}-SLR", worst > 1 - NOISE, note))
    return rows


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(2, len(LENGTHS), figsize=(TEXT_WIDTH, 4.2), sharex=True, sharey=True)
    for row, (name, items) in zip(panels, SEARCHED.items(), strict=True):
        for axes, length in zip(row, LENGTHS, strict=True):
            for attention in (item for item in ATTENTIONS.values() if item in (*DERIVED, *items)):
                style: dict[str, Any] = {"color": colour(attention.name), "linestyle": STYLES[attention.name]}
                label = LABELS.get(attention.name, attention.name)
                axes.plot(table["kappa"], table[f"{name}_{attention.name}_L{length}"], label=label, linewidth=1.8, **style)
            axes.axvline(1, color="#666666", linewidth=0.8)
            axes.set(title=rf"{name}-SLR, $L=10^{round(np.log10(length))}$", ylim=(0, 1.05), xlim=(0, KAPPA[-1]))
        row[0].set_ylabel(r"least risk")
    for axes in panels[0]:
        axes.set_xlabel(r"$\nu/(2\log L)$")
    for axes in panels[1]:
        axes.set_xlabel(r"$\nu/\sqrt{2\log L}$")
    panels[0, 0].legend(loc="lower left", fontsize=8)
    return drawing
