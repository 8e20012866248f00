"""The strong-signal expansions beside the exact risks of Bayes and of linear attention: error against order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symslr.export.figures import TEXT_WIDTH, Figure, Table
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

ORDERS = (1, 2, 3, 5)
MAX_ORDERS = (1, 3, 4, 5)
"""Powers of 1/nu kept, the second of which vanishes."""
LENGTHS = (2, 10)
NU = np.geomspace(10, 150, 30)
TASKS = {"spiked": SpikedSLR(noise=0), "max": MaxSLR(noise=0)}
LEAST = 1e-12
GREYS = ("#BBBBBB", "#888888", "#555555", "#000000")
DASHES = {2: "-", 10: "--"}
PANELS = {
    "spiked_bayes": ("spiked-SLR, Bayes", ORDERS),
    "max_bayes": ("max-SLR, Bayes", MAX_ORDERS),
    "spiked_linear": ("spiked-SLR, linear", ORDERS),
    "max_linear": ("max-SLR, linear", MAX_ORDERS),
}


def figure_asymptotics() -> Figure:
    """Relative error of the expansions against nu, by order: Bayes and linear attention, both tasks, L = 2 and 10."""
    caption = (
        r"Relative error of the strong-signal expansions of the least risk without noise, cut after 1, 2, 3, ... terms "
        r"(darker means more), $L=2$ (solid) and $L=10$ (dashes). Top left: Bayes on spiked-SLR, the Euler-number series; at "
        r"$L=10$ a second competitor costs an exponentially small correction, which more terms do not remove. Top right: "
        r"Bayes on max-SLR, powers of $1/\nu$ beginning with $\mathbb{E}[\max_l\chi_l]/\nu$; the second power vanishes, "
        r"and at $L=2$ so do the fourth and the sixth, so that their curves coincide with those before. Bottom: linear "
        r"attention. On spiked-SLR the series is one in $L^2/((L-1)\nu)$ and diverges at $\nu\approx L$; on max-SLR the "
        r"risk tends to a constant. Errors below $10^{-11}$ are those of the exact values."
    )
    alt = "Four panels of relative error against nu on logarithmic axes; it falls faster with every term and with nu."
    return Figure("figure-asymptotics", caption, _table, _draw, alt)


def _table() -> Table:
    from symslr.evaluation import evaluate
    from symslr.theory import bayes_risk, minimal_risk, strong_signal, strong_signal_linear

    columns = {"nu": NU.tolist()}
    for name, (_, orders) in PANELS.items():
        which, predictor = name.split("_")
        task = TASKS[which]
        risk, series = (
            (bayes_risk(task), strong_signal)
            if predictor == "bayes"
            else (minimal_risk(task, linear), strong_signal_linear)
        )
        for length in LENGTHS:
            where = {"L": length, "nu": NU}
            exact = evaluate(risk, where).value
            for order in orders:
                formula = series(task, order)
                known = {symbol.name for symbol in formula.free_symbols}
                found = evaluate(formula, {key: value for key, value in where.items() if key in known}).value
                columns[f"{name}_L{length}_order{order}"] = [float(error) for error in np.abs(found / exact - 1)]
    return columns


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(2, 2, figsize=(TEXT_WIDTH, 4.6), sharex=True)
    for axes, (name, (title, orders)) in zip(panels.flat, PANELS.items(), strict=True):
        for length in LENGTHS:
            for order, grey in zip(orders, GREYS, strict=True):
                error = np.maximum(np.asarray(table[f"{name}_L{length}_order{order}"], dtype=float), LEAST)
                label = f"{order} term" + ("s" if order > 1 else "")
                axes.plot(
                    table["nu"],
                    error,
                    color=grey,
                    linestyle=DASHES[length],
                    label=label if length == LENGTHS[0] else None,
                )
        axes.set(xscale="log", yscale="log", title=title, ylim=(LEAST, 30))
        axes.legend(fontsize=7.5)
    for axes in panels[1]:
        axes.set_xlabel(r"signal strength $\nu$")
    for axes in panels[:, 0]:
        axes.set_ylabel("relative error")
    return drawing
