"""A label without noise down to what it tells: invertible functions are taken off, even ones leave a sign open."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Abs, Add, Expr, Heaviside, Mul, Pow, atan, cosh, erf, exp, log, sign, sinh, tanh

INVERTIBLE = (tanh, sinh, atan, erf, exp, log)
EVEN = (Abs, cosh)
JUMPS = (sign, Heaviside)


@dataclass(frozen=True)
class Told:
    """What one output without noise tells of ``core``.

    Attributes:
        core: a formula in the fields.
        is_sign: whether it tells the sign of the core alone.
        is_even: whether it tells the core up to its sign.
    """

    core: Expr
    is_sign: bool = False
    is_even: bool = False


def told(label: Expr) -> Told:
    """What is known of the fields where the label is: an invertible function of the label tells the same."""
    core = label
    while True:
        if isinstance(core, Add | Mul):
            rest = core.as_independent(*core.free_symbols, as_Add=isinstance(core, Add))[1]
            if rest == core:
                return Told(core)
            core = rest
        elif isinstance(core, INVERTIBLE):
            core = core.args[0]
        elif isinstance(core, JUMPS):
            return Told(core.args[0], is_sign=True)
        elif isinstance(core, EVEN) or (isinstance(core, Pow) and core.exp.is_even and core.exp.is_positive):
            return Told(core.args[0], is_even=True)
        elif isinstance(core, Pow) and (core.base.is_positive or (core.exp.is_odd and core.exp.is_positive)):
            if core.exp.free_symbols:
                return Told(core)
            core = core.base
        else:
            return Told(core)
