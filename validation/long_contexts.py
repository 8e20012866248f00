r"""Long contexts: attentions at $\nu = 2\lambda\log(L - 1)$ against drawn sequences, and derived bounds against exact risks."""

from collections.abc import Iterator

import numpy as np
from sympy import Rational, exp, log, sqrt

from symslr.cache.parts import OTHER_SEEDS, computed_once, measured
from symslr.evaluation import evaluate
from symslr.evaluation.location import risk_value
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR, softmax, softmax1
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import L, a, epsilon, nu, x
from symslr.model.task import Task
from symslr.simulate.location import AttentionFunction, entmax, location_monte_carlo, sparsemax, top
from symslr.simulate.location import softmax as weights
from symslr.theory import minimal_risk
from symslr.validation.validation import NamedComparison, by_z_score, states

LENGTH, SIZE, SEED = 2000, 12_000, 20_261_122
SECONDS = 2.0
"""Processor time of a risk that the engine samples."""
ABOVE = 1.5
"""lambda of what is sampled."""
STRENGTH = Rational(f"{2 * ABOVE * np.log(LENGTH - 1):.6f}")
UNIT = float(np.sqrt(np.log(LENGTH - 1)))
LENGTHS = tuple(10**power for power in range(2, 10))
TASK = SpikedSLR(noise=0)


def _sampled() -> dict[str, tuple[Attention, float, AttentionFunction]]:
    """Attention, scale, and the same written out for drawn keys."""

    def scores(scale: float) -> AttentionFunction:
        return lambda chi: scale * chi[:, :, 0]

    def with_offset(chi: np.ndarray) -> np.ndarray:
        powers = np.exp(UNIT * chi[:, :, 0])
        return powers / (1 + powers.sum(axis=1, keepdims=True))

    def few(chi: np.ndarray) -> np.ndarray:
        kernel = 1 + 3 * chi[:, :, 0] + 9 * chi[:, :, 0] ** 2 / 2
        return kernel / kernel.sum(axis=1, keepdims=True)

    root, bias = float(sqrt(STRENGTH)), float(STRENGTH / 2 + log(LENGTH - 1))
    rows: dict[str, tuple[Attention, float, AttentionFunction]] = {
        f"softmax at b = {b}": (softmax, b * UNIT, lambda chi, b=b: weights(scores(b * UNIT)(chi)))
        for b in (0.5, 1.0, 2.0)
    }
    return rows | {
        "softmax-1 at b = 1": (softmax1, UNIT, with_offset),
        "sigmoid with bias -log(L-1)": (
            Attention(1 / (1 + exp(Rational(bias) - x)), normaliser=None),
            root,
            lambda chi: 1 / (1 + np.exp(bias - root * chi[:, :, 0])),
        ),
        "three features at scale 3": (Attention(1 + x + x**2 / 2), 3.0, few),
        "entmax at scale 2": (Attention("entmax"), 2.0, lambda chi: entmax(scores(2.0)(chi))),
        "sparsemax at scale 1": (Attention("sparsemax"), 1.0, lambda chi: sparsemax(scores(1.0)(chi))),
        "top 2 at scale 2": (Attention("top(2)"), 2.0, lambda chi: top(2)(scores(2.0)(chi))),
    }


def validate() -> list[NamedComparison]:
    return [*_drawn(), _above(), _below(), _sigmoid()]


def _drawn() -> Iterator[NamedComparison]:
    names = list(_sampled())
    jobs = [(name, SEED) for name in names]
    for name, found in zip(
        names, computed_once(drawn, jobs, again=lambda job, run: (job[0], job[1] + OTHER_SEEDS * run))
    ):
        number, mean = found["number"], found["drawn"]
        error = float(np.hypot(number["error"], mean["error"]))
        title = rf"{name}, $L={LENGTH}$, $\lambda={ABOVE}$"
        yield by_z_score(title, number["value"], mean["value"], error, found["note"])


def drawn(job: tuple[str, int]) -> dict[str, object]:
    """The number, what was drawn and a note, of one attention."""
    name, seed = job
    task = Task(length=LENGTH, nu=STRENGTH, noise=0)
    chosen, scale, attention = _sampled()[name]
    number = risk_value(task, chosen, scale, seconds=SECONDS)
    found = location_monte_carlo(task, attention, {}, size=SIZE, seed=seed, value_norm=None, name=name)
    note = f"{number.method}; {found.size} sequences, seed {found.seed}"
    return {"number": measured(number), "drawn": measured(found.mean, found.standard_error), "note": note}


def _above() -> NamedComparison:
    """long-bayes-risk-above: the least risk is at most (L-1)^-(sqrt(lambda)-1)^2; its own exponent comes near that."""
    kappa, best = np.array([1.5, 2.0, 3.0, 4.0]), minimal_risk(TASK, softmax)
    others = np.array(LENGTHS) - 1.0
    found = np.array(
        [evaluate(best, {"L": length, "nu": 2 * kappa * np.log(length - 1)}).value for length in LENGTHS], dtype=float
    )
    bound = others[:, None] ** -((np.sqrt(kappa) - 1) ** 2)
    decades = -np.diff(np.log10(found), axis=0)
    nearer = np.abs(decades[-1] / (np.sqrt(kappa) - 1) ** 2 - 1) < np.abs(decades[0] / (np.sqrt(kappa) - 1) ** 2 - 1)
    return states(
        "above the transition the least risk is below its bound, and its exponent tends to the bound's",
        bool(np.all(found <= bound) and np.all(nearer)),
        "exponents in the last decade to L = 10^9 over the limit: "
        + ", ".join(f"lambda = {k:g}: {d / (np.sqrt(k) - 1) ** 2:.2f}" for k, d in zip(kappa, decades[-1])),
    )


def _below() -> NamedComparison:
    """long-bayes-risk-below: E p_eps is at most 2^s (L-1)^-(1-lambda)^2/(4 lambda) and a tail."""
    kappa, power = np.array([0.4, 0.6, 0.8]), 1.2
    hit = SequenceExpectation(Activation.of(epsilon, softmax, a), TASK.law)
    worst = []
    for length in LENGTHS:
        others = length - 1.0
        strengths = 2 * kappa * np.log(others)
        found = np.array(
            [float(evaluate(hit, {"L": length, "nu": s, "a": np.sqrt(s)}).value) for s in strengths], dtype=float
        )
        tail = np.exp(2**-power - others ** ((power - 1) * (1 - kappa * power) / power) / 4)
        bound = 2 ** ((1 - kappa) / (2 * kappa)) * others ** (-((1 - kappa) ** 2) / (4 * kappa)) + tail
        worst.append(found / bound)
    return states(
        "below the transition the posterior's mean is below its bound and falls with the length",
        bool(np.all(np.array(worst) <= 1)),
        f"largest share of the bound {np.max(worst):.2f}",
    )


def _sigmoid() -> NamedComparison:
    """At nu = 2 log(L-1) the sigmoid's risk is 1/2 and the least risk below it."""
    risk = ScalarExpectation(1 / (1 + exp(sqrt(nu) * x + nu / 2) / (L - 1)), x, STANDARD_NORMAL)
    best = minimal_risk(TASK, softmax)
    rows = []
    for length in LENGTHS:
        here = {"L": length, "nu": float(2 * np.log(length - 1))}
        rows.append([float(evaluate(expr, here).value) for expr in (risk, best)])
    element_wise, least = np.array(rows).T
    gap = (0.5 - least) * 2 * np.sqrt(np.pi * np.log(np.array(LENGTHS) - 1.0)) / np.log(2)
    return states(
        "at the transition the sigmoid's risk is $1/2$ at every length, and the Bayes risk is less by about "
        r"$\log2/(2\sqrt{\pi\log L})$",
        bool(
            np.all(np.abs(element_wise - 0.5) < 1e-12) and np.all(least < 0.5) and np.all(np.diff(np.abs(gap - 1)) < 0)
        ),
        f"the gap over its estimate: {gap[0]:.3f} at L = 10^2 to {gap[-1]:.3f} at L = 10^9",
    )
