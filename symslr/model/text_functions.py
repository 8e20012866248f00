"""The functions a formula may call, and the SymPy expression each one stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class TextFunction:
    """A name's meaning: build(limits, *arguments), with so many arguments."""

    build: Callable[..., Expr]
    arity: int = 1


def _smooth(function: Callable[[Expr], Expr]) -> TextFunction:
    return TextFunction(lambda limits, x: function(limits.argument(x)))


def _elu(limits: Limits, x: Expr) -> Expr:
    return Piecewise((limits.real(x), x > 0), (limits.exp(x) - 1, True))


_ABS = TextFunction(lambda limits, x: Abs(limits.real(x)))
_STEP = TextFunction(lambda limits, x: Heaviside(limits.real(x)))

FUNCTIONS = {
    "exp": TextFunction(lambda limits, x: limits.exp(x)),
    "log": TextFunction(lambda limits, x: log(x)),
    "sqrt": TextFunction(lambda limits, x: limits.power(x, S.Half)),
    "erf": _smooth(erf),
    "erfc": _smooth(erfc),
    "sin": _smooth(sin),
    "cos": _smooth(cos),
    "sinh": _smooth(sinh),
    "cosh": _smooth(cosh),
    "tanh": _smooth(tanh),
    "atan": _smooth(atan),
    "gamma": TextFunction(lambda limits, x: gamma(limits.argument(x, LARGEST_GAMMA))),
    "abs": _ABS,
    "Abs": _ABS,
    "sign": TextFunction(lambda limits, x: sign(limits.real(x))),
    "step": _STEP,
    "Heaviside": _STEP,
    "max": TextFunction(lambda limits, x, y: Max(limits.real(x), limits.real(y)), arity=2),
    "min": TextFunction(lambda limits, x, y: Min(limits.real(x), limits.real(y)), arity=2),
    "relu": TextFunction(lambda limits, x: Max(limits.real(x), 0)),
    "elu": TextFunction(_elu),
    "gelu": TextFunction(lambda limits, x: x * (1 + erf(limits.argument(x) / sqrt(2))) / 2),
    "sigmoid": TextFunction(lambda limits, x: 1 / (1 + limits.exp(-x))),
    "softplus": TextFunction(lambda limits, x: log(1 + limits.exp(x))),
}
"""relu = max(x, 0), sigmoid = 1/(1 + e^-x), softplus = log(1 + e^x), gelu = x (1 + erf(x/sqrt 2))/2,
elu = x for x > 0 and e^x - 1 below, step = Heaviside with the value 1/2 at 0."""
