"""The Bayes risk, from the definition of the task (Proposition 4.1)."""

from collections.abc import Iterator

from sympy import Sum

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import ChangeOfMeasure, Conditioning, GaussianMoments, Linearity, Unfold
from symslr.check.collect import neighbour
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Posterior
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.open_function import OpenFunction
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import Delta, L, epsilon, l
from symslr.theory.bayes import BayesRisk

g, h = OpenFunction.of("g", epsilon), OpenFunction.of("h", epsilon)
law = SequenceLaw(g, L)
nishimori = neighbour(__file__, "11_nishimori.py")

any_weight = (
    Derivation(
        BayesRisk(law, Delta),
        title="Bayes risk for any weight: one minus the mean posterior of the relevant token, plus the noise",
        name="bayes-risk",
        symbol=r"\mathcal{E}_{\mathrm{Bayes}}",
        introduction=r"The Bayes predictor of the squared loss is $\mathbb{E}[y\mid X]$. Given $X$ the hidden position is "
        "the only thing left to average over, and its posterior follows from Bayes' rule.",
        sources=("duranthon2025, Sec. 2",),
    )
    .apply(Unfold(BayesRisk))
    .apply(Conditioning(), "The noise has mean zero, so the Bayes predictor is a posterior average of the values.")
    .apply(Linearity())
    .apply(GaussianMoments(), "Values and noise are integrated out.")
    .apply(Cite(nishimori.derive_nishimori(), {h: Posterior(epsilon, law)}))
    .claim(Delta**2 + 1 - SequenceExpectation(Posterior(epsilon, law), law), "duranthon2025, Prop. 4.1")
)


def derive_tasks() -> Iterator[Derivation]:
    for task in (SpikedSLR(), MaxSLR()):
        weight = task.law.renamed(task.law.weight)
        total = Sum(weight.subs(epsilon, l), (l, 1, L))
        yield (
            Derivation(
                BayesRisk(task.law, Delta),
                title=f"Bayes risk of {task.name}-SLR",
                name=f"bayes-risk-{task.name}",
                symbol=r"\mathcal{E}_{\mathrm{Bayes}}",
                introduction="An instance, with the mean taken without the weight.",
            )
            .apply(Cite(any_weight, {g: task.law.weight}))
            .apply(ChangeOfMeasure())
            .apply(Unfold(Posterior))
            .claim(
                Delta**2 + 1 - SequenceExpectation(weight**2 / total, task.law.unweighted()), "duranthon2025, Prop. 4.1"
            )
        )
