"""log |expr| and its sign in float64 without overflow: products become sums, sums are taken relative to their largest term."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sympy import Add, E, Expr, Function, Mul, Pow, S, Symbol, cosh, csch, erfc, gamma, sech, sinh, sqrt
from sympy import exp as exp_
from sympy import log as log_
from sympy.utilities.iterables import sift

from symslr.evaluation.numbers.cancelling import LogUncancelled, SignUncancelled, arguments, may_cancel
from symslr.evaluation.numbers.compiled import compile_float, log1pexp, stable
from symslr.expression.special import NormalCdf
from symslr.model.float64 import uncancelled

SignedLog = Callable[..., list[Any]]
"""(sign, log of the absolute value) as arrays."""

LEAVING_FLOAT64 = (exp_, E, erfc, NormalCdf, log1pexp, cosh, sinh, sech, csch, gamma)
"""Functions that leave the range of float64 at a modest argument."""
LARGEST_POWER = 8
"""Larger powers leave the range of float64 at modest arguments too: x^-200 is 0 from x = 42 on."""

PlainExp, SignOf, LogAbs, LogNormalCdf, LogSoftplus, LogSinh, LogGamma, SignGamma, Highest = map(
    Function,
    ("PlainExp", "SignOf", "LogAbs", "LogNormalCdf", "LogSoftplus", "LogSinh", "LogGamma", "SignGamma", "Highest"),
)
"""Functions that SymPy does not simplify; ``compile_float`` evaluates them."""


def leaves_float64(expr: Expr) -> bool:
    """Whether some part of an expression overflows or underflows in float64 at a modest argument."""
    return expr.has(*LEAVING_FLOAT64) or any(_is_large_power(power) for power in expr.atoms(Pow))


def _is_large_power(power: Pow) -> bool:
    return bool(power.exp.is_number and abs(power.exp) > LARGEST_POWER and not power.base.is_number)


def kept_from_cancelling(expr: Expr) -> Expr:
    """``expr`` with sums that cancel in a tail written in another form."""
    return uncancelled(expr, lambda y: 2 * NormalCdf(sqrt(2) * y))


def signed_log(expr: Expr, symbols: Sequence[Symbol]) -> SignedLog:
    """(sign, log |expr|) as a function of arrays."""
    return compile_float(symbols, sign_and_log(expr))


def sign_and_log(expr: Expr) -> tuple[Expr, Expr]:
    """(sign, log |expr|) as expressions for ``compile_float``."""
    return _signed(kept_from_cancelling(stable(expr)))


def _signed(expr: Expr) -> tuple[Expr, Expr]:
    if not leaves_float64(expr):
        return _plain(expr)
    if isinstance(expr, Mul):
        plain, far = sift(expr.args, lambda arg: not leaves_float64(arg), binary=True)
        signs, logs = zip(_plain(Mul(*plain)), *map(_signed, far))
        return Mul(*signs), Add(*logs)
    if isinstance(expr, Add):
        if may_cancel(expr):
            return SignUncancelled(*arguments(expr)), LogUncancelled(*arguments(expr))
        return _sum([_signed(arg) for arg in expr.args])
    if isinstance(expr, exp_) or (isinstance(expr, Pow) and expr.base == E):
        return S.One, expr.exp
    if isinstance(expr, cosh):
        return _sum([(S.One, sign * expr.args[0] - log_(2)) for sign in (1, -1)])
    if isinstance(expr, sinh):
        return SignOf(expr.args[0]), LogSinh(expr.args[0])
    if isinstance(expr, (sech, csch)):
        factor, log = _signed((cosh if isinstance(expr, sech) else sinh)(expr.args[0]))
        return factor, -log
    if isinstance(expr, gamma):
        return SignGamma(expr.args[0]), LogGamma(expr.args[0])
    if isinstance(expr, NormalCdf):
        return S.One, LogNormalCdf(*expr.args)
    if isinstance(expr, log1pexp):
        far = {node: _signed(node.args[0])[1] for node in expr.args[0].atoms(log_) if node.has(*LEAVING_FLOAT64)}
        return S.One, LogSoftplus(expr.args[0].xreplace(far))
    if isinstance(expr, erfc):
        return _signed(2 * NormalCdf(-sqrt(2) * expr.args[0]))
    if isinstance(expr, Pow) and expr.exp.is_number and (expr.exp.is_Integer or expr.base.is_positive):
        factor, log = _signed(expr.base)
        return (factor if expr.exp.is_odd else factor**2), expr.exp * log
    return _plain(expr)


def _plain(expr: Expr) -> tuple[Expr, Expr]:
    return (S.One if expr.is_positive else SignOf(expr)), S.Zero if expr == 1 else LogAbs(expr)


def _sum(terms: list[tuple[Expr, Expr]]) -> tuple[Expr, Expr]:
    top = Highest(*(log for _, log in terms))
    total = Add(*(factor * PlainExp(log - top) for factor, log in terms))
    return (S.One if all(factor == 1 for factor, _ in terms) else SignOf(total)), top + LogAbs(total)
