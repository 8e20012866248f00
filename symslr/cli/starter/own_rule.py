"""A rule of your own is a small class; the checker evaluates both sides of every step it makes."""

from typing import final

from sympy import Expr, cosh, exp

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule
from symslr.algebra.rules import CameronMartin
from symslr.expression.expectation import SequenceExpectation
from symslr.model.catalogue import SpikedSLR
from symslr.model.symbols import chi, epsilon


@final
class HyperbolicCosine(Rule):
    """Write cosh x by exponentials. Change a sign here and `symslr check` calls the step false."""

    name = "hyperbolic cosine"
    statement = r"\cosh x=\tfrac12\left(e^x+e^{-x}\right)"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(cosh, lambda x: (exp(x) + exp(-x)) / 2)


def derive_cosh() -> Derivation:
    return (
        Derivation(
            SequenceExpectation(cosh(chi[epsilon] / 2), SpikedSLR().law),
            title="A moment of the relevant key projection, by a rule of one's own",
            name="cosh-moment",
        )
        .apply(HyperbolicCosine())
        .apply(CameronMartin())
    )
