"""Long contexts, to a thousand million tokens: which attention finds the relevant one at nu = 2 lambda log(L - 1).

Source: symslr, derivations/51_long_contexts.py; the transition is that of the random-energy model (Derrida 1981).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Rational

from symslr.export.figures import NAMES, TEXT_WIDTH, Figure, Table
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR, linear, softmax, softmax1
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import L, a, nu, x
from symslr.model.task import Task
from symslr.validation.validation import NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LENGTHS = tuple(10**power for power in range(2, 10))
KAPPA = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
SHADES = ("#BBBBBB", "#999999", "#000000", "#9ECAE1", "#4292C6", "#084594")
ABOVE = 1.5
"""lambda at which attentions and scales are compared."""
FIXED = 2
"""A scale that does not grow with the length."""
DEGREES = (2, 8, 16)
"""Where the exponential series of softmax is cut: one feature more than this."""
FEW_AT = (float(np.log(0.5)), float(np.log(20)))
"""Logarithms of scales between which a kernel of few features is at its best."""
COEFFICIENTS = np.linspace(0.2, 2.4, 45)
"""b in the scale b sqrt(log(L - 1))."""
WINDOW = (10**3, 10**6, 10**9)
LOWEST = float(np.sqrt(2 * ABOVE) - np.sqrt(2 * ABOVE - 2))
"""The lower end of the window of b."""
SECONDS = 0.4
"""Processor time of a risk of entmax, which is sampled."""
ATTENTIONS = {
    "softmax": ("#084594", "o", "-"),
    "softmax1": ("#4292C6", "+", ":"),
    "sigmoid": ("#D94801", "s", "-"),
    "entmax": ("#238B45", "^", "-"),
    "softmax, fixed scale": ("#084594", "x", "--"),
    "linear": ("#999999", "d", "-"),
    **{f"{degree + 1} features": ("#6A51A3", "v", style) for degree, style in zip(DEGREES, (":", "--", "-"))},
}


def figure_long_contexts() -> Figure:
    """Risks at nu = 2 lambda log(L - 1) to L = 10^9, the window of scales, and where the least risk is one half."""
    caption = (
        r"Long contexts on spiked-SLR without noise, $\nu=2\lambda\log(L-1)$. Top left: exact least risk, that of softmax, "
        r"(markers) beside the random-energy estimate with its finite-length correction (lines): the sum over the others "
        r"counts up to the largest key, $c=\Phi^{-1}(1-1/L)$, so that the relevant key must exceed "
        r"$\theta=(\log L+\nu/2+\log\Phi(c-\sqrt\nu))/\sqrt\nu$. Top right: attentions at $\lambda=3/2$. Softmax and softmax-1 at "
        r"$a=\sqrt\nu$, the sigmoid with bias $-\log(L-1)-\nu/2$ and entmax-1.5 at the scale 2 at every length (sampled) succeed; "
        r"softmax at the scale 2, linear attention and softmax with its exponential cut after a fixed number of features, each at "
        r"its best scale, do not. Bottom left: softmax at scale $b\sqrt{\log(L-1)}$: above $b=\sqrt{2\lambda}-\sqrt{2\lambda-2}$ "
        r"(line) the risk falls with the length, below it rises. Bottom right: the $\lambda$ at which the risk is one half: 1 for "
        r"the sigmoid, at every length (derived); for softmax (markers) below 1 by about $\log2/\log L$ (line). The estimates are "
        r"no proofs; the bounds of the derivations hold at every length."
    )
    alt = (
        "Risk against length at six values of lambda, rising below and falling above 1; seven attentions at lambda = 3/2, of which "
        "four succeed; risk against the coefficient of the scale at three lengths; lambda of risk one half against length."
    )
    return Figure("figure-long-contexts", caption, _table, _draw, alt, _claims)


def _strength(length: float, kappa: Any) -> Any:
    return 2 * kappa * np.log(length - 1)


def _table() -> Table:
    """Long format: a panel, what is drawn in it, the length, an abscissa (lambda or b), the value."""
    rows: dict[str, list[object]] = {name: [] for name in ("panel", "kind", "L", "at", "value")}
    for panel, compute in (("risk", _risks), ("attentions", _attentions), ("window", _window), ("half", _halves)):
        for kind, length, at, value in compute():
            for name, cell in zip(rows, (panel, kind, length, float(at), float(value)), strict=True):
                rows[name].append(cell)
    return rows


Rows = list[tuple[str, int, float, float]]


def _least(length: int, strengths: Any) -> Any:
    """The Bayes risk, which softmax attains."""
    from symslr.evaluation import evaluate
    from symslr.theory import minimal_risk

    best = minimal_risk(SpikedSLR(noise=0), softmax)
    return np.asarray(evaluate(best, {"L": length, "nu": strengths}).value, dtype=float)


def _risks() -> Rows:
    found: Rows = []
    for length in LENGTHS:
        strengths = _strength(length, np.array(KAPPA))
        found += [("exact", length, k, risk) for k, risk in zip(KAPPA, _least(length, strengths))]
        found += [("estimate", length, k, _estimate(length, s)) for k, s in zip(KAPPA, strengths)]
    return found


def _estimate(length: int, strength: float) -> float:
    """P(the relevant key's weight is below the truncated mean of the others' sum), smoothed by the logistic function."""
    from scipy.stats import norm

    others, scale = length - 1, np.sqrt(strength)
    typical = np.log(others) + strength / 2 + norm.logcdf(norm.isf(1 / others) - scale)
    nodes, masses = np.polynomial.hermite_e.hermegauss(120)
    lost = 1 / (1 + np.exp(np.clip(scale * (scale + nodes) - typical, -700, 700)))
    return float(masses @ lost / masses.sum())


def _attentions() -> Rows:
    from symslr.evaluation import evaluate
    from symslr.evaluation.location import risk_value
    from symslr.theory import minimal_risk, population_risk

    task = SpikedSLR(noise=0)
    at_scale = {
        name: population_risk(task, chosen, a) for name, chosen in (("softmax", softmax), ("softmax1", softmax1))
    }
    straight = minimal_risk(task, linear)
    chosen = Attention("entmax")
    found: Rows = []
    for length in LENGTHS:
        strength = float(_strength(length, ABOVE))
        here = {"L": length, "nu": strength}
        fixed = evaluate(at_scale["softmax"], {**here, "a": FIXED}).value
        values = {
            "softmax": _least(length, strength),
            "softmax1": evaluate(at_scale["softmax1"], {**here, "a": float(np.sqrt(strength))}).value,
            "sigmoid": evaluate(_sigmoid(), here).value,
            "entmax": risk_value(
                Task(length=length, nu=Rational(strength), noise=0), chosen, FIXED, seconds=SECONDS
            ).value,
            "softmax, fixed scale": fixed,
            "linear": evaluate(straight, here).value,
            **{f"{degree + 1} features": _few_features(degree, length, strength) for degree in DEGREES},
        }
        found += [(name, length, ABOVE, float(value)) for name, value in values.items()]
    return found


def _sigmoid() -> Any:
    """The risk of the best element-wise attention, by the derivation long-element-wise."""
    from sympy import exp, sqrt

    from symslr.expression.expectation import ScalarExpectation

    return ScalarExpectation(1 / (1 + exp(sqrt(nu) * x + nu / 2) / (L - 1)), x, STANDARD_NORMAL)


def _few_features(degree: int, length: int, strength: float) -> float:
    """The least risk over scales of softmax with the exponential cut after x^degree, an even number: a positive kernel."""
    from scipy.optimize import minimize_scalar
    from sympy import factorial

    from symslr.evaluation.location.attention_function import ParameterValues
    from symslr.evaluation.location.moments import Risk

    kernel = Attention(sum(x**k / factorial(k) for k in range(degree + 1)), name=f"{degree + 1} features")
    task = Task(length=length, nu=Rational(strength), noise=0)
    risks = Risk.of(kernel, task, SECONDS)

    def at(scale: float) -> ParameterValues:
        return ParameterValues(np.array([[scale]]), np.zeros(1), 0.0, ())

    best = minimize_scalar(lambda log: risks.search(at(np.exp(log))), bounds=FEW_AT, method="bounded")
    return float(risks.value(at(np.exp(best.x))).value)


def _window() -> Rows:
    from symslr.evaluation import evaluate
    from symslr.theory import population_risk

    risk = population_risk(SpikedSLR(noise=0), softmax, a)
    found: Rows = []
    for length in WINDOW:
        strength, unit = float(_strength(length, ABOVE)), np.sqrt(np.log(length - 1))
        for b in COEFFICIENTS:
            value = evaluate(risk, {"L": length, "nu": strength, "a": float(b * unit)}).value
            found.append((f"{length}", length, float(b), float(value)))
    return found


def _halves() -> Rows:
    found: Rows = []
    for length in LENGTHS:
        searched = np.linspace(0.7, 1.1, 161)
        falling = _least(length, _strength(length, searched))
        found.append(("softmax", length, 0.5, float(np.interp(-0.5, -falling, searched))))
        found.append(("estimate", length, 0.5, float(1 - np.log(2) / np.log(length - 1))))
    return found


def _reader(table: Table) -> Callable[[str, str], tuple[Any, Any, Any]]:
    """(panel, kind) -> lengths, abscissas, values."""
    columns = {name: np.asarray(values) for name, values in table.items()}

    def of(panel: str, kind: str) -> tuple[Any, Any, Any]:
        own = (columns["panel"] == panel) & (columns["kind"] == kind)
        return tuple(columns[name][own].astype(float) for name in ("L", "at", "value"))

    return of


def _claims(table: Table) -> Sequence[NamedComparison]:
    """Success and failure on the sides that the derivations say, and estimates that gain with the length."""
    read = _reader(table)
    shape = (len(LENGTHS), len(KAPPA))
    risk, estimate = (read("risk", kind)[2].reshape(shape) for kind in ("exact", "estimate"))
    kappa, others = np.array(KAPPA), np.array(LENGTHS)[:, None] - 1.0
    below, above = kappa < 1, kappa > 1
    moves, distance = np.diff(risk, axis=0), np.abs(risk - estimate)
    at = {name: read("attentions", name)[2] for name in ATTENTIONS}
    falling = {name: bool(np.all(np.diff(values) < 0)) for name, values in at.items()}
    b = read("window", f"{WINDOW[0]}")[1]
    lengths = np.array([read("window", f"{length}")[2] for length in WINDOW])
    growing = np.all(np.diff(lengths, axis=0) > 0, axis=0)
    shrinking = np.all(np.diff(lengths, axis=0) < 0, axis=0)
    half, straight = (read("half", kind)[2] for kind in ("softmax", "estimate"))
    succeed, fail = ("softmax", "softmax1", "sigmoid", "entmax"), ("softmax, fixed scale", "linear", "3 features")
    return [
        states(
            "long contexts: the least risk rises with L below lambda = 1 and falls above, below its bound",
            bool(
                np.all(moves[:, below] > 0)
                and np.all(moves[:, above] < 0)
                and np.all(risk[:, above] <= others ** -((np.sqrt(kappa[above]) - 1) ** 2))
                and np.all(risk[:, kappa == 1] <= 0.5)
            ),
            "L = 10^2 to 10^9, lambda: "
            + ", ".join(f"{k:g}: {first:.3f} to {last:.3f}" for k, first, last in zip(kappa, risk[0], risk[-1])),
        ),
        states(
            "long contexts: the random-energy estimate gains on the exact risk with L",
            bool(np.all(distance[-1] < distance[0])),
            f"largest distance {distance[0].max():.3f} at L = 10^2, {distance[-1].max():.3f} at L = 10^9",
        ),
        states(
            "long contexts at lambda = 3/2: softmax, softmax-1, the sigmoid and entmax at a fixed scale succeed; softmax at a "
            "fixed scale, linear attention and three features fail",
            bool(
                all(falling[name] for name in succeed)
                and all(at[name][-1] > 0.5 and not falling[name] for name in fail)
            ),
            "at L = 10^9: " + ", ".join(f"{name} {values[-1]:.4f}" for name, values in at.items()),
        ),
        states(
            "long contexts: the window of scales opens where it was derived",
            bool(np.all(shrinking[b > LOWEST + 0.1]) and np.all(growing[b < LOWEST - 0.1])),
            f"lambda = 3/2: risks fall with L from b = {b[shrinking][0]:.2f} on, the window begins at {LOWEST:.3f}",
        ),
        states(
            "long contexts: lambda at risk one half lies below 1 and tends to it like the estimate",
            bool(
                np.all(half < 1)
                and np.all(np.diff(half) > 0)
                and abs(half[-1] - straight[-1]) < abs(half[0] - straight[0])
            ),
            f"{half[-1]:.4f} at L = 10^9, estimate {straight[-1]:.4f}",
        ),
    ]


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    read = _reader(table)
    drawing, ((risks, attentions), (window, halves)) = plt.subplots(2, 2, figsize=(TEXT_WIDTH, 5.6))
    for kappa, shade in zip(KAPPA, SHADES, strict=True):
        for kind, style in (("estimate", "-"), ("exact", "o")):
            lengths, at, values = read("risk", kind)
            label = rf"$\lambda={kappa:g}$" if kind == "exact" else None
            risks.plot(
                lengths[at == kappa], values[at == kappa], style, color=shade, markersize=4, linewidth=1, label=label
            )
    risks.set(xscale="log", xlabel="length $L$", ylabel="least risk", ylim=(0, 1), xlim=(70, 1e14))
    risks.set_xticks([10**power for power in (2, 4, 6, 8)])
    risks.legend(fontsize=7, loc="center right")
    for name, (shade, marker, style) in ATTENTIONS.items():
        lengths, _, values = read("attentions", name)
        attentions.plot(
            lengths,
            values,
            marker=marker,
            linestyle=style,
            color=shade,
            markersize=4,
            linewidth=1,
            label=NAMES.get(name, name),
        )
    attentions.set(xscale="log", yscale="log", xlabel="length $L$", ylabel=r"risk, $\lambda=3/2$", ylim=(0.04, 20))
    attentions.legend(fontsize=6.5, ncols=2, loc="upper center")
    for length, shade in zip(WINDOW, ("#9ECAE1", "#4292C6", "#084594"), strict=True):
        _, b, values = read("window", f"{length}")
        window.plot(b, values, color=shade, linewidth=1.2, label=rf"$L=10^{{{round(np.log10(length))}}}$")
    window.axvline(LOWEST, color="black", linewidth=0.8, linestyle="--")
    window.set(
        xlabel=r"coefficient $b$ of the scale $b\sqrt{\log(L-1)}$",
        ylabel=r"risk of softmax, $\lambda=3/2$",
        ylim=(0, 1),
    )
    window.legend(fontsize=7.5)
    lengths, _, values = read("half", "softmax")
    halves.plot(lengths, values, "o", color="#084594", markersize=4, label="softmax")
    lengths, _, values = read("half", "estimate")
    halves.plot(lengths, values, color="#084594", linewidth=1, label=r"$1-\log2/\log(L-1)$")
    halves.axhline(1, color="#D94801", linewidth=1, label="sigmoid")
    halves.set(xscale="log", xlabel="length $L$", ylabel=r"$\lambda$ at which the risk is $1/2$", ylim=(0.8, 1.03))
    halves.legend(fontsize=7.5, loc="lower right")
    return drawing
