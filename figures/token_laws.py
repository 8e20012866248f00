"""Token laws other than a Gaussian shift: the optimal attention beside the best softmax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from sympy import Integer, Rational

from symslr.cache.parts import computed_once, measured
from symslr.export.figures import TEXT_WIDTH, Figure, Table, colour
from symslr.model.catalogue import linear, softmax
from symslr.model.scalar_law import laplace, normal, student
from symslr.model.task import Task
from symslr.validation.validation import NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LENGTH = 3
SHIFTS = tuple(Rational(k, 2) for k in range(1, 9))
SPREADS = tuple(Rational(k, 4) for k in (3, 5, 6, 8, 10, 12, 16))
DOF = 3
SPARSE = tuple(Rational(k, 2) for k in (1, 2, 3, 4, 6, 8))
DIGITS = 5


def _laplace_shift(shift: Rational) -> Task:
    return Task.from_token_laws(laplace(shift), laplace(), noise=0, length=Integer(LENGTH), name="laplace")


def _student_shift(shift: Rational) -> Task:
    return Task.from_token_laws(student(DOF, shift), student(DOF), noise=0, length=Integer(LENGTH), name="student")


def _variance_spike(spread: Rational) -> Task:
    return Task.from_token_laws(normal(0, spread**2), noise=0, length=Integer(LENGTH), name="variance")


PANELS: dict[str, tuple[Callable[[Rational], Task], tuple[Rational, ...], str, str]] = {
    "laplace": (_laplace_shift, SHIFTS, "Laplace, shifted", "shift of the relevant token"),
    "student": (_student_shift, SPARSE, f"Student, {DOF} degrees of freedom", "shift of the relevant token"),
    "variance": (_variance_spike, SPREADS, "Gaussian, other width", "standard deviation of the relevant token"),
}


def figure_token_laws() -> Figure:
    """Risk of the likelihood-ratio attention (= Bayes), the best softmax and the best linear attention, L = 3."""
    caption = (
        r"Where softmax is no longer optimal: least risk at $L=3$ without noise when the relevant token's key projection "
        r"is a shifted Laplace variable among Laplace ones (left), a shifted Student variable with three degrees of "
        r"freedom among its like (middle), or a centred Gaussian of another width among standard ones (right). The "
        r"attention with kernel $p_1/p_0$ attains the Bayes risk; softmax and linear attention at their best scales lie "
        r"above it by what the lower row shows. Under Student's law $p_1/p_0\to1$ far out, whereas softmax gives an "
        r"outlier all the attention; at the right it does no better than equal weights, nor does linear attention, and their "
        r"curves coincide."
    )
    alt = (
        "Three panels of risk against the strength of the signal, the optimal attention below softmax and linear; under "
        "each the excess over the Bayes risk."
    )
    return Figure("figure-token-laws", caption, _table, _draw, alt, _claims)


def _table() -> Table:
    jobs = [(panel, parameter) for panel, (_, parameters, _, _) in PANELS.items() for parameter in parameters]
    rows = [
        (panel, float(parameter), *(risk["value"] for risk in found))
        for (panel, parameter), found in zip(jobs, computed_once(risks, jobs))
    ]
    return dict(
        zip(("panel", "parameter", "bayes", "softmax", "linear"), map(list, zip(*rows, strict=True)), strict=True)
    )


def risks(job: tuple[str, Rational]) -> list[dict[str, object]]:
    """Bayes risk and least risks of softmax and of linear attention."""
    from symslr.evaluation import evaluate
    from symslr.theory import bayes_risk, minimal_risk

    panel, parameter = job
    task = PANELS[panel][0](parameter)
    formulas = [bayes_risk(task), *(minimal_risk(task, attention) for attention in (softmax, linear))]
    return [measured(evaluate(formula, {}, digits=DIGITS)) for formula in formulas]


def _claims(table: Table) -> Sequence[NamedComparison]:
    """Softmax attention at its best scale lies above the Bayes risk everywhere; by how much at most, in the note."""
    found = []
    where = np.asarray(table["panel"])
    bayes, best, parameter = (np.asarray(table[c], dtype=float) for c in ("bayes", "softmax", "parameter"))
    for panel, (_, _, title, label) in PANELS.items():
        chosen = where == panel
        excess = (best / bayes - 1)[chosen]
        most = int(np.argmax(excess))
        note = (
            f"risk of the best softmax over the Bayes risk, less one: {excess.min():.1%} at least, {excess.max():.1%} at "
            f"most (at a {label} of {parameter[chosen][most]:g})"
        )
        found.append(states(f"{title}: softmax is not optimal", bool(np.all(excess > 10.0**-DIGITS)), note))
    return found


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(
        2, len(PANELS), figsize=(TEXT_WIDTH, 3.9), sharex="col", height_ratios=(1.6, 1), sharey="row"
    )
    where = np.asarray(table["panel"])
    labels = {"bayes": "optimal, kernel $p_1/p_0$", "softmax": "softmax", "linear": "linear"}
    for (above, below), (panel, (_, _, title, label)) in zip(panels.T, PANELS.items(), strict=True):
        chosen = where == panel
        bayes = np.asarray(table["bayes"], dtype=float)[chosen]
        for name, marker in (("linear", "s"), ("softmax", "o"), ("bayes", "^")):
            parameter, risk = (np.asarray(table[c], dtype=float)[chosen] for c in ("parameter", name))
            look = {"color": colour(name), "marker": marker, "markersize": 3.5}
            # in the last panel softmax keeps no more than linear attention does, and the two coincide
            look |= {"linewidth": 3.2, "markersize": 6} if name == "linear" else {}
            above.plot(parameter, risk, label=labels[name], **look)
            if name != "bayes":
                below.plot(parameter, risk - bayes, **look)
        above.set(title=title)
        below.set(xlabel=label)
        below.xaxis.label.set_fontsize(8)
    for row in panels:
        row[0].set_ylim(0, None)
    panels[0, 0].set_ylabel(r"least risk, $L=3$")
    panels[1, 0].set_ylabel("above Bayes")
    panels[0, 0].legend(fontsize=7.5, loc="lower left")
    return drawing
