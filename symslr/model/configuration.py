"""Law of a sequence whose relevant tokens are a hidden configuration: which tokens, and what signal their keys carry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, final

from sympy import Basic, Expr, IndexedBase, KroneckerDelta, S, Symbol, Tuple

from symslr.model.exact import exact
from symslr.model.open_function import CONFIGURATION
from symslr.model.symbols import BOUND_IN_SEQUENCE, l, m

r = CONFIGURATION
"""r[l] is 1 where token l is relevant, else 0."""

theta = Symbol("theta", real=True)
"""The signal in the keys of the relevant tokens; with several directions it is theta_1, theta_2, ..."""

ALIKE = KroneckerDelta(l, m)
"""The covariance of independent tokens with variance 1."""


@final
class Directions(Expr):
    """Keys with p independent components, each with the same ``covariance`` over tokens; ``args = (covariance, p)``."""

    is_commutative = True

    @property
    def covariance(self) -> Expr:
        return self.args[0]


class Signals(Expr):
    """A law of signals: each of finitely many values with its weight; ``args = (labels, support)``.

    Args:
        labels: what the components of the signal are called.
        support: pairs (value, weight), a value one number for each component.
    """

    is_commutative = True

    def __new__(cls, labels: Sequence[Symbol], support: Sequence[tuple[Sequence[Expr], Expr]]) -> Self:
        pairs = (Tuple(Tuple(*map(exact, value)), exact(weight)) for value, weight in support)
        return super().__new__(cls, Tuple(*labels), Tuple(*pairs))

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """What a mean over the signals integrates out."""
        return tuple(self.args[0])

    @property
    def support(self) -> tuple[tuple[tuple[Expr, ...], Expr], ...]:
        return tuple((tuple(value), weight) for value, weight in self.args[1])

    @property
    def free_symbols(self) -> set[Basic]:
        return self.args[1].free_symbols

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return self if old in self.symbols else None

    def _sympystr(self, printer: object) -> str:
        return ", ".join(f"{value[0] if len(value) == 1 else value}: {weight}" for value, weight in self.support)


@final
class Signal(Signals):
    """The law of the one signal of all relevant tokens."""


@final
class OwnSignals(Signals):
    """The law of the signals where every token has one of its own, ``theta[l]``."""

    @property
    def components(self) -> tuple[IndexedBase, ...]:
        """The components, functions of a token."""
        return tuple(IndexedBase(label, real=True) for label in self.args[0])

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """What a mean over the signals integrates out."""
        return tuple(component.label for component in self.components)

    def _sympystr(self, printer: object) -> str:
        return f"of every token {super()._sympystr(printer)}"


ONE = Signal((theta,), [((S.One,), S.One)])
"""The signal that is always 1."""

HIDDEN = frozenset({r.label, theta})
"""What a mean over configurations integrates out besides the components of a vector signal."""


class ConfigurationPrior(Basic):
    """P(h) of a configuration h = (r, theta), proportional to ``mass`` times the weight of the signal.

    Args:
        mass: nonnegative function of r[1], ..., r[length] in {0, 1}, such as ``Product(p(l)**r[l], (l, 1, L))``, with a
            factor ``Indicator(Eq(Sum(r[l], (l, 1, L)), s))`` where exactly s tokens are relevant.
        signal: a ``Signal``, or an open function in a general theorem.
        length: number of tokens.
    """

    def __new__(cls, mass: Expr, signal: Expr, length: Expr) -> ConfigurationPrior:
        return super().__new__(cls, exact(mass, "mass"), signal, exact(length, "length"))

    @property
    def mass(self) -> Expr:
        return self.args[0]

    @property
    def signal(self) -> Expr:
        return self.args[1]

    @property
    def length(self) -> Expr:
        return self.args[2]

    @property
    def bound(self) -> frozenset[Basic]:
        """Symbols that a mean over configurations integrates out."""
        return HIDDEN | frozenset(self.signal.symbols if isinstance(self.signal, Signals) else ())

    @property
    def free_symbols(self) -> set[Basic]:
        found = {s for arg in self.args for s in arg.free_symbols}
        return {s for s in found if s.is_Symbol} - self.bound - {l, m}

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return self if old.free_symbols & self.bound else None

    def without_signal(self) -> ConfigurationPrior:
        """The prior of the relevant tokens alone."""
        return ConfigurationPrior(self.mass, ONE, self.length)

    def _sympystr(self, printer: object) -> str:
        return f"prior({self.mass}; {self.signal})"


class ConfigurationLaw(Basic):
    """h from ``prior``; keys chi_l in R^p Gaussian with covariance ``keys`` over tokens; the whole reweighted by ``weight``.

    Values z_l are Gaussian with covariance ``values`` over tokens, xi is N(0, 1), both independent of (h, chi).
    Expectations under it are written E_w, under the law with weight 1 E_0: there h and chi are independent.

    Args:
        prior: of the configuration h.
        weight: w(h, chi), the density of the keys given h over that without signal: mean 1.
        keys, values: covariances, expressions in the positions ``l`` and ``m``; for keys along several directions
            ``Directions(covariance, p)``. Keys are ``chi[l]`` where p = 1 and ``chi[l, d]`` with d = 1..p beyond.
    """

    def __new__(
        cls, prior: ConfigurationPrior, weight: Expr, keys: Expr = ALIKE, values: Expr = ALIKE
    ) -> ConfigurationLaw:
        return super().__new__(cls, prior, exact(weight, "weight"), exact(keys), exact(values))

    @property
    def prior(self) -> ConfigurationPrior:
        return self.args[0]

    @property
    def weight(self) -> Expr:
        return self.args[1]

    @property
    def keys(self) -> Expr:
        return self.args[2]

    @property
    def values(self) -> Expr:
        return self.args[3]

    @property
    def covariance(self) -> Expr:
        """Of the keys along one direction."""
        return self.keys.covariance if isinstance(self.keys, Directions) else self.keys

    @property
    def directions(self) -> int:
        return int(self.keys.args[1]) if isinstance(self.keys, Directions) else 1

    @property
    def length(self) -> Expr:
        return self.prior.length

    @property
    def hidden(self) -> frozenset[Basic]:
        """What is averaged over given X, besides the noise."""
        return self.prior.bound

    @property
    def bound(self) -> frozenset[Basic]:
        """Symbols that an expectation under this law integrates out."""
        return BOUND_IN_SEQUENCE | self.prior.bound

    @property
    def free_symbols(self) -> set[Basic]:
        found = {s for arg in self.args for s in arg.free_symbols}
        return {s for s in found if s.is_Symbol} - self.bound

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return self if old.free_symbols & self.bound else None

    def unweighted(self) -> ConfigurationLaw:
        """The same without the weight: E_0."""
        return ConfigurationLaw(self.prior, S.One, *self.args[2:])

    def with_keys(self, keys: Expr) -> ConfigurationLaw:
        """The same with another covariance of the keys."""
        return ConfigurationLaw(self.prior, self.weight, keys, self.values)

    def _sympystr(self, printer: object) -> str:
        return f"law(w={self.weight}, {self.prior}, keys={self.keys}, values={self.values})"
