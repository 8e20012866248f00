"""Laplace representation of the normaliser: any normalised attention at any length, as a double integral."""

from collections.abc import Iterator

from sympy import Sum

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    CameronMartin,
    ChangeOfMeasure,
    Exchangeability,
    Independence,
    LaplaceRepresentation,
    Unfold,
)
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation, Posterior
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax, softmax1, softplus
from symslr.model.symbols import L, a, epsilon, l

INTRODUCTION = (
    "The normaliser couples all tokens. Written as an integral over $u$ of exponentials it factorises over the "
    "tokens, so the length enters as an exponent and may stay a symbol."
)


def derive_laplace() -> Iterator[Derivation]:
    for task, attention in (
        (SpikedSLR(), softmax),
        (SpikedSLR(), softplus),
        (SpikedSLR(), softmax1),
        (MaxSLR(), softmax),
    ):
        sigma = Activation.of(epsilon, attention, a)
        where = f"{attention.name.replace('softmax1', 'softmax-1')} on {task.name}-SLR"
        bodies = {
            "hit": (
                sigma,
                r"\mathbb{E}_g[\sigma_\epsilon]",
                "Mean attention to the relevant token as a Laplace integral",
            ),
            "norm": (
                Sum(sigma.at(l) ** 2, (l, 1, L)),
                r"\mathbb{E}_g\|\sigma\|^2",
                "Mean squared norm of the attention as a Laplace integral",
            ),
        }
        if task.name == "max":  # two normalisers: one derivation shows the two Laplace variables
            del bodies["norm"]
        for key, (body, symbol, title) in bodies.items():
            chain = Derivation(
                SequenceExpectation(body, task.law),
                title=f"{title}, {where}",
                name=f"laplace-{key}-{attention.name}-{task.name}",
                symbol=symbol,
                introduction=INTRODUCTION,
            )
            chain = chain.apply(Unfold()).apply(ChangeOfMeasure())
            if key == "norm":
                chain = chain.apply(Exchangeability())
            chain = chain.apply(LaplaceRepresentation()).apply(Independence())
            yield chain.apply(CameronMartin()) if attention == softmax else chain


def derive_bayes_error() -> Iterator[Derivation]:
    for task in (SpikedSLR(), MaxSLR()):
        yield (
            Derivation(
                SequenceExpectation(1 - Posterior(epsilon, task.law), task.law),
                title=f"Noiseless Bayes risk as a Laplace integral of a positive function, {task.name}-SLR",
                name=f"laplace-bayes-{task.name}",
                symbol=r"\mathcal{E}_{\mathrm{Bayes}}\big|_{\Delta=0}",
                introduction="The error itself, not one minus something near one: every term is positive, so "
                "small risks keep their relative accuracy.",
            )
            .apply(ChangeOfMeasure())
            .apply(Exchangeability())
            .apply(LaplaceRepresentation())
            .apply(Independence())
            .apply(CameronMartin())
        )
