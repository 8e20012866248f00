"""Homogeneous kernels, such as |x|^p: their attention does not depend on the scale of the key."""

from __future__ import annotations

from sympy import Abs, Add, Expr, Heaviside, Max, Min, Mul, Pow, S, sign

from symslr.model.symbols import x


def degree(kernel: Expr) -> Expr | None:
    """p with kernel(s x) = s^p kernel(x) for every s > 0, read off the structure; None where it shows no such number."""
    if x not in kernel.free_symbols:
        return S.Zero
    if kernel == x:
        return S.One
    if isinstance(kernel, Mul):
        parts = [degree(part) for part in kernel.args]
        return None if None in parts else Add(*parts)
    if isinstance(kernel, Pow) and x not in kernel.exp.free_symbols:
        inner = degree(kernel.base)
        return None if inner is None else inner * kernel.exp
    if isinstance(kernel, Abs):
        return degree(kernel.args[0])
    if isinstance(kernel, (Add, Max, Min)):
        parts = [degree(part) for part in kernel.args if part != 0]
        return parts[0] if len(set(parts)) == 1 else None
    if isinstance(kernel, (sign, Heaviside)) and degree(kernel.args[0]) is not None:
        return S.Zero
    return None


def has_parity(kernel: Expr) -> bool:
    """Whether kernel(-x) = +-kernel(x)."""
    mirrored = kernel.subs(x, -x)
    return bool(mirrored in (kernel, -kernel))
