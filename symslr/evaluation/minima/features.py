"""Features of a kernel: how far out it has kinks, jumps and bends, the scale at which tokens reach them, and the scales that a
scan must add to its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sympy import Expr, Poly, PolynomialError, Symbol
from sympy.functions.elementary.trigonometric import TrigonometricFunction

from symslr.evaluation.minima.element_wise import INNERMOST_PART, SCALES_PER_SIDE, density_window, points_around_minima
from symslr.evaluation.minima.search.grid import points_between
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.numbers.logarithm import signed_log
from symslr.evaluation.quadrature.token_mesh import changes_of_sign
from symslr.expression.folded import Activation
from symslr.model.breakpoints import changes
from symslr.model.exponential import exponential_slope
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import x

FARTHEST = 1e12
"""Zeros of an equation that is not a polynomial are sought at |x| from 1/FARTHEST to FARTHEST."""
SIGN_CHECK = 0.01
"""A zero counts where the signs differ this far on either side of it in log |x|."""
SAME_SIZE = 2.0
"""Of two tokens whose sizes differ by less than this factor only the larger one is examined."""
STEEPEST_POWER = 2.0
"""Log-slopes d log|k|/d log|x| are cut off at this power times the place of a token in units of its spread: a steeper kernel is
averaged over that spread."""


@dataclass(frozen=True)
class Attended:
    """The parts of an expression that decide from which scale on tokens reach every feature of its kernels.

    Attributes:
        kernels: in x.
        base: the law of a token.
        slopes: those of the laws that select a token, as nu for max-SLR.
        is_elementwise: whether no kernel has a normaliser.
        relevant: laws of the relevant token; that of any token where the law selects it.
        lengths: numbers of tokens.
    """

    kernels: tuple[Expr, ...] = ()
    base: ScalarLaw = STANDARD_NORMAL
    slopes: tuple[Expr, ...] = ()
    is_elementwise: bool = False
    relevant: tuple[ScalarLaw, ...] = ()
    lengths: tuple[Expr, ...] = ()

    @classmethod
    def of(cls, expr: Expr) -> Attended:
        """The parts of an expression in attentions; all empty where it has none."""
        nodes = sorted(expr.atoms(Activation), key=str)
        kernels = {node.kernel: None for node in nodes}
        laws = sorted(expr.atoms(SequenceLaw), key=str)
        slopes = dict.fromkeys(exponential_slope(law) for law in laws if law.is_selection)
        base = min((law.base for law in laws), key=str, default=STANDARD_NORMAL)
        alone = bool(nodes) and all(node.args[2] == 0 for node in nodes)
        known = tuple(slope for slope in slopes if slope is not None)
        relevant = tuple(dict.fromkeys(map(_of_relevant, laws)))
        return cls(tuple(kernels), base, known, alone, relevant, tuple(dict.fromkeys(law.length for law in laws)))

    def selection_scale(self, numbers: Mapping[Symbol, Any]) -> float:
        """The scale at which an exponential kernel is as steep as the selection of the law; 0 where the law does not select.

        At smaller scales the risk does not yet show its limit.
        """
        known = [abs(slope.subs({s: numbers[s] for s in slope.free_symbols if s in numbers})) for slope in self.slopes]
        return max((float(slope) for slope in known if slope.is_number), default=0.0)

    def feature_scale(self, numbers: Mapping[Symbol, Any]) -> float:
        """The scale a at which a token of usual size x reaches the farthest feature of a kernel, a |x| being its place; 0
        without features.

        Args:
            numbers: of the parameters of the kernels and of the law. A feature whose place depends on another parameter is left
                out.
        """
        own = {s: numbers[s] for s in self._parameters if s in numbers}
        return _feature_scale(self, tuple(sorted(own.items(), key=str)))

    def extra_scan_points(self, numbers: Mapping[Symbol, Any], points: Any) -> list[float]:
        """The scales that a scan adds to its own ``points``; none where a kernel has parameters without numbers.

        Without a normaliser they are those of ``points_around_minima``. With one, they are so many that the log-slope of no
        kernel varies much between neighbours. The measure is the variation of arsinh p, with p = d log|k|/d log|x| at x = a s
        and s the usual size of a token, or of the relevant one. The risk of a power is the same at every scale, so a constant p
        needs no points.
        """
        kernels = [_with_numbers(kernel, numbers) for kernel in self.kernels]
        if not kernels or any(kernel.free_symbols != {x} for kernel in kernels):
            return []
        base, *relevant = (
            law.func(*(_with_numbers(part, numbers) for part in law.args)) for law in (self.base, *self.relevant)
        )
        reach = np.abs(points[points != 0.0])
        try:
            if self.is_elementwise:
                longest = max(
                    (float(n) for n in (_with_numbers(n, numbers) for n in self.lengths) if n.is_number), default=2.0
                )
                own = [None if self.slopes else law for law in relevant]
                ends = float(np.min(reach)), float(np.max(reach))
                return [
                    place
                    for law in own
                    for kernel in kernels
                    for place in points_around_minima(kernel, base, law, longest, ends)
                ]
            sizes = np.geomspace(INNERMOST_PART * np.min(reach), np.max(reach), SCALES_PER_SIDE)
            tokens = sorted({_size_and_spread(law) for law in (base, *relevant)})
            apart = [one for one, larger in zip(tokens, [*tokens[1:], (np.inf, 0.0)]) if larger[0] > SAME_SIZE * one[0]]
            variation = sum(_slope_variation(kernel, *token, sizes) for kernel in kernels for token in apart)
        except (ArithmeticError, TypeError, ValueError):
            return []
        places = np.concatenate([-sizes[::-1], [0.0], sizes])
        return points_between(points, places, np.concatenate([[0.0], np.cumsum(variation)])).tolist()

    @property
    def _parameters(self) -> set[Symbol]:
        return {s for part in (*self.kernels, self.base) for s in part.free_symbols} - {x}


NO_ATTENTION = Attended()
"""The parts of an expression without attentions."""


def _with_numbers(part: Expr, numbers: Mapping[Symbol, Any]) -> Expr:
    """An expression with the known numbers put in for its symbols."""
    return part.subs({s: numbers[s] for s in part.free_symbols if s in numbers})


def _of_relevant(law: SequenceLaw) -> ScalarLaw:
    """The law of the relevant token, up to a factor; that of any token where the weight depends on several tokens."""
    base = law.base
    return base.func(base.density * (law.relevant_factor or 1), *base.support)


def _slope_variation(kernel: Expr, size: float, spread: float, sizes: Any) -> Any:
    """The change of arsinh p at x = a ``size`` from each scale to the next, over the scales -sizes, 0 and sizes in increasing
    order.

    Args:
        kernel: in x.
        size, spread: |x| of a token, and the width over which it varies.
        sizes: positive scales in increasing order.
    """
    sides, steepest = [], STEEPEST_POWER * size / spread
    for side in (-1.0, 1.0):
        with np.errstate(all="ignore"):
            _, logs = signed_log(kernel, (x,))(side * size * sizes)
            slopes = np.diff(np.broadcast_to(np.asarray(logs, dtype=float), sizes.shape)) / np.diff(np.log(sizes))
        bent = np.arcsinh(np.clip(np.nan_to_num(slopes), -steepest, steepest))
        sides.append(np.concatenate([[0.0], np.abs(np.diff(bent)), [0.0]]))
    return np.concatenate([sides[0][::-1], sides[1]])


@lru_cache(maxsize=512)
def _feature_scale(attended: Attended, numbers: tuple[tuple[Symbol, Any], ...]) -> float:
    farthest = max((farthest_feature(kernel.subs(numbers)) for kernel in attended.kernels), default=0.0)
    return farthest / usual_size(attended.base.func(*(part.subs(numbers) for part in attended.base.args)))


def usual_size(law: ScalarLaw) -> float:
    """|x| of a token: the place of the peak of its density, or half its width where that is more; 1 where the law has
    parameters.
    """
    return _size_and_spread(law)[0]


@lru_cache(maxsize=512)
def _size_and_spread(law: ScalarLaw) -> tuple[float, float]:
    """(|x| of a token, half the width of its density); (1, 1) where the law has parameters or no scan finds the density."""
    if law.free_symbols:
        return 1.0, 1.0
    window = density_window(law)
    if window is None:
        return 1.0, 1.0
    return max(abs(window.peak), window.width / 2.0), window.width / 2.0


@lru_cache(maxsize=512)
def farthest_feature(kernel: Expr) -> float:
    """The largest |x| at which a kernel has a kink, a jump or a bend; 0 where it has none or has parameters.

    These are the zeros of ``changes``: 900 for tanh(x - 900) and for log(1 + e^(x - 900)), 1000 for e^(x/1000) and for 1 +
    |x|/1000.
    """
    if kernel.free_symbols != {x}:
        return 0.0
    places = itertools.chain.from_iterable(_zeros_of(equation) for equation in dict.fromkeys(changes(kernel, x)))
    return max((abs(place) for place in places if np.isfinite(place)), default=0.0)


def _zeros_of(equation: Expr) -> Iterable[complex]:
    """The zeros of a polynomial; for another expression the real places where it changes sign.

    None for an expression with trigonometric functions, which changes sign for ever, and where numpy or SymPy fails.
    """
    if not equation.has(x) or equation.has(TrigonometricFunction):
        return []
    try:
        if equation.is_polynomial(x):
            return [complex(zero) for zero in np.roots([float(own) for own in Poly(equation, x).all_coeffs()])]
        compiled, far, found = FLOAT.compile((x,), [equation]), float(np.log(FARTHEST)), []
        for side in (1.0, -1.0):

            def at(logarithm: Any, side: float = side) -> Any:
                return np.real(compiled(side * np.exp(logarithm))[0])

            with np.errstate(all="ignore"):  # where e^x has left float64 it is 0, and has no zero
                zeros = [
                    v
                    for v in changes_of_sign(at, -far, far)
                    if at(np.array([v - SIGN_CHECK, v + SIGN_CHECK])).prod() < 0.0
                ]
            found += [complex(side * np.exp(v)) for v in zeros]
        return found
    except (PolynomialError, ArithmeticError, TypeError, ValueError):
        return []
