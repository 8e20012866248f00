"""Where the flow from random starts ends, and how fast, as nu and L grow (softmax, spiked-SLR)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from symslr.cache.parts import computed_once, measured
from symslr.export.figures import OTHER_COLOURS, TEXT_WIDTH, Figure, Table
from symslr.model.catalogue import SpikedSLR, softmax
from symslr.validation.validation import NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from symslr.evaluation.landscape import Landscape

LENGTHS = (3, 10, 30)
STRENGTHS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
SIZES = (0.1, 1.0)
STARTS, TIME, SEED = 20, 1000.0, 6

ARRIVED = 0.1
"""Of the way from risk 1 to the least risk what may be left: the mismatched minimum comes down to half way at L = 30."""

BLIND = 0.99
"""Risk above which an end sees nothing of the label; mismatched minima were below 0.97."""

FLOOR = 1e-8
"""Finite differences of the gradient see no smaller curvature."""
CLOSE, DIFFERENCES, TIMED = 1e-8, 1e-6, 0.02
"""Errors of a risk, of a curvature by finite differences, and the relative one of a time along a flow followed to 1e-2."""


def figure_reach(starts: int = STARTS, lengths: Sequence[int] = LENGTHS, nu: Sequence[float] = STRENGTHS) -> Figure:
    """Where random starts end, how long the good ones take, and the curvature of the good minimum."""
    caption = (
        rf"Softmax on spiked-SLR from {starts} random starts, every coordinate of $k$ and $v$ along $k^\star$, along"
        rf" $v^\star$ and outside $\mathcal{{N}}(0,\eta^2)$. (a) Share whose flow is nine tenths of the way from risk 1 to"
        rf" the least risk by time {TIME:g}. Small starts begin with uniform attention and find the good minimum until"
        r" $\nu$ and $L$ are so large that their scores $\sqrt{\nu}\,\eta$ are not small; starts with $\eta=1$ attend to a few"
        r" tokens before they have learnt to which. (b) Share that ends in the mismatched minimum, $k$ mostly along $v^\star$, at"
        r" $\eta=1$. The rest stays on a plateau of risk 1, where saturated attention avoids the relevant token and its"
        r" gradient is exponentially small. (c) Median time to (a) at $\eta=0.1$: it grows with $L$, as uniform attention sees"
        r" $1/L$ of the signal, and falls with $\nu$. (d) Least curvature at the good minimum: it vanishes with the least risk,"
        r" as softmax saturates, so that the last approach slows down though the first one speeds up."
    )
    alt = "Shares of starts by where they end, median time, and curvature at the minimum, against nu for three lengths."
    return Figure(
        "figure-reach",
        caption,
        partial(_table, starts, tuple(lengths), tuple(nu)),
        _draw,
        alt,
        _claims,
        seeds=f"starts: {SEED}, 0 to {starts - 1}",
    )


def _table(starts: int, lengths: Sequence[int], nu: Sequence[float]) -> Table:
    jobs = [(length, strength) for length in lengths for strength in nu]
    rows = computed_once(partial(_row, starts), jobs)
    return {name: [_number(row[name]) for row in rows] for name in rows[0]}


def _number(found: object) -> object:
    return found["value"] if isinstance(found, dict) else found


def _row(starts: int, job: tuple[int, float]) -> dict[str, object]:
    """One length and strength."""
    from symslr.evaluation.landscape import Landscape
    from symslr.evaluation.landscape.minima import matched_start

    length, strength = job
    landscape = Landscape.of(SpikedSLR(), softmax, {"L": length, "nu": strength, "Delta": 0})
    good = matched_start(landscape, strength**0.5)
    least = landscape.in_vectors(good)[0]
    row: dict[str, object] = {"length": float(length), "nu": strength, "least_risk": measured(least, CLOSE)}
    row["curvature"] = measured(float(np.linalg.eigvalsh(landscape.hessian_in_vectors(good))[0]), DIFFERENCES)
    for size in SIZES:
        ends = [_end(landscape, seed, size, least) for seed in range(starts)]
        for kind in ("good", "mismatched", "plateau", "elsewhere"):
            row[f"{kind}_{size}"] = sum(kind == found for found, _ in ends) / starts
        median = float(np.median([time for _, time in ends]))
        row[f"median_time_{size}"] = measured(median, TIMED * median)
    return row


def _end(landscape: Landscape, seed: int, size: float, least: float) -> tuple[str, float]:
    """Where a start ends, and when it is nearly at the good minimum."""
    from symslr.evaluation.landscape import OrderParameters, basin, time_to_risk
    from symslr.evaluation.landscape.minima import kind_of

    start = size * np.random.default_rng([SEED, seed]).standard_normal(8)
    time = time_to_risk(landscape, start, least + ARRIVED * (1 - least), TIME)
    if np.isfinite(time):
        return "good", time
    end = basin(landscape, start, TIME)
    if landscape.in_vectors(end)[0] > BLIND:
        return "plateau", time
    kind = kind_of(OrderParameters.of_vectors(end.reshape(2, 4)))
    return ("mismatched" if kind == "mismatched" else "elsewhere"), time


def _claims(table: Table) -> list[NamedComparison]:
    """Small starts do better than large ones, and every start ends in a way that is understood."""
    small, large = (np.asarray(table[f"good_{size}"], dtype=float) for size in SIZES)
    elsewhere = max(float(np.max(np.asarray(table[f"elsewhere_{size}"], dtype=float))) for size in SIZES)
    note = f"shares of good ends: at least {small.min():.3g} at eta = {SIZES[0]:g}, {large.min():.3g} at eta = {SIZES[1]:g}"
    return [
        states(
            "softmax on spiked-SLR: small starts find the good minimum as often as large ones or more",
            bool((small >= large).all()),
            note,
        ),
        states("every start ends good, mismatched or on a plateau", elsewhere == 0, f"share of others {elsewhere:.3g}"),
    ]


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(2, 2, figsize=(TEXT_WIDTH, 4.2), sharex=True)
    (good, bad), (times, curvatures) = panels
    columns = {name: np.asarray(column, dtype=float) for name, column in table.items()}
    small, large = SIZES
    for position, length in enumerate(sorted(set(columns["length"]))):
        mine = columns["length"] == length
        nu, line = columns["nu"][mine], {"marker": MARKERS[position % len(MARKERS)], "markersize": 3.5}
        line["color"] = OTHER_COLOURS[position % len(OTHER_COLOURS)]
        good.plot(nu, columns[f"good_{small}"][mine], label=f"$L={length:g}$", **line)
        good.plot(nu, columns[f"good_{large}"][mine], linestyle=(0, (3, 2)), **line)
        bad.plot(nu, columns[f"mismatched_{large}"][mine], linestyle=(0, (3, 2)), **line)
        times.plot(nu, columns[f"median_time_{small}"][mine], **line)
        curvature = columns["curvature"][mine]
        curvatures.plot(nu, np.where(curvature > FLOOR, curvature, np.nan), **line)
    good.set(ylim=(-0.04, 1.06), title=rf"(a) share that succeeds: $\eta={small:g}$ solid, $\eta={large:g}$ dashed")
    bad.set(ylim=(-0.04, 1.06), title=rf"(b) share that ends mismatched, $\eta={large:g}$")
    times.set(yscale="log", title=rf"(c) median time, $\eta={small:g}$")
    curvatures.set(yscale="log", title="(d) least curvature at the good minimum")
    for axes in (times, curvatures):
        axes.set(xscale="log", xlabel=r"signal strength $\nu$")
        axes.set_xticks(nu, [f"{mark:g}" for mark in nu])
        axes.minorticks_off()
    for axes in panels.flat:
        axes.title.set_fontsize(8.5)
    good.legend(loc="lower left", fontsize=8)
    return drawing


MARKERS = ("o", "s", "^", "D")
