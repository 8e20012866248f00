"""SymPy expressions as functions of arrays, in float64 (NumPy, SciPy) or at any precision (mpmath on object arrays).

Two habits keep the digits: log(1 + exp(y)) is evaluated without overflow, and exact numbers stay exact until the last
moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import scipy  # hands out scipy.special, which takes 0.2 s to load, when it is first asked for
from sympy import Add, Expr, Function, Symbol, lambdify
from sympy import exp as exp_
from sympy import log as log_
from sympy.printing.pycode import MpmathPrinter

from symslr.evaluation.errors import CannotEvaluate
from symslr.model.float64 import in_float64

_LINE = np.linspace(-4.0, 4.2, 165)
TAIL = np.exp(_LINE - np.exp(-_LINE))
"""Nodes on (0, oo) for functions that die at least exponentially: x = e^{s - e^{-s}}."""
TAIL_WEIGHTS = TAIL * (1.0 + np.exp(-_LINE)) * (_LINE[1] - _LINE[0])


class log1pexp(Function):
    """log(1 + exp(y)), finite for every y."""

    nargs = 1


def stable(expr: Expr) -> Expr:
    """``expr`` with log(1 + exp(y)) written as one function."""

    def is_softplus(node: Expr) -> bool:
        if not (isinstance(node, log_) and isinstance(node.args[0], Add) and len(node.args[0].args) == 2):
            return False
        one, power = node.args[0].args
        return bool(one == 1 and isinstance(power, exp_))

    return expr.replace(is_softplus, lambda node: log1pexp(node.args[0].args[1].args[0]))


def _float_log1pexp(y: Any) -> Any:
    return np.logaddexp(0.0, y)


def _mp_log1pexp(y: Any) -> Any:
    return y + mpmath.log1p(mpmath.exp(-y)) if y > 0 else mpmath.log1p(mpmath.exp(y))


def _mp_owens_t(h: Any, a: Any) -> Any:
    """Owen's T by quadrature of its definition, cut where the Gaussian factor has died."""
    sign = -1 if a < 0 else 1
    reach = abs(a)
    if h != 0:
        reach = min(reach, mpmath.sqrt(2 * (mpmath.mp.prec + 8) * mpmath.ln2) / abs(h))
    ends = (
        [reach * k / 4 for k in range(5)]
        if reach <= 4
        else [0, *(mpmath.mpf(2) ** k for k in _doublings(reach)), reach]
    )
    value, error = mpmath.quad(lambda t: mpmath.exp(-h * h * t * t / 2) / (1 + t * t), ends, error=True)
    if error > mpmath.ldexp(abs(value), 4 - mpmath.mp.prec) and error > mpmath.eps * 64:
        raise CannotEvaluate(f"Owen's T at ({mpmath.nstr(h, 5)}, {mpmath.nstr(a, 5)}): the quadrature did not converge")
    return sign * value * mpmath.exp(-h * h / 2) / (2 * mpmath.pi)


def _float_skew_normal(h: Any, a: Any) -> Any:
    """F(h, a) for arrays: below the median by a double exponential rule on the tail, where Phi - 2 T loses its digits."""
    h, a = np.broadcast_arrays(np.asarray(h, dtype=float), np.asarray(a, dtype=float))
    at = h[..., None] - TAIL
    below = np.exp(-at * at / 2 + scipy.special.log_ndtr(a[..., None] * at)) @ TAIL_WEIGHTS
    return np.where(h < 0, below * np.sqrt(2 / np.pi), scipy.special.ndtr(h) - 2 * scipy.special.owens_t(h, a))[()]


def _mp_skew_normal(h: Any, a: Any) -> Any:
    """F(h, a) = Phi(h) - 2 T(h, a), at as many more bits as the difference loses in the lower tail."""
    lost = int(min(h * h * (1 + a * a), 1e6)) + 8 if h < 0 else 0
    with mpmath.extraprec(lost):
        value = mpmath.ncdf(h) - 2 * _mp_owens_t(h, a)
    return +value


def _doublings(reach: Any) -> range:
    return range(-1, int(mpmath.ceil(mpmath.log(reach, 2))))


def _float_namespace() -> dict[str, Any]:
    return {
        "log1pexp": _float_log1pexp,
        "OwensT": scipy.special.owens_t,
        "NormalCdf": scipy.special.ndtr,
        "SkewNormal": _float_skew_normal,
    }


def compile_float(symbols: Sequence[Symbol], exprs: Sequence[Expr]) -> Callable[..., list[Any]]:
    """Float64 functions of arrays, all sharing their common subexpressions."""
    return lambdify(
        list(symbols), [in_float64(stable(e)) for e in exprs], modules=[_float_namespace(), "scipy", "numpy"], cse=True
    )


class MultiprecisionPrinter(MpmathPrinter):
    """Names without a module, so that they are found in the table below."""

    def __init__(self) -> None:
        super().__init__({"fully_qualified_modules": False, "inline": True, "allow_unknown_functions": True})


_NAMES = """
    mpf exp log sqrt erf erfc gamma loggamma sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh fabs pi e sign
    gammainc digamma polygamma beta zeta besselj bessely besseli besselk expint ei ci si hyp1f1 hyp2f1 erfi lambertw
    floor ceil inf nan
"""
PLAIN_NAMES = _NAMES.split()
"""Functions that mpmath has under the names that the printer gives them."""


def _mp_namespace() -> dict[str, Any]:
    names = {name: getattr(mpmath, name) for name in PLAIN_NAMES if hasattr(mpmath, name)}
    return names | {
        "log1pexp": _mp_log1pexp,
        "OwensT": _mp_owens_t,
        "NormalCdf": mpmath.ncdf,
        "SkewNormal": _mp_skew_normal,
        "Heaviside": lambda y, half=0.5: mpmath.mpf(half) if y == 0 else mpmath.mpf(y > 0),
        "Max": max,
        "Min": min,
        "max": max,
        "min": min,
        "abs": abs,
    }


def compile_multiprecision(symbols: Sequence[Symbol], exprs: Sequence[Expr]) -> Callable[..., list[Any]]:
    """Functions of mpmath numbers; arrays go through ``numpy.frompyfunc`` by the caller."""
    return lambdify(
        list(symbols), [stable(e) for e in exprs], modules=[_mp_namespace()], printer=MultiprecisionPrinter(), cse=True
    )
