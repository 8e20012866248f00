"""Proposition 4.1: the Bayes risk, from the definition of the task."""

from collections.abc import Iterator

from sympy import Sum

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import ChangeOfMeasure, Conditioning, GaussianMoments, Linearity, Nishimori, Unfold
from symslr.expression.expectation import SequenceExpectation
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.symbols import Delta, L, epsilon, l
from symslr.theory.definitions import bayes_loss


def derive_bayes_risk() -> Iterator[Derivation]:
    for task in (SpikedSLR(), MaxSLR()):
        law = task.law
        g = law.weight
        normaliser = Sum(law.renamed(g).subs(epsilon, l), (l, 1, L))
        published = Delta**2 + 1 - SequenceExpectation(g**2 / normaliser, law.unweighted())
        yield (
            Derivation(
                bayes_loss(law, Delta),
                title=f"Bayes risk of {task.name}-SLR",
                name=f"bayes-risk-{task.name}",
                symbol=r"\mathcal{E}_{\mathrm{Bayes}}",
                introduction=r"The Bayes predictor of the squared loss is $\mathbb{E}[y\mid X]$. Given $X$ "
                "the hidden position is "
                "the only thing left to average over, and its posterior follows from Bayes' rule.",
                sources=("duranthon2025, Sec. 2",),
            )
            .apply(
                Conditioning(),
                "The noise has mean zero, so the Bayes predictor is a posterior average of the values.",
            )
            .apply(Linearity())
            .apply(GaussianMoments(), "Values and noise are integrated out.")
            .apply(Nishimori())
            .apply(ChangeOfMeasure())
            .apply(Unfold())
            .claim(published, "duranthon2025, Prop. 4.1")
        )
