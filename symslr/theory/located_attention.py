"""The attention that is optimal under a law of location, a_l = E[r_l | chi], in closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sympy import Add, Expr, IndexedBase, Integer, KroneckerDelta, S, Sum, Symbol, cosh, exp, latex, log, powsimp, sqrt

from symslr.model.length_law import LengthLaw
from symslr.model.location.covariance import AutoRegressive, Equicorrelated
from symslr.model.location.signal import Vector
from symslr.model.location.task import LocationTask
from symslr.model.location.where import Independent, OnePosition
from symslr.model.symbols import L, chi, k, l, m

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
    used = {str(variable) for total in term(l).atoms(Sum) for variable in total.variables}
    return next(Symbol(name, integer=True, positive=True) for name in ("m", "n", "q") if name not in used)


def _merged(product: Expr) -> Expr:
    """Powers and exponentials of one product as one exponential where the product is a single term."""
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
