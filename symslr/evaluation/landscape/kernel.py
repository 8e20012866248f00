"""A kernel as a function of an array of scores: its values, and its Taylor coefficients where it is smooth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Dummy, Expr, Symbol, exp, together

from symslr.evaluation.admission.inputs import numbers_of
from symslr.evaluation.numbers.compiled import compile_float
from symslr.model.attention import Attention
from symslr.model.breakpoints import CUT
from symslr.model.catalogue import kernel_attention_of
from symslr.model.symbols import x

Array = NDArray[np.float64]

ORDER = 4
"""Highest derivative of a kernel: two for a second moment, two more for its derivative in the squared scale."""

LARGEST_LOG_KERNEL = 230.0
"""Largest log of a kernel value: its cube, e^690, is within float64, and so is the square of a Laplace variable e^-345."""


@dataclass(frozen=True)
class Kernel:
    """kappa and its derivatives in the kernel's own parameters, in the order of their names.

    Attributes:
        attention: the attention.
        parameters: the free parameters c of the kernel.
        values: function of (scores, *parameters): kappa, and dkappa/dc for each parameter c.
        taylor: the same for a smooth kernel, each with its Taylor coefficients 0 to ``ORDER`` in the score.
        mirrored: ``taylor`` written in exp(-x), finite where exp(x) overflows.
        offset: of the normaliser.
        sharpness: density of mesh points in the scores, relative to that for exp.
    """

    attention: Attention
    parameters: tuple[Symbol, ...]
    values: Any
    taylor: Any
    mirrored: Any
    offset: float
    sharpness: float = 1.0

    @classmethod
    def of(cls, attention: Attention, values: Mapping[str, object]) -> Kernel:
        """The kernel of an attention: parameters without ``bounds``, and the offset, take numbers from ``values``, others stay
        free.

        Raises:
            ValueError: for a missing value.
        """
        attention = kernel_attention_of(attention)
        fixed = (attention.kernel.free_symbols | attention.offset.free_symbols) - {x} - set(attention.bounds)
        numbers = numbers_of(fixed, values, f"attention {attention.name}")
        kernel = attention.kernel.subs(numbers)
        free = tuple(sorted(attention.bounds, key=str))
        rows: list[Expr] = [kernel, *(kernel.diff(s) for s in free)]
        taylor = [row.diff(x, n) / factorial(n) for row in rows for n in range(ORDER + 1)] if _smooth(kernel) else rows
        plain, jets, mirrored = (compile_float((x, *free), e) for e in (rows, taylor, [_mirrored(e) for e in taylor]))
        return cls(attention, free, plain, jets, mirrored, float(attention.offset.subs(numbers)))

    @property
    def is_normalised(self) -> bool:
        return self.attention.is_normalised

    @property
    def bounds(self) -> Array:
        """(low, high) of each parameter, shape (parameters, 2)."""
        return np.array([list(map(float, self.attention.bounds[s])) for s in self.parameters]).reshape(-1, 2)

    @property
    def is_smooth(self) -> bool:
        """Whether the kernel has no breakpoints, so that ``jets`` can be used."""
        return _smooth(self.attention.kernel)

    @property
    def is_polynomial(self) -> bool:
        """Whether sigma is a polynomial of its score: a mesh that integrates N(0, 1) then suffices."""
        return not self.is_normalised and bool(self.attention.kernel.is_polynomial(x))

    def at(self, scores: Array, own: Array) -> Array:
        """kappa and its derivatives in the parameters ``own``, shape (1 + parameters, *scores.shape)."""
        with np.errstate(all="ignore"):
            return _stacked(self.values(scores, *own), scores)

    def jets(self, scores: Array, own: Array) -> Array:
        """Taylor coefficients of the same in the score, shape (1 + parameters, ORDER + 1, *scores.shape)."""
        with np.errstate(all="ignore"):
            found = _stacked(self.taylor(scores, *own), scores)
            if not np.all(np.isfinite(found)):
                found = np.where(np.isfinite(found), found, _stacked(self.mirrored(scores, *own), scores))
        return found.reshape(-1, ORDER + 1, *scores.shape)

    def size(self, kappa: Array) -> float:
        """The number by which kernel and offset are divided so that cubes do not overflow; sigma does not change. 1 where
        unneeded."""
        top = float(np.max(kappa))
        return float(np.exp(max(0.0, np.log(top) - LARGEST_LOG_KERNEL))) if self.is_normalised and top > 0 else 1.0


def _smooth(kernel: Expr) -> bool:
    return not kernel.has(*CUT)


def _mirrored(expr: Expr) -> Expr:
    small = Dummy("small", positive=True)
    return together(expr.subs(exp(x), 1 / small)).subs(small, exp(-x))


def _stacked(parts: list[Any], scores: Array) -> Array:
    return np.stack([np.broadcast_to(np.asarray(part, dtype=float), scores.shape) for part in parts])
