"""Figure 4: where the gradient flow of k and v ends from noisy starts, on the manifold or off it.

Source: arXiv 2509.21936, Figure 4 (at least 20 starts, noise 0.1; mean, minimum and maximum).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from symslr.cache.parts import computed_once, measured
from symslr.export.figures import NAMES, TEXT_WIDTH, Figure, Table, colour
from symslr.model.catalogue import ATTENTIONS, TASKS
from symslr.validation.validation import NamedComparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LENGTH, NU, NOISE, STARTS, SEED = 10, 2.0, 0.1, 20, 4
SHOWN = {
    "m_kv": r"$m_{kv^\star}$",
    "m_vk": r"$m_{vk^\star}$",
    "m_vv": r"$m_{vv^\star}$",
    "R_kk": r"$R_{kk}$",
    "R_kv": r"$R_{kv}$",
    "R_vv": r"$R_{vv}$",
}
ON_MANIFOLD = 1e-6
"""Largest order parameter off the manifold at a converged end; 2e-8 was measured."""
KINDS = ("matched", "mismatched", "neither")


def figure4(
    starts: int = STARTS, length: int = LENGTH, nu: float = NU, attentions: Sequence[str] = tuple(ATTENTIONS)
) -> Figure:
    """Order parameters after convergence from ``starts`` noisy starts, for every attention and both tasks."""
    caption = (
        rf"Order parameters after convergence of the gradient flow from {starts} starts at which every coordinate of $k$"
        rf" and $v$ along $k^\star$, along $v^\star$ and outside is $\mathcal{{N}}(0,{NOISE}^2)$: mean (marker), minimum and"
        rf" maximum (bar), at $L={length}$, $\nu={nu:g}$, without noise of the label. Left: spiked-SLR; right: max-SLR. From"
        r" all of these starts the flow ends on the manifold $m_{kv^\star}=m_{vk^\star}=q_{kv}=0$, at $R=0$, which is measured and"
        r" not derived; the legend says how many end in the well matched minimum."
    )
    alt = "Mean, minimum and maximum of six order parameters at the end of the flow; all but m_vv are zero."
    return Figure(
        "figure4",
        caption,
        partial(_table, starts, length, nu, tuple(attentions)),
        _draw,
        alt,
        _claims,
        f"starts: {SEED}, 0 to {starts - 1}",
        settings=(
            ("length", f"$L={length}$"),
            (r"signal $\nu$", f"{nu:g}"),
            (r"noise $\Delta$", "0"),
            ("attentions", ", ".join(attentions)),
            ("starts", f"{starts}"),
            (r"initial noise $\bar\eta$", f"{NOISE:g}"),
        ),
    )


def _table(starts: int, length: int, nu: float, attentions: Sequence[str]) -> Table:
    jobs = [(task, name, seed) for task in TASKS for name in attentions for seed in range(starts)]
    ends = computed_once(partial(_end, length, nu), jobs)
    rows: dict[str, list[object]] = {"task": [], "attention": []}
    for task in TASKS:
        for name in attentions:
            mine = [end for job, end in zip(jobs, ends) if job[:2] == (task, name)]
            rows["task"].append(task)
            rows["attention"].append(name)
            for kind in KINDS:
                rows.setdefault(kind, []).append(sum(end["kind"] == kind for end in mine))
            rows.setdefault("strict_minima", []).append(sum(bool(end["minimum"]) for end in mine))
            for parameter in SHOWN:
                numbers = np.array([end[parameter]["value"] for end in mine], dtype=float)
                for label, number in (("mean", numbers.mean()), ("min", numbers.min()), ("max", numbers.max())):
                    rows.setdefault(f"{parameter}_{label}", []).append(float(number))
    return rows


def _end(length: int, nu: float, job: tuple[str, str, int]) -> dict[str, object]:
    """The minimum in whose basin one start lies."""
    from symslr.evaluation.landscape import Landscape, basin, descend

    task, name, seed = job
    landscape = Landscape.of(TASKS[task](), ATTENTIONS[name], {"L": length, "nu": nu, "Delta": 0})
    start = NOISE * np.random.default_rng([SEED, seed]).standard_normal(8)
    start = np.append(start, np.zeros(len(landscape.names) - 7))
    found = descend(landscape, basin(landscape, start))
    order, outside = found.order, found.order.outside
    numbers = {"m_kv": order.m_kv, "m_vk": order.m_vk, "m_vv": order.m_vv}
    numbers |= {"R_kk": outside[0, 0], "R_kv": outside[0, 1], "R_vv": outside[1, 1]}
    to_within = {name: measured(float(number), ON_MANIFOLD) for name, number in numbers.items()}
    return {"kind": found.kind, "minimum": found.is_minimum, **to_within}


def _claims(table: Table) -> list[NamedComparison]:
    """Every start ends on the manifold, and at R = 0."""
    found = []
    for row, (task, name) in enumerate(zip(table["task"], table["attention"])):
        parts = [label for label in SHOWN if label != "m_vv"]
        farthest = max(abs(float(str(table[f"{label}_{end}"][row]))) for label in parts for end in ("min", "max"))
        ends = ", ".join(f"{table[kind][row]} {kind}" for kind in KINDS)
        found.append(
            NamedComparison(
                f"{NAMES.get(name, name)} on {task}-SLR ends on the manifold", 0.0, farthest, ON_MANIFOLD, ends
            )
        )
    return found


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(1, len(TASKS), figsize=(TEXT_WIDTH, 2.9), sharey=True)
    for axes, task in zip(panels, TASKS, strict=True):
        mine = [row for row, name in enumerate(table["task"]) if name == task]
        for position, row in enumerate(mine):
            name = str(table["attention"][row])
            middle, low, high = (
                np.array([float(str(table[f"{parameter}_{part}"][row])) for parameter in SHOWN])
                for part in ("mean", "min", "max")
            )
            places = np.arange(len(SHOWN)) + 0.14 * (position - (len(mine) - 1) / 2)
            total = sum(int(str(table[kind][row])) for kind in KINDS)
            axes.errorbar(
                places,
                middle,
                yerr=[np.maximum(middle - low, 0), np.maximum(high - middle, 0)],
                fmt=MARKERS[position % len(MARKERS)],
                color=colour(name, position),
                markersize=4,
                capsize=2,
                linewidth=1,
                label=f"{NAMES.get(name, name)} {table['matched'][row]}/{total}",
            )
        axes.set(title=f"{task}-SLR", xticks=np.arange(len(SHOWN)), xticklabels=list(SHOWN.values()))
        axes.axhline(0, color="#888888", linewidth=0.6)
        axes.legend(loc="upper right", fontsize=7.5)
    panels[0].set_ylabel("at the end of the flow")
    return drawing


MARKERS = ("o", "D", "s", "^", "v")
