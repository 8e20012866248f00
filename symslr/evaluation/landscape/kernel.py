"""A kernel and its derivatives as functions of an array of scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import Expr, Symbol

from symslr.evaluation.compiled import compile_float
from symslr.evaluation.landscape.dual import Array
from symslr.model.attention import Attention
from symslr.model.exact import exact
from symslr.model.symbols import x

HIGHEST = 230.0
"""log of the largest kernel: its cube is a float64, and so is the square of a Laplace variable 575 below it."""


@dataclass(frozen=True)
class Kernel:
    """kappa, kappa' and its derivatives in the kernel's own parameters, in the order of their names."""

    attention: Attention
    parameters: tuple[Symbol, ...]
    functions: Any
    offset: float

    @classmethod
    def of(cls, attention: Attention, values: Mapping[str, object]) -> Kernel:
        """Parameters without ``bounds`` and the offset take their numbers from ``values``; the others stay free.

        Raises:
            ValueError: for a missing value.
        """
        fixed = (attention.kernel.free_symbols | attention.offset.free_symbols) - {x} - set(attention.bounds)
        missing = sorted(s.name for s in fixed if s.name not in values)
        if missing:
            raise ValueError(f"attention {attention.name}: no value for {missing[0]}; give one in values")
        numbers = {s: exact(values[s.name], s.name) for s in fixed}
        kernel = attention.kernel.subs(numbers)
        free = tuple(sorted(attention.bounds, key=str))
        derivatives: list[Expr] = [kernel, kernel.diff(x), *(kernel.diff(s) for s in free)]
        return cls(attention, free, compile_float((x, *free), derivatives), float(attention.offset.subs(numbers)))

    @property
    def is_normalised(self) -> bool:
        return self.attention.is_normalised

    def scaled(self, *roles: list[Array]) -> float:
        """Divide kernels by one number, in place, so that their cubes do not overflow; the number, which sigma does not see.

        The offset has to be divided by it too.
        """
        top = max(float(np.max(role[0])) for role in roles)
        size = float(np.exp(max(0.0, np.log(top) - HIGHEST))) if self.is_normalised and top > 0 else 1.0
        for role in roles:
            role[:] = [part / size for part in role]
        return size

    @property
    def is_polynomial(self) -> bool:
        """Whether sigma is a polynomial of its score: any mesh that integrates N(0, 1) will do."""
        return not self.is_normalised and bool(self.attention.kernel.is_polynomial(x))

    def at(self, scores: Array, own: Array) -> list[Array]:
        """kappa, kappa', and the derivatives in the parameters ``own``, each shaped like the scores."""
        with np.errstate(all="ignore"):
            return [np.broadcast_to(np.asarray(f, dtype=float), scores.shape) for f in self.functions(scores, *own)]
