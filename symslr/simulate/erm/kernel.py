"""A kernel and its derivative as one compiled scalar function: what a fused loop over the tokens calls."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sympy import DiracDelta, Expr, Function, Mul, S, Wild, diff, exp, lambdify, log

from symslr.extras import need
from symslr.model.attention import Attention
from symslr.model.symbols import x
from symslr.simulate.values import Values, fixed


class SoftPlus(Function):
    """log(1 + e^u), in a form that does not overflow."""

    def fdiff(self, argindex: int = 1) -> Expr:
        return Expit(self.args[0])


class Expit(Function):
    """1/(1 + e^-u)."""

    def fdiff(self, argindex: int = 1) -> Expr:
        return Expit(self.args[0]) * (1 - Expit(self.args[0]))


def kernel_parts(kernel: Expr) -> tuple[Expr, Expr, Expr]:
    """(c, h, d) with kappa = c e^h and kappa' = d e^h: the exponential factor of the kernel stands apart.

    Normalised attention divides e^h by its largest value over the tokens, so that a score of 1000 is harmless.

    >>> from sympy import exp
    >>> kernel_parts(exp(x))
    (1, x, 1)
    """
    u = Wild("u")
    factors = Mul.make_args(kernel)
    height = sum((factor.args[0] for factor in factors if isinstance(factor, exp)), start=S.Zero)
    rest = Mul(*(factor for factor in factors if not isinstance(factor, exp)))
    rest = rest.replace(log(1 + exp(u)), SoftPlus(u)).replace(1 / (1 + exp(u)), Expit(-u))
    slope = (diff(rest, x) + rest * diff(height, x)).replace(DiracDelta, lambda *_: S.Zero)
    return rest, height, slope


def compiled_kernel(attention: Attention, values: Values) -> Any:
    """x -> (c, h, d) as a C function that Numba calls through its address; see ``kernel_parts``.

    Raises:
        ValueError: when a parameter of the kernel has no value, when the kernel has a function that cannot be
            compiled, or when Numba is not installed.
    """
    return _compiled(fixed(attention.kernel, values, frozenset({x})))


@lru_cache(maxsize=32)
def _compiled(kernel: Expr) -> Any:
    numba = require_numba()
    from symslr.simulate.erm.scalar_functions import NAMESPACE

    parts = kernel_parts(kernel)
    scalar = numba.njit(lambdify(x, parts, modules=[NAMESPACE, "math"], cse=True), error_model="numpy")

    def evaluate(at: float) -> tuple[float, float, float]:
        factor, height, slope = scalar(at)
        return float(factor), float(height), float(slope)

    signature = numba.types.UniTuple(numba.float64, 3)(numba.float64)
    try:
        return numba.cfunc(signature, error_model="numpy")(evaluate)
    except numba.core.errors.NumbaError:
        raise ValueError(
            f"kernel {kernel}: it or its derivative {diff(kernel, x)} has no compiled form; expected exp, log, erf,"
            " powers, trigonometric functions, abs, max, sign or step"
        ) from None


def require_numba() -> Any:
    """The module numba.

    Raises:
        MissingExtra: when it is not installed.
    """
    return need("numba", "fitting")
