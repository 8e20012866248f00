"""What Figure 2 of the paper could not show: lengths up to a million, and the transition at nu = 2 log L.

Source: symslr; the transition is that of the random-energy model (Derrida 1981).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symslr.export.figures import TEXT_WIDTH, Figure, Table, colour
from symslr.model.catalogue import SpikedSLR, linear, softmax

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LENGTHS = (10**2, 10**4, 10**6)
KAPPA = np.linspace(0.05, 2.5, 50)
SHADES = (0.35, 0.65, 1.0)


def figure_large() -> Figure:
    """Least risk of softmax (= Bayes) and linear attention on spiked-SLR against kappa = nu/(2 log L), Delta = 0."""
    caption = (
        r"Least population risk on spiked-SLR at large length against $\kappa=\nu/(2\log L)$, without noise. Softmax "
        r"attention, which attains the Bayes risk, steepens towards a transition at $\kappa=1$; linear attention needs "
        r"$\nu\gg L$ and stays near one."
    )
    alt = "Risk against nu over 2 log L for L = 100, 10000 and 1000000: softmax falls near 1, linear stays near 1."
    return Figure("figure-large-length", caption, _table, _draw, alt)


def _table() -> Table:
    from symslr.evaluation import evaluate
    from symslr.theory import minimal_risk

    columns: dict[str, list[float]] = {"kappa": KAPPA.tolist()}
    for attention in (softmax, linear):
        risk = minimal_risk(SpikedSLR(), attention)
        for length in LENGTHS:
            nu = 2 * KAPPA * np.log(length)
            values = evaluate(risk, {"L": length, "nu": nu, "Delta": 0}).value
            columns[f"{attention.name}_L{length}"] = [float(value) for value in values]
    return columns


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, axes = plt.subplots(figsize=(0.75 * TEXT_WIDTH, 2.8))
    for name, dashes in (("softmax", "-"), ("linear", (0, (1, 1)))):
        for length, shade in zip(LENGTHS, SHADES, strict=True):
            power = round(np.log10(length))
            axes.plot(
                table["kappa"],
                table[f"{name}_L{length}"],
                color=colour(name),
                linestyle=dashes,
                alpha=shade,
                linewidth=1.8,
                label=rf"{name}, $L=10^{power}$",
            )
    axes.axvline(1, color="#666666", linewidth=0.8)
    axes.set(xlabel=r"$\kappa=\nu/(2\log L)$", ylabel=r"risk at $\Delta=0$", ylim=(0, 1.05), xlim=(0, KAPPA[-1]))
    axes.legend(loc="lower left", fontsize=8)
    return drawing
