"""The strong-signal expansions beside the exact Bayes risk: error against order and signal strength."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symslr.export.figures import TEXT_WIDTH, Figure, Table
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.task import Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

ORDERS = (1, 2, 3, 5)
LENGTHS = (2, 3, 10)
NU = np.geomspace(10, 150, 30)
GREYS = ("#BBBBBB", "#888888", "#555555", "#000000")


def figure_asymptotics() -> Figure:
    """Relative error of the expansions: spiked-SLR at L = 2 by order, max-SLR to leading order by length."""
    caption = (
        r"Relative error of the strong-signal expansions of the Bayes risk. Left: spiked-SLR, $L=2$, the Euler-number "
        r"series cut after 1, 2, 3 and 5 terms (solid), and the 5-term series at $L=10$ (dashes), where a second "
        r"competitor costs an exponentially small correction. Right: max-SLR, the leading term "
        r"$\mathbb{E}[\max_l\chi_l]/\nu$."
    )
    alt = "Relative error against nu on logarithmic axes; it falls faster with every term and with nu."
    return Figure("figure-asymptotics", caption, _table, _draw, alt)


def _table() -> Table:
    from symslr.evaluation import evaluate
    from symslr.theory import bayes_risk, strong_signal

    def relative(task: Task, length: int, order: int) -> list[float]:
        where = {"L": length, "nu": NU, "Delta": 0}
        exact = evaluate(bayes_risk(task), where).value
        series = evaluate(strong_signal(task, order), {k: v for k, v in where.items() if k != "Delta"}).value
        return [float(abs(error)) for error in series / exact - 1]

    columns = {"nu": NU.tolist()}
    for order in ORDERS:
        columns[f"spiked_L2_order{order}"] = relative(SpikedSLR(), 2, order)
    columns[f"spiked_L10_order{ORDERS[-1]}"] = relative(SpikedSLR(), 10, ORDERS[-1])
    for length in LENGTHS:
        columns[f"max_L{length}_order1"] = relative(MaxSLR(), length, 1)
    return columns


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, (spiked, largest) = plt.subplots(1, 2, figsize=(TEXT_WIDTH, 2.6))
    for order, grey in zip(ORDERS, GREYS, strict=True):
        name = f"{order} term" + ("s" if order > 1 else "")
        spiked.plot(table["nu"], table[f"spiked_L2_order{order}"], color=grey, label=name)
    last = ORDERS[-1]
    spiked.plot(table["nu"], table[f"spiked_L10_order{last}"], color=GREYS[-1], linestyle="--", label=f"{last}, $L=10$")
    for length, dashes in zip(LENGTHS, ("-", "--", ":"), strict=True):
        largest.plot(
            table["nu"], table[f"max_L{length}_order1"], color="#000000", linestyle=dashes, label=f"$L={length}$"
        )
    for axes, title in ((spiked, "spiked-SLR"), (largest, "max-SLR")):
        axes.set(xscale="log", yscale="log", xlabel=r"signal strength $\nu$", title=title)
        axes.legend()
    spiked.set_ylabel("relative error")
    return drawing
