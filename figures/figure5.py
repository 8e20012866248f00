"""Figure 5: the well matched minimum and the mismatched one, k along v* and v along k*, for every attention.

Source: arXiv 2509.21936, Figure 5 (L = 10, all activations, both tasks).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from symslr.cache.parts import computed_once, measured
from symslr.export.figures import NAMES, STYLES, TEXT_WIDTH, Figure, Table, colour
from symslr.model.catalogue import ATTENTIONS, TASKS
from symslr.validation.validation import NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LENGTH = 10
STRENGTHS = tuple(float(nu) for nu in np.geomspace(0.5, 5, 7))
PARTS = ("matched", "mismatched")
EXACT = 1e-8
"""Least risks agree with their formulas to 1e-10 and better."""
ERRORS = {"risk": EXACT, "curvature": 1e-6, "strict": 0.0}
"""The Hessian is made of finite differences, right to 1e-7."""


def figure5(
    length: int = LENGTH, nu: Sequence[float] = STRENGTHS, attentions: Sequence[str] = tuple(ATTENTIONS)
) -> Figure:
    """Risk of both minima against nu, without noise of the label."""
    caption = (
        rf"Risk at the well matched minimum ($k$ along $k^\star$, $v$ along $v^\star$; below, thick) and at the mismatched"
        rf" one ($k$ along $v^\star$, $v$ along $k^\star$; above, thin) against $\nu$, at $L={length}$, without noise of the"
        r" label. Left: spiked-SLR; right: max-SLR. Where softmax is not seen,"
        r" softmax-1 lies on it. Dots: the Hessian over all order parameters is positive, so the point is"
        r" a strict minimum. Open circles: no minimum but a limit, as for linear attention, whose mismatched key grows"
        r" without bound. A curve begins where every start at the mismatched end stops falling into the well matched minimum."
    )
    alt = "Risk against nu at the matched and the mismatched minimum of five attentions, for both tasks."
    settings = (
        ("length", f"$L={length}$"),
        (r"signal $\nu$", f"{nu[0]:g} to {nu[-1]:g}, {len(nu)} values"),
        (r"noise $\Delta$", "0"),
        ("attentions", ", ".join(attentions)),
    )
    compute = partial(_table, length, tuple(nu), tuple(attentions))
    return Figure("figure5", caption, compute, _draw, alt, partial(_claims, length), settings=settings)


def _table(length: int, nu: Sequence[float], attentions: Sequence[str]) -> Table:
    jobs = [(task, name) for task in TASKS for name in attentions]
    heaviest = sorted(jobs, key=lambda job: job[0] != "max")
    compute = partial(_curve, length, tuple(nu))
    curves = dict(zip(heaviest, computed_once(compute, heaviest)))
    columns: dict[str, list[float]] = {"nu": [float(value) for value in nu]}
    for task, name in jobs:
        for label, numbers in curves[task, name].items():
            columns[f"{task}_{name}_{label}"] = numbers["value"]
    return columns


def _curve(length: int, nu: Sequence[float], job: tuple[str, str]) -> dict[str, dict[str, object]]:
    """Risk, least curvature and kind of both minima along nu, each from the one before."""
    from symslr.evaluation.landscape import Landscape, both_minima

    task, name = job
    columns: dict[str, list[float]] = {
        f"{part}_{what}": [] for part in PARTS for what in ("risk", "curvature", "strict")
    }
    near = None
    for value in nu:
        landscape = Landscape.of(TASKS[task](), ATTENTIONS[name], {"L": length, "nu": value, "Delta": 0})
        found = both_minima(landscape, near)
        if near is not None and tuple(item.kind for item in found) != PARTS:
            found = both_minima(landscape)
        kept = all(item.is_minimum for item in found)
        near = (found[0].point, found[1].point) if kept else None
        for part, item in zip(PARTS, found, strict=True):
            there = item.kind == part
            columns[f"{part}_risk"].append(item.risk if there else float("nan"))
            columns[f"{part}_curvature"].append(float(item.eigenvalues[0]) if there else float("nan"))
            columns[f"{part}_strict"].append(float(item.is_minimum and there))
    return {name: measured(column, [ERRORS[name.rpartition("_")[2]]] * len(column)) for name, column in columns.items()}


def _claims(length: int, table: Table) -> list[NamedComparison]:
    """Where there is a mismatched minimum the matched one lies below it; closed forms where they exist."""
    found = _closed_forms(length, table)
    for column in table:
        curve, _, what = column.rpartition("_mismatched_")
        if what != "strict":
            continue
        strict = np.asarray(table[column], dtype=float) == 1
        gap = np.asarray(table[f"{curve}_mismatched_risk"], float) - np.asarray(table[f"{curve}_matched_risk"], float)
        if strict.any():
            note = f"at {strict.sum()} of {strict.size} signal strengths there is one, higher by {gap[strict].min():.3g} or more"
            task, _, name = curve.partition("_")
            found.append(
                states(
                    f"{NAMES.get(name, name)} on {task}-SLR: the mismatched minimum is higher",
                    bool((gap[strict] > 0).all()),
                    note,
                )
            )
    return found


def _closed_forms(length: int, table: Table) -> list[NamedComparison]:
    """The least risk of linear attention and of softmax; L/(L + nu) for the limit of linear attention's mismatched end."""
    from symslr.evaluation import evaluate
    from symslr.theory import minimal_risk

    nu = np.asarray(table["nu"], dtype=float)
    found = []
    for task, name in ((task, name) for task in TASKS for name in ("linear", "softmax")):
        if f"{task}_{name}_matched_risk" not in table:
            continue
        formula = minimal_risk(TASKS[task](), ATTENTIONS[name])
        least = np.array([float(evaluate(formula, {"nu": value, "L": length, "Delta": 0}, digits=10)) for value in nu])
        gap = float(np.max(np.abs(np.asarray(table[f"{task}_{name}_matched_risk"], float) - least)))
        note = "largest distance from its least risk on the manifold over the signal strengths"
        found.append(NamedComparison(f"{name} on {task}-SLR: the matched minimum", 0.0, gap, EXACT, note))
    mismatched = np.asarray(table.get("spiked_linear_mismatched_risk", [np.nan] * len(nu)), dtype=float)
    if np.isfinite(mismatched).any():
        beyond = mismatched - length / (length + nu)
        holds = bool(np.nanmin(beyond) > -EXACT and np.nanmax(beyond) < 0.01)
        note = f"above L/(L + nu) by {np.nanmin(beyond):.2g} to {np.nanmax(beyond):.2g}"
        found.append(states(r"linear on spiked-SLR: the mismatched end tends to $L/(L+\nu)$", holds, note))
    return found


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(1, len(TASKS), figsize=(TEXT_WIDTH, 3.0), sharey=True)
    nu = np.asarray(table["nu"], dtype=float)
    for axes, task in zip(panels, TASKS, strict=True):
        for position, name in enumerate(ATTENTIONS):
            if f"{task}_{name}_matched_risk" not in table:
                continue
            for part, width in zip(PARTS, (1.8, 0.9)):
                risk, strict = (np.asarray(table[f"{task}_{name}_{part}_{what}"], float) for what in ("risk", "strict"))
                style = {"color": colour(name, position), "linestyle": STYLES.get(name, "-")}
                axes.plot(
                    nu, risk, linewidth=width, label=NAMES.get(name, name) if part == "matched" else None, **style
                )
                good = strict > 0
                axes.plot(nu[good], risk[good], ".", markersize=3.5, color=style["color"])
                axes.plot(nu[~good], risk[~good], "o", markersize=3.5, fillstyle="none", color=style["color"])
        axes.set(xscale="log", xlabel=r"signal strength $\nu$", title=f"{task}-SLR")
        marks = [mark for mark in (0.5, 1, 2, 5) if nu[0] <= mark <= nu[-1]]
        axes.set_xticks(marks, [f"{mark:g}" for mark in marks])
        axes.minorticks_off()
    panels[0].set_ylabel(r"risk at the minimum, $\Delta=0$")
    panels[0].legend(loc="lower left", handlelength=2.6, fontsize=8)
    return drawing
