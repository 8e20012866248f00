"""Figure 2: the least population risk of each attention against the signal strength, beside the Bayes risk.

Source: arXiv 2509.21936, Figure 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from symslr.export.figures import STYLES, TEXT_WIDTH, Figure, Table, colour
from symslr.model.attention import Attention
from symslr.model.catalogue import TASKS, linear, softmax
from symslr.model.task import Task
from symslr.verify.validation import NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

Curve = Callable[[Task, Attention | None, int, np.ndarray], np.ndarray]
"""(task, attention or None for Bayes, L, nu) -> risk without noise, an array shaped like nu."""

LENGTHS = (2, 10)
NU = tuple(float(nu) for nu in np.geomspace(0.1, 20, 61))


def theory_curve(task: Task, attention: Attention | None, length: int, nu: np.ndarray) -> np.ndarray:
    """The curve from ``symslr.theory``, evaluated at Delta = 0."""
    from symslr.evaluation import evaluate
    from symslr.theory import bayes_risk, minimal_risk

    risk = bayes_risk(task) if attention is None else minimal_risk(task, attention)
    value = evaluate(risk, {"nu": nu, "L": length, "Delta": 0}).value
    return np.broadcast_to(np.asarray(value, dtype=float), nu.shape)


def figure2(
    attentions: Sequence[Attention] = (softmax, linear),
    lengths: Sequence[int] = LENGTHS,
    nu: Sequence[float] = NU,
    curve: Curve = theory_curve,
) -> Figure:
    """Least risk of each attention and Bayes risk against nu, spiked-SLR left, max-SLR right, Delta = 0."""
    names = _listed([item.name for item in attentions])
    listed = _listed([f"$L={length}$" for length in lengths])
    caption = (
        rf"Least population risk $\mathcal{{E}}_\sigma$ against the signal strength $\nu$ for {names} attention,"
        rf" beside the Bayes risk (black dashes), without noise, for {listed}. Left: spiked-SLR; right: max-SLR."
    )
    shown = listed.replace("$", "")
    alt = f"Risk against nu on logarithmic axes for {names} attention and the Bayes predictor, for {shown}."
    compute = partial(_table, tuple(attentions), tuple(lengths), tuple(nu), curve)
    return Figure("figure2", caption, compute, partial(_draw, tuple(attentions), tuple(lengths)), alt, _claims)


def _column(task: str, length: int, predictor: str) -> str:
    return f"{task}_L{length}_{predictor}"


def _table(attentions: Sequence[Attention], lengths: Sequence[int], nu: Sequence[float], curve: Curve) -> Table:
    strengths = np.asarray(nu, dtype=float)
    columns: dict[str, list[float]] = {"nu": strengths.tolist()}
    for name, make in TASKS.items():
        task = make()
        for length in lengths:
            for attention in (*attentions, None):
                predictor = attention.name if attention is not None else "bayes"
                columns[_column(name, length, predictor)] = list(map(float, curve(task, attention, length, strengths)))
    return columns


def _claims(table: Table) -> list[NamedComparison]:
    """Softmax is at the Bayes risk at every nu, every other attention above it."""
    rows = []
    for column in table:
        where, _, predictor = column.rpartition("_")
        if not where or predictor == "bayes":
            continue
        ratio = np.asarray(table[column], dtype=float) / np.asarray(table[f"{where}_bayes"], dtype=float)
        place = where.replace("_L", "-SLR, L=")
        if predictor == "softmax":
            farthest = float(ratio[np.argmax(np.abs(ratio - 1))])
            note = f"ratio to the Bayes risk farthest from 1, of {ratio.size} signal strengths"
            rows.append(NamedComparison(f"softmax attains the Bayes risk, {place}", 1.0, farthest, 1e-9, note))
        else:
            note = f"ratio to the Bayes risk between {ratio.min():.6g} and {ratio.max():.4g}"
            rows.append(states(f"{predictor} lies above the Bayes risk, {place}", bool(ratio.min() > 1 + 1e-9), note))
    return rows


def _draw(attentions: Sequence[Attention], lengths: Sequence[int], table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(1, len(TASKS), figsize=(TEXT_WIDTH, 2.7), sharey=False)
    predictors = [*(item.name for item in attentions), "bayes"]
    for axes, task in zip(panels, TASKS, strict=True):
        for position, name in enumerate(predictors):
            for length in lengths:
                risk = np.asarray(table[_column(task, length, name)], dtype=float)
                shown = np.where(risk > FLOOR, risk, np.nan)
                style = {"color": colour(name, position), "linestyle": STYLES.get(name, "-")}
                label = LABELS.get(name, name) if length == lengths[0] else None
                axes.plot(table["nu"], shown, label=label, linewidth=1.1 if name == "bayes" else 2.0, **style)
                # The curves of linear attention lie apart, so the length is named there.
                if name == "linear":
                    _name_length(axes, table["nu"], shown, length)
        axes.set(xscale="log", yscale="log", xlabel=r"signal strength $\nu$", title=f"{task}-SLR")
        axes.set_xlim(table["nu"][0], table["nu"][-1])
    panels[0].set_ylim(FLOOR, 1.3)
    panels[0].set_ylabel(r"risk $\mathcal{E}$ at $\Delta=0$")
    panels[0].legend(loc="lower left", handlelength=2.6)
    return drawing


FLOOR = 1e-3
"""The axis ends here: below, the exponentially small Bayes risk of spiked-SLR would fill the panel."""

LABELS = {"bayes": "Bayes"}


def _listed(names: Sequence[str]) -> str:
    return " and ".join([part for part in (", ".join(names[:-1]), names[-1]) if part])


def _name_length(axes: Axes, nu: Sequence[object], risk: np.ndarray, length: int) -> None:
    """L above the right end of the curve."""
    last = int(np.flatnonzero(np.isfinite(risk))[-1])
    end, above = (nu[last], risk[last]), (0, 8)
    axes.annotate(rf"$L={length}$", end, above, textcoords="offset points", ha="right", fontsize=8.5)
