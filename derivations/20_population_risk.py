"""The population risk on the manifold and its minimum over the value vector, for any attention (Section 4)."""

from collections.abc import Iterator

from sympy import Expr, Rational, Sum

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import GaussianMoments, Linearity, Minimise, Unfold
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax, softplus
from symslr.model.open_function import OpenFunction
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import P_L, Delta, L, R_v, a, epsilon, l, m_v, nu
from symslr.theory.definitions import least_over_values, over_length, predictor, squared_loss
from symslr.theory.population import PopulationRisk

g, sigma = OpenFunction.of("g", epsilon), OpenFunction.of("sigma", epsilon)
law = SequenceLaw(g, L)
hit = SequenceExpectation(sigma, law)
norm = SequenceExpectation(Sum(sigma.at(l) ** 2, (l, 1, L)), law)

WORDS = {L: "", P_L: ", random length"}


def on_the_manifold(length: Expr) -> Derivation:
    """The loss of any attention, at a length or averaged over a law of lengths."""
    mean_hit, mean_norm = over_length(hit, length), over_length(norm, length)
    return (
        Derivation(
            over_length(squared_loss(predictor(sigma), law, Delta), length),
            title=r"Population risk of any attention with key along $k^\star$" + WORDS[length],
            name="population-risk" + WORDS[length].replace(", ", "-").replace(" ", "-"),
            symbol=r"\mathcal{E}_\sigma",
            introduction=r"For any weight and any attention $\sigma_l$, a function of the key projections. The value vector is "
            r"$m_v v^\star$ plus a part of squared norm $R_v$ orthogonal to $v^\star$; $q_{vv} = m_v^2 + R_v$.",
            sources=("duranthon2025, Sec. 4",),
        )
        .apply(Linearity())
        .apply(GaussianMoments(), "Values and noise are integrated out.")
        .claim(Delta**2 + 1 - 2 * m_v * mean_hit + (m_v**2 + R_v) * mean_norm, "duranthon2025, Sec. 4")
    )


def best_value(length: Expr) -> Derivation:
    """The same at the best value vector."""
    risk = on_the_manifold(length)
    return (
        Derivation(
            least_over_values(risk.start),
            title=r"Population risk minimised over the value vector, key along $k^\star$" + WORDS[length],
            name=risk.name.replace("population-risk", "best-value"),
            symbol=r"\min_v \mathcal{E}_\sigma",
            introduction=r"A component orthogonal to $v^\star$ only adds risk; the overlap follows from stationarity.",
        )
        .apply(Cite(risk))
        .apply(Minimise(), "The risk grows with $R_v$, so the minimum is at $R_v = 0$.")
        .apply(Minimise())
        .claim(Delta**2 + 1 - over_length(hit, length) ** 2 / over_length(norm, length), "duranthon2025, Sec. 4")
    )


def derive_any_attention() -> Iterator[Derivation]:
    for length in (L, P_L):
        yield on_the_manifold(length)
        yield best_value(length)


MILD = {a: (Rational(1, 5), Rational(4, 5)), nu: (Rational(1, 5), Rational(4, 5))}
"""Where a weight couples all tokens, three of them on a grid are affordable at mild slopes only."""


def derive_instances() -> Iterator[Derivation]:
    for task, attention in ((SpikedSLR(), softmax), (SpikedSLR(), linear), (MaxSLR(), softplus)):
        where = f"{attention.name} on {task.name}-SLR"
        activation = Activation.of(epsilon, attention, a)
        yield (
            Derivation(
                PopulationRisk(activation, task.law, Delta, L),
                title=f"Population risk minimised over the value vector, {where}",
                name=f"population-risk-{attention.name}-{task.name}",
                symbol=r"\mathcal{E}_\sigma(a)",
                introduction="An instance, at key $a k^\\star$.",
                sources=("duranthon2025, Sec. 4",),
                ranges=MILD if task.name == "max" else {},
            )
            .apply(Unfold(PopulationRisk))
            .apply(Cite(best_value(L), {g: task.law.weight, sigma: activation}))
        )
