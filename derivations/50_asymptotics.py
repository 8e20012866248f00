"""Strong signal: the Bayes risk decays exponentially on spiked-SLR and algebraically on max-SLR."""

from collections.abc import Iterator

from sympy import Add, Expr, Rational, euler, exp, factorial, pi, sqrt

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    Centre,
    ChangeOfMeasure,
    GaussianProjection,
    GaussianTaylor,
    SechMoments,
    SingleCompetitor,
    SoftmaxTowardsMax,
    WriteDensity,
    WriteTokensOut,
)
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Posterior
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, j, nu
from symslr.model.task import Task

ORDER = 5
STRONG = {nu: (Rational(30), Rational(45)), L: [3, 4]}


def error_at(task: Task, length: Expr) -> Expr:
    """The Bayes risk without noise, E_g[1 - p_eps]."""
    law = SequenceLaw(task.weight, L, task.base).subs(L, length)
    return SequenceExpectation(1 - Posterior(epsilon, law), law)


def derive_spiked() -> Iterator[Derivation]:
    spiked = SpikedSLR()
    any_length = Derivation(
        error_at(spiked, L),
        title="Bayes risk of spiked-SLR at strong signal, any length",
        name="asymptotics-spiked-competitors",
        symbol=r"\mathcal{E}_{\mathrm{Bayes}}\big|_{\Delta=0}",
        introduction="Two competitors at once are exponentially rarer than one, so any fixed length reduces to "
        "two tokens.",
        ranges=STRONG,
    ).apply(SingleCompetitor())
    yield any_length
    published = Add(
        *((-1) ** k * pi ** (2 * k) * abs(euler(2 * k)) / (factorial(k) * (4 * nu) ** k) for k in range(ORDER))
    )
    yield (
        Derivation(
            error_at(spiked, 2),
            title="Bayes risk of spiked-SLR at strong signal, two tokens: the Euler-number series",
            name="asymptotics-spiked",
            symbol=r"\mathcal{E}_{\mathrm{Bayes}}\big|_{\Delta=0,\,L=2}",
            introduction=r"Exact down to an integral against $1/\cosh$; then the Gaussian factor is expanded.",
            ranges=STRONG,
        )
        .apply(WriteTokensOut())
        .apply(GaussianProjection(sqrt(nu) * (chi[epsilon] - chi[j])))
        .apply(Centre())
        .apply(WriteDensity())
        .apply(GaussianTaylor(ORDER))
        .apply(SechMoments())
        .claim(sqrt(pi) / (2 * sqrt(nu)) * exp(-nu / 4) * published, "symslr, asymptotic series")
    )


def derive_max() -> Iterator[Derivation]:
    task = MaxSLR()
    yield (
        Derivation(
            error_at(task, 2),
            title="Bayes risk of max-SLR at strong signal, two tokens",
            name="asymptotics-max-two",
            symbol=r"\mathcal{E}_{\mathrm{Bayes}}\big|_{\Delta=0,\,L=2}",
            introduction=r"The error comes from near ties, whose density is flat at zero: powers of $1/\nu$ instead "
            "of an exponential.",
            ranges={nu: (Rational(15), Rational(30))},
        )
        .apply(ChangeOfMeasure())
        .apply(WriteTokensOut())
        .apply(GaussianProjection(nu * (chi[epsilon] - chi[j])))
        .apply(WriteDensity())
        .apply(GaussianTaylor(ORDER))
        .apply(SechMoments())
    )
    overlap = SequenceExpectation(chi[epsilon], task.law)
    yield Derivation(
        overlap,
        title="Mean key of the selected token at strong signal, any length",
        name="asymptotics-max-overlap",
        symbol=r"\mu = \nu\,\mathcal{E}_{\mathrm{Bayes}}\big|_{\Delta=0}",
        introduction=r"With $\mu=\nu\,\mathcal{E}_{\mathrm{Bayes}}$ (Stein) the Bayes risk decays like the "
        "mean of the largest of $L$ "
        "normals over $\\nu$.",
        ranges={nu: (Rational(15), Rational(30)), L: [2, 3]},
    ).apply(SoftmaxTowardsMax())
    yield Derivation(
        overlap,
        title="Mean key of the selected token at strong signal, any length, beyond the leading term",
        name="asymptotics-max-series",
        symbol=r"\mu = \nu\,\mathcal{E}_{\mathrm{Bayes}}\big|_{\Delta=0}",
        introduction="The selected token is the largest of $\\nu\\chi_l+G_l$ with independent Gumbel variables $G_l$. Near "
        "ties of two tokens give even powers of $1/\\nu$, those of three the odd ones: at $L=2$ the odd powers vanish.",
        ranges={nu: (Rational(45), Rational(60)), L: [2, 3]},
    ).apply(SoftmaxTowardsMax(6))
