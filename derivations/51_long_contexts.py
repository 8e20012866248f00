"""Long contexts: at nu = 2 kappa log(L - 1) attention finds the relevant token above kappa = 1, at scales above a threshold."""

from collections.abc import Iterator

from sympy import Expr, Rational, S, Symbol, exp, log, sqrt

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    Algebra,
    CameronMartin,
    ChangeOfMeasure,
    Independence,
    JensenForOthers,
    Linearity,
    PowerBelowExponential,
    PowerOfOdds,
    ShareBelowLevel,
    TwoMoments,
    Unfold,
)
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation, Posterior
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR, softmax, softmax1
from symslr.model.symbols import L, epsilon, nu
from symslr.theory.asymptotics import error

a, b, kappa, theta = (Symbol(name, positive=True) for name in ("a", "b", "kappa", "theta"))
r, s, t, u = (Symbol(name, nonnegative=True) for name in "rstu")
p = Symbol("p", positive=True)

OTHERS = L - 1
LONG = 2 * kappa * log(OTHERS)
"""The signal strength at which a context of this length is at the transition, for kappa of order 1."""
SCALE = b * sqrt(log(OTHERS))
"""The scale of a softmax whose temperature falls with the length."""

SOURCES = ("derrida1981", "gallager1965")
MISSED = r"\mathbb{E}[1-\sigma_\epsilon]"
FOUND = r"\mathbb{E}[\sigma_\epsilon]"


def share(attention: Attention) -> Activation:
    """The attention that the relevant token gets."""
    return Activation.of(epsilon, attention, a)


def integrated(chain: Derivation) -> Derivation:
    """A product of powers of exponentials of single tokens, integrated."""
    return chain.apply(Linearity()).apply(CameronMartin()).apply(Independence()).apply(CameronMartin())


def located(attention: Attention, **words: object) -> Derivation:
    """What softmax or a kin of it withholds from the relevant token."""
    chain = Derivation(SequenceExpectation(1 - share(attention), SpikedSLR().law), symbol=MISSED, sources=SOURCES, **words)
    return integrated(chain.apply(Unfold(Activation)).apply(PowerOfOdds(t, r)).apply(JensenForOthers()))


def lost(attention: Attention, **words: object) -> Derivation:
    """What it gives to it."""
    chain = Derivation(SequenceExpectation(share(attention), SpikedSLR().law), symbol=FOUND, sources=SOURCES, **words)
    return (
        chain.apply(Unfold(Activation))
        .apply(ShareBelowLevel(theta, s, u))
        .apply(Linearity())
        .apply(ChangeOfMeasure())
        .apply(Independence())
        .apply(CameronMartin())
        .apply(PowerBelowExponential())
        .apply(TwoMoments(p), "Truncation by moments: the sum over the others is seldom far below its mean.")
        .apply(CameronMartin())
    )


def at_long(theorem: Derivation, values: dict[Symbol, Expr], claim: Expr, **words: object) -> Derivation:
    """A theorem at nu = 2 kappa log(L - 1)."""
    cited = Cite(theorem, {nu: LONG, **values})
    start = theorem.start.subs({symbol: value for symbol, value in cited.values.items()}, simultaneous=True)
    return Derivation(start, symbol=theorem.symbol, sources=SOURCES, **words).apply(cited).claim(
        claim, "symslr, a power of the number of others", label="own"
    )


def derive_success() -> Iterator[Derivation]:
    soft = located(
        softmax,
        title="Softmax attention at any scale: what the relevant token does not get",
        name="long-located-softmax",
        introduction="For every length. The bound is Gallager's for the error of a random code: $t$ and $r$ are free, and the "
        "best ones give the exponent.",
    )
    yield soft
    yield located(
        softmax1,
        title="Softmax-1 at any scale: what the relevant token does not get",
        name="long-located-softmax1",
        introduction="The offset counts as one more token of score $0$, which at a growing scale costs nothing in the exponent.",
    )
    yield at_long(
        soft,
        {a: SCALE, t: sqrt(2) / b, r: sqrt(kappa) - 1},
        OTHERS ** (-((sqrt(kappa) - 1) ** 2)),
        title="Every scale above the freezing point succeeds above the transition, with one exponent",
        name="long-large-scales",
        introduction=r"At $a=b\sqrt{\log(L-1)}$ with $b\ge\sqrt2$ and $\nu=2\kappa\log(L-1)$, $1\le\kappa\le4$. The window of "
        r"scales has no upper end: $b$ does not enter.",
    )


ODDS = b * sqrt(2 * kappa) - 1 - b**2 / 2
"""Of the relevant token against the sum of the others, in powers of L - 1, where no single one of these decides."""


def derive_window() -> Iterator[Derivation]:
    soft, gone = located(softmax, name="long-located-softmax"), lost(softmax, name="long-lost-softmax")
    yield at_long(
        soft,
        {a: SCALE, t: S.One, r: ODDS / b**2},
        OTHERS ** (-(ODDS**2) / (2 * b**2)),
        title="The lower end of the window of scales: success above it",
        name="long-window-above",
    )
    yield gone


def derive_bayes() -> Iterator[Derivation]:
    any_strength = integrated(
        Derivation(
            error(SpikedSLR().law),
            title="Bayes risk of spiked-SLR for every length: the exponent of a random code",
            name="long-bayes-risk-above",
            symbol=BAYES,
            sources=SOURCES,
        )
        .apply(Unfold(Posterior))
        .apply(PowerOfOdds(1 / (1 + r), r))
        .apply(JensenForOthers())
    )
    yield any_strength
    yield at_long(any_strength, {r: sqrt(kappa) - 1}, OTHERS ** (-((sqrt(kappa) - 1) ** 2)), title="", name="long-bayes-1")
    yield at_long(any_strength, {r: S.One}, OTHERS ** (1 - kappa / 2), title="", name="long-bayes-2")
    annealed = (
        Derivation(
            error(SpikedSLR().law),
            title="The Bayes risk is at most that of a sigmoid with a bias",
            name="long-annealed",
            symbol=BAYES,
            sources=SOURCES,
        )
        .apply(Unfold(Posterior))
        .apply(JensenForOthers())
        .apply(CameronMartin())
        .apply(Independence())
    )
    yield annealed


BAYES = r"\mathcal{E}_{\mathrm{Bayes}}\big|_{\Delta=0}"
