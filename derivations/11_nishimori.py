"""The Nishimori identity, from the definition of the posterior."""

from collections.abc import Iterator

from sympy import Sum

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import AverageHiddenIndex, ChangeOfMeasure, PickToken, Reweight, SymmetricFactors
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Posterior
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.symbols import L, epsilon, l


def derive_nishimori() -> Iterator[Derivation]:
    for task in (SpikedSLR(), MaxSLR()):
        law = task.law
        yield (
            Derivation(
                SequenceExpectation(Sum(Posterior(l, law) ** 2, (l, 1, L)), law),
                title=f"Nishimori identity for {task.name}-SLR",
                name=f"nishimori-{task.name}",
                introduction="The rule that the Bayes risk uses, derived here from the definition of the "
                "posterior alone.",
            )
            .apply(ChangeOfMeasure())
            .apply(AverageHiddenIndex())
            .apply(SymmetricFactors())
            .apply(PickToken())
            .apply(Reweight(law))
            .claim(SequenceExpectation(Posterior(epsilon, law), law), "nishimori1981")
        )
