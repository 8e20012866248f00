"""Sequence models with an open channel: state evolution of the Bayes-optimal estimator, and where it begins to learn."""

from collections.abc import Iterator

from sympy import Expr, Rational, Symbol, exp, log, pi, sign, sin

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import CauchySchwarz, GaussianMoments, Linearity, SolveLinear
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.joint import Solution
from symslr.model.scalar_law import normal
from symslr.model.symbols import x
from symslr.theory.finite_sample_energy import ALPHA
from symslr.theory.sequence import (
    CHANNEL,
    FIELD,
    GAUSS,
    MEAN,
    OVERLAP,
    Q_HAT,
    SLOPE,
    BayesFreeEntropy,
    at_nothing,
    convolution,
    curvature_chains,
    evidence,
    force_chain,
    information_chain,
    nishimori_chains,
    overlap_chain,
    prior_chain,
    score_chain,
    squared_slope,
    weak_chains,
)

SOURCE = "duranthon2025, Sec. 5"
OWN = "symslr, own statement"
RANGES = {
    OVERLAP: (Rational(1, 4), Rational(3, 4)),
    MEAN: (-1, 1),
    CHANNEL: [
        exp(-((x - Rational(3, 7)) ** 2) / 2) + Rational(1, 9),
        1 + sin(2 * x + 1) / 2,
        1 / (1 + exp(-5 * x / 3)),
        1 + sign(x - Rational(1, 3)) / 2,
    ],
}
"""Channels that are smooth, and one that jumps."""
OF_TWO = {**RANGES, SLOPE: [x + Rational(1, 3), exp(-((x + Rational(2, 5)) ** 2) / 3), sin(x - 1), 1 + x**2 / 5]}

HELD = (
    r"$P\ge0$ is any channel, read as a function of one field; the label, hidden variables, other tokens and other fields are "
    r"held fixed. $Z(\omega,V)=\mathbb{E}_{z\sim\mathcal{N}(\omega,V)}[P(z)]$ with $V=1-q$ and $\omega=\sqrt q\,x_0$. "
)


def mean(body: Expr) -> ScalarExpectation:
    """Over a field of which nothing is known."""
    return ScalarExpectation(body, FIELD, normal())


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
    yield (
        information_chain()
        .named(
            title="Any channel: the free entropy grows with the overlap by half the mean squared score",
            introduction=HELD
            + r"For a matrix $Q$ it holds along $Q+t\,aa^\top$ for the field $a\cdot z_l$ of each token, so that "
            r"the slope of the free entropy in $Q$ is half of $\alpha\,\mathbb{E}\sum_l g_lg_l^\top$ with "
            r"$g_l=\partial_{\omega_l}\log Z$.",
            sources=(SOURCE,),
            ranges=RANGES,
        )
        .claim(ScalarExpectation(evidence() * score() ** 2, GAUSS, normal()) / 2, OWN, label="own")
    )


def score() -> Expr:
    """d log Z/d omega."""
    return evidence().differentiated(1) / evidence()


def derive_score() -> Iterator[Derivation]:
    under = convolution("Z", CHANNEL, MEAN).definition()
    yield (
        score_chain()
        .named(
            title="Any channel: the score is the posterior mean of the field, less what was known, over the variance",
            introduction=HELD + "The derivative is taken of the Gaussian density: $P$ may jump.",
            sources=(SOURCE,),
            ranges=RANGES,
        )
        .claim((under.with_body(FIELD * under.body) / under - MEAN) / (1 - OVERLAP), OWN, label="own")
    )


def derive_state_evolution() -> Iterator[Derivation]:
    yield (
        force_chain()
        .named(
            title="Any channel: state evolution, effective signal",
            symbol=r"\hat{q}",
            introduction=HELD + BayesFreeEntropy.postulate,
            sources=(SOURCE,),
            ranges=RANGES,
        )
        .claim(ALPHA * ScalarExpectation(evidence() * score() ** 2, GAUSS, normal()), OWN, label="own")
    )
    yield (
        overlap_chain()
        .named(
            title="Any channel: state evolution, overlap with the truth",
            symbol="q",
            introduction=BayesFreeEntropy.postulate + r" The prior is invariant under rotations: of matrices it says "
            r"$Q=\hat Q(I+\hat Q)^{-1}$.",
            sources=(SOURCE,),
            ranges=RANGES,
        )
        .claim(Q_HAT / (1 + Q_HAT), SOURCE)
    )


WHICH = ("the field itself", "another field, of which nothing is known")


def derive_curvature() -> Iterator[Derivation]:
    z_, y_ = evidence(), convolution("Y", SLOPE)
    claimed = (
        z_ * (z_.differentiated(2) / z_ - score() ** 2) ** 2,
        z_ * (y_.differentiated(1) / z_ - y_ * score() / z_) ** 2,
    )
    other = r"$Y$ is the slope of $Z$ in the other field, $R$ that of $P$ averaged over it. "
    for chain, formula, which in zip(curvature_chains(), claimed, WHICH, strict=True):
        yield chain.named(
            title=f"Any channel: the squared force on {which} grows with the overlap by a squared curvature of $\\log Z$",
            introduction=HELD + (other if which == WHICH[1] else ""),
            sources=(SOURCE,),
            ranges=OF_TWO if which == WHICH[1] else RANGES,
        ).claim(ScalarExpectation(formula, GAUSS, normal()), OWN, label="own")


def derive_weak_recovery() -> Iterator[Derivation]:
    p, r = (function.subs(x, FIELD) for function in (CHANNEL, SLOPE))
    own = mean((FIELD**2 - 1) * p) / mean(p) - (mean(FIELD * p) / mean(p)) ** 2
    other = mean(FIELD * r) / mean(p) - mean(FIELD * p) * mean(r) / mean(p) ** 2
    for chain, formula, which in zip(weak_chains(), (own, other), WHICH, strict=True):
        yield chain.named(
            title=f"Any channel: state evolution linearised where nothing has been learnt, {which}",
            introduction=HELD
            + r"The square is of $T=\mathbb{E}[zz'\mid y]-\mathbb{E}[z\mid y]\,\mathbb{E}[z'\mid y]-\delta_{zz'}$ "
            r"for the two fields; $\mathbb{E}[\,\cdot\mid y]$ is the mean weighted with $P$, and "
            r"$R(z)=\mathbb{E}[z'P\mid z]$. Near $Q=0$ it gives $\hat Q=\alpha F(Q)$ with "
            r"$b\cdot F(aa^\top)\,b=\mathbb{E}\sum_{lm}(b\cdot T_{lm}a)^2$. Where $\mathbb{E}[z\mid y]=0$ nothing learnt is a "
            r"fixed point, which is left for $\alpha>1/\varrho(F)$, $\varrho$ the spectral radius.",
            sources=(SOURCE,),
            ranges=OF_TWO if which == WHICH[1] else RANGES,
        ).claim(mean(p) * formula**2, OWN, label="own")


def derive_bound() -> Iterator[Derivation]:
    p = CHANNEL.subs(x, FIELD)
    yield (
        Derivation(
            mean((FIELD**2 - 1) * p) ** 2 / mean(p),
            title=r"No label in one field is learnt below $\alpha=1/2$ where $\mathbb{E}[z\mid y]=0$",
            name="weak-recovery-bound",
            introduction=r"One outcome of the label. The outcomes of a channel add up to $\sum_yP=1$, so that "
            r"$F\le\mathbb{E}(z^2-1)^2=2$ and $\alpha_c=1/F\ge1/2$. The two sides are equal where the label tells $z^2$, as in "
            r"phase retrieval, $y=z^2$: there $\alpha_c=1/2$.",
            ranges=RANGES,
        )
        .apply(CauchySchwarz())
        .claim(mean((FIELD**2 - 1) ** 2 * p), OWN, label="own")
    )


def derive_sign_of_a_product() -> Iterator[Derivation]:
    other = Symbol("z_2", real=True)

    def outcome(y: int) -> dict[Expr, Expr]:
        """P and R of the field x where the label is y, averaged over the other field."""
        p = (1 + y * sign(x) * sign(other)) / 2
        return {
            CHANNEL: ScalarExpectation(p, other, normal()),
            SLOPE: ScalarExpectation(other * p, other, normal()),
        }

    outcomes = [outcome(y) for y in (1, -1)]
    slope = sum(at_nothing(squared_slope(*functions.values())) for functions in outcomes)
    chain = Derivation(
        Solution(ALPHA * slope - 1, ALPHA),
        title=r"Weak recovery from the sign of a product, $y=\mathrm{sign}(z_1z_2)$",
        name="weak-recovery-sign",
        symbol=r"\alpha_c",
        introduction=r"One token, two columns. $\mathbb{E}[z_i\mid y]=0$ and $T_{11}=T_{22}=0$; what one column has learnt pulls "
        r"at the other, so that $F$ exchanges $Q_{11}$ and $Q_{22}$ and multiplies by the sum of the two outcomes here.",
    )
    for functions in outcomes:
        chain = chain.apply(Cite(weak_chains()[1], functions))
    yield (chain.apply(Linearity()).apply(GaussianMoments()).apply(SolveLinear()).claim(pi**2 / 4, OWN, label="own"))
