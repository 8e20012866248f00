"""Bayes-optimal attention and its risk for any law of the relevant tokens."""

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
from symslr.theory.configurations import LocationBayesRisk

hidden = OpenFunction.of("P", arguments=CONFIGURATION)
signal = OpenFunction.of("Theta", arguments=theta)
w = OpenFunction.of("w", arguments=Tuple(CONFIGURATION, chi))
c = OpenFunction.of("c", epsilon, arguments=CONFIGURATION)
A = OpenFunction.of("A", epsilon)
K, C = Function("K")(l, m), Function("C")(l, m)
prior = ConfigurationPrior(hidden, signal, L)
FEW = {L: [2, 3, 5]}
"""Configurations of many tokens are many: one length of at least five is affordable."""
law, alike = (ConfigurationLaw(prior, w, K, covariance) for covariance in (C, ALIKE))


def mean_of_sum(summand: Expr) -> Expr:
    """E_w of a sum over tokens, where values are independent."""
    return ConfigurationExpectation(Sum(summand, (l, 1, L)), alike)


def derive_tower_property() -> Derivation:
    return (
        Derivation(
            mean_of_sum(A.at(l) * PosteriorMean(c.at(l), alike)),
            title="Nishimori identity for a hidden configuration of relevant tokens",
            name="location-nishimori",
            introduction="The Nishimori identity where what is hidden is a configuration $h$: which tokens are relevant, and "
            "the signal in their keys. $c_l(h)$ is any function of it, $A_l(\\chi)$ any function of the keys, and "
            r"$\langle c_l\rangle=\mathbb{E}[c_l\mid\chi]$. Nothing is used but Bayes' rule.",
            ranges=FEW,
        )
        .apply(ChangeOfMeasure())
        .apply(AverageConfiguration(), "Without the weight the configuration is independent of the keys.")
        .apply(BayesRule())
        .apply(AverageConfiguration(backwards=True))
        .apply(AbsorbWeight(alike))
        .claim(mean_of_sum(A.at(l) * c.at(l)), "nishimori1981", label="published")
    )


def squares(here: ConfigurationLaw, **words: object) -> Derivation:
    return (
        Derivation(
            LocationBayesRisk(c, here, Delta),
            symbol=r"\mathcal{E}_{\mathrm{Bayes}}",
            sources=("duranthon2025, Sec. 2",),
            ranges=FEW,
            **words,
        )
        .apply(Unfold(LocationBayesRisk))
        .apply(
            Conditioning(), r"The prediction is an attention: $a_l(\chi)=\langle c_l\rangle$ is what token $l$ gets."
        )
        .apply(ValueCovariance())
    )


def derive_optimal_attention() -> Derivation:
    return squares(
        law,
        title="Bayes-optimal attention for any law of location: weights are posterior means",
        name="location-bayes-risk",
        introduction="A configuration $h$ is drawn from a prior $P(h)$; given $h$ the keys have density $w(h,\\chi)$ times that "
        "of Gaussian keys with covariance $K$ over tokens. The label is $y=\\sum_{l=1}^Lc_l(h)z_l+\\Delta\\xi$, with values of "
        "covariance $C$ that are independent of $(h,\\chi)$. The Bayes predictor is then attention with the values "
        r"themselves and the weights $\mathbb{E}[c_l\mid\chi]$, whatever the correlation of the values is; the risk depends on it.",
    )


def derive_independent_values() -> Derivation:
    return squares(
        alike,
        title="Bayes risk for independent values: mean squared distance of the attention from the true coefficients",
        name="location-bayes-risk-independent",
        introduction="With independent values the risk is the mean squared distance of the attention weights from the "
        "coefficients $c_l(h)$ of the label.",
    )


def derive_norms() -> Derivation:
    chain = derive_independent_values()
    read = ConfigurationExpectation(Sum(c.at(l) ** 2, (l, 1, L)), alike)
    attended = mean_of_sum(PosteriorMean(c.at(l), alike) ** 2)
    return (
        Derivation(
            chain.start,
            title="Bayes risk for independent values: squared norm of the true coefficients less that of the attention",
            name="location-bayes-risk-norms",
            symbol=r"\mathcal{E}_{\mathrm{Bayes}}",
            introduction=r"The same as a difference of two squared norms, $\Delta^2+\mathbb{E}\|c\|^2-\mathbb{E}\|a\|^2$. For one "
            "relevant token it is Proposition 4.1.",
            ranges=FEW,
        )
        .apply(Cite(chain))
        .apply(Linearity())
        .apply(Cite(derive_tower_property(), {A: PosteriorMean(c, alike)}))
        .claim(Delta**2 + read - attended, "symslr, by the tower property", label="own")
    )
