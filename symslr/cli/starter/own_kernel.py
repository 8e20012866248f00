"""The risk of an attention of your own, from its definition to a form that any length can be evaluated in."""

from symslr.algebra.derivation import Derivation
from symslr.algebra.expectation import SequenceExpectation
from symslr.algebra.folded import Activation
from symslr.algebra.rules import ChangeOfMeasure, Independence, LaplaceRepresentation, Unfold
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR
from symslr.model.symbols import a, epsilon, x

quartic = Attention(1 + x**4, name="quartic")


def derive_quartic_overlap() -> Derivation:
    sigma = Activation.of(epsilon, quartic, a)
    return (
        Derivation(
            SequenceExpectation(sigma, SpikedSLR().law),
            title="Attention that 1 + x^4, normalised, pays to the relevant token",
            name="quartic-overlap",
            symbol=r"\mathbb{E}_g[\sigma_\epsilon]",
            introduction="The normaliser couples all tokens; as an integral over $u$ it factorises over them.",
        )
        .apply(Unfold())
        .apply(ChangeOfMeasure())
        .apply(LaplaceRepresentation())
        .apply(Independence())
    )
