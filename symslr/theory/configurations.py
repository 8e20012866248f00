"""Bayes risk where the relevant tokens are a hidden configuration, and the laws of location as laws of configurations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, final

from sympy import Add, Basic, Expr, Integer, KroneckerDelta, Product, S, Sum, Symbol, exp, sqrt
from sympy.printing.latex import LatexPrinter

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule
from symslr.algebra.rules import (
    ChainPrecision,
    Conditioning,
    FactorOutOfSums,
    GivenNumberRelevant,
    HyperbolicCosine,
    IndependentRelevance,
    LogisticForm,
    OneRelevantToken,
    RankOnePrecision,
    SumOverSignal,
    Unfold,
    ValueCovariance,
)
from symslr.expression.configuration import (
    ConfigurationExpectation,
    PosteriorMean,
    ShiftedDensity,
    exactly,
    one_of,
)
from symslr.expression.folded import ConditionalMean
from symslr.expression.instance import at_token
from symslr.expression.quantity import Quantity
from symslr.model.configuration import (
    ALIKE,
    ONE,
    ConfigurationLaw,
    ConfigurationPrior,
    Directions,
    OwnSignals,
    Signal,
    r,
    theta,
)
from symslr.model.length_law import LengthLaw
from symslr.model.location import Covariance, Independent, OnePosition, Subset
from symslr.model.symbols import chi, epsilon, l, m, xi, z
from symslr.model.task import Task


def read_out(coefficient: Expr, law: ConfigurationLaw, noise: Expr) -> Expr:
    """y = sum_l c_l z_l + Delta xi, for c_l a function of the configuration, given for the token ``epsilon``."""
    return Sum(at_token(coefficient, l) * z[l], (l, 1, law.length)) + noise * xi


@final
class LocationBayesRisk(Quantity):
    """E_w (y - E[y|X])^2 for y = sum_l c_l z_l + Delta xi; ``args = (c_epsilon, law, noise)``."""

    source: ClassVar[str] = "duranthon2025, Sec. 2"

    @property
    def coefficient(self) -> Expr:
        return self.args[0]

    @property
    def law(self) -> ConfigurationLaw:
        return self.args[1]

    @property
    def noise(self) -> Expr:
        return self.args[2]

    @property
    def bound(self) -> frozenset[Basic]:
        return self.law.bound

    def definition(self) -> Expr:
        """E_w (y - E[y|X])^2."""
        label = read_out(self.coefficient, self.law, self.noise)
        return ConfigurationExpectation((label - ConditionalMean(label, self.law)) ** 2, self.law)

    def derivation(self) -> Derivation:
        """To the optimal attention: the last line is the risk of that attention."""
        chain = Derivation(self, symbol=r"\mathcal{E}_{\mathrm{Bayes}}")
        chain = chain.apply(Unfold(LocationBayesRisk)).apply(Conditioning()).apply(ValueCovariance())
        for rule in posterior_rules():
            if rule.match(chain.result):
                chain = chain.apply(rule)
        return chain

    def _latex(self, printer: LatexPrinter) -> str:
        return r"\mathcal{E}_{\mathrm{Bayes}}"

    def _sympystr(self, printer: object) -> str:
        return "LocationBayesRisk"


def law_of_location(task: Task) -> ConfigurationLaw:
    """The law of configurations that a task describes.

    Raises:
        ValueError: for a random length.
    """
    if isinstance(task.length, LengthLaw):
        raise ValueError(f"length: found a law of the length in task {task.name}; expected a symbol or a number")
    length = task.length
    covariance = _at_places(task.key_covariance)
    if not isinstance(task.location, OnePosition) and not task.signal.is_one:
        return _with_own_signals(task, length)
    signal, symbols = _signal(task)
    directions = (S.One,) if signal == ONE else symbols
    means = tuple(sqrt(task.nu) * direction * r[l] for direction in directions)
    keys = covariance if len(means) == 1 else Directions(covariance, Integer(len(means)))
    prior = ConfigurationPrior(_mass(task, length), signal, length)
    return ConfigurationLaw(
        prior, ShiftedDensity.of(means, covariance, length), keys, _at_places(task.value_covariance)
    )


def _with_own_signals(task: Task, length: Expr) -> ConfigurationLaw:
    """Several relevant positions, each with a signal of its own: among independent keys its mean is a token's factor."""
    if task.key_covariance is not None:
        labels = [Symbol(name, real=True) for name in _names(task.signal.directions)]
        own = OwnSignals(labels, list(task.signal))
        covariance = _at_places(task.key_covariance)
        means = tuple(sqrt(task.nu) * component[l] * r[l] for component in own.components)
        return ConfigurationLaw(
            ConfigurationPrior(_mass(task, length), own, length),
            ShiftedDensity.of(means, covariance, length),
            covariance if len(means) == 1 else Directions(covariance, Integer(len(means))),
            _at_places(task.value_covariance),
        )
    directions = task.signal.directions
    keys = [chi[l]] if directions == 1 else [chi[l, Integer(d)] for d in range(1, directions + 1)]
    factor = Add(
        *(
            share
            * exp(
                sqrt(task.nu) * Add(*(t * key for t, key in zip(value, keys)))
                - task.nu * Add(*(t**2 for t in value)) / 2
            )
            for value, share in task.signal
        )
    )
    prior = ConfigurationPrior(_mass(task, length), ONE, length)
    over = ALIKE if directions == 1 else Directions(ALIKE, Integer(directions))
    return ConfigurationLaw(prior, Product(factor ** r[l], (l, 1, length)), over, _at_places(task.value_covariance))


def coefficient_of(task: Task) -> Expr:
    """c_epsilon of the label: r_epsilon, over s where the label is the mean of s values."""
    return r[epsilon] / (task.location.size if isinstance(task.location, Subset) else S.One)


def location_bayes_risk(task: Task) -> Expr:
    """The Bayes risk of a task from its definition, E (y - E[y|X])^2; a referee evaluates it.

    Raises:
        ValueError: as ``law_of_location``.
    """
    return LocationBayesRisk(coefficient_of(task), law_of_location(task), task.noise)


def optimal_location_attention(task: Task) -> Expr:
    """a_l(chi) = E[r_l(h) | chi], the attention that attains the Bayes risk, as rules write it out.

    Raises:
        ValueError: as ``law_of_location``.
    """
    found: Expr = PosteriorMean(at_token(coefficient_of(task), l), law_of_location(task))
    for rule in posterior_rules():
        if rule.match(found):
            found = rule.rewrite(found)
    return found


def posterior_rules() -> Iterator[Rule]:
    """What writes a posterior mean out, one rule after the other; a rule that finds nothing is passed over."""
    yield from (Unfold(PosteriorMean), Unfold(ShiftedDensity), SumOverSignal())
    yield from (OneRelevantToken(), GivenNumberRelevant(), IndependentRelevance())
    yield from (RankOnePrecision(), FactorOutOfSums(), ChainPrecision(), HyperbolicCosine(), LogisticForm())


def _signal(task: Task) -> tuple[Signal, tuple[Symbol, ...]]:
    if task.signal.is_one:
        return ONE, (theta,)
    count = task.signal.directions
    symbols = tuple(Symbol(name, real=True) for name in _names(count))
    return Signal(symbols, list(task.signal)), symbols


def _names(directions: int) -> list[str]:
    """What the components of a signal are called."""
    return [theta.name] if directions == 1 else [f"{theta.name}_{d}" for d in range(1, directions + 1)]


def _mass(task: Task, length: Expr) -> Expr:
    located = task.location
    if isinstance(located, Independent):
        odds = located.probability / (1 - located.probability)
        return Product(odds ** r[l], (l, 1, length))
    weight = position_weight(task)
    if isinstance(located, OnePosition):
        return one_of(weight, length)
    several = exactly(located.size, length)
    return several if weight == S.One else several * Product(weight ** r[l], (l, 1, length))


def position_weight(task: Task) -> Expr:
    """The weight of position ``l`` in the prior."""
    if task.prior is None:
        return S.One
    if isinstance(task.prior, tuple):
        return sum((weight * KroneckerDelta(l, place) for place, weight in enumerate(task.prior, 1)), S.Zero)
    return task.prior


def _at_places(covariance: Covariance | None) -> Expr:
    return ALIKE if covariance is None else covariance.at(l, m)
