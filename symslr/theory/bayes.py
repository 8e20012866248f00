"""The Bayes risk."""

from __future__ import annotations

from functools import cache
from typing import ClassVar, final

from sympy import Expr
from sympy.printing.latex import LatexPrinter

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Conditioning, GaussianMoments, Linearity, Nishimori, Unfold
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Posterior
from symslr.expression.quantity import Quantity
from symslr.model.exact import check_is
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import epsilon
from symslr.model.task import Task
from symslr.theory.definitions import bayes_loss, over_length


@cache
def bayes_chain(law: SequenceLaw, noise: Expr) -> Derivation:
    """From E_g (y - E[y|X])^2 to Delta^2 + 1 - E_g[p_epsilon]."""
    start = Derivation(BayesRisk(law, noise)).apply(Unfold(BayesRisk))
    return start.apply(Conditioning()).apply(Linearity()).apply(GaussianMoments()).apply(Nishimori())


@final
class BayesRisk(Quantity):
    """E_Bayes = E_g (y - E[y|X])^2, the least risk of any predictor; ``args = (law, noise)``.

    From it rules derive Delta^2 + 1 - E_g[p_epsilon].

    Source: arXiv 2509.21936, Prop. 4.1.
    """

    source: ClassVar[str] = "duranthon2025, Prop. 4.1"

    @property
    def law(self) -> SequenceLaw:
        return self.args[0]

    @property
    def noise(self) -> Expr:
        return self.args[1]

    def definition(self) -> Expr:
        """E_g (y - E[y|X])^2."""
        return bayes_loss(self.law, self.noise)

    def formula(self) -> Expr:
        """Delta^2 + 1 - E_g[p_epsilon]."""
        return bayes_chain(self.law, self.noise).result

    def conditioned(self) -> Expr:
        """Delta^2 + E_g[1 - p_epsilon]: the error as a positive expectation."""
        return self.noise**2 + SequenceExpectation(1 - Posterior(epsilon, self.law), self.law)

    @property
    def length(self) -> Expr:
        return self.law.length

    def derivation(self) -> Derivation:
        return bayes_chain(*self.args)

    def _latex(self, printer: LatexPrinter) -> str:
        return r"\mathcal{E}_{\mathrm{Bayes}}"

    def _sympystr(self, printer: object) -> str:
        return "BayesRisk"


def bayes_risk(task: Task) -> Expr:
    """The Bayes risk of a task, in its free symbols; unfold with ``.doit()``, evaluate with ``evaluate``.

    E_Bayes = Delta^2 + 1 - E_g[p_epsilon] with p_l = g(l, chi)/sum_m g(m, chi); a random length is averaged over.

    Source: arXiv 2509.21936, Prop. 4.1.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    return over_length(BayesRisk(task.law, task.noise), task.length)
