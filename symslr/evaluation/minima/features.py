"""How far out a kernel changes, the scale from which on tokens meet that place, and where a scan over the scale looks closer."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sympy import Expr, Poly, PolynomialError, Symbol
from sympy.functions.elementary.trigonometric import TrigonometricFunction

from symslr.evaluation.minima.element_wise import GRID, INNERMOST, valleys, window_of
from symslr.evaluation.minima.search.grid import between
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
"""Places at which terms of a sum are as large as each other are looked for up to here, and down to its inverse; zeros of
polynomials have no bound."""
BESIDE = 0.01
"""How far beside such a place, in its logarithm, the signs are held against each other."""
ALIKE = 2.0
"""Ratio of the sizes of two tokens up to which the larger one stands for both."""
STEEPEST = 2.0
"""The power of x than which a kernel counts as no steeper, times the place of a token in units of its spread, which levels it."""


@dataclass(frozen=True)
class Attended:
    """What says from which scale on tokens reach all that a kernel does: the kernels in x, and the law of a token.

    ``slopes`` are those of laws that select a token, as nu of max-SLR; ``is_elementwise`` where nothing normalises a kernel;
    ``relevant`` are laws of the relevant token, that of any token where it is selected; ``lengths`` are numbers of tokens.
    """

    kernels: tuple[Expr, ...] = ()
    base: ScalarLaw = STANDARD_NORMAL
    slopes: tuple[Expr, ...] = ()
    is_elementwise: bool = False
    relevant: tuple[ScalarLaw, ...] = ()
    lengths: tuple[Expr, ...] = ()

    @classmethod
    def of(cls, expr: Expr) -> Attended:
        """What an expression in attentions holds; nothing where it has none."""
        nodes = sorted(expr.atoms(Activation), key=str)
        kernels = {node.kernel: None for node in nodes}
        laws = sorted(expr.atoms(SequenceLaw), key=str)
        slopes = dict.fromkeys(exponential_slope(law) for law in laws if law.is_selection)
        base = min((law.base for law in laws), key=str, default=STANDARD_NORMAL)
        alone = bool(nodes) and all(node.args[2] == 0 for node in nodes)
        known = tuple(slope for slope in slopes if slope is not None)
        relevant = tuple(dict.fromkeys(map(_of_relevant, laws)))
        return cls(tuple(kernels), base, known, alone, relevant, tuple(dict.fromkeys(law.length for law in laws)))

    def selects(self, numbers: Mapping[Symbol, Any]) -> float:
        """The scale at which a steep kernel selects as sharply as the law does: a risk nearer by does not show its limit."""
        known = [abs(slope.subs({s: numbers[s] for s in slope.free_symbols if s in numbers})) for slope in self.slopes]
        return max((float(slope) for slope in known if slope.is_number), default=0.0)

    def met(self, numbers: Mapping[Symbol, Any]) -> float:
        """The scale a at which a token of usual size stands at the farthest feature of a kernel: a |x| is that place.

        Args:
            numbers: the parameters of the kernels and of the law; what depends on others counts as near 0.
        """
        own = {s: numbers[s] for s in self._parameters if s in numbers}
        return _met(self, tuple(sorted(own.items(), key=str)))

    def closer(self, numbers: Mapping[Symbol, Any], points: Any) -> list[float]:
        """The places at which a scan over the scale a looks besides its own; none where a kernel has parameters without numbers.

        Where nothing normalises a kernel they are those of ``valleys``. Else as many lie between two of the scan as keep what the
        kernels turn on the way small: that is the variation of arsinh p, with p = d log|k| / d log|x| at x = a s, where s is the
        usual size of a token, or of the relevant one. The risk of a power is the same at every scale.
        """
        kernels = [_known(kernel, numbers) for kernel in self.kernels]
        if not kernels or any(kernel.free_symbols != {x} for kernel in kernels):
            return []
        base, *relevant = (
            law.func(*(_known(part, numbers) for part in law.args)) for law in (self.base, *self.relevant)
        )
        reach = np.abs(points[points != 0.0])
        try:
            if self.is_elementwise:
                longest = max(
                    (float(n) for n in (_known(n, numbers) for n in self.lengths) if n.is_number), default=2.0
                )
                own = [None if self.slopes else law for law in relevant]
                ends = float(np.min(reach)), float(np.max(reach))
                return [
                    place for law in own for kernel in kernels for place in valleys(kernel, base, law, longest, ends)
                ]
            sizes = np.geomspace(INNERMOST * np.min(reach), np.max(reach), GRID)
            tokens = sorted({_size_and_spread(law) for law in (base, *relevant)})
            apart = [one for one, larger in zip(tokens, [*tokens[1:], (np.inf, 0.0)]) if larger[0] > ALIKE * one[0]]
            turned = sum(_turned(kernel, *token, sizes) for kernel in kernels for token in apart)
        except (ArithmeticError, TypeError, ValueError):
            return []
        places = np.concatenate([-sizes[::-1], [0.0], sizes])
        return between(points, places, np.concatenate([[0.0], np.cumsum(turned)])).tolist()

    @property
    def _parameters(self) -> set[Symbol]:
        return {s for part in (*self.kernels, self.base) for s in part.free_symbols} - {x}


NO_ATTENTION = Attended()
"""Of an expression without attentions."""


def _known(part: Expr, numbers: Mapping[Symbol, Any]) -> Expr:
    """An expression with the numbers that are known."""
    return part.subs({s: numbers[s] for s in part.free_symbols if s in numbers})


def _of_relevant(law: SequenceLaw) -> ScalarLaw:
    """The law of the relevant token, up to a factor; that of any token where its weight depends on others."""
    base = law.base
    return base.func(base.density * (law.relevant_factor or 1), *base.support)


def _turned(kernel: Expr, size: float, spread: float, sizes: Any) -> Any:
    """How much a kernel turns at a s, between neighbouring scales a of either sign, 0 among them."""
    sides, steepest = [], STEEPEST * size / spread
    for side in (-1.0, 1.0):
        with np.errstate(all="ignore"):
            _, logs = signed_log(kernel, (x,))(side * size * sizes)
            slopes = np.diff(np.broadcast_to(np.asarray(logs, dtype=float), sizes.shape)) / np.diff(np.log(sizes))
        bent = np.arcsinh(np.clip(np.nan_to_num(slopes), -steepest, steepest))
        sides.append(np.concatenate([[0.0], np.abs(np.diff(bent)), [0.0]]))
    return np.concatenate([sides[0][::-1], sides[1]])


@lru_cache(maxsize=512)
def _met(attended: Attended, numbers: tuple[tuple[Symbol, Any], ...]) -> float:
    farthest = max((farthest_feature(kernel.subs(numbers)) for kernel in attended.kernels), default=0.0)
    return farthest / usual_size(attended.base.func(*(part.subs(numbers) for part in attended.base.args)))


def usual_size(law: ScalarLaw) -> float:
    """|x| of a token: the place of the peak of its density, or half its width; 1 where parameters of it have no number."""
    return _size_and_spread(law)[0]


@lru_cache(maxsize=512)
def _size_and_spread(law: ScalarLaw) -> tuple[float, float]:
    """|x| of a token, and half the width of its density."""
    if law.free_symbols:
        return 1.0, 1.0
    window = window_of(law)
    if window is None:
        return 1.0, 1.0
    return max(abs(window.peak), window.width / 2.0), window.width / 2.0


@lru_cache(maxsize=512)
def farthest_feature(kernel: Expr) -> float:
    """The largest |x| at which a kernel has a kink, a jump or a bend; 0 where it has none, or has parameters without numbers.

    Those are the zeros of ``changes``: 900 for tanh(x - 900) and for log(1 + e^(x - 900)), 1000 for e^(x/1000) and for
    1 + |x|/1000.
    """
    if kernel.free_symbols != {x}:
        return 0.0
    places = itertools.chain.from_iterable(_zeros(equation) for equation in dict.fromkeys(changes(kernel, x)))
    return max((abs(place) for place in places if np.isfinite(place)), default=0.0)


def _zeros(equation: Expr) -> Iterable[complex]:
    """Those of a polynomial, and of another expression those on the line at which it changes its sign; none of one that turns for
    ever, as cos(x) does."""
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
                    v for v in changes_of_sign(at, -far, far) if at(np.array([v - BESIDE, v + BESIDE])).prod() < 0.0
                ]
            found += [complex(side * np.exp(v)) for v in zeros]
        return found
    except (PolynomialError, ArithmeticError, TypeError, ValueError):
        return []
