"""Which attention is optimal for which law of location."""

from collections.abc import Iterator

from sympy import Abs, Expr, Function, Integer, KroneckerDelta, Product, Rational, S, Sum, Symbol, exp, log, sqrt

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    Algebra,
    ChainPrecision,
    FactorOutOfSums,
    GivenNumberRelevant,
    HyperbolicCosine,
    IndependentRelevance,
    IndependentTokens,
    LogisticForm,
    OneRelevantToken,
    RankOnePrecision,
    ScaleKeys,
    CommonPart,
    ShiftKeys,
    SumOverSignal,
    Unfold,
)
from symslr.check.collect import neighbour
from symslr.expression.configuration import PosteriorMean, ShiftedDensity, exactly, one_of
from symslr.expression.expectation import ScalarExpectation
from symslr.model.configuration import ALIKE, ONE, ConfigurationLaw, ConfigurationPrior, Directions, Signal, r, theta
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import Delta, L, chi, epsilon, l, m, nu, x
from symslr.theory.location import LocationBayesRisk

general = neighbour(__file__, "13_location.py")
bias = Function("b", real=True)(l)
odds = Symbol("b", real=True)
rho = Symbol("rho", positive=True)
own, common = Symbol("a", positive=True), Symbol("b", positive=True)
t_1, t_2 = Symbol("theta_1", real=True), Symbol("theta_2", real=True)
s = Symbol("s", integer=True, positive=True)
q = Symbol("q", positive=True)
BIASES = {bias: [-x / 2, -log(x + 1), (x - 2) ** 2 / 7]}


def keys_at(prior: ConfigurationPrior, covariance: Expr = ALIKE, signal: tuple[Expr, ...] = (S.One,)) -> ConfigurationLaw:
    """Keys N(0, C) plus sqrt(nu) theta for the relevant tokens."""
    means = tuple(sqrt(nu) * direction * r[l] for direction in signal)
    keys = covariance if len(means) == 1 else Directions(covariance, Integer(len(means)))
    return ConfigurationLaw(prior, ShiftedDensity.of(means, covariance, L), keys)


def given(law: ConfigurationLaw) -> dict[Expr, Expr]:
    """What the general theorem leaves open, for this law."""
    return {
        general.rho: r[epsilon],
        general.hidden: law.prior.mass,
        general.signal: law.prior.signal,
        general.w: law.weight,
        Function("K")(l, m): law.keys,
    }


def begun(law: ConfigurationLaw, **words) -> Derivation:
    """From the Bayes risk to the means over configurations that the optimal attention is made of."""
    chain = Derivation(LocationBayesRisk(r[epsilon], law, Delta), symbol=r"\mathcal{E}_{\mathrm{Bayes}}", **words)
    return (
        chain.apply(Cite(general.derive_alike(), given(law)))
        .apply(Unfold(PosteriorMean))
        .apply(Unfold(ShiftedDensity))
    )


def one(signal: Signal = ONE, weight: Expr = S.One) -> ConfigurationPrior:
    return ConfigurationPrior(one_of(weight, L), signal, L)


def derive_prior() -> Derivation:
    return (
        begun(keys_at(one(weight=exp(bias))), name="location-prior", ranges=BIASES)
        .apply(OneRelevantToken())
        .apply(FactorOutOfSums())
    )


def derive_signal() -> Iterator[Derivation]:
    half = Rational(1, 2)
    sign = Signal((theta,), [((1,), half), ((-1,), half)])
    yield (
        begun(keys_at(one(sign), signal=(theta,)), name="location-sign")
        .apply(SumOverSignal())
        .apply(OneRelevantToken())
        .apply(FactorOutOfSums())
        .apply(HyperbolicCosine())
    )
    two = Signal((theta,), [((t_1,), exp(odds)), ((t_2,), 1)])
    yield (
        begun(keys_at(one(two, exp(bias)), signal=(theta,)), name="location-signal", ranges=BIASES)
        .apply(SumOverSignal())
        .apply(OneRelevantToken())
        .apply(FactorOutOfSums())
    )
    directions = Signal((t_1, t_2), [((1, 0), half), ((0, 1), half)])
    yield (
        begun(keys_at(one(directions), signal=(t_1, t_2)), name="location-directions")
        .apply(SumOverSignal())
        .apply(OneRelevantToken())
        .apply(FactorOutOfSums())
    )


def derive_coins() -> Iterator[Derivation]:
    law = keys_at(ConfigurationPrior(Product(exp(odds * r[l]), (l, 1, L)), ONE, L))
    chain = (
        begun(law, name="location-coins")
        .apply(IndependentRelevance())
        .apply(LogisticForm())
    )
    yield chain
    sigmoid = 1 / (1 + exp(-sqrt(nu) * x + nu / 2 - odds))
    density = (1 + exp(sqrt(nu) * x - nu / 2 + odds)) / (1 + exp(odds))
    yield (
        Derivation(chain.start, name="location-coins-risk")
        .apply(Cite(chain))
        .apply(IndependentTokens())
        .claim(Delta**2 + L * ScalarExpectation(density * sigmoid * (1 - sigmoid), x, STANDARD_NORMAL), "own", label="own")
    )


def derive_subset() -> Derivation:
    return (
        begun(keys_at(ConfigurationPrior(exactly(s, L), ONE, L)), name="location-subset", ranges={s: [1, 2], L: [2, 3, 5]})
        .apply(GivenNumberRelevant())
        .apply(FactorOutOfSums())
    )


def derive_correlated() -> Iterator[Derivation]:
    K = Function("K")(l, m)
    yield (
        begun(keys_at(one(weight=exp(bias)), K), name="location-correlated", ranges=BIASES)
        .apply(OneRelevantToken())
        .apply(FactorOutOfSums())
    )
    chain = rho ** Abs(l - m)
    yield (
        begun(keys_at(one(weight=exp(bias)), chain), name="location-chain", ranges=BIASES)
        .apply(OneRelevantToken())
        .apply(FactorOutOfSums())
        .apply(ChainPrecision())
    )
    alike = own * KroneckerDelta(l, m) + common
    iid = keys_at(one()).subs(nu, nu / own)
    yield (
        begun(keys_at(one(), alike), name="location-equicorrelated")
        .apply(OneRelevantToken())
        .apply(RankOnePrecision())
        .apply(FactorOutOfSums())
        .apply(ShiftKeys())
        .apply(CommonPart())
        .apply(ScaleKeys())
        .apply(ShiftKeys(iid))
        .claim(LocationBayesRisk(r[epsilon], iid, Delta), "own", label="own")
    )
