"""The Nishimori identity, from the definition of the posterior."""

from sympy import Sum

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import AbsorbWeight, AverageHiddenIndex, BayesRule, ChangeOfMeasure, PickToken
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Posterior
from symslr.model.open_function import OpenFunction
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, epsilon, l

g, h = OpenFunction.of("g", epsilon), OpenFunction.of("h", epsilon)
law = SequenceLaw(g, L)


def derive_nishimori() -> Derivation:
    return (
        Derivation(
            SequenceExpectation(Sum(Posterior(l, law) * h.at(l), (l, 1, L)), law),
            title="Nishimori identity for any weight",
            name="nishimori",
            introduction="A draw from the posterior has the law of the hidden position itself, for every function $h$ of a "
            "position and of the key projections. Nothing is used but the definition of the posterior.",
        )
        .apply(ChangeOfMeasure())
        .apply(AverageHiddenIndex(), "Without the weight every position is equally likely.")
        .apply(BayesRule())
        .apply(PickToken())
        .apply(AbsorbWeight(law))
        .claim(SequenceExpectation(h, law), "nishimori1981", label="published")
    )
