"""Section 4: the population risk on the manifold, and its minimum over the value vector."""

from collections.abc import Iterator

from sympy import Rational, Sum

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import GaussianMoments, Linearity, Minimise
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation, Minimum
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax, softplus
from symslr.model.symbols import Delta, L, R_v, a, epsilon, l, m_v, nu
from symslr.theory.definitions import predictor, squared_loss

MILD = {a: (Rational(1, 5), Rational(4, 5)), nu: (Rational(1, 5), Rational(4, 5))}
"""Where a weight couples all tokens, three of them on a grid are affordable at mild slopes only."""


def derive_population_risk() -> Iterator[Derivation]:
    for task, attention in ((SpikedSLR(), softmax), (SpikedSLR(), linear), (MaxSLR(), softplus)):
        law = task.law
        sigma = Activation.of(epsilon, attention, a)
        hit = SequenceExpectation(sigma, law)
        norm = SequenceExpectation(Sum(sigma.at(l) ** 2, (l, 1, L)), law)
        where = f"{attention.name} on {task.name}-SLR"
        in_v = (
            Derivation(
                squared_loss(predictor(sigma), law, Delta),
                title=f"Population risk on the manifold, {where}",
                name=f"population-risk-{attention.name}-{task.name}",
                symbol=r"\mathcal{E}_\sigma",
                introduction=r"Key $a k^\star$, value $m_v v^\star$ plus a part of squared norm $R_v$ "
                r"orthogonal to $v^\star$; "
                r"$q_{vv} = m_v^2 + R_v$.",
                sources=("duranthon2025, Sec. 4",),
                ranges=MILD if task.name == "max" else {},
            )
            .apply(Linearity())
            .apply(GaussianMoments())
            .claim(Delta**2 + 1 - 2 * m_v * hit + (m_v**2 + R_v) * norm, "duranthon2025, Sec. 4")
        )
        yield in_v
        yield (
            Derivation(
                Minimum(Minimum(in_v.result, R_v), m_v),
                title=f"Best value vector, {where}",
                name=f"best-value-{attention.name}-{task.name}",
                symbol=r"\min_v \mathcal{E}_\sigma",
                introduction=r"The part orthogonal to $v^\star$ only costs; the overlap follows from stationarity.",
            )
            .apply(Minimise(), "The risk grows with $R_v$, so the minimum is at $R_v = 0$.")
            .apply(Minimise())
            .claim(Delta**2 + 1 - hit**2 / norm, "duranthon2025, Sec. 4")
        )
