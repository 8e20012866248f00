"""At nu = 2 kappa log L softmax attention passes from failure to success at kappa = 1, where linear attention needs nu >> L.

Source: symslr; the transition is that of the random-energy model (Derrida 1981).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from sympy import Rational, solve

from symslr.export.figures import TEXT_WIDTH, Figure, Table, colour
from symslr.model.catalogue import SpikedSLR, linear, softmax
from symslr.model.symbols import L, nu
from symslr.validation.validation import NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LENGTHS = tuple(10**power for power in range(2, 7))
KAPPA = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
SEARCHED = np.linspace(0.5, 1.5, 201)
"""kappa between which softmax reaches risk 1/2."""
HALF = Rational(1, 2)
SHADES = ("#BBBBBB", "#999999", "#000000", "#9ECAE1", "#4292C6", "#084594")


def figure_transition() -> Figure:
    """Exact least risks at nu = 2 kappa log L against L, and the nu at which softmax and linear attention reach 1/2."""
    caption = (
        r"The transition of softmax attention (= Bayes) on spiked-SLR without noise. Left: exact least risk at "
        r"$\nu=2\kappa\log L$ (markers) beside the random-energy estimate $\Pr(\sqrt\nu+Z<\theta)$ (lines): the sum over "
        r"the other tokens is $\log L+\nu/2$ for $\kappa\le1$ and $\sqrt{2\nu\log L}$ above on a logarithmic scale, so "
        r"that the relevant key projection must exceed $\theta=(\log L+\nu/2)/\sqrt\nu$ or $\sqrt{2\log L}$. "
        r"As $L$ grows the risk rises to one below $\kappa=1$ and falls to zero above, slowly: the width of the transition "
        r"in $\kappa$ is of order $1/\sqrt{\log L}$. Right: the signal strength at which the least risk is $1/2$; softmax "
        r"follows $2\log L$, linear attention $L$. The estimate is no proof; the markers are exact."
    )
    alt = (
        "Left: risk against length at six values of kappa, rising above and falling below kappa = 1. Right: the signal "
        "strength for risk one half against length, logarithmic for softmax, proportional to the length for linear."
    )
    return Figure("figure-transition", caption, _table, _draw, alt, _claims)


def _table() -> Table:
    from symslr.evaluation import evaluate
    from symslr.theory import minimal_risk

    names = ("L", "kappa", "nu", "softmax", "estimate", "linear", "half_softmax", "half_linear")
    rows: dict[str, list[object]] = {name: [] for name in names}
    best, straight = (minimal_risk(SpikedSLR(noise=0), attention) for attention in (softmax, linear))
    (needed,) = solve(straight.closed() - HALF, nu)
    for length in LENGTHS:
        strengths = 2 * np.array(KAPPA) * np.log(length)
        searched = 2 * SEARCHED * np.log(length)
        falling = np.asarray(evaluate(best, {"L": length, "nu": searched}).value, dtype=float)
        half = float(np.interp(-0.5, -falling, searched))
        risks = [evaluate(risk, {"L": length, "nu": strengths}).value for risk in (best, straight)]
        for kappa, strength, *found in zip(KAPPA, strengths, *risks, strict=True):
            cells = (
                length,
                kappa,
                strength,
                found[0],
                _estimate(length, strength),
                found[1],
                half,
                needed.subs(L, length),
            )
            for name, cell in zip(names, cells, strict=True):
                rows[name].append(float(cell))
    return rows


def _estimate(length: int, strength: float) -> float:
    """P(sqrt(nu) + Z < theta), see the caption."""
    from scipy.stats import norm

    frozen = strength > 2 * np.log(length)
    threshold = np.sqrt(2 * np.log(length)) if frozen else (np.log(length) + strength / 2) / np.sqrt(strength)
    return float(norm.cdf(threshold - np.sqrt(strength)))


def _claims(table: Table) -> Sequence[NamedComparison]:
    """Monotone in L on either side of kappa = 1, towards the estimate; linear attention stays near one."""
    kappa, risk, estimate, straight = (
        np.asarray(table[name], dtype=float).reshape(len(LENGTHS), -1)
        for name in ("kappa", "softmax", "estimate", "linear")
    )
    below, above = kappa[0] < 1, kappa[0] > 1
    moves, distance = np.diff(risk, axis=0), np.abs(risk - estimate)
    ends = ", ".join(
        f"{k:g}: {first:.3f} to {last:.3f}" for k, first, last in zip(kappa[0], risk[0], risk[-1], strict=True)
    )
    return [
        states(
            "softmax at nu = 2 kappa log L: the risk rises with L below kappa = 1 and falls above",
            bool(np.all(moves[:, below] > 0) and np.all(moves[:, above] < 0)),
            f"L = 10^2 to 10^6, kappa: {ends}",
        ),
        states(
            "softmax at nu = 2 kappa log L: the random-energy estimate gains on the exact risk with L",
            bool(np.all(distance[-1] < distance[0])),
            f"largest distance {distance[0].max():.3f} at L = 10^2, {distance[-1].max():.3f} at L = 10^6",
        ),
        states(
            "linear at nu = 2 kappa log L: the risk goes to one with L",
            bool(np.all(np.diff(straight, axis=0) > 0)),
            f"at kappa = {kappa[0, -1]:g}: {straight[0, -1]:.3f} at L = 10^2, {straight[-1, -1]:.6f} at L = 10^6",
        ),
    ]


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, (risks, needed) = plt.subplots(1, 2, figsize=(TEXT_WIDTH, 2.9), width_ratios=(1.25, 1))
    columns = {name: np.asarray(values, dtype=float) for name, values in table.items()}
    for kappa, shade in zip(KAPPA, SHADES, strict=True):
        own = columns["kappa"] == kappa
        risks.plot(columns["L"][own], columns["estimate"][own], color=shade, linewidth=1)
        risks.plot(
            columns["L"][own], columns["softmax"][own], "o", color=shade, markersize=4, label=rf"$\kappa={kappa:g}$"
        )
    risks.set(xscale="log", xlabel="length $L$", ylabel=r"least risk, $\nu=2\kappa\log L$", ylim=(0, 1), xlim=(70, 3e7))
    risks.legend(fontsize=7.5, loc="center right")
    needed.plot(columns["L"], columns["half_softmax"], "o", color=colour("softmax"), markersize=4, label="softmax")
    needed.plot(columns["L"], 2 * np.log(columns["L"]), color=colour("softmax"), linewidth=1, label=r"$2\log L$")
    needed.plot(columns["L"], columns["half_linear"], "s", color=colour("linear"), markersize=4, label="linear")
    needed.plot(columns["L"], columns["L"], color=colour("linear"), linewidth=1, label="$L$")
    needed.set(xscale="log", yscale="log", xlabel="length $L$", ylabel=r"$\nu$ at which the risk is $1/2$")
    needed.legend(fontsize=7.5)
    return drawing
