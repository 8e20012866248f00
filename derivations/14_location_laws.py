"""Which attention is optimal for which law of location."""

from collections.abc import Iterator

from sympy import Abs, Expr, Function, Integer, Product, Rational, S, Symbol, exp, log, sqrt

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    ChainPrecision,
    CommonPart,
    FactorOutOfSums,
    GivenNumberRelevant,
    HyperbolicCosine,
    IndependentRelevance,
    IndependentTokens,
    LogisticForm,
    OneRelevantToken,
    RankOnePrecision,
    ScaleKeys,
    ShiftKeys,
    SumOverSignal,
    Unfold,
)
from symslr.check.collect import neighbour
from symslr.expression.configuration import PosteriorMean, ShiftedDensity, exactly, one_of
from symslr.expression.expectation import ScalarExpectation
from symslr.model.configuration import ALIKE, ONE, ConfigurationLaw, ConfigurationPrior, Directions, Signal, r, theta
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import Delta, L, epsilon, l, m, nu, x
from symslr.theory.configurations import LocationBayesRisk

general = neighbour(__file__, "13_location.py")
_theorem = general.derive_independent_values()

bias = Function("b", real=True)(l)
K = Function("K")(l, m)
odds = Symbol("omega", real=True)
own, common = Symbol("a", positive=True), Symbol("b", positive=True)
rho, s = Symbol("rho", positive=True), Symbol("s", integer=True, positive=True)
t_1, t_2 = Symbol("theta_1", real=True), Symbol("theta_2", real=True)
HALF = Rational(1, 2)
FEW = {L: [2, 3, 5]}
"""Long sequences are sampled, every line anew: one length of them is affordable."""
BIASES = {bias: [-x / 2, -log(x + 1), (x - 2) ** 2 / 7]}


def keys_at(
    prior: ConfigurationPrior, covariance: Expr = ALIKE, signal: tuple[Expr, ...] = (S.One,)
) -> ConfigurationLaw:
    """Keys N(0, C), and sqrt(nu) times the signal for the relevant tokens."""
    means = tuple(sqrt(nu) * component * r[l] for component in signal)
    keys = covariance if len(means) == 1 else Directions(covariance, Integer(len(means)))
    return ConfigurationLaw(prior, ShiftedDensity.of(means, covariance, L), keys)


def one(signal: Signal = ONE, weight: Expr = S.One) -> ConfigurationPrior:
    """One relevant token, at position l with probability proportional to ``weight``."""
    return ConfigurationPrior(one_of(weight, L), signal, L)


def begun(law: ConfigurationLaw, **words: object) -> Derivation:
    """From the Bayes risk to the means over configurations that the optimal attention is made of."""
    open_ones = {general.hidden: law.prior.mass, general.signal: law.prior.signal, general.w: law.weight, K: law.keys}
    chain = Derivation(LocationBayesRisk(r[epsilon], law, Delta), symbol=r"\mathcal{E}_{\mathrm{Bayes}}", **words)
    return (
        chain.apply(Cite(_theorem, {general.c: r[epsilon], **open_ones}))
        .apply(Unfold(PosteriorMean), "Bayes' rule.")
        .apply(Unfold(ShiftedDensity), "The density of the keys with their means over that without.")
    )


def derive_prior() -> Derivation:
    return (
        begun(
            keys_at(one(weight=exp(bias))),
            title="Prior over positions: softmax with a positional bias is Bayes optimal",
            name="location-prior",
            introduction=r"One token is relevant, token $l$ with probability $\pi_l\propto e^{b(l)}$. The optimal attention is "
            r"softmax of $\sqrt\nu\chi_l+\log\pi_l$: the prior enters as a bias. Where it falls geometrically with the "
            "distance the bias is linear in the distance, which is ALiBi's.",
            ranges=BIASES,
        )
        .apply(OneRelevantToken())
        .apply(FactorOutOfSums(), r"$e^{-\nu/2}$ is the same for all positions and cancels.")
    )


def derive_signal() -> Iterator[Derivation]:
    sign = Signal((theta,), [((1,), HALF), ((-1,), HALF)])
    yield (
        begun(
            keys_at(one(sign), signal=(theta,)),
            title="Signal of random sign: normalised attention with kernel cosh is Bayes optimal",
            name="location-sign",
            introduction=r"The relevant key is shifted by $\sqrt\nu$ or by $-\sqrt\nu$, with equal probability. The optimal "
            r"attention has the kernel $\cosh$; one softmax head can look for one of the signs only.",
            ranges=FEW,
        )
        .apply(SumOverSignal())
        .apply(OneRelevantToken())
        .apply(FactorOutOfSums())
        .apply(HyperbolicCosine())
    )
    two = Signal((theta,), [((t_1,), exp(odds)), ((t_2,), S.One)])
    yield (
        begun(
            keys_at(one(two, exp(bias)), signal=(theta,)),
            title="Signal of random size, prior over positions: multi-head softmax with a joint normaliser is Bayes optimal",
            name="location-signal",
            introduction=r"The signal $\theta$ takes two values, $\theta_1$ with odds $e^\omega$, and positions have the prior "
            r"$\pi_l\propto e^{b(l)}$. The optimal attention is a softmax over tokens and heads together: head $k$ has the key "
            r"$\sqrt\nu\,\theta_k$ and the bias $\log P(\theta_k)-\theta_k^2\nu/2$; a token's weight is summed over its heads.",
            ranges={**FEW, **BIASES},
        )
        .apply(SumOverSignal())
        .apply(OneRelevantToken())
        .apply(FactorOutOfSums())
    )
    directions = Signal((t_1, t_2), [((1, 0), HALF), ((0, 1), HALF)])
    begin = begun(
        keys_at(one(directions), signal=(t_1, t_2)),
        title="Signal along one of two directions: Bayes risk by Bayes' rule",
        name="location-directions-bayes",
        introduction="The relevant key is shifted along one of two directions, and which of them is not known.",
        ranges=FEW,
    )
    yield begin
    posterior = (
        Derivation(
            begin.start,
            title="Signal along one of two directions: posterior averaged over the direction",
            name="location-directions-posterior",
            symbol=r"\mathcal{E}_{\mathrm{Bayes}}",
            introduction="The direction is averaged over.",
            ranges=FEW,
        )
        .apply(Cite(begin))
        .apply(SumOverSignal())
    )
    yield posterior
    yield (
        Derivation(
            posterior.start,
            title="Signal along one of two directions: two-head softmax with a joint normaliser is Bayes optimal",
            name="location-directions",
            symbol=r"\mathcal{E}_{\mathrm{Bayes}}",
            introduction="The optimal attention looks along both directions and normalises them jointly.",
            ranges=FEW,
        )
        .apply(Cite(posterior))
        .apply(OneRelevantToken())
        .apply(FactorOutOfSums())
    )


def derive_correlated() -> Iterator[Derivation]:
    yield (
        begun(
            keys_at(one(weight=exp(bias)), K),
            title="Correlated keys: softmax of linearly filtered keys is Bayes optimal",
            name="location-correlated",
            introduction="Keys have the covariance $K$ over positions. The optimal attention is softmax of the filtered keys "
            r"$\sqrt\nu\,(K^{-1}\chi)_l$ with the bias $\log\pi_l-\nu (K^{-1})_{ll}/2$.",
            ranges={**FEW, **BIASES},
        )
        .apply(OneRelevantToken())
        .apply(FactorOutOfSums())
    )
    yield (
        begun(
            keys_at(one(weight=exp(bias)), rho ** Abs(l - m)),
            title="Keys correlated as an AR(1) process: the optimal filter is a convolution of width three",
            name="location-chain",
            introduction=r"Keys are an AR(1) chain, $K_{lm}=\rho^{|l-m|}$. Given its neighbours a key is independent of all "
            "others, so the filter sees a token and its two neighbours.",
            ranges={**FEW, **BIASES, rho: (Rational(1, 20), Rational(4, 5))},
        )
        .apply(OneRelevantToken())
        .apply(FactorOutOfSums())
        .apply(ChainPrecision())
    )


def derive_equally_correlated() -> Derivation:
    alone = keys_at(one()).subs(nu, nu / own)
    return (
        begun(
            keys_at(one(), own * ALIKE + common),
            title="Equally correlated keys: the Bayes risk is that of independent keys at a stronger signal",
            name="location-equicorrelated",
            introduction=r"Keys have the covariance $aI+b\mathbf{1}\mathbf{1}^{\top}$, such as $a=1-\rho$, $b=\rho$. Softmax is "
            r"invariant under their common part; the rest is independent keys at $\nu/a=\nu/(1-\rho)$.",
            ranges=FEW,
        )
        .apply(OneRelevantToken())
        .apply(RankOnePrecision())
        .apply(FactorOutOfSums(), "The filter takes away a multiple of the mean key, which is the same for all tokens.")
        .apply(ShiftKeys())
        .apply(CommonPart())
        .apply(ScaleKeys())
        .apply(ShiftKeys(alone))
        .claim(
            LocationBayesRisk(r[epsilon], alone, Delta).definition(), "symslr, softmax sees differences", label="own"
        )
    )


def derive_coins() -> Iterator[Derivation]:
    coins = ConfigurationPrior(Product(exp(odds * r[l]), (l, 1, L)), ONE, L)
    chain = (
        begun(
            keys_at(coins),
            title="Independently relevant tokens: element-wise sigmoid attention is Bayes optimal",
            name="location-coins",
            introduction=r"Every token is relevant with probability $\pi=1/(1+e^{-\omega})$, independently of the others, and $y$ "
            r"is the sum of the relevant values. The optimal attention is element-wise: a sigmoid of $\sqrt\nu\chi_l-\nu/2$ "
            r"plus the log odds $\omega=\log(\pi/(1-\pi))$. For $\pi=1/L$ the bias is near $-\log L$.",
            ranges=FEW,
        )
        .apply(IndependentRelevance())
        .apply(LogisticForm())
    )
    yield chain
    sigmoid = 1 / (1 + exp(-sqrt(nu) * x + nu / 2 - odds))
    density = (1 + exp(sqrt(nu) * x - nu / 2 + odds)) / (1 + exp(odds))
    yield (
        Derivation(
            chain.start,
            title="Independently relevant tokens: the Bayes risk is $L$ times that of one token, plus the noise",
            name="location-coins-risk",
            symbol=r"\mathcal{E}_{\mathrm{Bayes}}",
            introduction=r"The same as $L\,\mathbb{E}[p(1-p)]$ with $p$ the sigmoid of a token.",
            ranges=FEW,
        )
        .apply(Cite(chain))
        .apply(IndependentTokens())
        .claim(
            Delta**2 + L * ScalarExpectation(density * sigmoid * (1 - sigmoid), x, STANDARD_NORMAL),
            "symslr, variance of a coin",
            label="own",
        )
    )


def derive_subset() -> Derivation:
    return (
        begun(
            keys_at(ConfigurationPrior(exactly(s, L), ONE, L)),
            title="Exactly $s$ relevant tokens: optimal attention by elementary symmetric polynomials",
            name="location-subset",
            introduction=r"A subset of $s$ tokens is relevant, every one with the same probability, and $y$ is the sum of their "
            r"values. With $x_m=e^{\sqrt\nu\chi_m}$ a token is relevant with probability $x_l\,e_{s-1}(x)_{m\ne l}/e_s(x)$, "
            "where $e_s$ is the elementary symmetric polynomial. For $s=1$ this is softmax.",
            ranges={**FEW, s: [1, 2]},
        )
        .apply(GivenNumberRelevant())
        .apply(FactorOutOfSums())
    )
