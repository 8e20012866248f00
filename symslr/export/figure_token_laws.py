"""Token laws other than a Gaussian shift: the optimal attention beside the best softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from sympy import Integer, Rational

from symslr.export.figures import TEXT_WIDTH, Figure, Table, colour
from symslr.model.catalogue import linear, softmax
from symslr.model.scalar_law import laplace, normal
from symslr.model.task import Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LENGTH = 3
SHIFTS = tuple(Rational(k, 2) for k in range(1, 9))
SPREADS = tuple(Rational(k, 4) for k in (3, 5, 6, 8, 10, 12, 16))
DIGITS = 6


def _laplace_shift(shift: Rational) -> Task:
    return Task.from_token_laws(laplace(shift), laplace(), noise=0, length=Integer(LENGTH), name="laplace")


def _variance_spike(spread: Rational) -> Task:
    return Task.from_token_laws(normal(0, spread**2), noise=0, length=Integer(LENGTH), name="variance")


PANELS: dict[str, tuple[Callable[[Rational], Task], tuple[Rational, ...], str]] = {
    "laplace": (_laplace_shift, SHIFTS, "shift of the relevant token"),
    "variance": (_variance_spike, SPREADS, "standard deviation of the relevant token"),
}


def figure_token_laws() -> Figure:
    """Risk of the likelihood-ratio attention (= Bayes), the best softmax and the best linear attention, L = 3."""
    caption = (
        r"Where softmax is no longer optimal: least risk at $L=3$ without noise when the relevant token's key projection "
        r"is a shifted Laplace variable among Laplace ones (left), or a wider Gaussian among standard ones (right). The "
        r"attention with kernel $p_1/p_0$ attains the Bayes risk; softmax and linear attention do not."
    )
    alt = "Two panels of risk against the strength of the signal; the optimal attention lies below softmax and linear."
    return Figure("figure-token-laws", caption, _table, _draw, alt)


def _table() -> Table:
    from symslr.evaluation import evaluate
    from symslr.theory import bayes_risk, minimal_risk

    rows: dict[str, list[object]] = {name: [] for name in ("panel", "parameter", "bayes", "softmax", "linear")}
    for panel, (make, parameters, _) in PANELS.items():
        for parameter in parameters:
            task = make(parameter)
            risks = {"bayes": bayes_risk(task)} | {a.name: minimal_risk(task, a) for a in (softmax, linear)}
            rows["panel"].append(panel)
            rows["parameter"].append(float(parameter))
            for name, risk in risks.items():
                rows[name].append(float(evaluate(risk, {}, digits=DIGITS)))
    return rows


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(1, len(PANELS), figsize=(TEXT_WIDTH, 2.6))
    where = np.asarray(table["panel"])
    labels = {"bayes": "optimal, kernel $p_1/p_0$", "softmax": "softmax", "linear": "linear"}
    for axes, (panel, (_, _, label)) in zip(panels, PANELS.items(), strict=True):
        chosen = where == panel
        for name, marker in (("linear", "s"), ("softmax", "o"), ("bayes", "^")):
            parameter, risk = (np.asarray(table[c], dtype=float)[chosen] for c in ("parameter", name))
            axes.plot(parameter, risk, color=colour(name), marker=marker, markersize=3.5, label=labels[name])
        axes.set(xlabel=label, title=f"{panel} law", ylim=(0, None))
    panels[0].set_ylabel(r"least risk, $L=3$")
    panels[0].legend()
    return drawing
