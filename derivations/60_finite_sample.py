"""The saddle-point equations of a fit, each from the replica-symmetric energy by stationarity (Result 5.1)."""

from collections.abc import Iterator

from sympy import Expr, Rational, latex, sqrt

from symslr.algebra.derivation import Derivation
from symslr.model.symbols import Delta, L
from symslr.theory.finite_sample_energy import ALPHA, CHANNELS, SAMPLE_LAW, Channel, ReplicaSymmetricEnergy, force_means
from symslr.theory.finite_sample_saddle import PAIRS, response_chain, ridge_chain, saddle_chain

SOURCE = "duranthon2025, Result 5.1"
RANGES = {
    L: [2, 3, 5],
    SAMPLE_LAW: [2, 3, 5, 6, 7],
    Delta: (Rational(1, 2), Rational(3, 2)),
    **{t.m: (Rational(1, 10), Rational(2, 5)) for t in CHANNELS},
    **{t.q: (Rational(13, 10), 2) for t in CHANNELS},
    **{t.V: (Rational(3, 10), Rational(3, 5)) for t in CHANNELS},
}
"""Fields that scatter: finite differences in m and q of sqrt(q - m^2) keep their digits."""

OF = {"k": "keys", "v": "values"}
MEANING = {
    "qhat": "effective noise variance",
    "Vhat": "effective curvature of the loss",
    "mhat": "effective signal",
    "V": "susceptibility",
    "m": "overlap with the true vector",
    "q": "squared norm of the fitted vector",
}


def derive_ridge() -> Iterator[Derivation]:
    for t in CHANNELS:
        yield (
            ridge_chain(t)
            .named(
                title=f"Finite samples: energy per component of the {OF[t.name]} with ridge",
                introduction=r"The samples act on a component $u$ as a field of mean $\hat m u_0$, with $u_0$ its true value, and "
                r"variance $\hat q$, and as a curvature $\hat V$, which adds to the ridge.",
                sources=(SOURCE,),
            )
            .claim(-(t.mhat**2 + t.qhat) / (2 * (t.ridge + t.Vhat)), SOURCE)
        )


def derive_response() -> Iterator[Derivation]:
    for t in CHANNELS:
        for parameter in t.order_parameters:
            yield response_chain(t, parameter).named(
                title=f"Finite samples: derivative of the energy of one sample in ${latex(parameter)}$",
                introduction=r"Of a sample's energy only the distance from the field depends on the order parameters. "
                "The law of the sample is left open: no Gaussian enters.",
                sources=(SOURCE,),
                ranges=RANGES,
            )


def derive_saddle_point() -> Iterator[Derivation]:
    for t in CHANNELS:
        for unknown in PAIRS:
            yield (
                saddle_chain(t, unknown)
                .named(
                    title=f"Finite samples: saddle-point equation of the {OF[t.name]} for the {MEANING[unknown]}",
                    symbol=latex(getattr(t, unknown)),
                    introduction=ReplicaSymmetricEnergy.postulate,
                    sources=(SOURCE,),
                    ranges={**RANGES, L: [2, 3]},
                )
                .claim(published(t)[unknown], SOURCE)
            )


def published(t: Channel) -> dict[str, Expr]:
    """Result 5.1 as its summaries give it, with m, q written by the conjugates alone."""
    root, stiffness = sqrt(t.q - t.m**2), t.ridge + t.Vhat
    squared, push, pull = (ALPHA * mean for mean in force_means(t))
    return {
        "qhat": squared,
        "Vhat": -push / root,
        "mhat": pull - t.m * push / root,
        "V": 1 / stiffness,
        "m": t.mhat / stiffness,
        "q": (t.mhat**2 + t.qhat) / stiffness**2,
    }
