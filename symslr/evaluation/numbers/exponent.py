"""Products of exponentials merged into one before any number is computed: expr = exp(E) R, with every exponential in E.

At nu = 400 a density is exp(-200) where its tilt is exp(+400): separately such factors overflow or underflow, their product
does not.
"""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Abs, Add, E, Expr, Mul, Poly, PolynomialError, Pow, S, Symbol, cancel, expand, log
from sympy import exp as exp_


@dataclass(frozen=True, slots=True)
class Split:
    """``exp(exponent) * rest``."""

    exponent: Expr
    rest: Expr


def split(expr: Expr, logarithms: dict[Expr, Expr] | None = None) -> Split:
    """Write a product as exp(exponent) * rest.

    Args:
        expr: any expression; a sum that is no product is all ``rest``.
        logarithms: symbols that may be moved into the exponent, with their logarithms: {u: v} for u = exp(v).
    """
    known = logarithms or {}
    exponent, rest = S.Zero, S.One
    for factor in Mul.make_args(expr):
        if isinstance(factor, exp_):
            exponent += factor.args[0]
            continue
        base, power = factor.as_base_exp()
        if base == E:
            exponent += power
        elif base in known:
            exponent += power * known[base]
        elif power.is_Integer or not base.args or (base.is_Mul and base.is_positive):
            inner = split(base, known) if base.is_Mul else Split(S.Zero, base)
            exponent += power * inner.exponent
            rest *= Pow(inner.rest, power)
        elif base.is_positive and not power.is_number:
            exponent += power * log(base)
        else:
            rest *= factor
    return Split(exponent, rest)


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A quadratic exponent: curvature (x - centre)^2 + height."""

    curvature: Expr
    centre: Expr
    height: Expr

    def centred(self, x: Symbol) -> Expr:
        """The exponent without its height."""
        return self.curvature * (x - self.centre) ** 2


def gaussian(exponent: Expr, x: Symbol) -> Gaussian | None:
    """The exponent with its square completed, or None when it is not quadratic in x (Cameron-Martin by algebra)."""
    try:
        poly = Poly(expand(exponent), x)
    except PolynomialError:
        return None
    if poly.degree() != 2:
        return None
    second, first, zeroth = (poly.coeff_monomial(x**n) for n in (2, 1, 0))
    centre = cancel(-first / (2 * second))
    return Gaussian(second, centre, cancel(expand(zeroth - first**2 / (4 * second))))


def slope(exponent: Expr, u: Symbol) -> Expr | None:
    """kappa where the exponent is linear in u, exponent = rest - u kappa; None where it is not linear."""
    kappa = -exponent.diff(u)
    return None if kappa.has(u) else kappa


def grows_by_powers(expr: Expr, x: Symbol) -> bool:
    """Whether a function of x has exponentials only inside logarithms, as log(2 + e^x), by which nothing is divided."""
    if not expr.has(exp_):
        return True
    if any(node.has(log) and not node.exp.is_nonnegative for node in expr.atoms(Pow)):
        return False
    tame = (node for node in expr.atoms(log) if all(part.exp.is_polynomial(x) for part in node.atoms(exp_)))
    return not expr.xreplace({node: S.One for node in tame}).has(exp_)


@dataclass(frozen=True, slots=True)
class Exponential:
    """kappa(x) = constant exp(rate x)."""

    constant: Expr
    rate: Expr


def exponential(kappa: Expr, x: Symbol) -> Exponential | None:
    """The kernel as one exponential of x, or None."""
    parts = split(kappa)
    if parts.rest.has(x):
        return None
    exponent = expand(parts.exponent)
    rate = exponent.coeff(x, 1)
    constant = exponent.coeff(x, 0)
    if rate == 0 or rate.has(x) or expand(exponent - rate * x - constant) != 0:
        return None
    return Exponential(parts.rest * exp_(constant), rate)


def magnitude(expr: Expr) -> Expr:
    """The sum of |terms| of a sum: a bound of its rounding error in units of the roundoff."""
    return Add(*map(Abs, Add.make_args(expr)))
