"""Figure 3: test risk at finite alpha = N/D, theory and fits, beside the Bayes-optimal risk.

Source: arXiv 2509.21936, Figure 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import oo

from symslr.cache.parts import OTHER_SEEDS, computed_once, measured
from symslr.export.curves import computed
from symslr.export.figures import TEXT_WIDTH, Figure, Table, colour, smooth
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax
from symslr.model.task import Task
from symslr.validation.validation import LARGEST_Z, NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

LENGTH = 3
TASKS: dict[str, Task] = {
    "spiked-1": SpikedSLR(1, length=LENGTH, noise=0),
    "spiked-2": SpikedSLR(2, length=LENGTH, noise=0),
    "max-inf": MaxSLR(oo, length=LENGTH, noise=0),
    "spiked-4": SpikedSLR(4, length=LENGTH, noise=0),
    "max-2": MaxSLR(2, length=LENGTH, noise=0),
}
TITLES = {
    "spiked-1": r"spiked-SLR, $\nu=1$",
    "spiked-2": r"spiked-SLR, $\nu=2$",
    "max-inf": r"max-SLR, $\nu=\infty$",
    "spiked-4": r"spiked-SLR, $\nu=4$",
    "max-2": r"max-SLR, $\nu=2$",
}
SOURCE, OTHER = ("spiked-1", "spiked-2", "max-inf"), ("spiked-4", "max-2")
"""The panels of the source, and others."""
ALPHA = tuple(float(alpha) for alpha in np.geomspace(0.5, 20, 9).round(10))
FEWER = {"max-inf": ALPHA[1::2]}
"""Panels with fewer of them: at infinite signal each takes half a minute of one core."""
ATTENTIONS = (softmax, linear)
PRECISION = 0.004


@dataclass(frozen=True)
class Fits:
    """What is fitted at some of the markers.

    Attributes:
        entries: sqrt(N D) of a training set.
        alphas: at which training sets are sampled and fitted.
        seeds: one training set each.
        starts: of a fit, until the lowest minimum has been met twice: near alpha = 1 softmax has many minima, and the
            one nearest to the truth, of lower risk than the lowest, is what the informed start alone would find.
        dtype: of the tokens; in float32 a training set of the source's size takes 1.2 GB.
    """

    entries: int
    alphas: tuple[float, ...]
    seeds: tuple[int, ...]
    starts: tuple[str, ...]
    dtype: str = "float64"

    @property
    def described(self) -> str:
        """For the caption."""
        sets = f"{len(self.seeds)} training set{'s' * (len(self.seeds) != 1)}"
        count = len(self.starts)
        starts = f"up to {count} starts" if count > 1 else f"from the {self.starts[0]} start"
        where = ", ".join(f"{alpha:.3g}" for alpha in self.alphas)
        return rf"$\sqrt{{ND}}={self.entries}$, {sets} at each of $\alpha={where}$, {starts}"


FULL = Fits(10_000, (ALPHA[5],), (0,), ("informed",), "float32")
"""The source's size: half a minute of one core from each start. More places and seeds cost as much again."""
MEDIUM = Fits(1500, FEWER["max-inf"], (0, 1, 2), ("informed", "random"), "float32")
SMALL = Fits(500, (ALPHA[1], ALPHA[3], ALPHA[5], ALPHA[7]), tuple(range(6)), ("informed", *("random",) * 5))
FRESH = 400_000
"""Fresh samples of a test risk."""


def figure3(
    panels: Sequence[str] = SOURCE,
    fits: Sequence[Fits] = (FULL, MEDIUM),
    alpha: Sequence[float] = ALPHA,
    name: str = "figure3",
) -> Figure:
    """Test risk against alpha at tuned ridges: theory with error band, fits with error bars, Bayes-optimal, limits."""
    few = [len(FEWER[panel]) for panel in panels if panel in FEWER]
    sparse = rf" ({few[0]} at $\nu=\infty$)" if few else ""
    sizes = "; ".join(each.described for each in fits)
    caption = (
        r"Test risk against the number of samples per dimension $\alpha=N/D$, for $L=3$ without noise, ridges tuned at"
        r" every $\alpha$ among those where replica symmetry holds. Solid: replica-symmetric theory, with a band of two"
        rf" standard errors; {len(alpha)} values of $\alpha${sparse}, joined by monotone cubics. A cross: replica symmetry is"
        r" broken at every ridge, and it is the theory that is wrong. Markers: the lowest"
        r" minima of L-BFGS fits at the same ridges to three digits,"
        rf" with two standard errors ({sizes}; the largest size filled where"
        r" there are two). Dotted: $\alpha\to\infty$. Black:"
        r" Bayes-optimal risk ($\Delta\to0$); dashed,"
        r" in the grey hard phase, what message passing reaches from an uninformed start."
    )
    alt = (
        f"{len(panels)} panels of test risk against alpha for softmax and linear attention, theory and fits, and"
        " Bayes-optimal."
    )
    compute = partial(_table, tuple(panels), tuple(alpha), tuple(fits))
    drawn = "training sets: 10000 panel + 100 place in alpha + number, one row each"
    settings = (
        ("tasks", ", ".join(TITLES[panel] for panel in panels)),
        ("length", rf"$L={LENGTH}$"),
        (r"noise $\Delta$", "0"),
        ("attentions", ", ".join(attention.name for attention in ATTENTIONS)),
        (r"samples per dimension $\alpha$", f"{alpha[0]:g} to {alpha[-1]:g}, {len(alpha)} values"),
        (r"size $\sqrt{ND}$ of the fits", " and ".join(rf"${each.entries}$" for each in fits)),
        ("training sets", "; ".join(each.described for each in fits)),
        ("optimiser", "L-BFGS"),
        ("ridges", "tuned for the test risk of the theory, by a trust region in a box that widens"),
    )
    claims = partial(_claims, tuple(panels))
    return Figure(name, caption, compute, partial(_draw, tuple(panels)), alt, claims, drawn, settings)


def figure3_other() -> Figure:
    """Figure 3 at signals that the source does not show."""
    return figure3(OTHER, (SMALL,), name="figure3-other")


COLUMNS = (
    *("panel", "curve", "alpha", "risk", "error", "r_k", "r_v", "limit_k", "limit_v", "confined", "stable"),
    *("entries", "seed", "dimension", "loss", "reduction", "stationary", "start"),
)
"""One row per point, or per training set; ``curve`` is <attention>, <attention>_fit, <attention>_limit, bayes, uninformed
or hard. ``limit_k`` and ``limit_v`` are 0 or infinity where a tuned ridge stands for that limit, and ``confined`` is 1 where
lower ridges would break replica symmetry. ``loss`` is the fit's
objective over D, ``reduction`` the gradient's norm where it stopped over that at its start, and ``stationary`` whether
every entry of the gradient was below the tolerance."""


def _row(**cells: Any) -> tuple[object, ...]:
    cells |= {"error": cells["risk"]["error"]} if "risk" in cells else {}
    cells = {name: one["value"] if isinstance(one, dict) else one for name, one in cells.items()}
    return tuple(cells.get(name, "" if name == "start" else math.nan) for name in COLUMNS)


def _table(panels: Sequence[str], alpha: Sequence[float], fits: Sequence[Fits]) -> Table:
    """The theory, what is best, and the fits are kept each by itself; the limits are computed anew."""
    names = [attention.name for attention in ATTENTIONS]
    grids = {panel: tuple(FEWER.get(panel, alpha)) for panel in panels}
    curves = [(panel, name, grids[panel]) for panel in panels for name in names]
    theory = [row for rows in computed_once(_theory, curves) for row in rows]
    optimum = [row for rows in computed_once(_optimum, [(panel, grids[panel]) for panel in panels]) for row in rows]
    ridges = {
        (row["panel"], row["curve"], row["alpha"]): tuple(_short(row[name]["value"]) for name in ("r_k", "r_v"))
        for row in theory
    }
    jobs = [
        (each.entries, each.starts, each.dtype, panel, name, ALPHA.index(at), at, *ridges[panel, name, at], number)
        for each in fits
        for number in each.seeds
        for panel in panels
        for name in names
        for at in each.alphas
    ]
    found = computed_once(_fit, jobs, again=lambda job, run: (*job[:-1], job[-1] + OTHER_SEEDS * run))
    limits = [_limit(panel, name) for panel, name, _ in curves]
    rows = [_row(**row) for row in (*theory, *limits, *optimum, *found)]
    return {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}


def _short(ridge: float) -> float:
    """A tuned ridge as the fits have it, to three digits: the risk is flat there, and the theory may change in its errors."""
    return float(f"{ridge:.3g}")


def _theory(job: tuple[str, str, Sequence[float]]) -> list[dict[str, object]]:
    """One attention in one panel at tuned ridges."""
    from symslr.evaluation.finite_sample import finite_sample_curve

    panel, name, alpha = job
    rows = []
    for point in finite_sample_curve(TASKS[panel], _attention(name), {}, alphas=alpha, precision=PRECISION):
        risk = point.fit.risk
        ridges = dict(zip(("r_k", "r_v", "limit_k", "limit_v"), (*point.ridge, *map(_number, point.tuned.limits))))
        said = {"stable": float(point.fit.stable), "confined": float(point.tuned.confined)}
        tuned = {key: measured(ridge, math.inf) for key, ridge in ridges.items()}  # the risk is flat there
        rows.append({"panel": panel, "curve": name, "alpha": point.alpha, "risk": measured(risk), **said, **tuned})
    return rows


def _limit(panel: str, name: str) -> dict[str, object]:
    """The least risk of an attention, which the test risk reaches as alpha grows."""
    from symslr.evaluation import evaluate
    from symslr.theory import minimal_risk

    risk = float(evaluate(minimal_risk(TASKS[panel], _attention(name)), {}, digits=6))
    return {"panel": panel, "curve": f"{name}_limit", "alpha": math.inf, "risk": measured(risk, 0.0)}


def _attention(name: str) -> Attention:
    return next(item for item in ATTENTIONS if item.name == name)


def _number(limit: float | None) -> float:
    return math.nan if limit is None else limit


def _fit(
    job: tuple[int, Sequence[str], str, str, str, int, float, float, float, int],
) -> dict[str, object]:
    """The fit of one training set at given ridges."""
    from symslr.simulate.erm import erm_replicates

    entries, starts, dtype, panel, name, place, alpha, r_k, r_v, number = job
    found = erm_replicates(
        TASKS[panel],
        _attention(name),
        {},
        alpha=alpha,
        dimension=round(entries / math.sqrt(alpha)),
        r_k=r_k,
        r_v=r_v,
        seeds=[10_000 * list(TASKS).index(panel) + 100 * place + number],
        starts=starts,
        dtype=dtype,
        fresh=FRESH,
    )
    (run,) = found.runs
    fit, risk = run.fit, run.risk
    numbers = {"alpha": alpha, "risk": measured(risk.mean, risk.standard_error), "r_k": r_k, "r_v": r_v}
    numbers |= {"loss": fit.loss / found.dimension, "reduction": fit.reduction, "stationary": float(fit.converged)}
    made = {"entries": entries, "seed": run.seed, "dimension": found.dimension, "start": fit.start}
    return {"panel": panel, "curve": f"{name}_fit", **numbers, **made}


def _optimum(job: tuple[str, Sequence[float]]) -> list[dict[str, object]]:
    """The Bayes-optimal curve, with a point on each side of its jump, and the hard phase."""
    from symslr.evaluation.finite_sample import bayes_optimal, hard_phase

    panel, alpha = job
    task = TASKS[panel]
    phase = hard_phase(task, {}, low=0.9, high=1.9, count=256, randomisations=2, scan=12, halvings=4)
    edges = [] if phase is None else [measured(phase.overtakes), measured(phase.reached)]
    places = [measured(at, 0.0) for at in alpha]
    places += [measured(edge["value"] * (1 + side), edge["error"]) for edge in edges for side in (-3e-3, 3e-3)]
    rows: list[dict[str, object]] = []
    for at in sorted(places, key=lambda place: place["value"]):
        found = bayes_optimal(task, {}, alpha=at["value"], count=256)
        curves = {"bayes": found.risk} | ({"uninformed": found.uninformed_risk} if found.hard else {})
        for curve, risk in curves.items():
            rows.append({"panel": panel, "curve": curve, "alpha": at, "risk": measured(risk)})
    return rows + [{"panel": panel, "curve": "hard", "alpha": edge} for edge in edges]


SHOWN = ("alpha", "risk", "error", "stable")
MARKERS = {"softmax": "o", "linear": "s"}


MANY = 2.0
"""Alpha from which softmax is claimed to be ahead; with fewer samples than dimensions linear attention may be."""


def _claims(panels: Sequence[str], table: Table) -> list[NamedComparison]:
    """By 4 standard errors: softmax lies above the Bayes-optimal risk, and below linear attention from ``MANY`` on.

    And what the fits say of the theory where replica symmetry holds.
    """
    data = {name: np.asarray(column, dtype=object) for name, column in table.items()}
    found = []
    for panel in panels:
        where = TITLES[panel]
        ours, linear_risk, best = (_curve_of(data, panel, name) for name in ("softmax", "linear", "bayes"))
        not_below = _not_below(ours, linear_risk)
        wrong = [at for at in not_below if at >= MANY]
        note = f"not below at {_pairs(not_below, ours, linear_risk)}" if not_below else "and at every smaller one"
        found.append(
            states(rf"softmax lies below linear attention from $\alpha={MANY:g}$ on, {where}", not wrong, note)
        )
        open_at = _not_below(best, ours)
        wrong = [at for at in open_at if at not in _not_below(ours, best)]
        note = f"by 4 standard errors at {len(ours) - len(open_at)} of {len(ours)} values of $\\alpha$"
        note += f"; by fewer, or not, at {_pairs(open_at, ours, best)}" if open_at else ""
        decided = len(open_at) <= len(ours) // 4 and not wrong
        found.append(states(f"softmax lies above the Bayes-optimal risk, {where}", decided, note))
        found.append(_fits_agree(data, panel, where))
    return found


def _fits_agree(data: dict[str, np.ndarray], panel: str, where: str) -> NamedComparison:
    """Whether every marker where replica symmetry holds is within 4 standard errors of the theory; the note has the others."""
    stable, broken, stationary, total = [], [], 0, 0
    for name in (attention.name for attention in ATTENTIONS):
        theory = _curve_of(data, panel, name)
        here = (data["panel"] == panel) & (data["curve"] == name)
        holds = dict(zip(data["alpha"][here], data["stable"][here]))
        own = (data["panel"] == panel) & (data["curve"] == f"{name}_fit")
        stationary, total = stationary + int(sum(data["stationary"][own])), total + int(own.sum())
        for entries, markers in _markers(data, panel, name).items():
            for at, (risk, error) in markers.items():
                z = (risk - theory[at][0]) / math.hypot(error, theory[at][1])
                size = rf"{name} at $\alpha={at:.3g}$ and $\sqrt{{ND}}={entries:.0f}$"
                said = f"{size}: {risk:.4g} against {theory[at][0]:.4g}, $z={z:+.1f}$"
                (stable if holds[at] else broken).append((abs(z), said))
    note = f"{len(stable)} markers, the farthest {max(stable)[1]}; {stationary} of {total} fits are stationary"
    bound = (data["panel"] == panel) & (data["confined"] == 1)
    if bound.any():
        where_at = ", ".join(
            rf"{name} at $\alpha={at:.3g}$" for name, at in zip(data["curve"][bound], data["alpha"][bound])
        )
        note += f"; ridges are the best where replica symmetry holds, and lower ones would break it, for {where_at}"
    if broken:
        note += f"; replica symmetry is broken, and the theory not to be trusted, for {', '.join(s for _, s in broken)}"
    return states(f"fits and theory agree where replica symmetry holds, {where}", max(stable)[0] <= LARGEST_Z, note)


Markers = dict[float, tuple[float, float]]
"""alpha -> (risk, standard error)."""


def _markers(data: dict[str, np.ndarray], panel: str, name: str) -> dict[float, Markers]:
    """sqrt(N D) -> the mean risk of the training sets of an attention at each alpha, with its standard error.

    The scatter between training sets is taken over all markers of the panel, as that of the relative risk times sqrt(D),
    which the theory takes to be of order 1; Student's factor is that of the pooled degrees of freedom.
    """
    from symslr.evaluation.sampling.scatter import student_factor

    here = (data["panel"] == panel) & np.isin(data["curve"], [f"{item.name}_fit" for item in ATTENTIONS])
    places = list(zip(*(data[key][here] for key in ("curve", "entries", "alpha")), strict=True))
    risks, sizes = (data[key][here].astype(float) for key in ("risk", "dimension"))
    groups = {place: [i for i, other in enumerate(places) if other == place] for place in dict.fromkeys(places)}
    means = {place: float(risks[members].mean()) for place, members in groups.items()}
    freedom = len(risks) - len(groups)
    left = [(risks[i] / means[place] - 1) * math.sqrt(sizes[i]) for place, members in groups.items() for i in members]
    scatter = math.sqrt(sum(x * x for x in left) / freedom) * student_factor(freedom + 1) if freedom else math.nan
    found: dict[float, Markers] = {}
    for (curve, entries, at), members in groups.items():
        if curve == f"{name}_fit":
            mean, count, size = means[curve, entries, at], len(members), sizes[members[0]]
            found.setdefault(float(entries), {})[float(at)] = mean, scatter * mean / math.sqrt(size * count)
    return found


def _not_below(low: dict[float, tuple[float, float]], high: dict[float, tuple[float, float]]) -> list[float]:
    """The alphas of both curves at which the first is not below the second by 4 standard errors."""
    both = [at for at in low if at in high]
    return [at for at in both if high[at][0] - low[at][0] <= LARGEST_Z * math.hypot(low[at][1], high[at][1])]


def _pairs(alphas: list[float], ours: dict[float, tuple[float, float]], other: dict[float, tuple[float, float]]) -> str:
    return ", ".join(rf"$\alpha={at:.3g}$: {ours[at][0]:.4g} against {other[at][0]:.4g}" for at in alphas)


def _curve_of(data: dict[str, np.ndarray], panel: str, curve: str) -> dict[float, tuple[float, float]]:
    """alpha -> (risk, error)."""
    here = (data["panel"] == panel) & (data["curve"] == curve)
    columns = (data[name][here] for name in ("alpha", "risk", "error"))
    return {float(at): (float(risk), float(error)) for at, risk, error in zip(*columns)}


def _draw(panels: Sequence[str], table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, axes_of = plt.subplots(1, len(panels), figsize=(TEXT_WIDTH, 2.6), sharey=True)
    data = {name: np.asarray(column, dtype=object) for name, column in table.items()}
    for axes, panel in zip(axes_of, panels, strict=True):
        mine = data["panel"] == panel
        curves = {
            str(name): {key: data[key][mine & (data["curve"] == name)].astype(float) for key in SHOWN}
            for name in dict.fromkeys(data["curve"][mine])
        }
        _panel(axes, curves, {item.name: _markers(data, panel, item.name) for item in ATTENTIONS})
        axes.set(xscale="log", xlabel=r"$\alpha=N/D$", title=TITLES[panel])
        axes.set_xticks([0.5, 1, 2, 5, 10, 20], labels=["0.5", "1", "2", "5", "10", "20"])
        axes.minorticks_off()
    axes_of[0].set(ylabel=r"test risk $\mathcal{E}$", ylim=(0, 1.08))
    axes_of[0].legend(loc="best", handlelength=2.2)
    return drawing


def _panel(axes: Axes, curves: dict[str, dict[str, np.ndarray]], fits: dict[str, dict[float, Markers]]) -> None:
    edges = curves.get("hard")
    if edges is not None:
        axes.axvspan(*edges["alpha"], color="#DDDDDD", linewidth=0)
    for attention in ATTENTIONS:
        name, shade = attention.name, dict[str, Any](color=colour(attention.name))
        line = curves[name]
        (alpha, risk), (_, band) = smooth(line["alpha"], line["risk"]), smooth(line["alpha"], 2 * line["error"])
        computed(*axes.plot(alpha, risk, label=name, **shade), line["alpha"], line["risk"])
        axes.fill_between(alpha, risk - band, risk + band, alpha=0.25, linewidth=0, **shade)
        broken = line["stable"] == 0
        axes.plot(line["alpha"][broken], line["risk"][broken], "x", markersize=5, **shade)
        axes.axhline(curves[f"{name}_limit"]["risk"][0], linestyle=":", linewidth=1.0, **shade)
        for entries, markers in sorted(fits[name].items()):
            at, (risk, error) = list(markers), np.array(list(markers.values())).T
            bars: dict[str, Any] = {"fmt": MARKERS.get(name, "^"), "markersize": 4, "capsize": 2, "elinewidth": 0.9}
            inside = shade["color"] if len(fits[name]) > 1 and entries == max(fits[name]) else "white"
            axes.errorbar(at, risk, 2 * error, markerfacecolor=inside, **bars, **shade)
    best, jump = curves["bayes"], math.inf if edges is None else edges["alpha"][0]
    sides = [smooth(best["alpha"][side], best["risk"][side]) for side in _sides(best["alpha"], jump)]
    alpha, risk = (np.concatenate(parts) for parts in zip(*sides, strict=True))
    computed(*axes.plot(alpha, risk, color="black", linewidth=1.2, label="Bayes-optimal"), best["alpha"], best["risk"])
    stuck = curves.get("uninformed")
    if stuck is not None:
        axes.plot(stuck["alpha"], stuck["risk"], color="black", linewidth=1.0, linestyle=(0, (3, 2)))


def _sides(alpha: np.ndarray, jump: float) -> list[np.ndarray]:
    """The points on each side of a jump, as masks."""
    return [side for side in (alpha < jump, alpha >= jump) if side.any()]
