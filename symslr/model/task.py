"""The task studied: single-location regression, by its law of location or by a weight on the tokens; length law and noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sympy import Expr, Integer, S, exp, lambdify, latex, oo, sqrt

from symslr.model.admissible import check_density, check_dominated, check_mean_one
from symslr.model.exact import NotExact, exact
from symslr.model.form import check_parameters
from symslr.model.length_law import LengthLaw
from symslr.model.location.covariance import Covariance, Equicorrelated
from symslr.model.location.signal import SignalLaw, signal_of
from symslr.model.location.where import EXPECTED, Independent, OnePosition, Subset, Where, where_from_text
from symslr.model.pieces import without_pieces
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import Delta, L, chi, epsilon, l, x
from symslr.model.symbols import nu as signal_strength
from symslr.model.text_numbers import read_length

CHECKED_POSITIONS = 1000
"""So many first positions are looked at for a prior that is not positive, or a coin that is no probability."""

SMALL = 1e-9
"""A number in float64 that is this far from a bound is on the side on which it seems to be."""


@dataclass(frozen=True, init=False)
class Task:
    """Single-location regression: y = sum_l r_l z_l + Delta xi, r the read-out of a hidden configuration that the keys tell of.

    Either a **weight** g says how the keys depend on the one relevant position epsilon: given (L, epsilon) the tokens have
    density g(epsilon, chi) prod_l N(x_l; 0, I_D) with chi = X k*/sqrt(D), z = X v*/sqrt(D).

    Or the **law of location** is written down. A hidden configuration says which positions S are relevant and with what
    signals theta_l, independent given S. Keys are chi = xi + sqrt(nu) sum_{l in S} theta_l e_l in every one of p directions,
    xi ~ N(0, C) over the positions; values are z ~ N(0, C_v), independent of everything else. The label is
    y = z_epsilon + Delta noise for one relevant position, the mean of the relevant values for a subset, their sum for
    independent coins. Nothing said is spiked-SLR: one position, all alike, theta = 1, independent tokens.

    The risk of a predictor f is E (y - f(X))^2.

    Args:
        weight: g as an expression in ``chi[epsilon]``, ``Sum(h(chi[l]), (l, 1, L))`` and free parameters; mean 1. None for a
            law of location.
        length: symbol ``L``, a positive integer, a ``LengthLaw`` or a mapping length -> probability.
        noise: Delta >= 0.
        base: law of a token's key projection before reweighting; N(0, 1) by default.
        name: what the task is called in print; "task", or "location" for a law of location.
        nu: the signal strength, nu >= 0.
        location: ``OnePosition()``, ``Subset(s)``, ``Independent(pi)`` or their text "one", "subset(2)", "independent(1/8)".
            A subset of one is one position.
        prior: weights over positions, an expression in ``l`` or a list of L numbers, normalised here; uniform by default.
            Of a subset, P(S) is proportional to the product of the weights of its positions.
        signal: law of theta, a mapping from values (numbers, or tuples for keys along several directions) to
            probabilities, or its text "1:1/2,-1:1/2"; theta = 1 by default.
        key_covariance: C as an expression in the positions ``i`` and ``j``; the identity by default.
        value_covariance: C_v in the same way; values are independent by default.

    Raises:
        ValueError: in one line, for a weight that does not average to 1 or is negative somewhere, for what is no length,
            noise or law, and for what cannot be combined, with the reason.

    Source: arXiv 2509.21936, section 2.
    """

    weight: Expr | None
    length: Expr | LengthLaw
    noise: Expr
    base: ScalarLaw
    name: str
    nu: Expr
    location: Where
    prior: Expr | tuple[Expr, ...] | None
    signal: SignalLaw
    key_covariance: Covariance | None
    value_covariance: Covariance | None

    def __init__(
        self,
        weight: object = None,
        length: object = L,
        noise: object = Delta,
        base: ScalarLaw = STANDARD_NORMAL,
        name: str | None = None,
        *,
        nu: object = None,
        location: Where | str | None = None,
        prior: Expr | Sequence[object] | None = None,
        signal: SignalLaw | Mapping[Any, Any] | str | None = None,
        key_covariance: Covariance | Expr | None = None,
        value_covariance: Covariance | Expr | None = None,
    ) -> None:
        own = {
            "nu": nu,
            "location": location,
            "prior": prior,
            "signal": signal,
            "key_covariance": key_covariance,
            "value_covariance": value_covariance,
        }
        if not isinstance(base, ScalarLaw):
            raise NotExact(f"base: found {type(base).__name__}; expected a ScalarLaw, such as normal()")
        if weight is not None:
            weight = without_pieces(exact(weight, "weight"), "weight")
            found = next((what for what, value in own.items() if value is not None), None)
            if found is not None:
                raise ValueError(f"task: found {found} together with a weight; a law of location makes its own weight")
        else:
            if base != STANDARD_NORMAL:
                raise ValueError("base: found without a weight; expected tokens N(0, 1) under a law of location")
            where = where_from_text(location) if isinstance(location, str) else location
            if not isinstance(where, Where | None):
                raise NotExact(f"location: found {type(where).__name__}; expected {EXPECTED}")
            own = {
                "nu": exact(signal_strength if nu is None else nu, "nu"),
                "location": OnePosition() if where in (None, Subset(1)) else where,
                "prior": _prior(prior),
                "signal": signal_of(signal),
                "key_covariance": _covariance(key_covariance, "key_covariance"),
                "value_covariance": _covariance(value_covariance, "value_covariance"),
            }
        said = {
            "weight": weight,
            "length": _length(length),
            "noise": exact(noise, "noise"),
            "base": base,
            "name": name or ("task" if weight is not None else "location"),
        }
        for attribute, value in {**said, **own}.items():
            object.__setattr__(self, attribute, value)
        self._check_number("noise", self.noise, "a standard deviation Delta >= 0")
        if self.weight is not None:
            check_mean_one(self.law)
            return
        self._check_number("nu", self.nu, "a finite number >= 0")
        self._check_combination()
        if isinstance(self.length, Integer):
            self._check_positions(int(self.length))

    @classmethod
    def from_token_laws(
        cls, relevant: ScalarLaw | Expr | str, others: ScalarLaw | Expr | str = STANDARD_NORMAL, **keywords: Any
    ) -> Task:
        """The task in which the relevant token's key projection has law p1 and every other token's has law p0.

        A law is a ``ScalarLaw``, or its density on the line as an expression in ``x``.

        Its weight is the likelihood ratio g = p1(chi_epsilon) / p0(chi_epsilon).

        Raises:
            ValueError: when the two laws have different supports, or that of the others is 0 where the relevant one is not,
                besides what ``Task`` refuses.
        """
        relevant, others = (
            law if isinstance(law, ScalarLaw) else ScalarLaw(exact(law, "token law")) for law in (relevant, others)
        )
        for law in (relevant, others):
            check_density(law)
        if (relevant.lower, relevant.upper) != (others.lower, others.upper):
            raise ValueError(
                f"token laws: found supports {relevant.support} and {others.support}; expected the same for both"
            )
        check_dominated(relevant, others)
        ratio = (relevant.density / others.density).subs(x, chi[epsilon])
        return cls(ratio, base=others, **keywords)

    @staticmethod
    def _check_number(what: str, number: Expr, expected: str) -> None:
        check_parameters(number, what)
        if number.is_negative or number.is_finite is False:
            raise ValueError(f"{what}: found {number}; expected {expected}")

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
    def is_located(self) -> bool:
        """Whether it is given by its law of location, not by a weight."""
        return self.weight is None

    @property
    def has_weight(self) -> bool:
        """Whether it has a ``law``: tokens are exchangeable and independent and one is relevant, so that a weight g says all."""
        by_position = (self.prior, self.key_covariance, self.value_covariance)
        plain = isinstance(self.location, OnePosition) and all(part is None for part in by_position)
        return not self.is_located or (plain and self.signal.directions == 1)

    @property
    def law(self) -> SequenceLaw:
        """Law of the sequence at the symbolic length ``L``.

        Of a law of location g = E_theta exp(theta sqrt(nu) chi_epsilon - theta^2 nu/2).

        Raises:
            ValueError: where no weight makes the task.
        """
        if not self.has_weight:
            raise ValueError(
                f"task {self.name}: its tokens are not exchangeable, or more than one is relevant; what knows such tasks is the "
                "Bayes risk, the risk of an attention and the optimal attention"
            )
        if not self.is_located:
            return SequenceLaw(self.weight, L, self.base)
        key = sqrt(self.nu) * chi[epsilon]
        tilts = ((value[0], share) for value, share in self.signal)
        weight = sum((share * exp(theta * key - theta**2 * self.nu / 2) for theta, share in tilts), S.Zero)
        return SequenceLaw(weight, L, self.base)

    @property
    def keys(self) -> tuple[Expr, Expr]:
        """Where keys a chi are at every scale a > 0: a half line from 0 where all tokens have one sign, else the line."""
        lower, upper = self.base.support
        return S.Zero if lower.is_nonnegative else -oo, S.Zero if upper.is_nonpositive else oo

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
        if not self.is_located:
            return self.law.free_symbols | self.noise.free_symbols
        parts: list[Expr] = [self.nu, self.noise]
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

    def with_length(self, length: object) -> Task:
        """The same task at another length (symbol, integer or law)."""
        return replace(self, length=length)

    def at(self, values: Any) -> Task:
        """The task at values of its symbols, by symbol or name, the length among them; what has no value stays a symbol.

        What is no mapping is the length.

        Raises:
            ValueError: for a name that is no symbol of the task, and when the values make it no task, as the constructor.
        """
        if not isinstance(values, Mapping):
            return self.with_length(values)
        names = {str(symbol): symbol for symbol in self.free_symbols}
        unknown = sorted(key for key in values if isinstance(key, str) and key not in names)
        if unknown:
            known = ", ".join(sorted(names)) or "none"
            raise ValueError(f"task {self.name}: found a value for {unknown[0]}; its symbols: {known}")
        if not values and isinstance(self.length, Integer) and (L not in self._symbols or not self.is_located):
            return self
        by_symbol = {names.get(str(key), key): value for key, value in values.items()}
        length = _length(by_symbol.pop(L, L)) if self.length == L else self.length
        given = {symbol: exact(value, str(symbol)) for symbol, value in by_symbol.items()}
        given.pop(L, None)  # the law of a weight is that of every length
        if self.is_located and isinstance(length, Expr):
            given[L] = length
        parts = {part.name: _put_in(getattr(self, part.name), given) for part in fields(self) if part.name != "length"}
        return Task(length=length, **parts)

    def named(self, name: str) -> Task:
        """The same task under another name."""
        return replace(self, name=name)

    def without_common_shift(self) -> Task:
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
        return replace(self, nu=self.nu / found.own_variance, key_covariance=None)

    def _repr_latex_(self) -> str:
        if self.is_located:
            parts = [rf"\chi=\xi+\sqrt{{{latex(self.nu)}}}\textstyle\sum_{{l\in S}}\theta_l e_l"]
            parts += [rf"S:\ \text{{{self.location}}}"]
            parts += [] if self.prior is None else [rf"\pi={latex(self.prior)}"]
            parts += [] if self.signal.is_one else [rf"\theta:\ \text{{{self.signal}}}"]
            covariances = (("C", self.key_covariance), ("C_v", self.value_covariance))
            parts += [rf"{letter}_{{ij}}={latex(own.entry)}" for letter, own in covariances if own is not None]
        else:
            parts = [rf"g(\epsilon,\chi)={latex(self.weight)}"]
        if self.base != STANDARD_NORMAL:
            parts.append(rf"\chi_l\text{{ with density }}{latex(self.base.density)}")
        if self.length != L:
            parts.append(rf"L={latex(self.length)}")
        if self.noise != Delta:
            parts.append(rf"\Delta={latex(self.noise)}")
        return r"$\displaystyle " + r",\quad ".join(parts) + "$"


def _put_in(part: Any, values: Mapping[Expr, Expr]) -> Any:
    """A part of a task at values of its symbols."""
    if isinstance(part, tuple):
        return tuple(_put_in(own, values) for own in part)
    if isinstance(part, Independent):
        return Independent(part.probability.subs(values))
    return part.subs(values) if hasattr(part, "subs") else part


def _length(value: object) -> Expr | LengthLaw:
    if isinstance(value, LengthLaw):
        return value
    if isinstance(value, str) and ":" in value:
        value = dict(read_length(value))  # type: ignore[arg-type]
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


def without_fixed(values: Mapping[str, Any], **fixed: Any) -> dict[str, Any]:
    """Values by name without those of ``fixed`` that are numbers, which have to be the same.

    Raises:
        ValueError: for another number.
    """
    left = dict(values)
    for name, own in fixed.items():
        if name in left and isinstance(own, Expr) and own.is_number and (given := exact(left.pop(name), name)) != own:
            raise ValueError(
                f"{name}: found {given}, but the task has {own}; leave it out, or make a task that leaves it open"
            )
    return left
