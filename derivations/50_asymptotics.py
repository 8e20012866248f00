"""Strong signal: the Bayes risk decays exponentially on spiked-SLR and algebraically on max-SLR."""

from collections.abc import Iterator

from sympy import Add, EulerGamma, Rational, erf, euler, exp, factorial, gamma, pi, sqrt

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    ChangeOfMeasure,
    GaussianProjection,
    GaussianTaylor,
    TransformMoments,
    WriteDensity,
    WriteTokensOut,
)
from symslr.expression.expectation import ScalarExpectation
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import L, chi, epsilon, j, nu, x
from symslr.theory.asymptotics import (
    ANGLE,
    FREQUENCY,
    error,
    gumbel_transform,
    mean_key,
    sech_transform,
    selected_error,
    shifted_error,
)

ORDER = 5


def derive_spiked() -> Iterator[Derivation]:
    yield sech_transform(1).named(
        title="Fourier transform of the hyperbolic secant",
        symbol=r"\int_{-\infty}^{\infty}\frac{\cos\omega x}{\cosh bx}\,\mathrm{d}x",
        introduction="Its derivatives at zero are the moments of $1/\\cosh$: Euler numbers.",
    )
    series = Add(
        *((-1) ** k * pi ** (2 * k) * abs(euler(2 * k)) / (factorial(k) * (4 * nu) ** k) for k in range(ORDER))
    )
    yield (
        shifted_error(SpikedSLR().law, ORDER)
        .named(
            title="Bayes risk of spiked-SLR at strong signal, any length: exponential decay with a series of Euler numbers",
            symbol=r"\mathcal{E}_{\mathrm{Bayes}}\big|_{\Delta=0}",
            introduction=r"Two competitors at once are exponentially rarer than one: leaving them out of the denominator costs "
            r"at most a multiple of $e^{-\nu/3}$ beside $e^{-\nu/4}$. With one competitor the risk is an integral against "
            r"$1/\cosh$, whose Gaussian factor is expanded.",
            ranges={nu: (Rational(75), Rational(150)), L: [2, 3, 4]},
        )
        .claim((L - 1) * sqrt(pi) / (2 * sqrt(nu)) * exp(-nu / 4) * series, "symslr, asymptotic series", label="own")
    )


def derive_max() -> Iterator[Derivation]:
    law = MaxSLR().law
    yield sech_transform(2).named(
        title="Fourier transform of the squared hyperbolic secant",
        symbol=r"\int_{-\infty}^{\infty}\frac{\cos\omega x}{\cosh^2 bx}\,\mathrm{d}x",
        introduction="Its derivatives at zero are the moments of $1/\\cosh^2$: Bernoulli numbers.",
    )
    yield (
        Derivation(
            error(law.subs(L, 2)),
            title=r"Bayes risk of max-SLR at strong signal, two tokens: series in $1/\nu$",
            name="asymptotics-max-two",
            symbol=r"\mathcal{E}_{\mathrm{Bayes}}\big|_{\Delta=0,\,L=2}",
            introduction=r"The error comes from near ties, whose density is flat at zero: powers of $1/\nu$ instead "
            "of an exponential.",
            ranges={nu: (Rational(15), Rational(150))},
        )
        .apply(ChangeOfMeasure())
        .apply(WriteTokensOut())
        .apply(GaussianProjection(nu * (chi[epsilon] - chi[j])))
        .apply(WriteDensity())
        .apply(GaussianTaylor(ORDER))
        .apply(TransformMoments(sech_transform(2), FREQUENCY))
    )
    yield (
        gumbel_transform()
        .named(
            title="Moment generating function of the centred Gumbel variable",
            symbol=r"\mathbb{E}\left[e^{\theta S}\right]",
            introduction=r"Its derivatives at zero are the moments: $\pi^2/6$, $2\zeta(3)$, $3\pi^4/20$, ...",
            ranges={ANGLE: (Rational(-3, 2), Rational(1, 2))},
        )
        .claim(exp(-EulerGamma * ANGLE) * gamma(1 - ANGLE), "dlmf, 5.2.1", label="published")
    )
    largest = L * ScalarExpectation(x * ((1 + erf(x / sqrt(2))) / 2) ** (L - 1), x, STANDARD_NORMAL)
    strong = {nu: (Rational(6), Rational(40)), L: [3, 4, 5]}
    yield (
        selected_error(law, 3)
        .named(
            name="asymptotics-max-leading",
            title="Bayes risk of max-SLR at strong signal, any length: leading terms",
            symbol=r"\mathcal{E}_{\mathrm{Bayes}}\big|_{\Delta=0}",
            introduction=r"$\mathcal{E}_{\mathrm{Bayes}}=\frac{M}{\nu}\left(1-\frac{\pi^2}{12\nu^2}\right)+O(\nu^{-4})$ with $M$ "
            r"the mean of the largest of $L$ normals. On a logarithmic scale the Laplace variable is a level $y$: two tokens "
            r"tie there while all the others lie below, each smoothed by a Gumbel variable of width $1/\nu$.",
            ranges=strong,
        )
        .claim(largest * (1 - pi**2 / (12 * nu**2)) / nu, "symslr, leading terms", label="own")
    )
    yield mean_key(law, 3).named(
        title="Mean key projection of the relevant token in max-SLR at strong signal, any length",
        symbol=r"\mu = \nu\,\mathcal{E}_{\mathrm{Bayes}}\big|_{\Delta=0}",
        introduction="By Stein's lemma $\\mu=\\nu\\,\\mathcal{E}_{\\mathrm{Bayes}}$, which tends to the mean of the largest of "
        "$L$ normals.",
        ranges=strong,
    )
    yield selected_error(law, 6).named(
        title="Bayes risk of max-SLR at strong signal, any length: six terms",
        name="asymptotics-max-series",
        symbol=r"\mathcal{E}_{\mathrm{Bayes}}\big|_{\Delta=0}",
        introduction="Near ties of two tokens give odd powers of $1/\\nu$, those of three the even ones: at $L=2$ the even "
        "powers vanish.",
        ranges={**strong, nu: [Rational(n, 97) for n in (3511, 1271, 823, 2389, 116003)]},
    )
