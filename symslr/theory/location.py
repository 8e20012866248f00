<<<<<<< HEAD
"""Bayes risk where the relevant tokens are a hidden configuration, and the laws of location as laws of configurations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, final

from sympy import Basic, Expr, Integer, KroneckerDelta, Product, S, Sum, Symbol, sqrt
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
from symslr.model.configuration import ALIKE, ONE, ConfigurationLaw, ConfigurationPrior, Directions, Signal, r, theta
from symslr.model.length_law import LengthLaw
from symslr.model.location import Covariance, Independent, LocationTask, OnePosition, Subset
from symslr.model.symbols import epsilon, l, m, xi, z


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

    def _latex(self, printer: LatexPrinter) -> str:
        return r"\mathcal{E}_{\mathrm{Bayes}}"

    def _sympystr(self, printer: object) -> str:
        return "LocationBayesRisk"


def law_of_location(task: LocationTask) -> ConfigurationLaw:
    """The law of configurations that a task describes.

    Raises:
        ValueError: for a random length, and for tokens that have signals of their own while several are relevant.
    """
    if isinstance(task.length, LengthLaw):
        raise ValueError(f"length: found a law of the length in task {task.name}; expected a symbol or a number")
    several = not isinstance(task.location, OnePosition)
    if several and not task.signal.is_one:
        raise ValueError(
            f"signal: found {task.signal} where several positions are relevant, each with a signal of its own; "
            "expected signal 1, or one relevant position"
        )
    length = task.length
    signal, symbols = _signal(task)
    covariance = _at_places(task.key_covariance)
    directions = (S.One,) if signal == ONE else symbols
    means = tuple(sqrt(task.strength) * direction * r[l] for direction in directions)
    keys = covariance if len(means) == 1 else Directions(covariance, Integer(len(means)))
    prior = ConfigurationPrior(_mass(task, length), signal, length)
    return ConfigurationLaw(
        prior, ShiftedDensity.of(means, covariance, length), keys, _at_places(task.value_covariance)
    )


def coefficient_of(task: LocationTask) -> Expr:
    """c_epsilon of the label: r_epsilon, over s where the label is the mean of s values."""
    return r[epsilon] / (task.location.size if isinstance(task.location, Subset) else S.One)


def location_bayes_risk(task: LocationTask) -> Expr:
    """The Bayes risk of a task from its definition, E (y - E[y|X])^2; a referee evaluates it.

    Raises:
        ValueError: as ``law_of_location``.
    """
    return LocationBayesRisk(coefficient_of(task), law_of_location(task), task.noise)


def location_chain(task: LocationTask) -> Derivation:
    """From the Bayes risk of a task to its optimal attention: the last line is the risk of that attention.

    Raises:
        ValueError: as ``law_of_location``.
    """
    chain = Derivation(location_bayes_risk(task), symbol=r"\mathcal{E}_{\mathrm{Bayes}}")
    chain = chain.apply(Unfold(LocationBayesRisk)).apply(Conditioning()).apply(ValueCovariance())
    for rule in posterior_rules(task):
        if rule.match(chain.result):
            chain = chain.apply(rule)
    return chain


def optimal_location_attention(task: LocationTask) -> Expr:
    """a_l(chi) = E[r_l(h) | chi], the attention that attains the Bayes risk, as rules write it out.

    Raises:
        ValueError: as ``law_of_location``.
    """
    found: Expr = PosteriorMean(at_token(coefficient_of(task), l), law_of_location(task))
    for rule in posterior_rules(task):
        if rule.match(found):
            found = rule.rewrite(found)
    return found


def posterior_rules(task: LocationTask) -> Iterator[Rule]:
    """What writes a posterior mean out, one rule after the other; a rule that finds nothing is passed over."""
    yield from (Unfold(PosteriorMean), Unfold(ShiftedDensity), SumOverSignal())
    if isinstance(task.location, OnePosition):
        yield OneRelevantToken()
    elif isinstance(task.location, Subset):
        yield GivenNumberRelevant()
    else:
        yield IndependentRelevance()
    yield from (RankOnePrecision(), FactorOutOfSums(), ChainPrecision(), HyperbolicCosine(), LogisticForm())


def _signal(task: LocationTask) -> tuple[Signal, tuple[Symbol, ...]]:
    if task.signal.is_one:
        return ONE, (theta,)
    count = task.signal.directions
    symbols = (theta,) if count == 1 else tuple(Symbol(f"theta_{d}", real=True) for d in range(1, count + 1))
    return Signal(symbols, list(task.signal)), symbols


def _mass(task: LocationTask, length: Expr) -> Expr:
    located = task.location
    if isinstance(located, Independent):
        odds = located.probability / (1 - located.probability)
        return Product(odds ** r[l], (l, 1, length))
    weight = _weight(task)
    if isinstance(located, OnePosition):
        return one_of(weight, length)
    several = exactly(located.size, length)
    return several if weight == S.One else several * Product(weight ** r[l], (l, 1, length))


def _weight(task: LocationTask) -> Expr:
    """The weight of position ``l`` in the prior."""
    if task.prior is None:
        return S.One
    if isinstance(task.prior, tuple):
        return sum((weight * KroneckerDelta(l, place) for place, weight in enumerate(task.prior, 1)), S.Zero)
    return task.prior


def _at_places(covariance: Covariance | None) -> Expr:
    return ALIKE if covariance is None else covariance.at(l, m)
=======
"""The attention that is optimal under a law of location, a_l = E[r_l | chi], in closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sympy import Add, Expr, IndexedBase, Integer, KroneckerDelta, S, Sum, cosh, exp, latex, log, sqrt

from symslr.model.length_law import LengthLaw
from symslr.model.location.covariance import AutoRegressive, Equicorrelated
from symslr.model.location.signal import Vector
from symslr.model.location.task import LocationTask
from symslr.model.location.where import Independent, OnePosition
from symslr.model.symbols import L, chi, l, m

LARGEST_SUBSET = 6
"""Size up to which elementary symmetric polynomials are written by power sums."""

PRECISION = IndexedBase("K", real=True)
"""K = C^-1 where the covariance of the keys has no structure that gives its inverse."""
PRIOR = IndexedBase("pi", positive=True)
"""The prior where it is given as a list."""


class NoClosedForm(ValueError):
    """The posterior is a sum over configurations that no structure sums."""


@dataclass(frozen=True)
class OptimalAttention:
    """E[y | X] = sum_l a_l z_l.

    Attributes:
        task: the law of location.
        weight: a_l, in ``chi[l]`` (``chi[l, k]`` for keys along several directions), sums over m and the parameters.
        reading: what kind of attention it is, in words.
        where: what the letters in it that the task does not name stand for.
    """

    task: LocationTask
    weight: Expr
    reading: str
    where: tuple[str, ...]

    def __str__(self) -> str:
        from symslr.algebra.derivation import as_text

        return f"a[l] = {as_text(self.weight)}"

    @property
    def latex(self) -> str:
        """The formula as LaTeX."""
        return f"a_l = {latex(self.weight)}"

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle {self.latex}$"


def located_attention(task: LocationTask) -> OptimalAttention:
    """The optimal attention of a law of location.

    Raises:
        NoClosedForm: for several relevant tokens among correlated keys, which no structure sums.
        ValueError: for a law of the length.
    """
    if isinstance(task.length, LengthLaw):
        raise ValueError(
            "length: found a law of the length; the optimal attention is that of every length, so leave it open"
        )
    tokens = _Tokens.of(task)
    if isinstance(task.location, OnePosition):
        return _one(task, tokens)
    if tokens.task.key_covariance is not None:
        raise NoClosedForm(
            f"task {task.name}: with {task.location} among correlated keys the posterior is a sum over all configurations; "
            "numbers come from symslr bayes"
        )
    if isinstance(task.location, Independent):
        return _coins(task, tokens, task.location)
    return _subset(task, tokens, int(task.location.size))


@dataclass(frozen=True)
class _Tokens:
    """What a token's key says.

    Attributes:
        task: without a common shift of the keys.
        gain: the factor of theta.(C^-1 chi)_l in a token's log weight, sqrt(nu) where no shift was left out.
    """

    task: LocationTask
    gain: Expr

    @classmethod
    def of(cls, task: LocationTask) -> _Tokens:
        plain, covariance = task.without_common_shift(), task.key_covariance
        found = None if covariance is None else covariance.structure
        if plain.key_covariance is None and isinstance(found, Equicorrelated):
            return cls(plain, sqrt(task.strength) / found.own_variance)
        return cls(task, sqrt(task.strength))

    @property
    def length(self) -> Expr:
        return self.task.length

    def prior(self, place: Expr) -> Expr:
        if self.task.prior is None:
            return S.One
        return PRIOR[place] if isinstance(self.task.prior, tuple) else self.task.prior.subs({l: place, L: self.length})

    def key(self, place: Expr, direction: int) -> Expr:
        return chi[place] if self.task.signal.directions == 1 else chi[place, Integer(direction + 1)]

    def score(self, place: Expr, direction: int) -> Expr:
        """(C^-1 chi)_l."""
        covariance = self.task.key_covariance
        if covariance is None:
            return self.key(place, direction)
        found = covariance.structure
        if isinstance(found, AutoRegressive):
            rho, first, last = found.correlation, KroneckerDelta(place, 1), KroneckerDelta(place, self.length)
            own = (1 + rho**2 * (1 - first - last)) * self.key(place, direction)
            before = rho * (1 - first) * self.key(place - 1, direction)
            after = rho * (1 - last) * self.key(place + 1, direction)
            return (own - before - after) / (found.variance * (1 - rho**2))
        if isinstance(found, Equicorrelated):
            rho = found.correlation
            total = Sum(self.key(m, direction), (m, 1, self.length))
            return (self.key(place, direction) - rho / (1 + (self.length - 1) * rho) * total) / found.own_variance
        from symslr.model.symbols import k

        return Sum(PRECISION[place, k] * self.key(k, direction), (k, 1, self.length))

    def own_precision(self, place: Expr) -> Expr:
        """(C^-1)_ll."""
        covariance = self.task.key_covariance
        if covariance is None:
            return S.One
        found = covariance.structure
        if isinstance(found, AutoRegressive):
            rho, ends = found.correlation, KroneckerDelta(place, 1) + KroneckerDelta(place, self.length)
            return (1 + rho**2 * (1 - ends)) / (found.variance * (1 - rho**2))
        if isinstance(found, Equicorrelated):
            rho = found.correlation
            return (1 - rho / (1 + (self.length - 1) * rho)) / found.own_variance
        return PRECISION[place, place]

    def weight(self, place: Expr, common: Expr = S.Zero) -> Expr:
        """E_theta exp(sqrt(nu) theta.(C^-1 chi)_l - nu |theta|^2 (C^-1)_ll/2 + common): mirrored values as cosh."""
        terms, done = [], set[Vector]()
        shares = dict(self.task.signal.support)
        for theta, share in shares.items():
            if theta in done:
                continue
            mirrored = tuple(-entry for entry in theta)
            inner = self.gain * Add(*(t * self.score(place, d) for d, t in enumerate(theta)))
            cost = common - Add(*(t**2 for t in theta)) * self.task.strength * self.own_precision(place) / 2
            if mirrored != theta and shares.get(mirrored) == share:
                done |= {theta, mirrored}
                terms.append(2 * share * exp(cost) * cosh(inner))
            else:
                terms.append(share * exp(inner + cost))
        return Add(*terms)

    @property
    def cost(self) -> Expr:
        """What all values of theta cost alike at all positions, which a normaliser cancels; 0 where there is no such part."""
        norms = {Add(*(t**2 for t in theta)) for theta, _ in self.task.signal}
        own = self.own_precision(l)
        return norms.pop() * self.task.strength * own / 2 if len(norms) == 1 and not own.has(l, PRECISION) else S.Zero

    @property
    def where(self) -> tuple[str, ...]:
        found = []
        if isinstance(self.task.prior, tuple):
            found.append(f"pi = ({', '.join(map(str, self.task.prior))})")
        covariance = self.task.key_covariance
        if covariance is not None and covariance.structure is None:
            found.append(f"K the inverse of C, C[i, j] = {covariance.entry}")
        return tuple(found)


def _one(task: LocationTask, tokens: _Tokens) -> OptimalAttention:
    cost = tokens.cost

    def term(place: Expr) -> Expr:
        return _merged(tokens.prior(place) * tokens.weight(place, cost))

    index = m if not term(m).atoms(Sum) else _fresh(term)
    weight = term(l) / Sum(term(index), (index, 1, tokens.length))
    kinds = len(task.signal.support)
    reading = "softmax" if kinds == 1 else f"Bayes-softmax over {kinds} heads and tokens"
    if kinds == 2 and tokens.weight(l).has(cosh):
        reading = "attention with kernel cosh, normalised"
    lean = tokens.own_precision(l).has(l, PRECISION) or task.prior is not None
    reading += " with a positional bias" * lean
    reading += " after a linear filter over positions" * (tokens.task.key_covariance is not None)
    return OptimalAttention(task, weight, reading, tokens.where)


def _fresh(term: Callable[[Expr], Expr]) -> Expr:
    """A summation index that no sum inside the term uses."""
    from sympy import Symbol

    used = {str(variable) for total in term(l).atoms(Sum) for variable in total.variables}
    return next(Symbol(name, integer=True, positive=True) for name in ("m", "n", "q") if name not in used)


def _merged(product: Expr) -> Expr:
    """Powers and exponentials of one product as one exponential where the product is a single term."""
    from sympy import powsimp

    return powsimp(product)


def _coins(task: LocationTask, tokens: _Tokens, location: Independent) -> OptimalAttention:
    share = location.probability.subs(L, tokens.length)
    kinds = len(task.signal.support)
    if kinds == 1:
        logit = log(tokens.weight(l)).expand(force=True) + log(share / (1 - share))
        return OptimalAttention(task, 1 / (1 + exp(-logit)), "sigmoid with a bias, without a normaliser", tokens.where)
    odds = share * tokens.weight(l)
    reading = "element-wise ratio of weights, without a normaliser"
    return OptimalAttention(task, odds / (odds + 1 - share), reading, tokens.where)


def _subset(task: LocationTask, tokens: _Tokens, size: int) -> OptimalAttention:
    """a_l = w_l e_{s-1}(w_{-l})/(s e_s(w)), by Newton's identities in the power sums of w."""
    if size > LARGEST_SUBSET:
        raise NoClosedForm(
            f"task {task.name}: {task.location} has the formula w[l] e_(s-1)(w without l)/(s e_s(w)) in elementary symmetric "
            f"polynomials; written by power sums up to s = {LARGEST_SUBSET}"
        )
    cost = tokens.cost
    own = _merged(tokens.prior(l) * tokens.weight(l, cost))
    powers = [
        Sum((tokens.prior(m) * tokens.weight(m, cost)) ** power, (m, 1, tokens.length)) for power in range(size + 1)
    ]
    symmetric = _symmetric(powers, size)
    rest = Add(*((-own) ** power * symmetric[size - 1 - power] for power in range(size)))
    weight = own * rest / (size * symmetric[size])
    return OptimalAttention(
        task, weight, f"subset attention, s = {size}: elementary symmetric polynomials", tokens.where
    )


def _symmetric(powers: list[Expr], size: int) -> list[Expr]:
    """e_0, ..., e_size by Newton's identities, k e_k = sum_i (-1)^(i-1) e_{k-i} p_i."""
    found: list[Expr] = [S.One]
    for order in range(1, size + 1):
        terms = ((-1) ** (power - 1) * found[order - power] * powers[power] for power in range(1, order + 1))
        found.append(Add(*terms) / order)
    return found
>>>>>>> h18a
