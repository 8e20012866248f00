"""The reduced proximal objective of many samples with its gradient and Hessian, from the formulas SymPy generated."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from sympy import Add, Expr, Symbol

from symslr.evaluation.finite_sample.samples.points import Array
from symslr.evaluation.numbers.compiled import compile_float
from symslr.model.exponential import constant_value
from symslr.model.symbols import x
from symslr.theory.finite_sample import S_0, SUMS, ProximalProblem, V_v, offset, w, y

G = tuple(Symbol(f"G_{i}", real=True) for i in range(3))
"""In the place of the slopes of the data term in the sums."""


class SampleTerms:
    """Compiled pieces of one attention; the kernel has numbers for its parameters.

    With token sums s = (kappa, kappa w, kappa^2) and data term G(S): force_l = sum_i G_i s_i'(chi_l),
    Hessian_lm = delta_lm sum_i G_i s_i''(chi_l) + sum_ij G_ij s_i'(chi_l) s_j'(chi_m).
    """

    def __init__(self, problem: ProximalProblem) -> None:
        self.normalised = problem.attention.is_normalised
        self.offset = float(problem.attention.offset)
        self.invariant = problem.shift_invariant
        self.rate = _rate(problem.attention.kernel) if self.normalised else None
        self._first = 0 if self.normalised else 1
        active = range(self._first, 3)
        arguments = [*SUMS, y, V_v, offset]
        upper = [problem.curvatures[pair] for pair in combinations_with_replacement(active, 2)]
        self._kernel = compile_float([x], [problem.attention.kernel])
        slopes = [problem.slopes[i] for i in active]
        self._slopes = compile_float(arguments, slopes, keeps_digits=False)
        self._derivatives = compile_float(arguments, [problem.data_term, *slopes, *upper], keeps_digits=False)
        diagonal = Add(*(g * s for g, s in zip(G, problem.token_curvatures, strict=True)))
        force = Add(*(g * s for g, s in zip(G, problem.token_slopes, strict=True)))
        self._force = compile_float([x, w, *G], [force], keeps_digits=False)
        self._token = compile_float(
            [x, w, *G], [force, diagonal, *(problem.token_slopes[i] for i in active)], keeps_digits=False
        )

    def centred(self, keys: Array) -> tuple[Array, Any]:
        """(keys moved so that an exponential kernel cannot overflow, the offset in its new units)."""
        if self.rate is None:
            return keys, self.offset
        top = (self.rate * keys).max(axis=0)
        moved = self.offset * np.exp(-top) if self.offset else 0.0
        return keys - top / self.rate, moved

    def _arguments(self, keys: Array, values: Array, label: Array, width: float) -> tuple[Array, list[Any]]:
        """(centred keys, what G is a function of: S_0, which is 1 where nothing is normalised, S_1, S_2, y, V_v, offset)."""
        centred, moved = self.centred(keys)
        kernel = _shaped(self._kernel(centred)[0], keys)
        total = kernel.sum(axis=0) if self.normalised else 1.0
        sums = total, np.einsum("ln,ln->n", kernel, values), np.einsum("ln,ln->n", kernel, kernel)
        return centred, [*sums, label, width, moved]

    def force(self, keys: Array, values: Array, label: Array, width: float) -> Array:
        """d data/d chi_l, shape (L, n)."""
        centred, arguments = self._arguments(keys, values, label, width)
        return np.asarray(self._force(centred, values, *self._pad(self._slopes(*arguments)))[0])

    def expansion(self, keys: Array, values: Array, label: Array, width: float) -> tuple[Array, Array, Array]:
        """(data term, gradient, Hessian), the last of shape (L, L, n)."""
        centred, arguments = self._arguments(keys, values, label, width)
        found = self._derivatives(*arguments)
        active = 3 - self._first
        data, slopes = np.asarray(found[0]), self._pad(found[1 : active + 1])
        force, diagonal, *rows = (_shaped(part, keys) for part in self._token(centred, values, *slopes))
        mixed = [np.zeros_like(row) for row in rows]
        for (i, j), second in zip(combinations_with_replacement(range(active), 2), found[active + 1 :], strict=True):
            mixed[i] += second * rows[j]
            if i != j:
                mixed[j] += second * rows[i]
        hessian = rows[0][:, None] * mixed[0]
        for row, mix in zip(rows[1:], mixed[1:]):
            hessian += row[:, None] * mix
        np.einsum("lln->ln", hessian)[...] += diagonal
        return data, np.array(force), hessian

    def activation(self, keys: Array) -> Array:
        """sigma_l, shape (L, n)."""
        centred, moved = self.centred(keys)
        kernel = _shaped(self._kernel(centred)[0], keys)
        return kernel / (moved + kernel.sum(axis=0)) if self.normalised else np.asarray(kernel)

    def _pad(self, slopes: list[Any]) -> list[Any]:
        return [0.0] * self._first + list(slopes)


def _shaped(part: Any, like: Array) -> Array:
    """A formula's value at every token; one without a variable in it is a single number."""
    return part if np.shape(part) == like.shape else np.broadcast_to(part, like.shape)


def _rate(kernel: Expr) -> float | None:
    """beta where kappa = c exp(beta x)."""
    rate = constant_value(kernel.diff(x) / kernel)
    return None if rate is None or S_0 in rate.free_symbols else float(rate)
