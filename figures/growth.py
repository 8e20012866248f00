"""Growth and normalisation: which of softmax's two properties a kernel keeps, and what risk that leaves.

Source: the summaries of arXiv 2509.21936 name both; the paper's own table was not available.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from sympy import Expr, exp, limit, log, oo, tanh

from symslr.cache.parts import REFUSED, computed_once, measured
from symslr.export.figures import TEXT_WIDTH, Figure, Printed, Table
from symslr.expression.expectation import Expectation
from symslr.expression.folded import Minimum
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.symbols import c, x
from symslr.model.task import Task
from symslr.validation.validation import NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LENGTH, STRENGTH, DIGITS = 10, 5, 4
TASKS = {"spiked": SpikedSLR, "max": MaxSLR}
KERNELS: dict[str, Expr] = {
    "exp(x)": exp(x),
    "log(1 + exp(x))": log(1 + exp(x)),
    "x^4": x**4,
    "1/(1 + exp(-x))": 1 / (1 + exp(-x)),
    "1/(1 + exp(-c - x))": 1 / (1 + exp(-c - x)),
    "1 + tanh(x)": 1 + tanh(x),
    "1 + x": 1 + x,
}
SHIFTED = "1/(1 + exp(-c - x))"
Row = tuple[str, bool, int]
"""(kernel, whether weights are normalised, offset)."""
ROWS: tuple[Row, ...] = (
    ("exp(x)", True, 0),
    ("exp(x)", True, 1),
    ("exp(x)", False, 0),
    ("log(1 + exp(x))", True, 0),
    ("log(1 + exp(x))", False, 0),
    ("x^4", True, 0),
    ("x^4", False, 0),
    ("1/(1 + exp(-x))", True, 0),
    ("1/(1 + exp(-x))", False, 0),
    (SHIFTED, False, 0),
    ("1 + tanh(x)", True, 0),
    ("1 + tanh(x)", False, 0),
    ("1 + x", False, 0),
)


def attention(row: Row) -> Attention:
    """The attention of a row."""
    kernel, normalised, offset = row
    bounds = {c: (-12.0, 6.0)} if KERNELS[kernel].has(c) else {}
    said = kernel if normalised else f"{kernel}, no normaliser"
    return Attention(
        KERNELS[kernel], "sum" if normalised else None, offset, said + (f", offset {offset}" if offset else ""), bounds
    )


def growth(kernel: Expr) -> str:
    """How a kernel grows as its score does: the rate of its logarithm, or its degree, or that it is bounded."""
    if limit(log(kernel) / x, x, oo).is_positive:
        return "exponentially"
    degree = limit(log(kernel) / log(x), x, oo)
    if not degree.is_positive:
        return "bounded"
    return "like x" if degree == 1 else f"like x^{degree}"


def figure_growth() -> Figure:
    """Least risk of kernels that grow or do not, with and without a normaliser, on both tasks."""
    caption = (
        rf"Growth and normalisation: least risks at $\nu={STRENGTH}$, $L={LENGTH}$, $\Delta=0$, each at its best scale,"
        r" with (filled) and without a normaliser (open); dashed: the Bayes risk. How a kernel grows is computed from its"
        r" limits; the data behind the figure say how far rules derive each risk. Softmax has both properties and attains the"
        r" Bayes risk, softmax-1 nearly. Growth without a normaliser and a normaliser without growth both fall short. Without a"
        r" normaliser growth does not even help: a sigmoid with a free shift $c$, which cannot exceed 1, is ahead of the"
        r" exponential. $1+\tanh x$ is the sigmoid at twice the scale."
    )
    alt = "Dots: least risks of thirteen attentions on two tasks, sorted by growth of the kernel."
    return Figure("figure-growth", caption, _table, _draw, alt, _claims, printed=_printed)


def _table() -> Table:
    columns: dict[str, list[object]] = {
        "attention": [attention(row).name for row in ROWS],
        "growth": [growth(KERNELS[row[0]]) for row in ROWS],
        "normalised": [row[1] for row in ROWS],
    }
    jobs = [(task, row) for task in TASKS for row in ROWS]
    found = dict(zip(jobs, computed_once(_least, jobs)))
    for task in TASKS:
        columns[task] = [found[task, row]["risk"]["value"] for row in ROWS]
        columns[f"{task}_derived"] = [found[task, row]["derived"] for row in ROWS]
        columns[f"{task}_bayes"] = [_bayes(task)] * len(ROWS)
    return columns


def _least(job: tuple[str, Row]) -> dict[str, object]:
    """The least risk, and what rules derive of it; not a number where it is refused."""
    from symslr.evaluation import CannotEvaluate, evaluate
    from symslr.theory import minimal_risk

    name, row = job
    task = TASKS[name](length=LENGTH, noise=0)
    try:
        risk = measured(evaluate(minimal_risk(task, attention(row)), {"nu": STRENGTH}, digits=DIGITS))
    except CannotEvaluate:
        risk = REFUSED
    return {"risk": risk, "derived": derived(task, attention(row))}


def derived(task: Task, chosen: Attention) -> str:
    """How far rules carry the risk of an attention, found by applying them."""
    from symslr.algebra.rule import RuleRefused
    from symslr.expression.folded import Activation
    from symslr.model.symbols import a, epsilon
    from symslr.theory import minimal_risk, population_risk
    from symslr.theory.closed_form import closed_form
    from symslr.theory.population import least_chain, matched_scale

    if matched_scale(Activation.of(epsilon, chosen, a), task.law) is not None:
        return "attains the Bayes risk"
    with suppress(RuleRefused):
        least = least_chain(minimal_risk(task, chosen)).result
        if not least.has(Minimum):
            return "least risk by means without the scale" if least.has(Expectation) else "least risk in closed form"
    if not closed_form(population_risk(task, chosen).formula()).has(Expectation):
        return "risk at a scale in closed form"
    token = "one token" if task.law.relevant_factor is not None else "the selected token"
    return f"Laplace integral over means of {token}" if chosen.is_normalised else f"means of {token}"


def _bayes(name: str) -> float:
    from symslr.evaluation import evaluate
    from symslr.theory import bayes_risk

    return float(evaluate(bayes_risk(TASKS[name](length=LENGTH, noise=0)), {"nu": STRENGTH}, digits=DIGITS).value)


def _claims(table: Table) -> Sequence[NamedComparison]:
    """Softmax is at the Bayes risk and all others above it; taking its normaliser away costs more than adding 1 to it."""
    found = []
    names = [str(name) for name in table["attention"]]
    for task in TASKS:
        risks, bayes = np.asarray(table[task], dtype=float), float(str(table[f"{task}_bayes"][0]))
        at = dict(zip(names, risks))
        ratio = risks / bayes
        above = bool(abs(ratio[0] - 1) < 1e-4 and np.nanmin(ratio[1:]) > 1 + 1e-6)
        note = f"Bayes risk {bayes:.5f}; next {names[1 + int(np.nanargmin(ratio[1:]))]}, {np.nanmin(risks[1:]):.5f}"
        found.append(states(f"{task}: softmax alone attains the Bayes risk", above, note))
        bare, offset = at["exp(x), no normaliser"], at["exp(x), offset 1"]
        note = f"softmax {risks[0]:.5f}, with 1 in its normaliser {offset:.5f}, without normaliser {bare:.5f}"
        found.append(states(f"{task}: growth without a normaliser is not enough", bool(bare > 1.1 * offset), note))
        bounded = at["1/(1 + exp(-x))"]
        note = (
            f"normalised sigmoid {bounded:.5f}, normalised softplus {at['log(1 + exp(x))']:.5f}, softmax {risks[0]:.5f}"
        )
        enough = bool(bounded > at["log(1 + exp(x))"] > risks[0])
        found.append(states(f"{task}: a normaliser without growth is not enough", enough, note))
        shifted = at[f"{SHIFTED}, no normaliser"]
        note = f"sigmoid with a free shift {shifted:.5f}, exponential {bare:.5f}, both without normaliser"
        found.append(states(f"{task}: without a normaliser a bounded kernel is ahead", bool(shifted < bare), note))
        twice = at["1 + tanh(x)"]
        found.append(
            NamedComparison(f"{task}: 1 + tanh is the sigmoid at twice the scale", bounded, twice, 1e-3 * bounded)
        )
    return found


def _printed(table: Table) -> Printed:
    """Growth, normaliser, least risks and what rules derive of each attention."""
    from symslr.export.printing import house_latex

    rows = []
    for i, (kernel, normalised, offset) in enumerate(ROWS):
        risks = [f"{float(str(table[task][i])):.4f}, {table[f'{task}_derived'][i]}" for task in TASKS]
        normaliser = ("sum" if offset == 0 else f"{offset} + sum") if normalised else "none"
        shown = f"${house_latex(KERNELS[kernel])}$"
        rows.append((shown, _grows(str(table["growth"][i])), normaliser, *risks))
    head = ("kernel", "grows", "normaliser", *(f"{task}-SLR" for task in TASKS))
    caption = rf"Least risks at $\nu={STRENGTH}$, $L={LENGTH}$, $\Delta=0$, and what rules derive of each."
    return Printed(caption, head, tuple(rows))


def _grows(said: str) -> str:
    start, power, degree = said.partition("x")
    return f"{start}${power}{degree}$" if said.startswith("like") else said


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(1, len(TASKS), figsize=(TEXT_WIDTH, 3.2), sharey=True)
    rows = np.arange(len(ROWS))[::-1]
    normalised = np.asarray(table["normalised"], dtype=bool)
    for axes, task in zip(panels, TASKS, strict=True):
        risks = np.asarray(table[task], dtype=float)
        axes.axvline(float(str(table[f"{task}_bayes"][0])), color="#000000", linewidth=0.9, linestyle=(0, (4, 2)))
        for chosen, face in ((normalised, "#0072B2"), (~normalised, "none")):
            axes.plot(risks[chosen], rows[chosen], "o", color="#0072B2", markerfacecolor=face, markersize=5)
        axes.set(xlabel="least risk", title=f"{task}-SLR", xlim=(0, 1.02))
    labels = [_label(row, str(said)) for row, said in zip(ROWS, table["growth"])]
    panels[0].set_yticks(rows, labels, fontsize=7)
    return drawing


def _label(row: Row, grows: str) -> str:
    """An attention as its kernel is written, and how that grows."""
    from symslr.export.printing import HousePrinter

    kernel, normalised, offset = row
    said = [
        f"${HousePrinter().superscript(KERNELS[kernel])}$",
        *([] if normalised else ["no normaliser"]),
        *([f"offset {offset}"] if offset else []),
    ]
    return f"{', '.join(said)} ({_grows(grows)})"
