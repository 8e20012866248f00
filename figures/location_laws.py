"""Which attention for which data: least risks under laws of location, and what every attention loses where it is not optimal.

Source: symslr; the optimal attentions are those of derivations/14_location_laws.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Abs, Integer, Rational, exp, sign

from symslr.cache.parts import computed_once, measured
from symslr.export.figures import COLOURS, OTHER_COLOURS, STYLES, TEXT_WIDTH, Figure, Printed, Table
from symslr.model.attention import Attention
from symslr.model.catalogue import linear, softmax, softmax1
from symslr.model.symbols import i, j, l, x
from symslr.model.task import Task
from symslr.validation.validation import NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LENGTH = 3
STRENGTHS = (1, 2, 4, 8, 16)
PRINTED = 4
"""nu of the table."""
SECONDS = 3.0
"""Processor time of one number that is sampled."""
HALF = Rational(1, 2)

LAWS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "one": ("one position", {}),
    "prior": ("prior $2^{-l}$", {"prior": 2**-l}),
    "sign": (r"sign $\theta=\pm1$", {"signal": "1:1/2,-1:1/2"}),
    "directions": ("two directions", {"signal": "(1,0):1/2,(0,1):1/2"}),
    "chain": (r"chain, $\rho=1/2$", {"key_covariance": HALF ** Abs(i - j)}),
    "equal": (r"all pairs $\rho=1/2$", {"key_covariance": HALF ** sign(Abs(i - j))}),
    "coins": (r"coins, $\pi=1/3$", {"location": "independent(1/3)"}),
    "subset": ("two of three", {"location": "subset(2)"}),
}
"""Title and law."""

ATTENTIONS: dict[str, tuple[str, Attention]] = {
    "softmax": ("softmax", softmax),
    "matched": ("matched", softmax.having(bias="matched", filter="matched")),
    "heads": ("2 heads", softmax.having(heads=2)),
    "softmax1": ("softmax-1", softmax1),
    "sigmoid": (
        "sigmoid",
        Attention(1 / (1 + exp(-x)), normaliser=None, name="sigmoid").having(bias="free"),
    ),
    "entmax": ("entmax", Attention("entmax")),
    "top": ("top 2", Attention("top(2)")),
    "linear": ("linear", linear),
}
"""Title and attention; every one at its best scales, weights and constant."""

ATTAINED = {
    "one": ("softmax", "matched", "heads"),
    "prior": ("matched",),
    "sign": ("heads",),
    "directions": ("heads",),
    "chain": ("matched",),
    "equal": ("softmax", "matched", "heads"),
    "coins": ("sigmoid",),
    "subset": (),
}
"""The attentions that derivations say to be optimal."""
CLOSE = 1e-6
"""Relative excess of a least risk that a search found where the attention is optimal."""


def figure_location_laws() -> Figure:
    """Least risk of every attention under every law at L = 3, beside the Bayes risk."""
    caption = (
        rf"Where the information is decides which attention is optimal: least risk at $L={LENGTH}$ without noise under eight "
        r"laws of location. Black: the optimal attention (= Bayes). Softmax is optimal for one position, and where all "
        r"keys are equally correlated; a prior asks for a positional bias, a chain of keys for a linear filter, a signal of "
        r"either sign or along two directions for two heads under one normaliser, independent coins for a sigmoid. Subset "
        r"attention, optimal for two of three, is none of the usual ones. Every attention stands at its best "
        r"parameters; one head, whatever its normaliser, cannot look for both signs at once. Other laws of single "
        r"tokens are in the figure of token laws."
    )
    alt = "Eight panels of least risk against the signal strength; the attention derived to be optimal meets the Bayes risk."
    chapter = "Which attention is optimal for which law of location"
    return Figure("figure-location-laws", caption, _table, _draw, alt, _claims, chapter=chapter, printed=_printed)


def _task(law: str, strength: int) -> Task:
    return Task(nu=Integer(strength), length=LENGTH, noise=0, **LAWS[law][1])


def _risk(job: tuple[str, int, str]) -> dict[str, object]:
    """The risk of the optimal attention, or of another one, at one law and strength."""
    from symslr.evaluation.location import bayes_value, least_value

    *law, name = job
    task = _task(*law)
    return measured(
        bayes_value(task) if name == "bayes" else least_value(task, ATTENTIONS[name][1], seconds=SECONDS)[0]
    )


def _table() -> Table:
    jobs = [(law, strength, name) for law in LAWS for strength in STRENGTHS for name in ("bayes", *ATTENTIONS)]
    rows = [(*job, risk["value"], risk["error"]) for job, risk in zip(jobs, computed_once(_risk, jobs), strict=True)]
    names = ("law", "nu", "attention", "risk", "error")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _columns(table: Table) -> dict[tuple[str, str], tuple[Any, Any]]:
    """Risks and errors at all strengths, by law and attention."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for law, attention, risk, error in zip(
        *(table[name] for name in ("law", "attention", "risk", "error")), strict=True
    ):
        found.setdefault((str(law), str(attention)), []).append((float(str(risk)), float(str(error))))
    return {key: tuple(np.array(rows).T) for key, rows in found.items()}  # type: ignore[misc]


def _claims(table: Table) -> Sequence[NamedComparison]:
    """No attention is below Bayes; those that are derived to be optimal attain it, and no other one does."""
    found, columns = [], _columns(table)
    for law, (title, _) in LAWS.items():
        bayes, own = columns[law, "bayes"]
        excess = {name: columns[law, name][0] / bayes - 1 for name in ATTENTIONS}
        noise = {name: 5 * (columns[law, name][1] + own) / bayes + CLOSE for name in ATTENTIONS}
        above = all(bool(np.all(excess[name] > -noise[name])) for name in ATTENTIONS)
        meets = {name for name in ATTENTIONS if bool(np.all(excess[name] < noise[name]))}
        least = min((float(excess[n].max()) for n in ATTENTIONS if n not in ATTAINED[law]), default=np.nan)
        note = f"optimal: {', '.join(sorted(meets)) or 'none of these'}; the next best loses up to {least:.1%}"
        found.append(
            states(f"{title}: only the derived attention is optimal", above and meets == {*ATTAINED[law]}, note)
        )
    return found


def _printed(table: Table) -> Printed:
    """Least risks at one strength, relative to Bayes, and what the engine derives to be optimal."""
    from symslr.theory.located_attention import located_attention

    columns, place = _columns(table), STRENGTHS.index(PRINTED)
    rows = []
    for law, (title, _) in LAWS.items():
        bayes = float(columns[law, "bayes"][0][place])
        ratios = [float(columns[law, name][0][place]) / bayes for name in ATTENTIONS]
        rows.append((title, f"{bayes:.4f}", *map(_ratio, ratios), located_attention(_task(law, PRINTED)).reading))
    head = ("law", "Bayes", *(title for title, _ in ATTENTIONS.values()), "optimal attention")
    caption = (
        rf"Which attention for which data: the Bayes risk at $L={LENGTH}$, $\nu={PRINTED}$ without noise, the least risk of "
        r"every attention as a multiple of it, and the attention that is derived to be optimal. 1 where an attention is "
        r"optimal; matched is softmax with the bias and the filter of the posterior."
    )
    return Printed(caption, head, tuple(rows))


def _ratio(ratio: float) -> str:
    return "1" if ratio < 1 + 10 * CLOSE else f"{ratio:.3f}" if ratio < 10 else f"{ratio:.1f}"


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(2, len(LAWS) // 2, figsize=(TEXT_WIDTH, 4.1), sharex=True)
    columns, spare = _columns(table), iter(OTHER_COLOURS)
    dashes = iter(((0, (5, 1)), (0, (3, 1, 1, 1)), (0, (2, 1)), (0, (1, 2))))
    looks: dict[str, dict[str, Any]] = {}
    for name in ATTENTIONS:
        if name == "matched":
            continue
        known = name in COLOURS
        looks[name] = {
            "color": COLOURS[name] if known else next(spare),
            "linestyle": STYLES[name] if known else next(dashes),
        }
    for axes, (law, (title, _)) in zip(panels.ravel(), LAWS.items(), strict=True):
        for name, look in looks.items():
            axes.plot(STRENGTHS, columns[law, name][0], label=ATTENTIONS[name][0], linewidth=1.3, **look)
        axes.plot(STRENGTHS, columns[law, "bayes"][0], "o", color="#000000", markersize=3, label="optimal")
        axes.set(title=title, xscale="log", xticks=STRENGTHS, ylim=(0, None))
        axes.set_xticklabels(map(str, STRENGTHS))
        axes.minorticks_off()
    for row in panels:
        row[0].set_ylabel("least risk")
    for axes in panels[-1]:
        axes.set_xlabel(r"$\nu$")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    return drawing
