"""Proposition 4.2: softmax attention attains the Bayes risk."""

from collections.abc import Iterator

from sympy import Expr, sqrt

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Conditioning, KeyScale, LikelihoodRatio
from symslr.expression.folded import Activation
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax
from symslr.model.symbols import Delta, R_v, epsilon, m_v, nu
from symslr.model.task import Task
from symslr.theory.definitions import bayes_loss, predictor, squared_loss


def softmax_loss(task: Task, scale: Expr) -> Expr:
    """The risk of softmax attention with k = scale k*, v = v*."""
    attention = predictor(Activation.of(epsilon, softmax, scale)).subs({R_v: 0, m_v: 1})
    return squared_loss(attention, task.law, Delta)


def derive_softmax_attains_bayes() -> Iterator[Derivation]:
    for task, published_scale in ((SpikedSLR(), sqrt(nu)), (MaxSLR(), nu)):
        yield (
            Derivation(
                bayes_loss(task.law, Delta),
                title=f"Softmax attention attains the Bayes risk of {task.name}-SLR",
                name=f"softmax-attains-bayes-{task.name}",
                symbol=r"\mathcal{E}_{\mathrm{Bayes}}",
                introduction="The weights of two positions have an exponential ratio, so the posterior is a "
                r"softmax, and the Bayes predictor is softmax attention with key $c_\nu k^\star$ and value $v^\star$: "
                "the last line "
                "is its risk.",
                sources=("duranthon2025, Sec. 4",),
            )
            .apply(Conditioning())
            .apply(LikelihoodRatio(), "The posterior is attention with the likelihood ratio as kernel.")
            .apply(KeyScale(softmax.kernel), r"The scale $c_\nu$ is read off the kernel.")
            .claim(softmax_loss(task, published_scale), "duranthon2025, Prop. 4.2")
        )
