"""Fits of any loss to samples of any law: the saddle-point equations of one direction of a student."""

from collections.abc import Iterator

from sympy import Expr, Rational, exp, latex, log, sin, sqrt

from symslr.algebra.derivation import Derivation
from symslr.expression.instance import FIELDS
from symslr.model.symbols import L, x
from symslr.theory.finite_sample_energy import (
    ALPHA,
    LOSS,
    OPEN,
    SAMPLE_LAW,
    STUDENT,
    ReplicaSymmetricEnergy,
    force_means,
)
from symslr.theory.finite_sample_saddle import PAIRS, response_chain, ridge_chain, saddle_chain

SOURCE = "symslr, own statement"
s = FIELDS[1]
RANGES = {
    L: [1, 2],
    SAMPLE_LAW: [2, 3, 5],
    STUDENT.m: (Rational(1, 10), Rational(2, 5)),
    STUDENT.q: (Rational(13, 10), 2),
    STUDENT.V: (Rational(3, 10), Rational(3, 5)),
    LOSS: [(s - x) ** 2 / 2, log(1 + exp(-x * s)), (sin(s) - x) ** 2 / 3, s**4 / 8 - x * s],
}
MEANING = {
    "qhat": "effective noise variance",
    "Vhat": "effective curvature of the loss",
    "mhat": "effective signal",
    "V": "susceptibility",
    "m": "overlap with the teacher",
    "q": "squared norm of the student",
}
HELD = (
    r"$\ell(z_l,\hat s_l)$ is any loss as a function of the student's field of a token, all other fields of the sample being where "
    r"they make it least, and the sample is of any law. Without the sample the field is "
    r"$\omega_l=m z_l+\sqrt{q-m^2}\,\zeta_l$; $f_l=(\hat s_l-\omega_l)/V$. "
)
SEVERAL = "What several directions contribute adds up. "


def derive_lemmas() -> Iterator[Derivation]:
    yield ridge_chain(STUDENT).named(
        title="Fit of any loss: energy per component with ridge", sources=("duranthon2025, Result 5.1",)
    )
    for parameter in STUDENT.order_parameters:
        yield response_chain(STUDENT, parameter, OPEN).named(
            title=f"Fit of any loss: derivative of the energy of one sample in ${latex(parameter)}$",
            introduction=HELD + "Of its energy only the distance from the field depends on the order parameters.",
            sources=("duranthon2025, Result 5.1",),
            ranges=RANGES,
        )


def derive_saddle_point() -> Iterator[Derivation]:
    for unknown in PAIRS:
        yield (
            saddle_chain(STUDENT, unknown, OPEN)
            .named(
                name=f"empirical-risk-{unknown}",
                title=f"Fit of any loss: saddle-point equation for the {MEANING[unknown]}",
                symbol=latex(getattr(STUDENT, unknown)),
                introduction=HELD + SEVERAL + ReplicaSymmetricEnergy.postulate,
                sources=("duranthon2025, Result 5.1",),
                ranges=RANGES,
            )
            .claim(expected()[unknown], SOURCE, label="own")
        )


def expected() -> dict[str, Expr]:
    """As Result 5.1 has them for keys and values, of one direction and an open loss."""
    t = STUDENT
    root, stiffness = sqrt(t.q - t.m**2), t.ridge + t.Vhat
    squared, push, pull = (ALPHA * mean for mean in force_means(t, OPEN))
    return {
        "qhat": squared,
        "Vhat": -push / root,
        "mhat": pull - t.m * push / root,
        "V": 1 / stiffness,
        "m": t.mhat / stiffness,
        "q": (t.mhat**2 + t.qhat) / stiffness**2,
    }
