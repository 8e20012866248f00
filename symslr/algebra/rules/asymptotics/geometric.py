"""Large-parameter expansion of a rational formula: the geometric series."""

from __future__ import annotations

from typing import final

from sympy import Abs, Add, Expr, Integer, Poly, PolynomialError, S, Symbol, cancel, fraction, together

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.truncation import Truncation
from symslr.model.powers import factored


@final
class GeometricSeries(Truncation):
    """Expand N/(B + C t) in powers of 1/t; the remainder is at most the next term where B and C have one sign.

    Args:
        parameter: t, large.
        order: how many powers of 1/t are kept.
    """

    name = "geometric series"
    statement = (
        r"\frac{N}{B+Ct} = \frac{N}{Ct}\sum_{k<n}\left(-\frac{B}{Ct}\right)^k + R_n,\qquad"
        r" |R_n|\le\left|\frac{N}{Ct}\right|\left|\frac{B}{Ct}\right|^n"
    )
    conditions = r"$BC\ge0$, $t>0$, and $N,B,C$ do not depend on $t$; the series converges where $|B|<|C|t$"

    def __init__(self, parameter: Symbol, order: int) -> None:
        if order < 1:
            raise ValueError(f"order: found {order}; expected at least 1 term")
        if not parameter.is_positive:
            raise ValueError(f"parameter: found {parameter}, not known to be positive; expected a symbol that is")
        self.parameter, self.order = parameter, order

    def truncate(self, term: Expr) -> tuple[Expr, Expr] | None:
        parts = self._ratio(term)
        if parts is None:
            return None
        numerator, constant, rate = parts
        if (constant * rate).is_nonpositive:
            raise self.refuse(f"{constant} and {rate} in {term} have opposite signs")
        far = rate * self.parameter
        terms = [factored(numerator / far * (-constant / far) ** k) for k in range(self.order + 1)]
        return Add(*terms[:-1]), Abs(terms[-1])

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """B and C have one sign, where that depends on parameters."""
        found = []
        for _, constant, rate in filter(None, map(self._ratio, self.truncated(expr))):
            sign = factored(constant * rate)
            if not sign.is_positive:
                found.append(Hypothesis.of(sign > 0))
        return tuple(dict.fromkeys(found))

    def _ratio(self, term: Expr) -> tuple[Expr, Expr, Expr] | None:
        """(N, B, C) of a term N/(B + C t); None for a sum, a product with more of t in it and what is free of t.

        Raises:
            RuleRefused: for another function of t than a polynomial.
        """
        t = self.parameter
        if t not in term.free_symbols or term.is_Add or (term.is_Pow and _is_whole(term.exp)):
            return None
        if not (term.is_Mul or term.is_Pow):
            if term != t:
                raise self.refuse(f"{term} is no rational function of {t}; reduce it to a formula first")
            return None
        numerator, denominator = fraction(together(term))
        if t not in denominator.free_symbols or (term.is_Mul and t in numerator.free_symbols):
            return None
        coefficients = _coefficients(denominator, t)
        if len(coefficients) != 2 or coefficients[1] == S.Zero:
            raise self.refuse(f"{term} is no ratio N/(B + C {t}) with N, B, C free of {t}")
        rate, constant = (cancel(c) if c.is_rational_function() else c for c in coefficients)
        return numerator, constant, rate


def _is_whole(power: Expr) -> bool:
    return isinstance(power, Integer) and power > 0


def _coefficients(denominator: Expr, parameter: Symbol) -> list[Expr]:
    try:
        return Poly(denominator, parameter).all_coeffs()
    except PolynomialError:
        return []
