"""The Laplace form of an integral, recognised from its structure.

    Integral over u (and t) in (0, oo) of sum of coefficient(p) u^k e^{-u o} prod_j M_j(u, t)^{n_j},
    M_j = E[f_j(x) e^{-u kappa(x) - t w(x)}]

where f, kappa and w are free of u and t. Every M_j is then a matrix product of weights on nodes x with a table of exponentials,
one table per kernel. Integrals over the same variables with the same kernels are put into one form, so that they share the
table and the moments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from sympy import (
    Basic,
    Dummy,
    Expr,
    Integral,
    Min,
    Mul,
    S,
    Symbol,
    Tuple,
    cancel,
    expand,
    oo,
    preorder_traversal,
)
from sympy import exp as exp_

from symslr.evaluation.nodes.node import outermost
from symslr.evaluation.numbers.exponent import (
    Exponential,
    Gaussian,
    exponential,
    gaussian,
    grows_by_powers,
    magnitude,
    slope,
    split,
)
from symslr.evaluation.open_kernel import with_kernel
from symslr.evaluation.quadrature.breakpoints import in_powers, may_touch_zero, vanishing_factors
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.open_functions import OpenKernel
from symslr.model.breakpoints import bends, breakpoint_equations
from symslr.model.symbols import x

SPECIAL = (ScalarExpectation, Integral)
LOGS = Dummy("log_u", real=True), Dummy("log_t", real=True)
"""The symbols log u and log t, the same in all forms, as is the token's variable x. Equal kernels of two forms are then equal
expressions, and SymPy's caches serve both."""


def _bases_of_powers(product: Expr) -> list[Expr]:
    """The factors of a product, each without a numerical exponent."""
    return [factor.base if factor.is_Pow and factor.exp.is_Number else factor for factor in Mul.make_args(product)]


@dataclass(frozen=True, slots=True)
class Kernel:
    """The factors kappa, w of the Laplace variables in the exponent, as ``slopes``, and the interval of x. Each has one table."""

    slopes: tuple[Expr, ...]
    lower: Expr
    upper: Expr

    def exponential(self, x: Symbol) -> Exponential | None:
        """The kernel as one exponential of x, where there is a single Laplace variable; else None."""
        return exponential(self.slopes[0], x) if len(self.slopes) == 1 else None


@dataclass(frozen=True, slots=True)
class Moment:
    """M = E[f e^{-u kappa - t w}] = exp(scale) mean, with weight density f p = exp(exponent) rest.

    Attributes:
        mean, log, scale: symbols in the integrand, of the scaled moment, its logarithm (used where f = 1) and the scale.
        gaussian: the exponent with its square completed, if it is quadratic.
        is_survival: whether f = 1, so that 1 - M = E[1 - e^{-u kappa}] keeps its digits where M is near 1.
        degrees: the power of every kernel that is an exponential in f; None where it is not seen.
    """

    mean: Symbol
    log: Symbol
    scale: Symbol
    kernel: Kernel
    exponent: Expr
    rest: Expr
    gaussian: Gaussian | None
    is_survival: bool
    degrees: tuple[int | None, ...] = ()

    def closed(self, kernel: Expr, slopes: Kernel, x: Symbol) -> Moment:
        """The moment with ``kernel`` in place of a kernel left open; ``slopes`` is what becomes of its own."""
        parts = split(with_kernel(self.rest, kernel))
        if parts.exponent == 0:
            return replace(self, kernel=slopes, rest=parts.rest)
        exponent = self.exponent + parts.exponent
        return replace(self, kernel=slopes, exponent=exponent, rest=parts.rest, gaussian=gaussian(exponent, x))


@dataclass(frozen=True, slots=True)
class Term:
    """coefficient exp(exponent) rest, as a function of v = log u, moments and parameters."""

    coefficient: Expr
    exponent: Expr
    rest: Expr

    @classmethod
    def of(cls, product: Expr, logarithms: dict[Expr, Expr], moving: Iterable[Symbol]) -> Term:
        """A product as a term: powers of the symbols in ``logarithms`` go into the exponent, factors free of ``moving`` into
        the coefficient.
        """
        parts, back = split(product, logarithms), {symbol: exp_(log) for symbol, log in logarithms.items()}
        coefficient, rest = parts.rest.xreplace(back).as_independent(*moving, as_Add=False)
        return cls(coefficient, parts.exponent.xreplace(back), rest)

    @property
    def size(self) -> Expr:
        """The sum of |terms| of the exponent: its rounding error in units of the roundoff."""
        return magnitude(self.exponent)


@dataclass(frozen=True)
class LaplaceForm:
    """See the module's docstring.

    Attributes:
        logs: v = log u (and log t).
        x: the token's variable.
        terms: of all integrals; ``integrals`` holds for each integral the indices of its terms.
        bends: functions of x at whose zeros weights bend so steeply that nodes must crowd there.
    """

    logs: tuple[Symbol, ...]
    x: Symbol
    kernels: tuple[Kernel, ...]
    moments: tuple[Moment, ...]
    terms: tuple[Term, ...]
    integrals: tuple[tuple[int, ...], ...]
    bends: tuple[Expr, ...] = ()

    @property
    def is_open_outside(self) -> bool:
        """Whether a kernel left open occurs outside of the moments."""
        return any(part.has(OpenKernel) for t in self.terms for part in (t.coefficient, t.exponent, t.rest))

    def closed(self, kernel: Expr) -> LaplaceForm:
        """The form with ``kernel`` in place of a kernel left open in its moments; symbols and terms stay."""

        def closed_slopes(own: Kernel) -> Kernel:
            return replace(own, slopes=tuple(in_powers(with_kernel(s, kernel), self.x) for s in own.slopes))

        kernels = {own: closed_slopes(own) for own in self.kernels}
        moments = tuple(m.closed(kernel, kernels[m.kernel], self.x) for m in self.moments)
        return replace(self, kernels=tuple(dict.fromkeys(kernels.values())), moments=moments)

    @cached_property
    def moments_of(self) -> list[list[int]]:
        """For every kernel the indices of its moments."""
        return [[i for i, m in enumerate(self.moments) if m.kernel == kernel] for kernel in self.kernels]

    @cached_property
    def is_smoothed(self) -> bool:
        """Whether u enters through the moments and powers alone; Gaussian weights then make every moment entire in log u."""
        return not any(part.has(*(exp_(v) for v in self.logs)) for t in self.terms for part in (t.exponent, t.rest))

    @cached_property
    def are_exponential(self) -> tuple[bool, ...]:
        """For every Laplace variable, whether it multiplies one exponential of x in all kernels; moments are then smooth in log
        u alone.
        """
        slopes = zip(*(kernel.slopes for kernel in self.kernels))
        return tuple(all(exponential(own, self.x) is not None for own in column) for column in slopes)

    @cached_property
    def offsets(self) -> tuple[Expr, ...]:
        """For every Laplace variable the least o over all terms of the factor exp(-u o), which ends the integral; 0 where there
        is none.
        """
        return tuple(Min(*(-t.exponent.coeff(exp_(log)) for t in self.terms)) for log in self.logs)

    @cached_property
    def are_square(self) -> tuple[bool, ...]:
        """For every moment, whether its weight is a Gaussian times what grows by powers alone."""
        return tuple(m.gaussian is not None and grows_by_powers(m.rest, self.x) for m in self.moments)

    @cached_property
    def survivors(self) -> list[int]:
        """The indices of the moments with f = 1."""
        return [i for i, m in enumerate(self.moments) if m.is_survival]

    @cached_property
    def alternating(self) -> list[int]:
        """The indices of the moments whose weights may change sign."""
        return [i for i, m in enumerate(self.moments) if not m.rest.is_positive]

    @cached_property
    def kinks(self) -> tuple[tuple[Expr, ...], ...]:
        """For each kernel, expressions at whose zeros its weights or slopes are not smooth, or kappa is 0."""
        found = []
        for kernel, own in zip(self.kernels, self.moments_of):
            weights = (part for i in own for part in (self.moments[i].exponent, self.moments[i].rest))
            kinks = breakpoint_equations(Tuple(*kernel.slopes, *weights), self.x)
            zeros = (factor for slope in kernel.slopes for factor in vanishing_factors(slope, self.x))
            found.append(tuple(dict.fromkeys((*kinks, *zeros, *self.bends))))
        return tuple(found)

    @cached_property
    def turns(self) -> tuple[tuple[Expr, ...], ...]:
        """For each kernel, expressions among whose zeros are the places of all bumps of kappa, however narrow."""
        return tuple(self._turning(kernel.slopes) for kernel in self.kernels)

    @cached_property
    def turns_of_weights(self) -> tuple[tuple[Expr, ...], ...]:
        """The same for the weights of each kernel's moments, as for a mixture with a narrow part. A Gaussian, and powers of
        kappa, have none.
        """
        found = []
        for kernel, own in zip(self.kernels, self.moments_of):
            known = {base for slope in kernel.slopes for base in _bases_of_powers(slope)}
            parts = [base for i in own for base in _bases_of_powers(self.moments[i].rest) if base not in known]
            parts += [self.moments[i].exponent for i in own if self.moments[i].gaussian is None]
            found.append(self._turning(parts))
        return tuple(found)

    def _turning(self, parts: Sequence[Expr]) -> tuple[Expr, ...]:
        equations = dict.fromkeys(own for part in parts for _, own in bends(part, self.x))
        return tuple(own for own in equations if not (own.is_positive or own.is_negative))

    @cached_property
    def touches(self) -> tuple[tuple[Expr, ...], ...]:
        """For each kernel, expressions among whose zeros are the places at which kappa is 0 without a change of sign."""
        return tuple(
            tuple(slope for kappa in kernel.slopes for slope in may_touch_zero(kappa, self.x))
            for kernel in self.kernels
        )


@lru_cache(maxsize=512)
def laplace_form(integral: Integral) -> LaplaceForm | None:
    """The form of an integral; None where it has another structure."""
    variables = tuple(limit[0] for limit in integral.limits)
    if any(len(limit) != 3 or limit[1] != 0 or limit[2] != oo for limit in integral.limits) or len(variables) > 2:
        return None
    if x in integral.free_symbols:  # it is the token's variable in a form
        return None
    nodes = moving(integral.function, variables)
    candidates = {node: _moment(node, variables) for node in nodes}
    moments = {node: moment for node, moment in candidates.items() if moment is not None}
    if not nodes or len(moments) < len(candidates):
        return None
    logs = LOGS[: len(variables)]
    scaled = {node: m.mean if m.is_survival else exp_(m.scale) * m.mean for node, m in moments.items()}
    body = integral.function.xreplace(scaled)
    found = tuple(moments.values())
    known = dict(zip(variables, logs)) | {m.mean: m.log for m in found if m.is_survival}
    inside = (*logs, *(s for m in found for s in (m.mean, m.log, m.scale)))
    products = _products(body, {m.mean for m in found})
    terms = tuple(Term.of(term * Mul(*variables), known, inside) for term in products)
    kernels = tuple(dict.fromkeys(m.kernel for m in found))
    return LaplaceForm(logs, x, kernels, found, terms, (tuple(range(len(terms))),))


def _products(expr: Expr, means: set[Symbol]) -> list[Expr]:
    """The terms of a sum, or of a product with a sum over means as a factor, as a derivative has."""
    factors = Mul.make_args(expr)
    total = next((own for own in factors if own.is_Add and (own == expr or own.free_symbols & means)), None)
    if total is None:
        return [expr]
    rest = Mul(*(own for own in factors if own is not total))
    return [part for term in total.args for part in _products(rest * term, means)]


def grouped(forms: Sequence[LaplaceForm]) -> list[tuple[LaplaceForm, tuple[int, ...]]]:
    """(form, indices) for each group of forms with the same kernels, which are merged; the indices are those of its forms in
    ``forms``.
    """
    groups: dict[object, list[int]] = {}
    for place, form in enumerate(forms):
        groups.setdefault((form.logs, *form.kernels) if len(form.kernels) == 1 else place, []).append(place)
    return [(_merged([forms[place] for place in own]), tuple(own)) for own in groups.values()]


def _merged(forms: Sequence[LaplaceForm]) -> LaplaceForm:
    """One form with the integrals of all, in the same variables, and every moment once."""
    if len(forms) == 1:
        return forms[0]
    known: dict[object, Moment] = {}
    terms: list[Term] = []
    integrals = []
    for form in forms:
        names: dict[Basic, Basic] = {}
        for m in form.moments:
            same = known.setdefault((m.kernel, m.exponent, m.rest, m.is_survival), m)
            names |= {m.mean: same.mean, m.log: same.log, m.scale: same.scale}
        integrals.append(tuple(range(len(terms), len(terms) + len(form.terms))))
        terms += [Term(t.coefficient, t.exponent.xreplace(names), t.rest.xreplace(names)) for t in form.terms]
    first, moments = forms[0], tuple(known.values())
    kernels = tuple(dict.fromkeys(m.kernel for m in moments))
    return LaplaceForm(first.logs, first.x, kernels, moments, tuple(terms), tuple(integrals))


def moving(expr: Expr, variables: tuple[Symbol, ...]) -> list[Expr]:
    """The outermost expectations and integrals in an expression that depend on one of the variables."""
    return [node for node in outermost(expr, SPECIAL) if node.free_symbols & set(variables)]


@lru_cache(maxsize=512)
def _moment(node: Expr, variables: tuple[Symbol, ...]) -> Moment | None:
    if not isinstance(node, ScalarExpectation):
        return None
    law, body = node.law, node.body.xreplace({node.variable: x})
    ends = (law.lower, law.upper)
    if any(isinstance(item, SPECIAL) for item in preorder_traversal(body)):
        return None
    if any(part.free_symbols & set(variables) for part in (law.density, *ends)):
        return None
    parts, own = split(law.density * body), split(body)
    slopes = tuple(slope(parts.exponent, u) for u in variables)
    if None in slopes or parts.rest.has(*variables):
        return None
    zero = dict.fromkeys(variables, S.Zero)
    exponent = parts.exponent.xreplace(zero)
    is_survival = own.rest == 1 and own.exponent.xreplace(zero) == 0
    return Moment(
        Dummy("M", real=True, positive=is_survival or None),
        Dummy("logM", real=True),
        Dummy("scale", real=True),
        Kernel(tuple(in_powers(kappa, x) for kappa in slopes if kappa is not None), *ends),
        exponent,
        parts.rest,
        gaussian(exponent, x),
        is_survival,
        tuple(_degree(own.exponent.xreplace(zero), kappa) for kappa in slopes if kappa is not None),
    )


def _degree(exponent: Expr, kernel: Expr) -> int | None:
    """n where exp(exponent) is the n-th power of an exponential kernel, or has that rate in x; None where it is no such n."""
    own = split(kernel).exponent
    if own == 0:
        return None
    for part, whole in ((exponent, own), (expand(exponent).coeff(x, 1), expand(own).coeff(x, 1))):
        ratio = cancel(part / whole) if whole != 0 else S.NegativeOne
        if ratio.is_Integer and ratio >= 0:
            return int(ratio)
    return None
