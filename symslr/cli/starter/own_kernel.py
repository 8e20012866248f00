"""The risk of an attention of your own, and its overlap in a form that any length can be evaluated in."""

from sympy import Rational

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    ChangeOfMeasure,
    GaussianMoments,
    Independence,
    LaplaceRepresentation,
    Linearity,
    Unfold,
)
from symslr.export.figures import Figure
from symslr.export.risk_figure import risk_figure
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR
from symslr.model.symbols import Delta, L, R_v, a, epsilon, nu, x
from symslr.theory.definitions import predictor, squared_loss

quartic = Attention(1 + x**4, name="quartic")
law = SpikedSLR().law
sigma = Activation.of(epsilon, quartic, a)


def derive_quartic_risk() -> Derivation:
    return (
        Derivation(
            squared_loss(predictor(sigma).subs(R_v, 0), law, Delta),
            title="Risk of an attention with a quartic kernel",
            name="quartic-risk",
            symbol=r"\mathcal{E}_\sigma",
            introduction=r"The kernel is $1 + x^4$, normalised by its sum. Key $a k^\star$ and value $m_v v^\star$, "
            r"as functions of $a$ and $m_v$.",
            # where the checker's points are drawn: a normaliser couples all tokens, which is dear at steep slopes
            ranges={a: (Rational(1, 5), Rational(4, 5)), nu: (Rational(1, 5), Rational(4, 5))},
        )
        .apply(Linearity())
        .apply(GaussianMoments())
    )


def figure_quartic_risk() -> Figure:
    """The report draws it: the least risk of this kernel at three tokens, beside softmax and the best predictor."""
    at = [Rational(1, 2) * k for k in range(1, 13)]
    return risk_figure("figure-quartic-risk", [(s, SpikedSLR(), quartic, {nu: s, L: 3, Delta: 0}) for s in at])


def derive_quartic_overlap() -> Derivation:
    return (
        Derivation(
            SequenceExpectation(sigma, law),
            title="Attention that the quartic kernel pays to the relevant token",
            name="quartic-overlap",
            symbol=r"\mathbb{E}_g[\sigma_\epsilon]",
            introduction="The normaliser couples all tokens; as an integral over $u$ it factorises over them.",
        )
        .apply(Unfold())
        .apply(ChangeOfMeasure())
        .apply(LaplaceRepresentation())
        .apply(Independence())
    )
