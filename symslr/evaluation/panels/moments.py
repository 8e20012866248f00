"""A Laplace form with every power of u shared out among its moments, so that all of them are bounded for every u.

    coefficient u^k e^{-u o} prod_j M_j^{n_j}  =  coefficient (u^r e^{-u o}) prod_j T_j^{n_j},
    T_j(u) = E[g_j (u kappa)^{m_j} e^{-u kappa}],

with f_j = g_j kappa^{m_j} and k = r + sum_j m_j n_j, in v = log u (and the same in log t). r > 0 needs an offset o > 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from sympy import Expr, S, Symbol, expand, factor_terms
from sympy import exp as exp_

from symslr.evaluation.certified.analytic.arithmetic import prepared
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.form import Kernel, LaplaceForm, Moment, Term
from symslr.evaluation.numbers.balls import Balls
from symslr.evaluation.numbers.exponent import Split, gaussian, split
from symslr.evaluation.panels.functions import TokenFunctions


@dataclass(frozen=True)
class Factor:
    """T = E[g (u kappa)^m (t w)^{m'} e^{-u kappa - t w}], g the weight of index ``weight`` of the kernel of index ``kernel``.

    ``is_survival``: whether g is the law's own density, of mass one, and no power stands beside it.
    """

    kernel: int
    weight: int
    degrees: tuple[int, ...]
    is_survival: bool


@dataclass(frozen=True)
class Product:
    """A term: the indices of its factors with their powers, r and o for every variable, and its coefficient."""

    factors: tuple[int, ...]
    powers: tuple[Expr, ...]
    residues: tuple[Expr, ...]
    offsets: tuple[Expr, ...]
    exponents: tuple[Expr, ...]
    coefficient: Expr


MOST_COPIES = 3
"""A moment up to this power may have other powers of u beside each of its copies."""


class Moments:
    """See the module's docstring.

    Attributes:
        factors: all T of all terms, each once.
        products: the terms; ``integrals`` holds for each integral the indices of its terms.
        functions: for every kernel its token functions.

    Raises:
        CannotEvaluate: where a term has another structure.
    """

    def __init__(self, form: LaplaceForm, parameters: tuple[Symbol, ...]) -> None:
        self.form, self.parameters, self.axes = form, parameters, len(form.logs)
        self.integrals = form.integrals
        self._weights: list[dict[Split, int]] = [{} for _ in form.kernels]
        self._factors: dict[Factor, int] = {}
        self.products = [self._product(term) for term in form.terms]
        self.factors = list(self._factors)
        self.functions = [self._functions(n, kernel) for n, kernel in enumerate(form.kernels)]

    def _functions(self, n: int, kernel: Kernel) -> TokenFunctions:
        weights = tuple(self._weights[n])
        own = [[f.degrees for f in self.factors if (f.kernel, f.weight) == (n, w)] for w in range(len(weights))]
        degrees = tuple(tuple(max(column) for column in zip(*rows)) for rows in own)
        return TokenFunctions(self.form.x, kernel.slopes, weights, kernel.lower, kernel.upper, self.parameters, degrees)

    def _product(self, term: Term) -> Product:
        moments = self.form.moments
        marks = [m.log if m.is_survival else m.scale for m in moments]
        powers = [term.exponent.coeff(mark, 1) for mark in marks]
        logs = self.form.logs
        exponents = tuple(term.exponent.coeff(v, 1) for v in logs)
        offsets = tuple(-term.exponent.coeff(exp_(v), 1) for v in logs)
        known = sum((n * mark for n, mark in zip(powers, marks)), S.Zero)
        known += sum((k * v - o * exp_(v) for k, v, o in zip(exponents, logs, offsets)), S.Zero)
        rest = expand(term.exponent - known)
        if rest.has(*marks, *logs):
            raise CannotEvaluate(f"a term of a Laplace integral has no normal form: {term.exponent}")
        copies: list[tuple[Moment, Expr]] = []
        for moment, n in zip(moments, powers):
            few = int(n) if n.is_Integer and 0 < n <= MOST_COPIES and not moment.is_survival else 0
            copies += [(moment, S.One)] * few or ([(moment, n)] if n != 0 else [])
        rows = [self._degrees(copies, axis, k, o != 0) for axis, (k, o) in enumerate(zip(exponents, offsets))]
        if None in rows:  # one token of the last moment takes what no other does
            moment, n = copies[-1]
            copies = [*copies[:-1], *([(moment, n - 1)] if n != 1 else []), (moment, S.One)]
            rows = [(*(0 for _ in copies[1:]), int(k)) for k in exponents]
        counts: dict[int, Expr] = {}
        for n, (moment, count) in enumerate(copies):
            factor = self._factor(moment, tuple(row[n] for row in rows if row is not None))
            counts[factor] = counts.get(factor, S.Zero) + count
        taken = (sum((n * m for (_, n), m in zip(copies, row or ())), S.Zero) for row in rows)
        residues = tuple(k - own for k, own in zip(exponents, taken))
        return Product(
            tuple(counts), tuple(counts.values()), residues, offsets, exponents, term.coefficient * exp_(rest)
        )

    def _degrees(
        self, copies: Sequence[tuple[Moment, Expr]], axis: int, k: Expr, has_offset: bool
    ) -> tuple[int, ...] | None:
        """m for every copy of a moment: the powers of the kernel that its weight has, with sum m n = k where no offset takes the
        rest.

        Any choice gives a true bound; another one may leave a weight with a large mass. None where there is none.
        """
        if not k.is_Integer:
            raise CannotEvaluate(f"a power {k} of a Laplace variable has no normal form; expected an integer")
        natural = [_degree(moment, axis) for moment, _ in copies]
        ranges = [range(int(k) + 1) if n == 1 else (0,) for _, n in copies]
        best, least = None, None
        for chosen in product(*ranges):
            if sum(chosen) > k or (sum(chosen) < k and not has_offset):
                continue
            away = sum(abs(m - known) for m, known in zip(chosen, natural) if known is not None)
            size = away, sum(_size(_divided(moment, axis, m)) for (moment, _), m in zip(copies, chosen))
            if least is None or size < least:
                best, least = chosen, size
        return best

    def _factor(self, moment: Moment, degrees: tuple[int, ...]) -> int:
        kernel = self.form.kernels.index(moment.kernel)
        weight = Split(moment.exponent, moment.rest)
        for axis, m in enumerate(degrees):
            weight = _quotient(weight, moment.kernel.slopes[axis], int(m))
        square = gaussian(weight.exponent, self.form.x)
        if square is not None:  # multiplied out it would lose the digits of a narrow law
            weight = Split(square.centred(self.form.x) + square.height, weight.rest)
        place = self._weights[kernel].setdefault(weight, len(self._weights[kernel]))
        factor = Factor(kernel, place, tuple(map(int, degrees)), moment.is_survival and not any(degrees))
        return self._factors.setdefault(factor, len(self._factors))

    @cached_property
    def _numbers(self) -> Any:
        exprs = [e for t in self.products for e in (t.coefficient, *t.powers, *t.residues, *t.offsets, *t.exponents)]
        return Balls(0).function(self.parameters, exprs)

    def numbers(self, p: Sequence[Any]) -> list[tuple[Any, ...]]:
        """(coefficient, powers, residues, offsets, exponents) of every term, as balls."""
        found = iter(self._numbers(*p))
        return [
            (next(found), *([next(found) for _ in part] for part in (t.powers, t.residues, t.offsets, t.exponents)))
            for t in self.products
        ]


def _degree(moment: Moment, axis: int) -> int | None:
    """The power of a kernel in a moment's weight; None where it is not seen."""
    if moment.degrees[axis] is not None:
        return moment.degrees[axis]
    own = _written(moment.rest).as_powers_dict()
    factors = split(_written(moment.kernel.slopes[axis])).rest.as_powers_dict()
    powers = [own.get(base, S.Zero) / power for base, power in factors.items() if not base.is_number]
    return int(min(powers)) if powers and all(power.is_number and power >= 0 for power in powers) else None


def _divided(moment: Moment, axis: int, m: int) -> Split:
    return _quotient(Split(moment.exponent, moment.rest), moment.kernel.slopes[axis], m)


def _quotient(weight: Split, kernel: Expr, m: int) -> Split:
    """weight / kernel^m."""
    if m == 0:
        return weight
    parts = split(prepared(kernel))
    inside = split(factor_terms(prepared(weight.rest) * parts.rest**-m))
    return Split(expand(weight.exponent - m * parts.exponent + inside.exponent), inside.rest)


def _written(expr: Expr) -> Expr:
    """In one way, so that the factors of a weight are the kernel's."""
    return factor_terms(prepared(expr))


def _size(weight: Split) -> int:
    return int(weight.exponent.count_ops() + weight.rest.count_ops())
