"""Figure 2: the least population risk of each attention and the key scale that attains it, beside the Bayes risk.

Source: arXiv 2509.21936, Figure 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Rational, oo

from symslr.cache.parts import computed_once, measured
from symslr.export.curves import computed
from symslr.export.figures import NAMES, STYLES, TEXT_WIDTH, Figure, Table, colour, smooth
from symslr.expression.folded import Activation
from symslr.model.attention import Attention
from symslr.model.catalogue import ATTENTIONS, TASKS
from symslr.model.symbols import a, epsilon, nu
from symslr.model.task import Task
from symslr.validation.validation import NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

Minimum = dict[str, dict[str, object]]
"""``"risk"`` and the place of every parameter that was free, such as ``"a"`` and ``"c"``, measured."""
Curve = Callable[[Task, Attention | None, float], Minimum]
"""(task of fixed or random length without noise, attention or None for Bayes, nu) -> the minimum."""

NU = tuple(float(strength) for strength in np.geomspace(0.1, 20, 40))
SHORT, LONG = 2, 10
RANDOM = {1: Rational(1, 3), 5: Rational(2, 3)}
THIRDS = {length: Rational(1, 3) for length in (1, 2, 3)}
INFINITE = (*NU, float("inf"))
FEW = tuple(float(strength) for strength in np.geomspace(0.1, 20, 14))
FEWER = (*FEW, float("inf"))
"""With the selection of the largest key, nu = infinity, at the end of the axis of max-SLR."""
DIGITS = 7
CHECKED = 8
"""Every so many signal strengths softmax is searched for too: elsewhere its scale and its risk are those of the derivation."""
CLOSE = 2e-7
"""Relative error of risks that were found by search."""


def figure2(
    length: object = LONG,
    attentions: Sequence[Attention] = tuple(ATTENTIONS.values()),
    strengths: Sequence[float] = NU[::2],
    curve: Curve | None = None,
    name: str = "figure2",
    described: str = "$L=10$",
) -> Figure:
    """Least risk (above) and best scale (below) against nu, spiked-SLR left, max-SLR right, Delta = 0.

    Args:
        length: what ``Task`` takes as one: a number, or {length: probability}.
        attentions: the curves besides Bayes.
        strengths: nu.
        curve: by default ``theory_point``.
        name: of the files.
        described: the length in the caption and over the panels, as LaTeX.
    """
    attentions = tuple(attentions)
    caption = (
        f"Least population risk of each attention against the signal strength (top) and the key scale $a$ that attains it "
        rf"(bottom), {described}, $\Delta=0$. Softmax lies on the Bayes risk, at $a=\sqrt\nu$ on spiked-SLR and $a=\nu$ on "
        r"max-SLR; where softmax-1 hides it, the two are the same to the eye. "
        r"The shift $c$ of erf is free. Circles: the infimum is only approached, at the upper edge as $a\to\infty$, "
        r"where softplus attention becomes relu attention, at the lower edge as $c\to-\infty$ and $a\to0$, where erf attention "
        r"becomes $e^{sx}$ element-wise; the risk drawn is that limit. Crosses: the scale of softmax found by a search."
    )
    if math.inf in strengths:
        caption += (
            r" Diamonds: max-SLR at $\nu=\infty$, where $\epsilon$ is the largest key and softmax reaches risk 0 as"
            r" $a\to\infty$."
        )
    names = ", ".join(item.name for item in attentions)
    alt = f"Risk and minimising scale against nu on logarithmic axes for {names} and the Bayes predictor, {described}."
    compute = partial(_table, length, attentions, tuple(strengths), curve or theory_point)
    settings = (
        ("length", described),
        ("attentions", ", ".join(NAMES.get(item.name, item.name) for item in attentions)),
        (r"signal $\nu$ of spiked-SLR", spread(strengths)),
        (r"signal $\nu$ of max-SLR", spread(strengths) + r", $\infty$" * (math.inf in strengths)),
        (r"noise $\Delta$", "0"),
        ("minimised over", "the scale $a$ and the shift $c$ of erf, at $R_{kk}=R_{vv}=0$"),
    )
    return Figure(name, caption, compute, partial(_draw, attentions, described), alt, _claims, settings=settings)


def figure2_short() -> Figure:
    """Figure 2 at L = 2, with max-SLR at nu = infinity."""
    return figure2(SHORT, strengths=INFINITE, name="figure2-short", described=f"$L={SHORT}$")


def figure2_thirds() -> Figure:
    """Figure 2 at a length that is 1, 2 or 3, with max-SLR at nu = infinity."""
    return figure2(THIRDS, strengths=FEWER, name="figure2-thirds", described=r"$L\sim\mathrm{Unif}\{1,2,3\}$")


def figure2_random() -> Figure:
    """Figure 2 at a random length."""
    return figure2(RANDOM, strengths=FEW, name="figure2-random", described=r"$L\in\{1,5\}$, $P(L=1)=1/3$")


def theory_point(task: Task, attention: Attention | None, strength: float) -> Minimum:
    """A point from ``symslr.theory``: softmax at its matched scale, the others by search, all of them at nu = infinity."""
    from symslr.evaluation import evaluate, least_risk
    from symslr.theory import bayes_risk, minimal_risk
    from symslr.theory.population import matched_scale

    at = {} if math.isinf(strength) else {"nu": strength}
    if attention is None:
        return {"risk": measured(evaluate(bayes_risk(task), at))}
    if math.isinf(strength):
        risk, places = least_risk(task, attention, {})
        return {"risk": measured(risk)} | {str(name): measured(place) for name, place in places.items()}
    scale = matched_scale(Activation.of(epsilon, attention, a), task.law)
    if scale is None:
        return searched(task, attention, strength)
    risk = evaluate(minimal_risk(task, attention), at)
    return {"risk": measured(risk), "a": measured(float(scale.subs(nu, strength)), 0.0)}


def searched(task: Task, attention: Attention, strength: float) -> Minimum:
    """The minimum over the scale, and over the shift of erf, found numerically; a scale may be infinite."""
    from symslr.evaluation import minimise
    from symslr.theory import population_risk

    expr = population_risk(task, attention)
    free = [a, *sorted(attention.bounds, key=str)]
    risk, places = minimise(expr, free, {"nu": strength}, digits=DIGITS)
    return {"risk": measured(risk)} | {str(symbol): measured(place) for symbol, place in places.items()}


def _table(
    length: object,
    attentions: Sequence[Attention],
    strengths: Sequence[float],
    curve: Curve,
) -> Table:
    finite = [strength for strength in strengths if math.isfinite(strength)]
    jobs = [
        (name, attention, strength)
        for name in TASKS
        for attention in (*attentions, None)
        for strength in (strengths if name == "max" else finite)
    ]
    some = finite[CHECKED // 2 :: CHECKED]
    again = [
        (name, item, strength) for name in TASKS for item in attentions if item.name == "softmax" for strength in some
    ]
    columns: dict[str, list[float]] = {"nu": list(strengths)}

    def fill(job: Job, found: Minimum, marked: str = "") -> None:
        name, attention, strength = job
        for quantity, number in found.items():
            what = "_".join(filter(None, (marked, quantity if not marked or quantity != "risk" else "")))
            column = _column(name, "bayes" if attention is None else attention.name, what)
            row = columns.setdefault(column, [math.nan] * len(strengths))
            row[strengths.index(strength)] = float(str(number["value"]))

    for job, found in zip(jobs, computed_once(partial(_point, length, curve), jobs), strict=True):
        fill(job, found)
    if curve is theory_point:
        for job, found in zip(again, computed_once(partial(_search, length), again), strict=True):
            fill(job, found, "found")
    return columns


Job = tuple[str, Attention | None, float]


def _point(length: object, curve: Curve, job: Job) -> Minimum:
    """A predictor at one strength."""
    name, attention, strength = job
    task = TASKS[name](oo, length=length, noise=0) if math.isinf(strength) else TASKS[name](length=length, noise=0)
    return curve(task, attention, strength)


def _search(length: object, job: tuple[str, Attention, float]) -> Minimum:
    """Softmax, whose best scale is derived, searched for all the same."""
    name, attention, strength = job
    return searched(TASKS[name](length=length, noise=0), attention, strength)


def _column(task: str, predictor: str, quantity: str) -> str:
    return f"{task}_{predictor}" if quantity == "risk" else f"{task}_{predictor}_{quantity}"


def _claims(table: Table) -> list[NamedComparison]:
    """Softmax is at the Bayes risk where it was searched for, every other attention above it."""
    rows = []
    finite = np.isfinite(np.asarray(table["nu"], dtype=float))
    end, table = (
        {name: column[-1] for name, column in table.items()},
        {name: np.asarray(column, dtype=float)[finite] for name, column in table.items()},
    )
    for task in TASKS:
        bayes = np.asarray(table[_column(task, "bayes", "risk")], dtype=float)
        for column in table:
            if not column.startswith(f"{task}_") or column.count("_") > 1 or column == f"{task}_bayes":
                continue
            predictor = column.removeprefix(f"{task}_")
            if predictor == "softmax":
                ratio = np.asarray(table.get(f"{column}_found", table[column]), dtype=float) / bayes
                ratio = ratio[np.isfinite(ratio)]
                farthest = float(ratio[np.argmax(np.abs(ratio - 1))])
                note = (
                    f"least risk found by search over the Bayes risk, farthest from 1 of {ratio.size} signal strengths"
                )
                rows.append(NamedComparison(f"softmax attains the Bayes risk, {task}-SLR", 1.0, farthest, CLOSE, note))
                continue
            ratio = np.asarray(table[column], dtype=float) / bayes
            above = bool(ratio.min() > 1 - CLOSE and ratio.max() > 1 + CLOSE)
            note = f"ratio to the Bayes risk between {ratio.min():.8g} and {ratio.max():.4g}"
            rows.append(states(f"{NAMES.get(predictor, predictor)} lies above the Bayes risk, {task}-SLR", above, note))
    if not finite.all():
        ends = {name: float(str(end[name])) for name in end if name.startswith("max_") and name.count("_") == 1}
        least = min(risk for name, risk in ends.items() if name not in ("max_bayes", "max_softmax"))
        note = ", ".join(f"{NAMES.get(name[4:], name[4:])} {risk:.4g}" for name, risk in ends.items())
        rows.append(
            states("at infinite signal softmax alone reaches risk 0, max-SLR", ends["max_softmax"] == 0 < least, note)
        )
    return rows


def _draw(attentions: Sequence[Attention], described: str, table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(2, len(TASKS), figsize=(TEXT_WIDTH, 4.4), sharex="col", height_ratios=(3, 2))
    names = [item.name for item in attentions]
    for (risks, scales), task in zip(panels.T, TASKS, strict=True):
        for position, name in enumerate([*names, "bayes"]):
            style: dict[str, Any] = {"color": colour(name, position), "linestyle": STYLES.get(name, "-")}
            style["linewidth"] = 1.1 if name == "bayes" else 1.9
            risk = np.asarray(table[_column(task, name, "risk")], dtype=float)
            places, logs = smooth(table["nu"], np.log(np.maximum(risk, np.finfo(float).tiny)))
            shown = np.where(logs > np.log(FLOOR), np.exp(logs), np.nan)
            (line,) = risks.plot(places, shown, label=NAMES.get(name, name), **style)
            computed(line, table["nu"], np.where(risk > FLOOR, risk, np.nan))
            _end(risks, table, risk[-1], style["color"])
            if _column(task, name, "a") in table:
                _scales(scales, table, task, name, style)
        risks.set(yscale="log", title=f"{task}-SLR, {described}")
        _readable(risks)
        scales.set(xscale="log", yscale="log", xlabel=r"signal strength $\nu$", ylim=SCALES)
        _limits(scales, table, task)
    panels[0, 0].set_ylabel("least risk")
    panels[1, 0].set_ylabel("scale $a$")
    panels[0, 0].legend(loc="lower left", handlelength=2.6)
    return drawing


def _readable(axes: Axes) -> None:
    """Risks as plain numbers where they span less than two decades, so that more than one of them can be read."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_ylim()
    if high < 100 * low:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def spread(strengths: Sequence[float]) -> str:
    """Finite signal strengths in words."""
    finite = [strength for strength in strengths if math.isfinite(strength)]
    return f"{finite[0]:g} to {finite[-1]:g}, {len(finite)} values"


BEYOND = 1.45
"""Where the axis of max-SLR shows an infinite signal, over the last finite one."""


def _limits(axes: Axes, table: Table, task: str) -> None:
    """The range of signal strengths; room for the infinite one where there is one."""
    finite = [float(str(strength)) for strength in table["nu"] if math.isfinite(float(str(strength)))]
    room = BEYOND * 1.15 if len(finite) < len(table["nu"]) and task == "max" else 1.0
    axes.set_xlim(finite[0], finite[-1] * room)
    axes.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    if room > 1:
        axes.set_xticks([0.1, 1, 10, finite[-1] * BEYOND], ["0.1", "1", "10", r"$\infty$"])


def _end(axes: Axes, table: Table, risk: float, shade: str) -> None:
    """A diamond for the risk at infinite signal."""
    finite = [float(str(strength)) for strength in table["nu"] if math.isfinite(float(str(strength)))]
    if len(finite) == len(table["nu"]) or not risk > FLOOR:
        return
    axes.plot([finite[-1] * BEYOND], [risk], "D", markersize=4, color=shade, clip_on=False)


FLOOR = 1e-3
"""The axis ends here: below, the exponentially small Bayes risk of spiked-SLR would fill the panel."""
SCALES = (0.02, 60.0)
"""Best scales that are shown."""


def _scales(axes: Axes, table: Table, task: str, name: str, style: dict[str, Any]) -> None:
    """The best scale: circles at the edges where it is infinite or zero, crosses where softmax was searched for."""
    strengths = np.asarray(table["nu"], dtype=float)
    scale = np.abs(np.asarray(table[_column(task, name, "a")], dtype=float))
    edges = {1.25 * SCALES[0]: scale == 0, 0.8 * SCALES[1]: np.isinf(scale)}
    axes.plot(strengths, np.where((scale == 0) | np.isinf(scale), np.nan, scale), **style)
    for edge, runs_away in edges.items():
        axes.plot(
            strengths[runs_away],
            np.full(runs_away.sum(), edge),
            linestyle="none",
            marker="o",
            markersize=3.5,
            markerfacecolor="none",
            color=style["color"],
        )
    found = table.get(_column(task, name, "found_a"))
    if found is not None:
        axes.plot(strengths, np.asarray(found, dtype=float), linestyle="none", marker="x", color=style["color"])
