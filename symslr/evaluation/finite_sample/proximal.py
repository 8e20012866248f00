"""The proximal problem of many samples at once.

For any kernel: Newton's method on the scores of the tokens, from several starts. For linear attention: one monotone scalar equation
per sample, at any length.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Add, Expr, Symbol

from symslr.evaluation.finite_sample.fields import Array
from symslr.evaluation.numbers.compiled import compile_float
from symslr.evaluation.numbers.newton import newton, newton_step
from symslr.model.exponential import constant_value
from symslr.model.symbols import x
from symslr.theory.finite_sample import RESIDUAL, SUMS, UU, UW, WW, ProximalProblem, V_a, V_v, dual_slope, offset, w, y

G = tuple(Symbol(f"G_{i}", real=True) for i in range(3))
"""Placeholders for the derivatives of the data term in the three token sums."""


class ProximalTerms:
    """Compiled derivatives of the proximal problem of one attention; the kernel has numbers for its parameters.

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
        """(keys shifted so that an exponential kernel cannot overflow, the offset divided by the same factor)."""
        if self.rate is None:
            return keys, self.offset
        top = (self.rate * keys).max(axis=0)
        with np.errstate(over="ignore"):  # beside an offset that large no weight is left
            moved = self.offset * np.exp(-top) if self.offset else 0.0
        return keys - top / self.rate, moved

    def _arguments(self, keys: Array, values: Array, label: Array, width: float) -> tuple[Array, list[Any]]:
        """(centred keys, arguments of G: S_0 (1 without a normaliser), S_1, S_2, y, V_v, offset)."""
        centred, moved = self.centred(keys)
        kernel = _per_token(self._kernel(centred)[0], keys)
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
        force, diagonal, *rows = (_per_token(part, keys) for part in self._token(centred, values, *slopes))
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
        kernel = _per_token(self._kernel(centred)[0], keys)
        return kernel / (moved + kernel.sum(axis=0)) if self.normalised else np.asarray(kernel)

    def _pad(self, slopes: list[Any]) -> list[Any]:
        return [0.0] * self._first + list(slopes)


def _per_token(part: Any, like: Array) -> Array:
    """A compiled value broadcast to the shape of ``like``: a formula without variables gives a single number."""
    return part if np.shape(part) == like.shape else np.broadcast_to(part, like.shape)


def _rate(kernel: Expr) -> float | None:
    """beta where kappa = c exp(beta x)."""
    rate = constant_value(kernel.diff(x) / kernel)
    return None if rate is None or SUMS[0] in rate.free_symbols else float(rate)


BLOCK = 2048
"""Samples treated together: their arrays stay in the cache."""
ROUGH_DECREMENT = 1e-3
"""The same tolerance while several starts are compared."""
SAME_MINIMUM = 0.05
"""Minima whose keys differ by no more count as one: distinct ones differ by the scale of the kernel, of order 1."""
SMALLEST_BALL = 0.2
"""A better minimum lies within sqrt(2 V_k F) of the field; where that is less than this, one start is enough."""


@dataclass(frozen=True)
class Samples:
    """Fields and labels of n samples, and the responses.

    Attributes:
        omega_chi, omega_z: fields of keys and of values, shape (L, n).
        label: y, shape (n,).
        V_k, V_v: responses: widths of the quadratic terms of the proximal problem.
    """

    omega_chi: Array
    omega_z: Array
    label: Array
    V_k: float
    V_v: float

    def take(self, columns: NDArray[np.intp] | slice) -> Samples:
        """Some of the samples."""
        return Samples(self.omega_chi[:, columns], self.omega_z[:, columns], self.label[columns], self.V_k, self.V_v)


def minimise(
    terms: ProximalTerms, samples: Samples, start: Array | None = None, multistart: bool = True
) -> tuple[Array, Array]:
    """Keys chi, shape (L, n), and value F, shape (n,), of the proximal minimum of every sample.

    F = |chi - omega_chi|^2/(2 V_k) + (y - sigma.omega_z)^2/(2(1 + V_v |sigma|^2)).

    Args:
        start: keys to start from, such as the solution at nearby order parameters; the fields by default.
        multistart: also start at the fields and from points towards every token, within the ball that contains a lower minimum.
    """
    count = samples.omega_chi.shape[1]
    keys, best = np.empty_like(samples.omega_chi), np.empty(count)
    for low in range(0, count, BLOCK):
        part = slice(low, min(low + BLOCK, count))
        block = samples.take(part)
        at = block.omega_chi if start is None else start[:, part]
        keys[:, part], best[part] = _multistart(terms, block, at, multistart, start is not None)
    return keys, best


@np.errstate(all="ignore")  # a step that overflows is rejected by its value
def _multistart(
    terms: ProximalTerms, block: Samples, start: Array, multistart: bool, warm: bool
) -> tuple[Array, Array]:
    descent = partial(_descent, terms)
    keys, best = newton(descent, block, start)
    far = np.flatnonzero(2 * block.V_k * best > SMALLEST_BALL**2)
    if not multistart or not len(far):
        return keys, best
    left = block.take(far)
    others = [left.omega_chi] if warm else []
    # 0.7 of the radius: at the edge of the ball the quadratic term alone equals F
    radius = np.minimum(REACH, 0.7 * np.sqrt(2 * block.V_k * best[far]))
    others += [left.omega_chi + shift[:, None] * radius for shift in _directions(len(start), terms.invariant)]
    if not others:  # a single token, where sigma depends on differences of keys only: no other start
        return keys, best
    # all starts at once, with a rough tolerance, to see which of them lead to another and lower minimum
    columns, starts = np.tile(far, len(others)), np.hstack(others)
    near, value = newton(descent, block.take(columns), starts, ROUGH_DECREMENT)
    apart = np.abs(near - keys[:, columns]).max(axis=0) > SAME_MINIMUM
    promising = np.flatnonzero(apart & (value < best[columns] + 4 * ROUGH_DECREMENT * (1 + best[columns])))
    if len(promising):
        columns = columns[promising]
        found, value = newton(descent, block.take(columns), near[:, promising])
        # descending order of F: the lowest minimum of a sample is written last
        order = np.argsort(-value, kind="stable")
        better = order[value[order] < best[columns[order]] - 1e-12 * (1 + best[columns[order]])]
        keys[:, columns[better]], best[columns[better]] = found[:, better], value[better]
    return keys, best


REACH = 4.0
"""Largest distance of a start from the field: a softmax of three tokens is then within 2 per cent of a vertex of the simplex."""


def _directions(length: int, invariant: bool) -> list[Array]:
    """Unit vectors (L,) from the field towards further starts.

    Where sigma depends on differences of keys: towards each token, with mean 0. Elsewhere: towards and away from each token and
    all of them.
    """
    towards = np.eye(length) - (1 / length if invariant else 0)
    if length == 1 and invariant:
        return []
    unit = [row / np.linalg.norm(row) for row in towards]
    return unit if invariant else [s * row for row in (*unit, np.full(length, length**-0.5)) for s in (1, -1)]


LONGEST_STEP = 5.0
"""Largest move of a key in one step: beyond, the quadratic model of an exponential is useless."""


def _descent(terms: ProximalTerms, samples: Samples, keys: Array) -> tuple[Array, Array, Array]:
    """(F at the keys, step, slope of F along it): Newton's where the Hessian is safely positive, Gauss-Newton's elsewhere.

    Where sigma depends on differences of keys only, the Newton step is computed in L - 1 differences.
    """
    V_k, moved = samples.V_k, keys - samples.omega_chi
    data, data_slope, hessian = terms.expansion(keys, samples.omega_z, samples.label, samples.V_v)
    np.einsum("lln->ln", hessian)[...] += 1 / V_k
    value, gradient = data + np.einsum("ln,ln->n", moved, moved) / (2 * V_k), data_slope + moved / V_k
    if terms.invariant and len(gradient) > 1:
        step, pivot = _in_differences(hessian, gradient)
    else:
        step, pivot = newton_step(hessian, gradient)
    convex = pivot > LEAST_PIVOT / V_k  # also False where an overflow left nan
    if not convex.all():
        step = np.where(convex, step, _gauss_newton(gradient, data, data_slope, V_k))
    longest = np.abs(step).max(axis=0)
    step *= np.minimum(1.0, LONGEST_STEP / np.maximum(longest, 1e-300))
    return value, step, np.einsum("ln,ln->n", gradient, step)


LEAST_PIVOT = 1e-3
"""Smallest pivot of the Hessian, in units of 1/V_k, for which Newton's step is used."""


def _gauss_newton(gradient: Array, data: Array, data_slope: Array, V_k: float) -> Array:
    """-(I/V_k + grad rho grad rho^T)^-1 gradient, where the data term is rho^2/2: always a descent direction."""
    along = np.einsum("ln,ln->n", data_slope, gradient)
    norm = np.einsum("ln,ln->n", data_slope, data_slope)
    return -V_k * (gradient - data_slope * (along / (2 * data / V_k + norm + 1e-300)))


def _in_differences(hessian: Array, gradient: Array) -> tuple[Array, Array]:
    """(Newton step with sum 0, smallest pivot): at the optimum the mean of the keys is that of the fields."""
    edge = hessian[-1, :-1]
    reduced = hessian[:-1, :-1] - edge[:, None]
    reduced += hessian[-1, -1] - edge
    free, pivot = newton_step(reduced, gradient[:-1] - gradient[-1])
    return np.vstack([free, -free.sum(axis=0)]), pivot


MOST_HALVINGS = 200
"""Most steps of Newton's method with a bracket; bisection alone takes fifty."""


@cache
def _dual() -> Any:
    slope = dual_slope()
    return compile_float([RESIDUAL, UU, UW, WW, y, V_a, V_v], [slope, slope.diff(RESIDUAL)])


def dual_residual(uu: Array, uw: Array, ww: Array, label: Array, width_a: float, width_v: float) -> Array:
    """The residual rho = y - a.z at the global minimum of |a-u|^2/(2 V_a) + |z-w|^2/(2 V_v) + (y - a.z)^2/2.

    The dual function of rho is concave on rho^2 V_a V_v < 1; the zero of its slope is found by Newton's method safeguarded by a
    bracket, which always converges.

    Args:
        uu, uw, ww: inner products of the fields u and w over the tokens.
    """
    slope = _dual()
    edge = 1 / np.sqrt(width_a * width_v)
    low, high = np.full_like(label, -edge), np.full_like(label, edge)
    rho = np.clip((label - uw) / (1 + width_a * ww + width_v * uu), 0.9 * low, 0.9 * high)
    for _ in range(MOST_HALVINGS):
        value, derivative = slope(rho, uu, uw, ww, label, width_a, width_v)
        low, high = np.where(value > 0, rho, low), np.where(value > 0, high, rho)
        step = value / derivative
        # near the edge rounding of the slope exceeds the tolerance of a step: there the width of the bracket decides
        settled = (np.abs(step) <= 1e-14 * (1 + np.abs(rho))) | (high - low <= 1e-15 * edge)
        newton = rho - step
        inside = (newton > low) & (newton < high)
        rho = np.where(settled, rho, np.where(inside, newton, (low + high) / 2))
        if np.all(settled):
            break
    return rho
