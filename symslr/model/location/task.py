"""The task by its law of location: which positions are relevant, by what prior, with what signal, among what tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sympy import Expr, Integer, S, exp, lambdify, sqrt

from symslr.model.exact import NotExact, exact
from symslr.model.form import check_parameters
from symslr.model.length_law import LengthLaw
from symslr.model.location.covariance import Covariance, Equicorrelated
from symslr.model.location.signal import SignalLaw, signal_of
from symslr.model.location.where import EXPECTED, Independent, OnePosition, Subset, Where, where_from_text
from symslr.model.symbols import Delta, L, chi, epsilon, l, nu
from symslr.model.task import Task

CHECKED_POSITIONS = 1000
"""So many first positions are looked at for a prior that is not positive, or a coin that is no probability."""

SMALL = 1e-9
"""A number in float64 that is this far from a bound is on the side on which it seems to be."""


@dataclass(frozen=True, init=False)
class LocationTask:
    """Single-location regression with the law of location written down.

    A hidden configuration says which positions S are relevant and with what signals theta_l, independent given S. Keys
    are chi = xi + sqrt(nu) sum_{l in S} theta_l e_l in every one of p directions, xi ~ N(0, C) over the positions; values are
    z ~ N(0, C_v), independent of everything else. The label is y = z_epsilon + Delta noise for one relevant position, the
    mean of the relevant values for a subset, their sum for independent coins.

    Args:
        strength: nu >= 0.
        location: ``OnePosition()``, ``Subset(s)``, ``Independent(pi)`` or their text "one", "subset(2)", "independent(1/8)".
            A subset of one is one position.
        prior: weights over positions, an expression in ``l`` or a list of L numbers, normalised here; uniform by default.
            Of a subset, P(S) is proportional to the product of the weights of its positions.
        signal: law of theta, a mapping from values (numbers, or tuples for keys along several directions) to
            probabilities, or its text "1:1/2,-1:1/2"; theta = 1 by default.
        key_covariance: C as an expression in the positions ``i`` and ``j``; the identity by default.
        value_covariance: C_v in the same way; values are independent by default.
        length: symbol ``L``, a positive integer, or a law of the length; what depends on positions is taken at each length.
        noise: Delta >= 0.
        name: what the task is called in print.

    Raises:
        ValueError: in one line, for what is no law, and for what cannot be combined, with the reason.
    """

    strength: Expr
    location: Where
    prior: Expr | tuple[Expr, ...] | None
    signal: SignalLaw
    key_covariance: Covariance | None
    value_covariance: Covariance | None
    length: Expr | LengthLaw
    noise: Expr
    name: str

    def __init__(
        self,
        strength: object = nu,
        location: Where | str = "one",
        prior: Expr | Sequence[object] | None = None,
        signal: SignalLaw | Mapping[Any, Any] | str | None = None,
        key_covariance: Covariance | Expr | None = None,
        value_covariance: Covariance | Expr | None = None,
        length: object = L,
        noise: object = Delta,
        name: str = "location",
    ) -> None:
        where = where_from_text(location) if isinstance(location, str) else location
        if not isinstance(where, Where):
            raise NotExact(f"location: found {type(where).__name__}; expected {EXPECTED}")
        if where == Subset(1):
            where = OnePosition()
        found = {
            "strength": exact(strength, "strength"),
            "location": where,
            "prior": _prior(prior),
            "signal": signal_of(signal),
            "key_covariance": _covariance(key_covariance, "key_covariance"),
            "value_covariance": _covariance(value_covariance, "value_covariance"),
            "length": _length(length),
            "noise": exact(noise, "noise"),
            "name": name,
        }
        for attribute, value in found.items():
            object.__setattr__(self, attribute, value)
        self._check_numbers()
        self._check_combination()
        if isinstance(self.length, Integer):
            self._check_positions(int(self.length))

    def _check_numbers(self) -> None:
        for what, number in (("strength", self.strength), ("noise", self.noise)):
            check_parameters(number, what)
            if number.is_negative or number.is_finite is False:
                raise ValueError(f"{what}: found {number}; expected a finite number >= 0")

    def _check_combination(self) -> None:
        if isinstance(self.location, Independent) and self.prior is not None:
            raise ValueError(
                "prior: found together with independent coins, of which each has its own probability; "
                "write it as a function of the position, such as independent(1/(1+l))"
            )
        if isinstance(self.length, LengthLaw):
            if isinstance(self.prior, tuple):
                raise ValueError(
                    f"prior: found a list of {len(self.prior)} weights together with a law of the length; expected an "
                    "expression in l, which is normalised at every length"
                )
            if isinstance(self.location, Subset) and min(n for n, _ in self.length) < self.location.size:
                raise ValueError(f"location: found {self.location} at a shorter length; expected s <= L")

    def _check_positions(self, length: int) -> None:
        if isinstance(self.location, Subset) and self.location.size > length:
            raise ValueError(f"location: found {self.location} at L={length}; expected s <= L")
        if isinstance(self.prior, tuple) and len(self.prior) != length:
            raise ValueError(f"prior: found {len(self.prior)} weights at L={length}; expected one for each position")
        for position in self._doubtful(length):
            weight = self.prior_weight(position)
            if weight.is_number and not (weight.is_positive and weight.is_finite):
                raise ValueError(f"prior: found the weight {weight} at l={position}; expected a positive number")
            if isinstance(self.location, Independent):
                share = self.location.probability.subs({l: position, L: length})
                if share.is_number and not (S.Zero < share < S.One):
                    raise ValueError(f"location: found the probability {share} at l={position}; expected one in (0, 1)")
        for covariance in (self.key_covariance, self.value_covariance):
            if covariance is not None and not covariance.free_symbols - {L}:
                covariance.subs({L: Integer(length)}).check_positive(length)

    def _doubtful(self, length: int) -> list[int]:
        """The first positions, without those at which numbers of ordinary size show a good prior or coin."""
        if not self.depends_on_position:
            return [1]
        first = range(1, min(length, CHECKED_POSITIONS) + 1)
        coins = isinstance(self.location, Independent)
        expr = self.location.probability if isinstance(self.location, Independent) else self.prior
        if not isinstance(expr, Expr) or expr.free_symbols - {l, L}:
            return list(first)
        with np.errstate(all="ignore"):
            numbers = np.asarray(lambdify((l, L), expr, "numpy")(1.0 * np.array(first), float(length)))
        found = np.broadcast_to(numbers.astype(complex), (len(first),))
        good = (found.imag == 0) & (found.real > SMALL) & (found.real < (1 - SMALL if coins else 1 / SMALL))
        return [position for position, is_good in zip(first, good) if not is_good]

    @property
    def depends_on_position(self) -> bool:
        """Whether the prior, or the coins, tell positions apart."""
        coins = self.location.probability if isinstance(self.location, Independent) else S.Zero
        return self.prior is not None or coins.has(l)

    def prior_weight(self, position: int) -> Expr:
        """The weight of a position before normalisation; 1 without a prior."""
        if self.prior is None:
            return S.One
        if isinstance(self.prior, tuple):
            return self.prior[position - 1]
        weight = self.prior.subs(l, position)
        return weight.subs(L, self.length) if isinstance(self.length, Expr) else weight

    @property
    def _symbols(self) -> set[Expr]:
        """Every symbol of the law, positions and the length too."""
        parts: list[Expr] = [self.strength, self.noise]
        parts += list(self.prior) if isinstance(self.prior, tuple) else [self.prior] if self.prior is not None else []
        parts += [self.location.probability] if isinstance(self.location, Independent) else []
        found = {s for part in parts for s in part.free_symbols} | self.signal.free_symbols
        for covariance in (self.key_covariance, self.value_covariance):
            found |= covariance.free_symbols if covariance is not None else set()
        return found

    @property
    def free_symbols(self) -> set[Expr]:
        """The symbols that need a value: parameters, and ``L`` where the length is left open."""
        return (self._symbols - {l, L}) | ({L} if self.length == L else set())

    def at(self, values: Mapping[Any, object]) -> LocationTask:
        """The task at values of its symbols, by symbol or name, the length among them; what has no value stays a symbol.

        Raises:
            ValueError: for a name that is no symbol of the task, and when the values make it no task, as the constructor.
        """
        names = {str(symbol): symbol for symbol in self.free_symbols}
        unknown = sorted(key for key in values if isinstance(key, str) and key not in names)
        if unknown:
            known = ", ".join(sorted(names)) or "none"
            raise ValueError(f"task {self.name}: found a value for {unknown[0]}; its symbols: {known}")
        if not values and isinstance(self.length, Integer) and L not in self._symbols:
            return self
        by_symbol = {names[key] if isinstance(key, str) else key: value for key, value in values.items()}
        given = {symbol: exact(value, str(symbol)) for symbol, value in by_symbol.items()}
        length = given.get(L, L) if self.length == L else self.length
        if isinstance(length, Expr):
            given[L] = length
        prior = self.prior
        if isinstance(prior, tuple):
            prior = tuple(weight.subs(given) for weight in prior)
        elif prior is not None:
            prior = prior.subs(given)
        location = self.location
        if isinstance(location, Independent):
            location = Independent(location.probability.subs(given))
        keys, tokens = (None if c is None else c.subs(given) for c in (self.key_covariance, self.value_covariance))
        strength, noise = self.strength.subs(given), self.noise.subs(given)
        signal = self.signal.subs(given)
        return LocationTask(strength, location, prior, signal, keys, tokens, length, noise, self.name)

    def named(self, name: str) -> LocationTask:
        """The same task under another name."""
        return replace(self, name=name)

    def without_common_shift(self) -> LocationTask:
        """The same task with independent keys, where one correlation rho for all keys of variance v does no more than weaken nu.

        It is a common shift, which a posterior over one position, or over subsets of one size, does not see when
        theta = 1 always: then nu becomes nu/(v (1 - rho)), and keys are in units of sqrt(v (1 - rho)). The task has the same
        Bayes risk and the same risk of every attention that a common shift of the keys does not change.
        """
        if self.key_covariance is None or isinstance(self.location, Independent) or not self.signal.is_one:
            return self
        found = self.key_covariance.structure
        if not isinstance(found, Equicorrelated):
            return self
        return replace(self, strength=self.strength / found.own_variance, key_covariance=None)

    def reduced(self) -> Task | None:
        """The same task as a weight g(chi_epsilon), where tokens are exchangeable; None where there is no such weight.

        The weight is E_theta exp(theta sqrt(nu) chi_epsilon - theta^2 nu/2), after ``without_common_shift``.
        """
        plain = self.without_common_shift()
        by_position = (plain.prior, plain.key_covariance, plain.value_covariance)
        if not isinstance(plain.location, OnePosition) or any(part is not None for part in by_position):
            return None
        if plain.signal.directions > 1:
            return None
        key = sqrt(plain.strength) * chi[epsilon]
        tilts = ((value[0], share) for value, share in plain.signal)
        weight = sum((share * exp(theta * key - theta**2 * plain.strength / 2) for theta, share in tilts), S.Zero)
        return Task(weight, plain.length, plain.noise, name=plain.name)


def _length(value: object) -> Expr | LengthLaw:
    if isinstance(value, LengthLaw):
        return value
    if isinstance(value, Mapping):
        return LengthLaw(value)
    length = exact(value, "length")
    if length == L or (isinstance(length, Integer) and length >= 1):
        return length
    raise ValueError(
        f"length: found {length}; expected the symbol L, a positive integer or a law such as {{1: 1/3, 2: 2/3}}"
    )


def _prior(value: object) -> Expr | tuple[Expr, ...] | None:
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        weights = tuple(exact(weight, "prior") for weight in value)
        for weight in weights:
            check_parameters(weight, "prior")
        return weights
    weight = exact(value, "prior")
    check_parameters(weight, "prior", allowed={l})
    if weight.has(l):
        return weight
    if not (weight.is_positive and weight.is_finite):
        raise ValueError(f"prior: found {weight} at every position; expected a positive weight, such as 1 or 2**(-l)")
    return None


def _covariance(value: object, what: str) -> Covariance | None:
    if value is None:
        return None
    found = value if isinstance(value, Covariance) else Covariance(exact(value, what), what)
    return None if found.is_identity else found
