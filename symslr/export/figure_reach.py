"""When the flow from a random start finds the good minimum, and how fast, as nu and L grow (softmax, spiked-SLR)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from symslr.export.figures import OTHER_COLOURS, TEXT_WIDTH, Figure, Table
from symslr.kept.processes import mapped
from symslr.model.catalogue import SpikedSLR, softmax

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from symslr.evaluation.landscape import Landscape

LENGTHS = (3, 10, 30)
STRENGTHS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
SIZES = (0.1, 1.0)
STARTS, TIME, SEED = 24, 1000.0, 6


def figure_reach(starts: int = STARTS, lengths: Sequence[int] = LENGTHS, nu: Sequence[float] = STRENGTHS) -> Figure:
    """Share of random starts that come half way to the least risk in time, their median time, the curvature there."""
    caption = (
        rf"Softmax on spiked-SLR from {starts} random starts, every coordinate of $k$ and $v$ along $k^\star$, along"
        rf" $v^\star$ and outside $\mathcal{{N}}(0,\eta^2)$. Left: share of starts whose flow comes half way from risk 1 to the"
        rf" least risk by time {TIME:g}; $\eta=0.1$ solid, $\eta=1$ dashed. Middle: median of that time at $\eta=0.1$; it"
        r" grows with $L$, as attention starts uniform and sees $1/L$ of the signal, and falls with $\nu$. Right: least"
        r" curvature at the good minimum; it falls with the least risk, exponentially in $\nu$, as softmax saturates, so that"
        r" the last approach slows down though the first one speeds up. Starts that fail are caught on a plateau where"
        r" saturated attention looks at the wrong token."
    )
    alt = "Share of starts that succeed, median time, and curvature at the minimum against nu for three lengths."
    return Figure("figure-reach", caption, partial(_table, starts, tuple(lengths), tuple(nu)), _draw, alt)


def _table(starts: int, lengths: Sequence[int], nu: Sequence[float]) -> Table:
    jobs = [(length, strength) for length in lengths for strength in nu]
    rows = mapped(partial(_row, starts), jobs)
    return {name: [row[name] for row in rows] for name in rows[0]}


def _row(starts: int, job: tuple[int, float]) -> dict[str, float]:
    """One length and strength."""
    from symslr.evaluation.landscape import Landscape
    from symslr.evaluation.landscape.minima import matched_start
    from symslr.evaluation.landscape.vectors import hessian_in_vectors, in_vectors

    length, strength = job
    landscape = Landscape.of(SpikedSLR(), softmax, {"L": length, "nu": strength, "Delta": 0})
    good = matched_start(landscape, strength**0.5)
    least = in_vectors(landscape, good)[0]
    row = {"length": float(length), "nu": strength, "least_risk": least}
    row["curvature"] = float(np.linalg.eigvalsh(hessian_in_vectors(landscape, good))[0])
    for size in SIZES:
        times = _times(landscape, starts, size, (1 + least) / 2)
        row[f"share_{size}"] = float(np.mean(np.isfinite(times)))
        row[f"median_time_{size}"] = float(np.median(times))
    return row


def _times(landscape: Landscape, starts: int, size: float, level: float) -> np.ndarray:
    from symslr.evaluation.landscape import time_to_risk

    vectors = (size * np.random.default_rng([SEED, seed]).standard_normal(8) for seed in range(starts))
    return np.array([time_to_risk(landscape, start, level, TIME) for start in vectors])


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(1, 3, figsize=(TEXT_WIDTH, 2.4))
    columns = {name: np.asarray(column, dtype=float) for name, column in table.items()}
    for position, length in enumerate(sorted(set(columns["length"]))):
        mine = columns["length"] == length
        nu, shade = columns["nu"][mine], OTHER_COLOURS[position % len(OTHER_COLOURS)]
        for size, style in zip(SIZES, ("-", (0, (3, 2)))):
            panels[0].plot(nu, columns[f"share_{size}"][mine], marker=".", color=shade, linestyle=style)
        panels[1].plot(nu, columns[f"median_time_{SIZES[0]}"][mine], marker=".", color=shade, label=f"$L={length:g}$")
        panels[2].plot(nu, np.maximum(columns["curvature"][mine], FLOOR), marker=".", color=shade)
    panels[0].set(ylim=(-0.03, 1.05), title="share that succeeds")
    panels[1].set(yscale="log", title="median time")
    panels[2].set(yscale="log", title="least curvature")
    for axes in panels:
        axes.set(xscale="log", xlabel=r"signal strength $\nu$")
    panels[1].legend(loc="lower left", fontsize=8)
    return drawing


FLOOR = 1e-8
"""Finite differences of the gradient see no smaller curvature."""
