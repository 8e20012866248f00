"""Where the information is: the optimal attention and the Bayes risk for any law of what is relevant."""

from sympy import Expr, Function, Sum, Tuple

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    AbsorbWeight,
    AverageConfiguration,
    BayesRule,
    ChangeOfMeasure,
    Conditioning,
    Linearity,
    Unfold,
    ValueCovariance,
)
from symslr.expression.configuration import ConfigurationExpectation, PosteriorMean
from symslr.model.configuration import ALIKE, CONFIGURATION, ConfigurationLaw, ConfigurationPrior, theta
from symslr.model.open_function import OpenFunction
from symslr.model.symbols import Delta, L, chi, epsilon, l, m
from symslr.theory.location import LocationBayesRisk

hidden = OpenFunction.of("P", arguments=CONFIGURATION)
signal = OpenFunction.of("Theta", arguments=theta)
w = OpenFunction.of("w", arguments=Tuple(CONFIGURATION, chi))
rho = OpenFunction.of("r", epsilon, arguments=CONFIGURATION)
A = OpenFunction.of("A", epsilon)
keys, values = Function("K")(l, m), Function("C")(l, m)
prior = ConfigurationPrior(hidden, signal, L)
law, alike = (ConfigurationLaw(prior, w, keys, covariance) for covariance in (values, ALIKE))
attention = PosteriorMean(rho, law)


def expected(body, law):
    """E_w of a body."""
    return ConfigurationExpectation(body, law)


def tokens(summand):
    """The sum over all tokens."""
    return Sum(summand, (l, 1, L))


def derive_posterior_average() -> Derivation:
    return (
        Derivation(
            expected(tokens(A.at(l) * PosteriorMean(rho.at(l), alike)), alike),
            title="A draw from the posterior of the configuration",
            name="location-nishimori",
            introduction="test",
        )
        .apply(ChangeOfMeasure())
        .apply(AverageConfiguration())
        .apply(BayesRule())
        .apply(AverageConfiguration(backwards=True))
        .apply(AbsorbWeight(alike))
        .claim(expected(tokens(A.at(l) * rho.at(l)), alike), "nishimori1981", label="published")
    )


def square_form(values: Expr, name: str, title: str) -> Derivation:
    return (
        Derivation(LocationBayesRisk(rho, law_with(values), Delta), title=title, name=name)
        .apply(Unfold(LocationBayesRisk))
        .apply(Conditioning())
        .apply(ValueCovariance())
    )


def law_with(values: Expr) -> ConfigurationLaw:
    return ConfigurationLaw(prior, w, keys, values)


def derive_bayes() -> Derivation:
    return square_form(values, "location-bayes-risk", "The optimal attention")

def derive_alike() -> Derivation:
    return square_form(ALIKE, "location-bayes-risk-alike", "alike")

def derive_norms() -> Derivation:
    return (Derivation(LocationBayesRisk(rho, alike, Delta), title="x", name="location-bayes-risk-norms")
        .apply(Cite(derive_alike()))
        .apply(Linearity())
        .apply(Cite(derive_posterior_average(), {A: PosteriorMean(rho, alike)})))
