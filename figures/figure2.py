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

from symslr.cache.parts import computed_once
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

Minima = dict[str, np.ndarray]
"""``"risk"`` and the place of every parameter that was free, such as ``"a"`` and ``"c"``: arrays shaped like nu."""
Curve = Callable[[Task, Attention | None, np.ndarray], Minima]
"""(task of fixed or random length without noise, attention or None for Bayes, nu) -> minima."""

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
        curve: by default ``theory_curve``.
        name: of the files.
        described: the length in the caption and over the panels, as LaTeX.
    """
    attentions = tuple(attentions)
    caption = (
        f"Least population risk of each attention against the signal strength (top) and the key scale $a$ that attains it "
        rf"(bottom), {described}, $\Delta=0$. Softmax lies on the Bayes risk, at $a=\sqrt\nu$ on spiked-SLR and $a=\nu$ on "
        r"max-SLR. The shift $c$ of erf is free. Circles: the infimum is only approached, at the upper edge as $a\to\infty$, "
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
    compute = partial(_table, length, attentions, tuple(strengths), curve or theory_curve)
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


def theory_curve(task: Task, attention: Attention | None, strengths: np.ndarray) -> Minima:
    """The curve from ``symslr.theory``: softmax at its matched scale, the others by search.

    Softmax is searched for too at some of the strengths: ``"found"`` and ``"found_a"``, not a number elsewhere.
    """
    from symslr.evaluation import evaluate
    from symslr.theory import bayes_risk, minimal_risk
    from symslr.theory.population import matched_scale

    def numbers(value: object) -> np.ndarray:
        return np.broadcast_to(np.asarray(value, dtype=float), strengths.shape)

    if attention is None:
        return {"risk": numbers(evaluate(bayes_risk(task), {"nu": strengths}).value)}
    scale = matched_scale(Activation.of(epsilon, attention, a), task.law)
    if scale is None:
        return searched(task, attention, strengths)
    exactly = numbers(evaluate(minimal_risk(task, attention), {"nu": strengths}).value)
    matched = np.array([float(scale.subs(nu, strength)) for strength in strengths])
    minima = {"risk": exactly, "a": matched, "found": np.full(strengths.shape, np.nan)}
    minima["found_a"] = minima["found"].copy()
    some = slice(CHECKED // 2, None, CHECKED)
    again = searched(task, attention, strengths[some])
    minima["found"][some], minima["found_a"][some] = again["risk"], again["a"]
    return minima


def at_infinity(task: Task, attention: Attention | None) -> Minima:
    """Least risk, best scale and shift at nu = infinity, of shape (1,); a scale is infinite where the risk is only approached."""
    from symslr.evaluation import evaluate, least_risk
    from symslr.theory import bayes_risk

    if attention is None:
        return {"risk": np.array([float(evaluate(bayes_risk(task), {}))])}
    risk, places = least_risk(task, attention, {})
    found = {"risk": risk, **places}
    return {name: np.array([float(value)]) for name, value in found.items()}


def searched(task: Task, attention: Attention, strengths: np.ndarray) -> Minima:
    """Minima over the scale, and over the shift of erf, found numerically; a scale may be infinite."""
    from symslr.evaluation import minimise
    from symslr.theory import population_risk

    expr = population_risk(task, attention)
    free = [a, *sorted(attention.bounds, key=str)]
    risk, places = minimise(expr, free, {"nu": strengths}, digits=DIGITS)
    columns = {"risk": risk} | {str(symbol): place for symbol, place in places.items()}
    return {name: np.asarray(value.value, dtype=float) for name, value in columns.items()}


def _table(
    length: object,
    attentions: Sequence[Attention],
    strengths: Sequence[float],
    curve: Curve,
) -> Table:
    at = np.asarray(strengths, dtype=float)
    finite = at[np.isfinite(at)]
    columns: dict[str, list[float]] = {"nu": at.tolist()}
    jobs = [(name, attention) for name in TASKS for attention in (*attentions, None)]
    curves = computed_once(partial(_curve, length, tuple(finite.tolist()), curve), jobs)
    ends = [job for job in jobs if job[0] == "max"] if len(finite) < len(at) else []
    limits = dict(zip(ends, computed_once(partial(_end_of, length), ends) if ends else [], strict=True))
    for (name, attention), found in zip(jobs, curves, strict=True):
        predictor = attention.name if attention is not None else "bayes"
        end = limits.get((name, attention), {})
        for quantity in dict.fromkeys([*found, *end]):
            column = [*found.get(quantity, [math.nan] * len(finite))]
            column += end.get(quantity, [math.nan]) if len(finite) < len(at) else []
            columns[_column(name, predictor, quantity)] = list(map(float, column))
    return columns


Job = tuple[str, Attention | None]


def _curve(length: object, strengths: Sequence[float], curve: Curve, job: Job) -> dict[str, list[float]]:
    """A predictor at finite strengths."""
    name, attention = job
    found = curve(TASKS[name](length=length, noise=0), attention, np.asarray(strengths))
    return {what: list(map(float, column)) for what, column in found.items()}


def _end_of(length: object, job: Job) -> dict[str, list[float]]:
    """The same at infinite strength."""
    name, attention = job
    found = at_infinity(TASKS[name](oo, length=length, noise=0), attention)
    return {what: list(map(float, column)) for what, column in found.items()}


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
            rows.append(states(f"{predictor} lies above the Bayes risk, {task}-SLR", above, note))
    if not finite.all():
        ends = {name: float(str(end[name])) for name in end if name.startswith("max_") and name.count("_") == 1}
        least = min(risk for name, risk in ends.items() if name not in ("max_bayes", "max_softmax"))
        note = ", ".join(f"{name.removeprefix('max_')} {risk:.4g}" for name, risk in ends.items())
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
            risks.plot(
                places, np.where(logs > np.log(FLOOR), np.exp(logs), np.nan), label=NAMES.get(name, name), **style
            )
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
