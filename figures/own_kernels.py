"""Kernels that are not the paper's: how much of softmax attention's advantage each keeps.

Source: symslr.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from sympy import Add, Max, Min, Rational, exp, factorial

from symslr.cache.parts import REFUSED, computed_once, measured
from symslr.export.figures import OTHER_COLOURS, TEXT_WIDTH, Figure, Table
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax
from symslr.model.symbols import x
from symslr.model.task import Task
from symslr.validation.validation import NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

STRENGTH = 5
DIGITS = 4
RANDOM = {2: Rational(1, 2), 10: Rational(1, 2)}
TASKS = {
    "spiked, L = 10": SpikedSLR(length=10, noise=0),
    "spiked, L = 2 or 10": SpikedSLR(length=RANDOM, noise=0),
    "max, L = 2": MaxSLR(length=2, noise=0),
}
SHOWN = dict(zip(TASKS, ("spiked-SLR, $L=10$", "spiked-SLR, $L=2$ or $10$", "max-SLR, $L=2$"), strict=True))
"""The tasks in the legend."""


def _taylor(degree: int) -> Attention:
    return Attention(Add(*(x**k / factorial(k) for k in range(degree + 1))), name=f"Taylor of exp, degree {degree}")


KERNELS = (
    softmax,
    _taylor(4),
    _taylor(2),
    Attention(Max(x, 0), offset=1, name="relu, offset 1"),
    Attention(exp(Min(x, 0)) + Max(x, 0), name="elu + 1"),
    Attention(1 + x**4, name="1 + x^4"),
    linear,
    Attention(1 / (1 + exp(-x)), normaliser=None, name="sigmoid, element-wise"),
)


def figure_own_kernels() -> Figure:
    """Least risk of eight kernels on three tasks, Delta = 0, nu = 5."""
    caption = (
        rf"Least risk at $\nu={STRENGTH}$ without noise for kernels other than the paper's, each at its best scale: the Taylor "
        r"polynomials of the exponential of even degree, $\max(x,0)$ with 1 added to the normaliser, $\mathrm{elu}+1$ and "
        r"$1+x^4$, all normalised, and the element-wise sigmoid without a shift. Softmax attains the Bayes risk. The law of the "
        r"length puts 1/2 on 2 and on 10. On spiked-SLR the Taylor polynomial of degree 4 comes nearest to softmax, on max-SLR "
        r"$\mathrm{elu}+1$; $1+x^4$ does not tell the signs of $\chi$ apart and is no better than equal weights there. A missing "
        r"dot is a minimum that was not evaluated."
    )
    alt = "Dots: the least risk of eight attentions on three tasks; softmax lowest on each."
    return Figure("figure-own-kernels", caption, _table, _draw, alt, _claims)


def _table() -> Table:
    risks = iter(computed_once(least, [(task, attention) for task in TASKS.values() for attention in KERNELS]))
    names: list[object] = [attention.name for attention in KERNELS]
    return {"attention": names, **{name: [next(risks)["value"] for _ in KERNELS] for name in TASKS}}


def least(job: tuple[Task, Attention]) -> dict[str, object]:
    """The least risk; not a number where it is refused."""
    from symslr.evaluation import CannotEvaluate, evaluate
    from symslr.theory import minimal_risk

    try:
        return measured(evaluate(minimal_risk(*job), {"nu": STRENGTH}, digits=DIGITS))
    except CannotEvaluate:
        return REFUSED


def _claims(table: Table) -> Sequence[NamedComparison]:
    """Softmax below every other kernel, and its Taylor polynomial of degree 4 below that of degree 2."""
    found = []
    for name in TASKS:
        best, fourth, second, *others = risks = np.asarray(table[name], dtype=float)
        nearest = 1 + int(np.nanargmin(risks[1:]))
        note = (
            f"softmax {best:.4f}, degree 4 {fourth:.4f}, degree 2 {second:.4f}; nearest to softmax "
            f"{KERNELS[nearest].name}, {risks[nearest]:.4f}"
        )
        holds = best < fourth < second and best < np.nanmin(others)
        found.append(states(f"{name}: softmax below its Taylor polynomials and all others", bool(holds), note))
    return found


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, axes = plt.subplots(figsize=(0.85 * TEXT_WIDTH, 2.9))
    rows = np.arange(len(KERNELS))[::-1]
    for (name, marker), tint in zip(zip(TASKS, "o^s", strict=True), OTHER_COLOURS, strict=False):
        axes.plot(np.asarray(table[name], dtype=float), rows, marker, color=tint, markersize=5, label=SHOWN[name])
    axes.set_yticks(rows, [str(name).replace("1 + x^4", "$1+x^4$") for name in table["attention"]])
    axes.set(xlabel=rf"least risk, $\nu={STRENGTH}$, $\Delta=0$", xlim=(0, None))
    axes.legend(fontsize=7.5)
    return drawing
