"""Means over hidden configurations: under the prior, under the posterior given the keys, and over keys and values too."""

from __future__ import annotations

from typing import final

from sympy import Add, Basic, Eq, Expr, Mul, Product, S, Sum, Tuple, binomial, exp, expand, simplify
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from symslr.expression.binding import bound_subs
from symslr.expression.expectation import Expectation
from symslr.expression.signs import Indicator
from symslr.model.configuration import ALIKE, ConfigurationLaw, ConfigurationPrior, r
from symslr.model.exact import exact
from symslr.model.symbols import chi, i, j, l, m


@final
class ConfigurationMean(Expectation):
    """sum_h P(h) body(h), the mean over configurations under their prior; ``args = (body, prior)``. Keys stay as they are."""

    def __new__(cls, body: Expr, prior: ConfigurationPrior) -> Expr:
        body = exact(body, "body")
        return body if body.is_number else Expr.__new__(cls, body, prior)

    @property
    def prior(self) -> ConfigurationPrior:
        return self.args[1]

    @property
    def bound(self) -> frozenset[Basic]:
        return self.prior.bound

    @property
    def subscript(self) -> str:
        return "h"


@final
class ConfigurationExpectation(Expectation):
    """E_w[body] over configuration, keys, values and noise; ``args = (body, law)`` with a ``ConfigurationLaw``."""

    def __new__(cls, body: Expr, law: ConfigurationLaw) -> Expr:
        body = exact(body, "body")
        return body if body.is_number else Expr.__new__(cls, body, law)

    @property
    def law(self) -> ConfigurationLaw:
        return self.args[1]

    @property
    def bound(self) -> frozenset[Basic]:
        return self.law.bound

    @property
    def subscript(self) -> str:
        """0 for the unweighted law, w for a reweighted one."""
        return "0" if self.law.weight == S.One else "w"


@final
class PosteriorMean(Expr):
    """E[body | chi] = E_h[w body]/E_h[w], by Bayes' rule; ``args = (body, law)`` with a body in the configuration."""

    is_commutative = True
    is_real = True

    @property
    def body(self) -> Expr:
        return self.args[0]

    @property
    def law(self) -> ConfigurationLaw:
        return self.args[1]

    @property
    def free_symbols(self) -> set[Basic]:
        found = (self.body.free_symbols | self.law.free_symbols | {chi.label}) - self.law.prior.bound
        return {s for s in found if s.is_Symbol}

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return bound_subs(self, self.law.prior.bound, old, new)

    def doit(self, **hints: object) -> Expr:
        weight, prior = self.law.weight, self.law.prior
        return ConfigurationMean(weight * self.body, prior) / ConfigurationMean(weight, prior)

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"<{printer._print(self.body)}>"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"\left\langle {printer._print(self.body)}\right\rangle{power}"


@final
class Precision(Expr):
    """(K^-1)_ij of a covariance K over tokens; ``args = (covariance, i, j, length)``, K an expression in ``l`` and ``m``."""

    is_commutative = True
    is_real = True

    def __new__(cls, covariance: Expr, first: Expr | int, second: Expr | int, length: Expr) -> Expr:
        return Expr.__new__(cls, exact(covariance), exact(first), exact(second), exact(length))

    @property
    def covariance(self) -> Expr:
        return self.args[0]

    @property
    def places(self) -> tuple[Expr, Expr]:
        return self.args[1], self.args[2]

    @property
    def length(self) -> Expr:
        return self.args[3]

    @property
    def free_symbols(self) -> set[Basic]:
        return (self.covariance.free_symbols - {l, m}).union(*(arg.free_symbols for arg in self.args[1:]))

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        covariance = self.covariance if old in (l, m) else self.covariance.subs(old, new)
        return self.func(covariance, *(arg.subs(old, new) for arg in self.args[1:]))

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"K^-1[{self.args[1]}, {self.args[2]}]"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        places = ",".join(map(printer._print, self.places))
        return rf"\left(K^{{-1}}\right)_{{{places}}}{power}"


@final
class ShiftedDensity(Expr):
    """N(chi; mu, K)/N(chi; 0, K), the density of Gaussian keys with means mu over that without.

    ``args = (means, covariance, length)``: one mean for each direction, an expression in the position ``l`` and in the
    configuration; K an expression in ``l`` and ``m``.
    """

    is_commutative = True
    is_real = True
    is_positive = True

    @classmethod
    def of(cls, means: tuple[Expr, ...], covariance: Expr, length: Expr) -> ShiftedDensity:
        return cls(Tuple(*map(exact, means)), exact(covariance), exact(length))

    @property
    def means(self) -> tuple[Expr, ...]:
        return tuple(self.args[0])

    @property
    def covariance(self) -> Expr:
        return self.args[1]

    @property
    def length(self) -> Expr:
        return self.args[2]

    @property
    def free_symbols(self) -> set[Basic]:
        found = (self.args[0].free_symbols | self.covariance.free_symbols) - {l, m}
        return {s for s in found if s.is_Symbol} | self.length.free_symbols | {chi.label}

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return self if old in (l, m, chi.label) else None

    def key(self, position: Expr, direction: int) -> Expr:
        """The key projection of a token along a direction."""
        return chi[position] if len(self.means) == 1 else chi[position, direction]

    def doit(self, **hints: object) -> Expr:
        """exp(mu^T C^-1 chi - mu^T C^-1 mu/2), a sum over directions in the exponent."""
        ends = (1, self.length)
        exponent = S.Zero
        for direction, mean in enumerate(self.means, 1):
            own, other = mean.subs(l, i), mean.subs(l, j)
            if self.covariance == ALIKE:
                exponent += Sum(own * self.key(i, direction), (i, *ends)) - Sum(own**2, (i, *ends)) / 2
                continue
            entry = Precision(self.covariance, i, j, self.length)
            exponent += Sum(own * Sum(entry * self.key(j, direction), (j, *ends)), (i, *ends))
            exponent -= Sum(own * Sum(entry * other, (j, *ends)), (i, *ends)) / 2
        return exp(exponent)

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"N(chi; {', '.join(map(str, self.means))}, K)/N(chi; 0, K)"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        means = ",".join(map(printer._print, self.means))
        return (
            rf"\frac{{\mathcal{{N}}\left(\chi;({means})_{{l}},K\right)}}{{\mathcal{{N}}\left(\chi;0,K\right)}}{power}"
        )


@final
class ElementarySymmetric(Expr):
    """e_k(x_1, ..., x_n), the sum over the products of k of the n numbers x_l, those at ``without`` left out.

    ``args = (order, term, index, length, without)`` with x_index = term; ``without`` is a tuple of positions.
    """

    is_commutative = True
    is_real = True

    @classmethod
    def of(cls, order: Expr, term: Expr, index: Expr, length: Expr, *without: Expr) -> Expr:
        """The polynomial, or its value where all numbers are alike."""
        if order == 0 or index not in term.free_symbols:
            return binomial(exact(length) - len(without), exact(order)) * term**order
        return cls(exact(order), term, index, exact(length), Tuple(*without))

    @property
    def order(self) -> Expr:
        return self.args[0]

    @property
    def term(self) -> Expr:
        return self.args[1]

    @property
    def index(self) -> Expr:
        return self.args[2]

    @property
    def length(self) -> Expr:
        return self.args[3]

    @property
    def without(self) -> tuple[Expr, ...]:
        return tuple(self.args[4])

    def doit(self, **hints: object) -> Expr:
        """Written out, where order, length and the positions left out are numbers."""
        if not all(part.is_Integer for part in (self.order, self.length, *self.without)):
            return self
        order = int(self.order)
        found: list[Expr] = [S.One, *[S.Zero] * order]
        for place in range(1, int(self.length) + 1):
            if place not in self.without:
                own = self.term.subs(self.index, place)
                found = [S.One, *(found[k] + own * found[k - 1] for k in range(1, order + 1))]
        return found[order]

    def with_term(self, term: Expr) -> ElementarySymmetric:
        """The same polynomial of other numbers."""
        return self.func(self.order, term, *self.args[2:])

    @property
    def free_symbols(self) -> set[Basic]:
        rest = (self.order.free_symbols | self.length.free_symbols).union(*(w.free_symbols for w in self.without))
        return (self.term.free_symbols - {self.index}) | rest

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        if old != self.index and self.index not in new.free_symbols:
            return None
        rest = (self.order.subs(old, new), self.length.subs(old, new), Tuple(*(w.subs(old, new) for w in self.without)))
        if old != self.index and old in self.term.free_symbols:
            raise ValueError(f"{new} cannot replace {old} in {self}: {self.index} is bound there")
        return self.func(rest[0], self.term, self.index, *rest[1:])

    def _sympystr(self, printer: StrPrinter) -> str:
        left_out = "".join(f", {place} left out" for place in self.without)
        order = str(self.order) if self.order.is_Atom else f"{{{self.order}}}"
        return f"e_{order}({printer._print(self.term)}{left_out})"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        left_out = "".join(rf"\ne {printer._print(place)}" for place in self.without)
        term = rf"\left({printer._print(self.term)}\right)_{{{printer._print(self.index)}{left_out}}}"
        return rf"e_{{{printer._print(self.order)}}}{power}\left({term}\right)"


def one_of(weight: Expr, length: Expr) -> Expr:
    """The mass of configurations with one relevant token, at position l with probability proportional to ``weight``."""
    one = exactly(1, length)
    return one if weight == S.One else one * Product(weight ** r[l], (l, 1, length))


def exactly(count: Expr | int, length: Expr) -> Expr:
    """The indicator that ``count`` tokens are relevant."""
    return Indicator(Eq(Sum(r[l], (l, 1, length)), exact(count, "count")))


def count_in(mass: Expr, length: Expr) -> tuple[Expr | None, Expr]:
    """(s, the other factors) of a mass with the factor that exactly s tokens are relevant; (None, mass) without one."""
    for factor in Mul.make_args(mass):
        if not (isinstance(factor, Indicator) and isinstance(factor.condition, Eq)):
            continue
        total, count = factor.condition.args
        index = total.variables[0] if isinstance(total, Sum) else l
        if total == Sum(r[index], (index, 1, length)) and not count.has(r):
            return count, mass / factor
    return None, mass


def is_density(law: ConfigurationLaw) -> bool:
    """Whether the weight is a ratio of densities of the keys: mean 1 under E_0 for every configuration."""
    weight = law.weight
    if isinstance(weight, Product):
        return law.covariance == ALIKE and _is_product_of_densities(weight, law)
    if not isinstance(weight, ShiftedDensity):
        return False
    return (weight.covariance, weight.length, len(weight.means)) == (
        law.covariance,
        law.length,
        law.directions,
    ) and not any(mean.has(chi) for mean in weight.means)


def _is_product_of_densities(weight: Product, law: ConfigurationLaw) -> bool:
    """Whether it is prod_l f(chi_l)^{r_l} over all tokens, f = sum_i p_i e^{b_i.chi + c_i} of mean 1."""
    index, *ends = weight.limits[0]
    base, power = weight.function.as_base_exp()
    if len(weight.limits) > 1 or tuple(ends) != (1, law.length) or power != r[index]:
        return False
    directions = range(1, law.directions + 1)
    keys = [chi[index]] if law.directions == 1 else [chi[index, d] for d in directions]
    total = S.Zero
    for term in Add.make_args(expand(base, power_exp=False)):
        share, shift = term.as_independent(*keys, as_Add=False)
        exponent = expand(shift.exp) if isinstance(shift, exp) else S.Zero if shift == 1 else None
        slopes = [] if exponent is None else [exponent.coeff(key) for key in keys]
        if exponent is None or any(slope.has(chi) for slope in slopes):
            return False
        rest = expand(exponent - sum(slope * key for slope, key in zip(slopes, keys)))
        if rest.has(chi) or share.has(chi):
            return False
        total += share * exp(expand(rest + sum(slope**2 for slope in slopes) / 2))
    return bool(simplify(total) == 1)
