"""The landscape of one attention on one task: risk, gradient and Hessian at any order parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Abs, Add, Expr, S, Sum, Symbol, cancel, expand, lambdify, sqrt

from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules import CameronMartin
from symslr.algebra.rules.gaussian.cameron_martin import gaussian_shift
from symslr.evaluation.admission.inputs import lengths_of, numbers_of, values_by_name
from symslr.evaluation.landscape.kernel import Array, Kernel
from symslr.evaluation.landscape.moments import MOMENTS
from symslr.evaluation.landscape.order import NAMES, OrderParameters, in_coordinates, order_of
from symslr.evaluation.landscape.tokens import Lengths, Weight, sharpened, shifted_moments, weighted_moments
from symslr.evaluation.routes import WEIGHT, check
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.expression.scored import ScoredActivation
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax
from symslr.model.form import in_brief
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import ORDER_PARAMETERS, Delta, L, chi, epsilon, l, m_kk, nu, q_kk, x, z
from symslr.model.task import Task
from symslr.parallel.blas import on_one_blas_thread
from symslr.theory.landscape import LandscapeRisk, landscape_chain

if TYPE_CHECKING:
    from symslr.evaluation.landscape.flow import Flow
    from symslr.evaluation.landscape.minima import LocalMinimum

SHIFT = Symbol("s", real=True)
"""s of the weight exp(s chi_eps - s^2/2); s^2 is nu for spiked-SLR."""

NAMED = tuple(Symbol(name, real=True) for name in MOMENTS)


@cache
def compiled_risk(*, shifted: bool) -> Any:
    """(order parameters, moments, Delta, s) -> E, the sum of the absolute values of its terms, dE/d(order parameter) at fixed
    moments, dE/d(moment).
    """
    risk = polynomial(shifted=shifted)
    slopes = [risk.diff(symbol) for symbol in (*ORDER_PARAMETERS, *NAMED)]
    size = sum((Abs(term) for term in Add.make_args(expand(risk))), S.Zero)
    numbers = [*ORDER_PARAMETERS, *NAMED, Delta, SHIFT]
    return lambdify(numbers, [risk, size, *slopes], modules="math", cse=True)


@cache
def polynomial(*, shifted: bool) -> Expr:
    """E as a polynomial in overlaps, moments, Delta and s, compiled from the end of its derivation.

    ``landscape_chain`` ends in expectations of products of sigma, chi and, unless the weight is a shift, z. Each is expressed in
    ``MOMENTS`` by Stein's lemma, which removes every factor 1/s and 1/q_kk.

    Args:
        shifted: whether the weight is a shift of the relevant token's Gaussian; moments are then taken about that shift.
    """
    derived = landscape_chain(SpikedSLR() if shifted else MaxSLR(), softmax).result
    nodes = derived.atoms(SequenceExpectation)
    sigma = next(iter(derived.atoms(Activation if shifted else ScoredActivation))).at(epsilon)
    meant = _about_the_shift(sigma) if shifted else _beside_the_weight(sigma)
    written = derived.xreplace({node: meant[node.body] for node in nodes}).subs(sqrt(nu), SHIFT).subs(nu, SHIFT**2)
    collected = expand(written).as_coefficients_dict(*NAMED, OTHER)
    return sum((cancel(factor) * moment for moment, factor in collected.items()), S.Zero)


OTHER = Symbol("E_X", real=True)
"""E sum_l sigma_l x_l, which cancels in the derived risk."""


def _about_the_shift(sigma: Activation) -> dict[Expr, Expr]:
    """The expectations of the derived risk in terms of ``NAMED``: chi = x + b for the relevant token, scores sqrt(q_kk) chi_l."""
    h, n, d1, e1, d2, e2, p = NAMED
    root, b = sqrt(q_kk), SHIFT * m_kk / sqrt(q_kk)
    total = Sum(sigma.at(l) * chi[l], (l, 1, L))
    return {
        sigma: h,
        Sum(sigma.at(l) ** 2, (l, 1, L)): n,
        sigma**2: p,
        total: OTHER + b * h,
        sigma * chi[epsilon]: root * e1 + b * h,
        sigma * total: root * e2 + b * p,
        chi[epsilon] * total: h + q_kk * d1 + b * OTHER + b * root * e1 + b**2 * h,
        total**2: n + q_kk * d2 + 2 * b * root * e2 + b**2 * p,
    }


def _beside_the_weight(sigma: ScoredActivation) -> dict[Expr, Expr]:
    """The expectations of the derived risk in terms of ``NAMED``: the weight depends on chi, and z = rho is independent noise."""
    h, n, d1, e1, d2, e2, p = NAMED
    squared = q_kk - m_kk**2
    in_key, in_noise = (Sum(family[l] * sigma.at(l), (l, 1, L)) for family in (chi, z))
    return {
        sigma: h,
        Sum(sigma.at(l) ** 2, (l, 1, L)): n,
        in_key**2: p,
        in_noise**2: n + squared * d2,
        in_key * in_noise: sqrt(squared) * e2,
        z[epsilon] * in_key: sqrt(squared) * e1,
        z[epsilon] * in_noise: h + squared * d1,
    }


HESSIAN_STEP = 1e-4
"""Step of central differences of the gradient: the error is 1e-8 times third derivatives, and rounding of 1e-12/1e-4 = 1e-8."""

STEEPEST = 65.0
"""Largest slope of the logarithm of a selecting weight (nu of max-SLR): one risk takes about 0.3 s there."""


FINER = (1.0, 1.2, 1.35, 1.5)
"""Refinements of the mesh that are compared: of two alone that converge slowly, as for x^4, one in sixteen agreed by chance."""

WIDER = 4.0
"""The error is this factor times the range of the results: one in 800 was outside for kernels with a zero or a kink."""

ROUNDING = 1e-14
"""Rounding error of a sum, relative to the sum of the absolute values of its terms."""


@dataclass(frozen=True)
class Confirmed:
    """A risk and its gradient with estimated errors; arrays in the order of ``Landscape.names``."""

    risk: float
    error: float
    gradient: Array
    gradient_errors: Array


@dataclass(frozen=True)
class Landscape:
    """E(m, q), the population risk of an attention in the order parameters of its key and value.

    Accurate to 1e-9 or better for a smooth kernel, to four or five digits for one with a kink, such as exp(-|x|), or a zero, such
    as x^4. ``confirmed`` estimates the error by finer meshes.

    Attributes:
        kernel: of the attention, with the free parameters over which it is minimised (the shift c of erf).
        lengths: (length, probability) pairs.
        noise: Delta.
        weight: s where the weight is exp(s chi_eps - s^2/2), else its logarithm.
        refined: number of mesh points relative to the usual one.
    """

    kernel: Kernel
    lengths: Lengths
    noise: float
    weight: float | Weight
    refined: float = 1.0

    @property
    def sources(self) -> tuple[str, ...]:
        """Key and place of what it rests on, for ``symslr.cite``."""
        return (LandscapeRisk.source,)

    @classmethod
    def of(cls, task: Task, attention: Attention, values: Mapping[Any, object] | None = None) -> Landscape:
        """The landscape at given values of nu, Delta, L and the parameters of the kernel without bounds.

        Raises:
            ValueError: for a task without a weight, a missing or an unknown value, a token law that is not standard normal, a
                weight that is neither one of the relevant token nor a selection, or a selection that is too steep.
        """
        check(f"task {task.name} off the manifold", task, WEIGHT)
        by_name = values_by_name(task, attention, values or {}, bounded=False)
        law = task.law.subs(numbers_of(task.law.free_symbols - {L}, by_name, f"task {task.name}"))
        if law.base != STANDARD_NORMAL:
            raise ValueError(
                f"task {task.name}: found the token law {law.base.density}; expected N(0, 1) off the manifold"
            )
        weight = _weight(law, task.name)
        noise = float(task.noise.subs(numbers_of(task.noise.free_symbols, by_name, "noise")))
        kernel = sharpened(Kernel.of(attention, by_name))
        lengths = lengths_of(task, by_name, LONGEST, "for a landscape")
        return cls(kernel, lengths, noise, weight)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the seven order parameters and the kernel's own: the order of every gradient."""
        return (*NAMES, *(symbol.name for symbol in self.kernel.parameters))

    def __repr__(self) -> str:
        return f"Landscape({self.kernel.attention.title}: {', '.join(self.names)})"

    def point(self, at: Array | Mapping[str, float] | None = None, **named: float) -> Array:
        """Numbers in the order of ``names``: an array of them, or some by name beside zeros; ``named`` ones win.

        Raises:
            ValueError: for another name, another count of numbers, and order parameters that no vectors have.
        """
        at = {} if at is None else at
        if not isinstance(at, Mapping) and np.shape(at) != (len(self.names),):
            raise ValueError(
                f"order parameters: found the shape {np.shape(at)}; expected one of {', '.join(self.names)} each"
            )
        by_name = {**(at if isinstance(at, Mapping) else dict(zip(self.names, at))), **named}
        if unknown := sorted(by_name.keys() - set(self.names)):
            raise ValueError(f"order parameters: found {unknown[0]}; expected some of {', '.join(self.names)}")
        found = np.array([float(by_name.get(name, 0.0)) for name in self.names])
        OrderParameters.of(found[:7])
        return found

    def risk(self, at: Array | Mapping[str, float] | None = None, **named: float) -> float:
        """E at a ``point``: ``risk(m_kk=1, q_kk=1)``.

        Raises:
            ValueError: as ``point``, and where the result is not finite.
        """
        return self.risk_and_gradient(self.point(at, **named))[0]

    def flow(self, start: Array | Mapping[str, float], times: Array) -> Flow:
        """The gradient flow from a ``point`` at increasing times; see ``gradient_flow``.

        Raises:
            ValueError: as ``point`` and ``gradient_flow``.
        """
        from symslr.evaluation.landscape.flow import gradient_flow

        return gradient_flow(self, self.point(start), float(np.max(times, initial=0.0)), np.asarray(times, dtype=float))

    def minima(self) -> tuple[LocalMinimum, LocalMinimum]:
        """The matched and the mismatched minimum; see ``both_minima``."""
        from symslr.evaluation.landscape.minima import both_minima

        return both_minima(self)

    def risk_and_gradient(self, at: Array) -> tuple[float, Array]:
        """E and its derivatives, shaped like ``at``; q_kv counts once.

        Raises:
            ValueError: where the result is not finite.
        """
        risk, _, gradient = self._evaluated(at)
        return risk, gradient

    def confirmed(self, at: Array) -> Confirmed:
        """Risk and gradient on the finest of several meshes, with errors from the differences between these.

        Raises:
            ValueError: where a result is not finite.
        """
        found = [self.refine(factor)._evaluated(at) for factor in FINER]
        risk, size, gradient = found[-1]
        error = WIDER * np.ptp([own for own, _, _ in found]) + ROUNDING * size
        errors = WIDER * np.ptp([own for _, _, own in found], axis=0) + ROUNDING * (size + np.abs(gradient))
        return Confirmed(risk, float(error), gradient, errors)

    @on_one_blas_thread
    def _evaluated(self, at: Array) -> tuple[float, float, Array]:
        """E, the size of the terms that it is a sum of, and its derivatives."""
        w, own = np.asarray(at[:7], dtype=float), np.asarray(at[7:], dtype=float)
        m_kk, q_kk = float(w[0]), float(w[4])
        weight, shifted = self.weight, not isinstance(self.weight, Weight)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if isinstance(weight, Weight):
                shift, squared = 0.0, q_kk - m_kk**2
                moments = weighted_moments(self.kernel, own, m_kk, squared, weight, self.lengths, self.refined)
            else:
                shift = weight
                moments = shifted_moments(self.kernel, own, shift * m_kk, q_kk, self.lengths, self.refined)
            numbers = (*map(float, w), *map(float, moments.values), self.noise, shift)
            risk, size, *slopes = compiled_risk(shifted=shifted)(*numbers)
            in_mean, in_square, *in_own = moments.slopes(np.array(slopes[7:]))
        gradient = np.array([*slopes[:7], *in_own])
        gradient[0] += shift * in_mean if shifted else in_mean - 2 * m_kk * in_square
        gradient[4] += in_square
        if not (math.isfinite(risk) and np.all(np.isfinite(gradient))):
            raise ValueError(
                f"landscape of {self.kernel.attention.name}: the risk is not finite at {list(map(float, at))}; "
                "expected a shorter key or a weaker signal"
            )
        return risk, size, gradient

    def hessian(self, at: Array) -> Array:
        """Second derivatives by central differences of the gradient, symmetrised; error about 1e-7."""
        at = np.asarray(at, dtype=float)
        return _differences(lambda point: self.risk_and_gradient(point)[1], at, HESSIAN_STEP * np.maximum(1.0, abs(at)))

    def in_vectors(self, point: Array) -> tuple[float, Array]:
        """Risk and gradient as functions of the coordinates of k, of v, and the kernel's own parameters, in one array.

        In these coordinates q >= m m^T always holds, and the manifold R = q - m m^T = 0 is not singular.
        """
        risk, gradient = self.risk_and_gradient(order_of(point))
        return risk, in_coordinates(gradient, point)

    def hessian_in_vectors(self, point: Array, step: float = HESSIAN_STEP) -> Array:
        """Second derivatives in these coordinates, by central differences of the gradient, symmetrised."""
        return _differences(lambda at: self.in_vectors(at)[1], point, np.full(len(point), step))

    def refine(self, factor: float) -> Landscape:
        """The same on a mesh with ``factor`` times as many points."""
        return replace(self, refined=self.refined * factor)


LONGEST = 10**6
"""Longest sequence: a token lies outside a mesh with probability 4e-17."""


def _differences(gradient: Callable[[Array], Array], at: Array, steps: Array) -> Array:
    """Second derivatives by central differences of a gradient with a step for every coordinate, symmetrised."""
    rows = [(gradient(at + e) - gradient(at - e)) / (2 * step) for e, step in zip(np.diag(steps), steps)]
    found = np.array(rows)
    return (found + found.T) / 2


def _weight(law: SequenceLaw, name: str) -> float | Weight:
    """s of a weight exp(s chi_eps - s^2/2), or the logarithm of another.

    Raises:
        ValueError: for a weight that is neither one of the relevant token nor a selection, or a selection that is too steep.
    """
    from symslr.evaluation.numbers.logarithm import signed_log

    if not law.weight.has(chi):
        return 0.0
    with suppress(RuleRefused):
        return float(gaussian_shift(law, CameronMartin()))
    if law.selects_largest:
        raise ValueError(f"task {name}: found the largest token selected (nu = inf); expected a finite nu")
    selects = law.is_selection
    factor = law.posterior_kernel if selects else law.relevant_factor
    if factor is None:
        raise ValueError(
            f"task {name}: found the weight {in_brief(law.weight)}; expected w(chi_eps) or L w(chi_eps)/sum_l w(chi_l)"
        )
    function = signed_log(factor, (x,))

    def log(at: Array) -> Array:
        return np.broadcast_to(np.asarray(function(at)[1], dtype=float), at.shape)

    grid = np.linspace(-8.0, 8.0, 1601)
    steepness = float(np.max(np.abs(np.diff(log(grid))))) / (grid[1] - grid[0])
    if selects and steepness > STEEPEST:
        raise ValueError(
            f"task {name}: found a weight whose logarithm has slope {steepness:.4g}; expected {STEEPEST:g} at most, as a "
            "mesh grows with its square"
        )
    return Weight(log, float(steepness), selects)
