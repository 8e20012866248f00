"""Population and Bayes risks against predictors applied to sampled sequences X, which know nothing of the theory."""

import numpy as np
from sympy import Rational, Sum

from symslr.evaluation import evaluate
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax, softmax1, softplus
from symslr.model.scalar_law import laplace, normal, student
from symslr.model.symbols import L, epsilon, l, x
from symslr.model.task import Task
from symslr.simulate import Estimate, bayes_monte_carlo, risk_monte_carlo, sample_projections
from symslr.theory import bayes_risk, minimal_risk, population_risk
from symslr.validation.validation import NamedComparison, by_z_score

SEED, SIZE, DIMENSION = 250921936, 200_000, 24
SCALE = Rational(6, 5)
TITLES = {"spiked": "spiked-SLR", "max": "max-SLR", "student": "shifted Student keys"}
STUDENT = Task.from_token_laws(student(3, 2), student(3), length=3, noise=0, name="student")


def validate() -> list[NamedComparison]:
    return [*_bayes(), *_attention(), *_linear()]


def _bayes() -> list[NamedComparison]:
    tasks = {
        "spiked-SLR, $L=3$": (SpikedSLR(length=3, noise=Rational(1, 3)), {"nu": 2}),
        "max-SLR, $L=4$": (MaxSLR(length=4, noise=0), {"nu": 3}),
        "spiked-SLR, random length": (SpikedSLR(length={2: Rational(1, 3), 5: Rational(2, 3)}, noise=0), {"nu": 1}),
        "Gaussian keys of two variances, $L=3$": (Task.from_token_laws(normal(0, 4), length=3, noise=0), {}),
        "shifted Laplace keys, $L=3$": (Task.from_token_laws(laplace(1), laplace(), length=3, noise=0), {}),
        "shifted Student keys, $L=3$": (STUDENT, {}),
    }
    rows = []
    for name, (task, values) in tasks.items():
        found = bayes_monte_carlo(task, values, size=SIZE, seed=SEED)
        rows.append(_row(f"Bayes risk, {name}", float(evaluate(bayes_risk(task), values, digits=8)), found))
    return rows


def _attention() -> list[NamedComparison]:
    """Attentions at key 1.2 k* and the best value vector, X sampled in R^{L x D}."""
    rows = []
    all_five = (softmax, softmax1, softplus, linear, Attention(1 + x**4, name="$1+x^4$"))
    for task, values, attentions in (
        (SpikedSLR(length=3, noise=0), {"nu": 2}, all_five),
        (MaxSLR(length=3, noise=0), {"nu": 2}, all_five),
        (STUDENT, {}, (softmax, softplus)),
    ):
        for attention in attentions:
            theory = population_risk(task, attention, SCALE)
            hit, norm = _moments(task, attention, values)
            found = risk_monte_carlo(
                task,
                attention,
                values,
                scale=float(SCALE),
                value_norm=hit / norm,
                size=SIZE // 4,
                seed=SEED,
                path="sequences",
                dimension=DIMENSION,
            )
            expected = float(evaluate(theory, values, digits=8))
            rows.append(_row(f"{attention.name} on {TITLES[task.name]}, key scale $a=1.2$", expected, found))
    return rows


def _moments(task: Task, attention: Attention, values: dict[str, int]) -> tuple[float, float]:
    """E sigma_eps and E ||sigma||^2, which fix the best value vector m_vv* = hit/norm."""
    sigma = Activation.of(epsilon, attention, SCALE)
    bodies = (sigma, Sum(sigma.at(l) ** 2, (l, 1, L)))
    hit, norm = (SequenceExpectation(body, task.law) for body in bodies)
    at = {**values, "L": int(task.length)}
    return tuple(float(evaluate(node, at, digits=8)) for node in (hit, norm))  # type: ignore[return-value]


def _linear() -> list[NamedComparison]:
    """The best linear attention by regression on the two features sum_l z_l and sum_l chi_l z_l of samples."""
    rows = []
    for task, values in ((SpikedSLR(length=5, noise=0), {"nu": 3}), (MaxSLR(length=5, noise=0), {"nu": 3})):
        rng = np.random.default_rng(SEED)
        sample = sample_projections(task.law.subs(L, 5), values, SIZE, rng)
        label = np.take_along_axis(sample.z, sample.epsilon[:, None], axis=1)[:, 0]
        features = np.stack([sample.z.sum(axis=1), (sample.chi * sample.z).sum(axis=1)], axis=1)
        best, *_ = np.linalg.lstsq(features, label, rcond=None)
        loss = (label - features @ best) ** 2
        expected = float(evaluate(minimal_risk(task, linear), values, digits=8))
        note = f"regression on {SIZE} samples, seed {SEED}"
        error = float(loss.std() / SIZE**0.5)
        rows.append(
            by_z_score(f"best linear predictor, {TITLES[task.name]}, $L=5$", expected, float(loss.mean()), error, note)
        )
    return rows


def _row(name: str, expected: float, found: Estimate) -> NamedComparison:
    note = f"{found.method}; {found.size} samples, seed {found.seed}"
    return by_z_score(name, expected, found.mean, found.standard_error, note)
