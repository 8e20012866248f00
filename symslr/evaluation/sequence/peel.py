"""A label without noise down to what it tells: invertible functions are taken off, even ones leave a sign open."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Abs, Add, Dummy, Expr, Heaviside, Mul, Pow, atan, cosh, erf, exp, log, sign, sinh, tanh

INVERTIBLE = (tanh, sinh, atan, erf, exp, log)
EVEN = (Abs, cosh)
JUMPS = (sign, Heaviside)


CORE = Dummy("core", real=True)


@dataclass(frozen=True)
class Told:
    """What one output without noise tells of ``core``.

    Attributes:
        core: a formula in the fields.
        outer: the label as a function of it, in ``CORE``.
        is_sign: whether it tells the sign of the core alone.
        is_even: whether it tells the core up to its sign.
    """

    core: Expr
    outer: Expr = CORE
    is_sign: bool = False
    is_even: bool = False


def told(label: Expr) -> Told:
    """What is known of the fields where the label is: an invertible function of the label tells the same."""
    core, outer = label, CORE
    while True:
        taken = core
        if isinstance(core, Add | Mul):
            beside, core = core.as_independent(*core.free_symbols, as_Add=isinstance(core, Add))
            if core == taken:
                return Told(core, outer)
            outer = outer.xreplace({CORE: taken.func(beside, CORE)})
            continue
        elif isinstance(core, INVERTIBLE):
            core = core.args[0]
        elif isinstance(core, JUMPS):
            return Told(core.args[0], outer.xreplace({CORE: core.func(CORE, *core.args[1:])}), is_sign=True)
        elif isinstance(core, EVEN) or (isinstance(core, Pow) and core.exp.is_even and core.exp.is_positive):
            return Told(core.args[0], outer.xreplace({CORE: core.func(CORE, *core.args[1:])}), is_even=True)
        elif isinstance(core, Pow) and (core.base.is_positive or (core.exp.is_odd and core.exp.is_positive)):
            if core.exp.free_symbols:
                return Told(core, outer)
            core = core.base
        else:
            return Told(core, outer)
        outer = outer.xreplace({CORE: taken.func(CORE, *taken.args[1:])})


def is_known_up_to_sign(own: Told) -> bool:
    """Whether a label that is known up to its sign tells its core up to the sign: an odd function does, or an even one >= 0."""
    mirrored = own.outer.xreplace({CORE: -CORE})
    return bool(own.is_even and own.outer.is_nonnegative) or (own.outer + mirrored).expand() == 0
