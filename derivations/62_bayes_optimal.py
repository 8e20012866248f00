"""Bayes-optimal estimation from N samples: state evolution from the free entropy, its risk, and the limit of many samples."""

from collections.abc import Iterator

from sympy import Rational, S, Symbol, log

from symslr.algebra.derivation import Derivation
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Posterior
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.symbols import Delta, epsilon, nu
from symslr.theory.bayes import bayes_risk
from symslr.theory.finite_sample_bayes import (
    GAUSS,
    OVERLAP,
    Q_HAT,
    BayesFreeEntropy,
    evidence,
    force_chain,
    information_chain,
    nishimori_chains,
    overlap_chain,
    posterior_risk_chain,
    prior_chain,
    squared_force,
)
from symslr.theory.finite_sample_energy import ALPHA

SOURCE = "duranthon2025, Sec. 5"
OF = {"v": "values", "k": "keys, spiked-SLR"}
RANGES = {
    OVERLAP: (Rational(1, 4), Rational(3, 4)),
    Delta: (Rational(1, 4), 1),
    nu: (Rational(1, 5), Rational(3, 2)),
}
q_k = Symbol("q_k", positive=True)
"""Overlap of the keys."""


def derive_prior() -> Iterator[Derivation]:
    yield (
        prior_chain()
        .named(title="Bayes-optimal estimation: free entropy of the prior per component", sources=(SOURCE,))
        .claim((Q_HAT - log(1 + Q_HAT)) / 2, SOURCE)
    )


def derive_nishimori() -> Iterator[Derivation]:
    titles = ("overlap of the posterior mean with the truth", "squared norm of the posterior mean")
    for chain, title in zip(nishimori_chains(), titles, strict=True):
        yield (
            chain.named(
                title=f"Bayes-optimal estimation: {title}",
                introduction="The two are one number: Nishimori's identity leaves one overlap per vector.",
                sources=("nishimori1981",),
            ).claim(Q_HAT / (1 + Q_HAT), "nishimori1981", label="published")
        )


def derive_information() -> Iterator[Derivation]:
    for t, of in OF.items():
        yield (
            information_chain(t)
            .named(
                title=f"Bayes-optimal estimation: the free entropy grows with the overlap by half the mean squared score, {of}",
                introduction=r"$Z$ is read as a function of one token's field $\omega=\sqrt q\,x_0$; $a$ and $b$ are the "
                "likelihoods of the rest of the sample with this token relevant and with another one, at any length.",
                sources=(SOURCE,),
                ranges=RANGES,
            )
            .claim(squared_force(t) / 2, SOURCE)
        )


def derive_state_evolution() -> Iterator[Derivation]:
    for t, of in OF.items():
        yield (
            force_chain(t)
            .named(
                title=f"Bayes-optimal estimation: state evolution of the {of}, effective signal",
                symbol=r"\hat{q}",
                introduction=BayesFreeEntropy.postulate,
                sources=(SOURCE,),
                ranges=RANGES,
            )
            .claim(ALPHA * force_of_logarithm(t), SOURCE)
        )
    yield (
        overlap_chain("v")
        .named(
            title="Bayes-optimal estimation: state evolution, overlap with the truth",
            symbol="q",
            introduction=BayesFreeEntropy.postulate,
            sources=(SOURCE,),
            ranges=RANGES,
        )
        .claim(Q_HAT / (1 + Q_HAT), SOURCE)
    )


def force_of_logarithm(t: str) -> ScalarExpectation:
    """E[Z f^2] with f = d log Z/d omega."""
    z = evidence(t)
    return ScalarExpectation(z * (z.differentiated(1, 0) / z) ** 2, GAUSS, squared_force(t).law)


def derive_risk() -> Iterator[Derivation]:
    task = SpikedSLR(nu * q_k)
    yield (
        posterior_risk_chain(task, OVERLAP)
        .named(
            name="bayes-optimal-risk",
            title="Bayes-optimal estimation: test risk as a function of the overlaps, spiked-SLR",
            introduction=r"On a new sequence the keys' fields $\omega^\chi_l/\sqrt{q_k}$ are those of a task of strength "
            r"$\nu q_k$; $p_l$ is its posterior.",
            sources=(SOURCE,),
            ranges={**RANGES, q_k: (Rational(1, 4), Rational(3, 4))},
        )
        .claim(Delta**2 + 1 - OVERLAP * SequenceExpectation(Posterior(epsilon, task.law), task.law), SOURCE)
    )


def derive_many_samples() -> Iterator[Derivation]:
    for task in (SpikedSLR(), MaxSLR()):
        yield (
            posterior_risk_chain(task, S.One)
            .named(
                name=f"bayes-optimal-many-samples-{task.name}",
                title=f"Bayes-optimal estimation: test risk with infinitely many samples is the Bayes risk, {task.name}-SLR",
                introduction=r"As $\alpha\to\infty$ the signal $\hat q$ grows with $\alpha$ and the overlaps "
                r"$\hat q/(1+\hat q)$ tend to 1. There the risk is that of Proposition 4.1.",
                sources=(SOURCE,),
            )
            .claim(bayes_risk(task), "duranthon2025, Prop. 4.1")
        )
