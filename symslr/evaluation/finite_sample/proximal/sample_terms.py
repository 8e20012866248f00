"""The reduced proximal objective of many samples with its gradient and Hessian, from the formulas SymPy generated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from sympy import Add, Expr, Symbol, simplify

from symslr.evaluation.finite_sample.samples.points import Array
from symslr.evaluation.numbers.compiled import compile_float
from symslr.model.symbols import x
from symslr.theory.finite_sample import S_0, SUMS, ProximalProblem, V_v, offset, w, y

G = tuple(Symbol(f"G_{i}", real=True) for i in range(3))


@dataclass(frozen=True)
class Sums:
    """S_i of every sample (S_0 is 1 where nothing is normalised), and the offset in the units of the kernel."""

    totals: tuple[Any, Array, Array]
    offset: Any


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
        self._slopes = compile_float(arguments, slopes)
        self._derivatives = compile_float(arguments, [problem.data_term, *slopes, *upper])
        diagonal = Add(*(g * s for g, s in zip(G, problem.token_curvatures, strict=True)))
        force = Add(*(g * s for g, s in zip(G, problem.token_slopes, strict=True)))
        self._force = compile_float([x, w, *G], [force])
        self._token = compile_float([x, w, *G], [force, diagonal, *(problem.token_slopes[i] for i in active)])

    def centred(self, keys: Array) -> tuple[Array, Any]:
        """(keys moved so that an exponential kernel cannot overflow, the offset in its new units)."""
        if self.rate is None:
            return keys, self.offset
        top = (self.rate * keys).max(axis=0)
        moved = self.offset * np.exp(-top) if self.offset else 0.0
        return keys - top / self.rate, moved

    def _sums(self, keys: Array, values: Array) -> tuple[Array, Sums]:
        centred, moved = self.centred(keys)
        kernel = np.broadcast_to(self._kernel(centred)[0], centred.shape)
        total = kernel.sum(axis=0) if self.normalised else 1.0
        totals = (total, np.einsum("ln,ln->n", kernel, values), np.einsum("ln,ln->n", kernel, kernel))
        return centred, Sums(totals, moved)

    def force(self, keys: Array, values: Array, label: Array, width: float) -> Array:
        """d data/d chi_l, shape (L, n)."""
        centred, sums = self._sums(keys, values)
        slopes = self._pad(self._slopes(*sums.totals, label, width, sums.offset))
        return np.asarray(self._force(centred, values, *slopes)[0])

    def expansion(self, keys: Array, values: Array, label: Array, width: float) -> tuple[Array, Array, Array]:
        """(data term, gradient, Hessian), the last of shape (L, L, n)."""
        centred, sums = self._sums(keys, values)
        found = self._derivatives(*sums.totals, label, width, sums.offset)
        active = 3 - self._first
        data, slopes = np.asarray(found[0]), self._pad(found[1 : active + 1])
        curvature = dict(zip(combinations_with_replacement(range(active), 2), found[active + 1 :], strict=True))
        force, diagonal, *rows = (np.broadcast_to(part, keys.shape) for part in self._token(centred, values, *slopes))
        mixed = [
            reduce(np.add, (curvature[min(i, j), max(i, j)] * row for j, row in enumerate(rows))) for i in range(active)
        ]
        hessian = rows[0][:, None] * mixed[0]
        for row, mix in zip(rows[1:], mixed[1:]):
            hessian += row[:, None] * mix
        np.einsum("lln->ln", hessian)[...] += diagonal
        return data, np.array(force), hessian

    def activation(self, keys: Array) -> Array:
        """sigma_l, shape (L, n)."""
        centred, moved = self.centred(keys)
        kernel = np.broadcast_to(self._kernel(centred)[0], centred.shape)
        return kernel / (moved + kernel.sum(axis=0)) if self.normalised else np.asarray(kernel)

    def _pad(self, slopes: list[Any]) -> list[Any]:
        return [0.0] * self._first + list(slopes)


def _rate(kernel: Expr) -> float | None:
    """beta where kappa = c exp(beta x)."""
    rate = simplify(kernel.diff(x) / kernel)
    return None if rate.has(x) or S_0 in rate.free_symbols else float(rate)
