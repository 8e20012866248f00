"""The functions a formula may call, and the SymPy expression each one stands for."""

from __future__ import annotations

from collections.abc import Callable

from sympy import (
    Abs,
    Expr,
    Heaviside,
    Max,
    Min,
    Piecewise,
    S,
    atan,
    cos,
    cosh,
    erf,
    erfc,
    gamma,
    log,
    sign,
    sin,
    sinh,
    sqrt,
    tanh,
)

from symslr.model.text_limits import Limits

LARGEST_GAMMA = 64

Build = Callable[..., Expr]
"""build(limits, *arguments), with as many arguments as ``text_tree.ARITY`` says."""


def _smooth(function: Callable[[Expr], Expr]) -> Build:
    return lambda limits, x: function(limits.argument(x))


def _elu(limits: Limits, x: Expr) -> Expr:
    return Piecewise((limits.real(x), x > 0), (limits.exp(x) - 1, True))


def _abs(limits: Limits, x: Expr) -> Expr:
    return Abs(limits.real(x))


def _step(limits: Limits, x: Expr) -> Expr:
    return Heaviside(limits.real(x))


FUNCTIONS: dict[str, Build] = {
    "exp": lambda limits, x: limits.exp(x),
    "log": lambda limits, x: log(x),
    "sqrt": lambda limits, x: limits.power(x, S.Half),
    "erf": _smooth(erf),
    "erfc": _smooth(erfc),
    "sin": _smooth(sin),
    "cos": _smooth(cos),
    "sinh": _smooth(sinh),
    "cosh": _smooth(cosh),
    "tanh": _smooth(tanh),
    "atan": _smooth(atan),
    "gamma": lambda limits, x: gamma(limits.argument(x, LARGEST_GAMMA)),
    "abs": _abs,
    "Abs": _abs,
    "sign": lambda limits, x: sign(limits.real(x)),
    "step": _step,
    "Heaviside": _step,
    "max": lambda limits, x, y: Max(limits.real(x), limits.real(y)),
    "min": lambda limits, x, y: Min(limits.real(x), limits.real(y)),
    "relu": lambda limits, x: Max(limits.real(x), 0),
    "elu": _elu,
    "gelu": lambda limits, x: x * (1 + erf(limits.argument(x) / sqrt(2))) / 2,
    "sigmoid": lambda limits, x: 1 / (1 + limits.exp(-x)),
    "softplus": lambda limits, x: log(1 + limits.exp(x)),
}
"""relu = max(x, 0), sigmoid = 1/(1 + e^-x), softplus = log(1 + e^x), gelu = x (1 + erf(x/sqrt 2))/2,
elu = x for x > 0 and e^x - 1 below, step = Heaviside with the value 1/2 at 0."""
