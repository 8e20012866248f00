"""SymPy expressions as functions of float64 arrays, by NumPy and SciPy.

To keep digits, log(1 + exp(y)) is evaluated without overflow, and exact numbers stay exact until they are used.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, reduce
from importlib import import_module
from types import CodeType
from typing import Any, ClassVar

import numpy as np
import scipy  # hands out scipy.special, which takes 0.2 s to load, when it is first asked for
from sympy import Expr, Function, Symbol, Tuple, lambdify, numbered_symbols
from sympy import exp as exp_
from sympy import log as log_
from sympy.printing.numpy import SciPyPrinter
from sympy.simplify.cse_main import tree_cse

from symslr.evaluation.numbers.cancelling import functions, marked
from symslr.model.float64 import in_float64

_LINE = np.linspace(-4.0, 4.2, 165)
"""Steps of 1/20 of s: beyond the ends x is below 1e-25, and above 65, where e^-x is below 1e-28."""
TAIL = np.exp(_LINE - np.exp(-_LINE))
"""Nodes x = e^{s - e^{-s}} on (0, oo) for functions that fall at least exponentially."""
TAIL_WEIGHTS = TAIL * (1.0 + np.exp(-_LINE)) * (_LINE[1] - _LINE[0])
"""dx at the nodes."""


class log1pexp(Function):
    """log(1 + exp(y)), finite for every y."""

    nargs = 1


def stable(expr: Expr) -> Expr:
    """``expr`` with log(c + r), c >= 1, r > 0 of exponentials, written as log(c) + log1pexp(log(r/c)), so that log(1 + r) keeps
    its digits.
    """
    found = {}
    for node in expr.atoms(log_):
        least, rest = node.args[0].as_coeff_Add()
        if least >= 1 and rest.has(exp_) and rest.is_positive:
            exponent = rest.args[0] if isinstance(rest, exp_) else log_(rest, evaluate=False)
            found[node] = log_(least) + log1pexp(stable(exponent) - log_(least))
    return expr.xreplace(found) if found else expr


def _float_skew_normal(h: Any, a: Any) -> Any:
    """F(h, a) for arrays; below the median by a double exponential rule on the tail, where Phi - 2 T cancels."""
    h, a = np.broadcast_arrays(np.asarray(h, dtype=float), np.asarray(a, dtype=float))
    found = np.array(scipy.special.ndtr(h) - 2 * scipy.special.owens_t(h, a))
    is_low = h < 0
    if is_low.any():
        at = h[is_low][:, None] - TAIL
        below = np.exp(-at * at / 2 + scipy.special.log_ndtr(a[is_low][:, None] * at)) @ TAIL_WEIGHTS
        found[is_low] = below * np.sqrt(2 / np.pi)
    return found[()]


SMALL_SOFTPLUS = -40.0
"""Below this y, log(1 + e^y) is e^y within rounding."""


def _softplus(y: Any) -> Any:
    """log(1 + e^y), by two NumPy functions that take a quarter of the time of its single one."""
    return np.maximum(y, 0.0) + np.log1p(np.exp(-np.abs(y)))


def _log_softplus(y: Any) -> Any:
    """log log(1 + e^y)."""
    return np.where(y < SMALL_SOFTPLUS, y, np.log(_softplus(np.maximum(y, SMALL_SOFTPLUS))))


def _log_sinh(y: Any) -> Any:
    """log |sinh y|."""
    size = np.abs(y)
    return size + np.log(-np.expm1(-2.0 * size)) - np.log(2.0)


def _highest(*logs: Any) -> Any:
    """The largest of the logarithms; 0 where that is infinite."""
    top = reduce(np.maximum, logs)
    return np.where(np.isfinite(top), top, 0.0)


NEWTON_STEPS = 5
"""From the start below, three steps give four digits and five give all, for any argument."""


def wright_omega(z: Any) -> Any:
    """The y > 0 with y + log y = z, an array as ``z`` is, by Newton's method on log y; 0 where y underflows.

    SciPy's is not used: to load scipy.special takes 0.2 s of processor time, a fifth of that of ``symslr risk``.
    """
    z = np.maximum(z, -746.0)
    log_y = np.where(z > 1, np.log(np.maximum(z, 1.0)), z)
    for _ in range(NEWTON_STEPS):
        y = np.exp(log_y)
        log_y = log_y - (y + log_y - z) / (1 + y)
    return np.where(z > 1, z - log_y, np.exp(log_y))


def _special(name: str) -> Callable[..., Any]:
    """SciPy's function of that name, looked up when it is called, so that scipy.special is loaded only where it is needed."""

    def called(*arguments: Any) -> Any:
        return getattr(scipy.special, name)(*arguments)

    return called


@cache
def _namespace() -> dict[str, Any]:
    return {
        "abs": np.abs,  # Python's own has 1/|0| raise
        "PlainExp": np.exp,
        "SignOf": np.sign,
        "LogAbs": lambda y: np.log(np.abs(y)),
        "LogNormalCdf": _special("log_ndtr"),
        "LogSoftplus": _log_softplus,
        "LogSinh": _log_sinh,
        "LogGamma": _special("gammaln"),
        "SignGamma": _special("gammasgn"),
        "Highest": _highest,
        "log1pexp": _softplus,
        "OwensT": _special("owens_t"),
        "NormalCdf": _special("ndtr"),
        "SkewNormal": _float_skew_normal,
        **functions(),
    }


def compile_float(
    symbols: Sequence[Symbol], exprs: Sequence[Expr], *, keeps_digits: bool = True
) -> Callable[..., list[Any]]:
    """Functions of float64 arrays that share their common subexpressions; cached, as tasks have parts in common.

    Args:
        keeps_digits: whether sums that cancel are evaluated again in balls; not needed where only a root is sought.
    """
    return _compiled(tuple(symbols), tuple(exprs), keeps_digits)


@lru_cache(maxsize=4096)
def _compiled(symbols: tuple[Symbol, ...], exprs: tuple[Expr, ...], keeps_digits: bool) -> Callable[..., list[Any]]:
    written = stable(Tuple(*exprs))
    ready = list(in_float64(marked(written) if keeps_digits else written))
    printer = _Printer({symbol: f"at_{place}" for place, symbol in enumerate(symbols)})
    found = _by_names(printer, ready)
    inner = (part for part in found.__code__.co_consts if isinstance(part, CodeType))
    names = {name for part in (found.__code__, *inner) for name in part.co_names}
    if names <= found.__globals__.keys() | vars(builtins).keys():
        return found
    modules, arguments = [_namespace(), "scipy", "numpy"], list(printer.names.values())  # all of NumPy takes 0.1 s
    return lambdify(
        arguments, ready, modules=modules, printer=printer, cse=_repeated, docstring_limit=0, use_imps=False
    )


def _by_names(printer: _Printer, exprs: list[Expr]) -> Callable[..., list[Any]]:
    """A function made from the printed code, with the imports it needs; ``lambdify`` takes twice as long."""
    shared, results = _repeated(exprs)
    lines = [f"{printer.written(letter)} = {printer.written(expr)}" for letter, expr in shared]
    lines.append(f"return [{', '.join(map(printer.written, results))}]")
    known = dict(_namespace())
    for module, names in printer.module_imports.items():
        own = import_module(module)
        known |= {name: getattr(own, name) for name in names if name not in known and hasattr(own, name)}
    exec("\n    ".join([f"def made({', '.join(printer.names.values())}):", *lines]), known)
    return known["made"]


class _Printer(SciPyPrinter):
    """As ``lambdify`` makes one, but leaving terms in their order and printing symbols by names: to put others in takes long."""

    _kc: ClassVar = {**SciPyPrinter._kc, "Pi": "numpy.pi"}  # known constants; scipy.constants takes 0.1 s to import

    def __init__(self, names: dict[Symbol, str]) -> None:
        own = {name: name for name in _namespace()}
        plain = {"fully_qualified_modules": False, "inline": True, "allow_unknown_functions": True}
        super().__init__({**plain, "order": "none", "user_functions": own})
        self.names = names

    def _print_Symbol(self, expr: Symbol) -> str:
        return self.names.get(expr) or str(super()._print_Symbol(expr))

    _print_Dummy = _print_Symbol

    def written(self, expr: Expr) -> str:
        """An expression as ``doprint`` writes it, which loads more for 0.02 s."""
        self._not_supported, self._number_symbols = set[Any](), set[Any]()
        return str(self._print(self._handle_UnevaluatedExpr(expr)))


def _repeated(exprs: list[Expr]) -> tuple[list[tuple[Symbol, Expr]], list[Expr]]:
    """Common subexpressions with symbols for them, and the expressions in these symbols; sums and products are not taken apart."""
    return tree_cse(exprs, numbered_symbols("shared", cls=Symbol), order="none")
