"""Finite samples: the proximal problem of one sample minimised over its values, and the test risk of the fit."""

from collections.abc import Iterator

from sympy import Rational, Sum

from symslr.algebra.derivation import Derivation
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.scored import ScoredActivation
from symslr.model.catalogue import SpikedSLR, linear, softmax
from symslr.model.symbols import Delta, L, epsilon, l, m, nu
from symslr.theory.finite_sample import (
    FIELD,
    NORM,
    RESIDUAL,
    STIFFNESS,
    U,
    V_v,
    W,
    data_chain,
    dual_chain,
    elimination_chain,
    residual_chain,
    risk_chain,
    y,
)
from symslr.theory.finite_sample_energy import CHANNELS, KEY, VALUE

SOURCE = "duranthon2025, Result 5.1"
OWN = "symslr, own statement"
RANGES = {
    **{t.m: (Rational(1, 10), Rational(2, 5)) for t in CHANNELS},
    **{t.q: (Rational(13, 10), 2) for t in CHANNELS},
    **{t.V: (Rational(3, 10), Rational(3, 5)) for t in CHANNELS},
}


def derive_values() -> Iterator[Derivation]:
    yield elimination_chain(softmax).named(
        title="Finite samples: proximal problem of one sample, minimised over the values",
        introduction=r"The values reach the label through $\sum_{l=1}^L\sigma_l z_l$ alone. What is left depends on the keys "
        "through their distance from the field and through two sums over the tokens, at any length.",
        sources=(SOURCE,),
        ranges={**RANGES, L: [2, 3, 5]},
    )


def derive_data_term() -> Iterator[Derivation]:
    yield (
        data_chain()
        .named(
            title="Finite samples: loss of one sample, minimised over the values",
            introduction=r"$A=\sigma\cdot\omega^z$ and $B=|\sigma|^2$.",
            sources=(SOURCE,),
        )
        .claim((y - FIELD) ** 2 / (2 * (1 + V_v * NORM)), SOURCE)
    )
    yield (
        residual_chain()
        .named(
            title="Finite samples: residual of one sample at the minimising values",
            introduction="The slope of the data term in the label is the residual.",
            sources=(SOURCE,),
        )
        .claim((y - FIELD) / (1 + V_v * NORM), SOURCE)
    )


def derive_dual() -> Iterator[Derivation]:
    width = STIFFNESS + V_v * RESIDUAL**2
    attention = (width * U + RESIDUAL * W) / STIFFNESS
    value = W + V_v * RESIDUAL * attention
    least = (attention - U) ** 2 * width / 2 + (value - W) ** 2 / (2 * V_v) - RESIDUAL * attention * value
    yield (
        dual_chain()
        .named(
            title="Finite samples: contribution of one token to the dual function of linear attention",
            introduction=r"At given residual $\rho$ the problem is a sum over tokens. Each term has a minimum where "
            r"$s=1/V_a-V_v\rho^2$ is positive.",
            sources=(OWN,),
        )
        .claim(least, OWN, label="own")
    )


def derive_risk() -> Iterator[Derivation]:
    for attention in (softmax, linear):
        task = SpikedSLR()
        sigma = ScoredActivation.of(epsilon, attention, KEY.field(m), L)
        hit = SequenceExpectation(sigma, task.law)
        norm = SequenceExpectation(Sum(sigma.at(l) ** 2, (l, 1, L)), task.law)
        yield (
            risk_chain(task, attention)
            .named(
                title=f"Finite samples: test risk of a fitted {attention.name} attention as a function of the order parameters",
                introduction=r"On a new sequence the fit enters through the fields $\omega_l=m h_l+\sqrt{q-m^2}\,\xi_l$.",
                sources=(SOURCE,),
                ranges={**RANGES, L: [1, 2], nu: (Rational(1, 5), Rational(4, 5))},
            )
            .claim(Delta**2 + 1 - 2 * VALUE.m * hit + VALUE.q * norm, SOURCE)
        )
