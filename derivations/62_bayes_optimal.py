"""Bayes-optimal estimation of single-location regression from $N$ samples: state evolution, risk, and the limit of many samples."""

from collections.abc import Iterator

from sympy import Expr, Rational, S, Symbol, exp, pi, sqrt

from symslr.algebra.derivation import Derivation
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Posterior
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.scalar_law import normal
from symslr.model.symbols import Delta, epsilon, nu
from symslr.theory.bayes import bayes_risk
from symslr.theory.finite_sample_bayes import LABEL, OWN, REST, force_chain, posterior_risk_chain
from symslr.theory.finite_sample_energy import ALPHA
from symslr.theory.sequence import GAUSS, OVERLAP, BayesFreeEntropy

SOURCE = "duranthon2025, Sec. 5"
OF = {"v": "values", "k": "keys, spiked-SLR"}
RANGES = {
    OVERLAP: (Rational(1, 4), Rational(3, 4)),
    Delta: (Rational(1, 4), 1),
    nu: (Rational(1, 5), Rational(3, 2)),
}
q_k = Symbol("q_k", positive=True)
"""Overlap of the keys."""


def derive_state_evolution() -> Iterator[Derivation]:
    for t, of in OF.items():
        yield (
            force_chain(t)
            .named(
                title=f"Bayes-optimal estimation: state evolution of the {of}, effective signal",
                symbol=r"\hat{q}",
                introduction=r"$P$ is read as a function of one token's field; $a$ and $b$ are the likelihoods of the rest of "
                "the sample with this token relevant and with another one, at any length. "
                + BayesFreeEntropy.postulate,
                sources=(SOURCE,),
                ranges=RANGES,
            )
            .claim(ALPHA * ScalarExpectation(squared_force(t), GAUSS, normal()), SOURCE)
        )


def squared_force(t: str) -> Expr:
    """(dZ/d omega)^2/Z at omega = sqrt(q) x_0, as the task has it: values pull by (y - omega)/V, keys by sqrt(nu)."""
    omega, variance = sqrt(OVERLAP) * GAUSS, 1 - OVERLAP + Delta**2
    here = {
        "v": exp(-((LABEL - omega) ** 2) / (2 * variance)) / sqrt(2 * pi * variance),
        "k": exp(sqrt(nu) * omega - nu * OVERLAP / 2),
    }[t]
    pull = {"v": (LABEL - omega) / variance, "k": sqrt(nu)}[t]
    return (pull * OWN * here) ** 2 / (OWN * here + REST)


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
