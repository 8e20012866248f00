"""Kernels and weights of tokens as functions of one variable: on regions of the complex plane, and at nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flint import acb, arb, ctx
from sympy import Dummy, Expr, Mul, S, Symbol

from symslr.evaluation.certified.analytic.arithmetic import Program, Rectangles, prepared
from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.balls import Balls
from symslr.evaluation.numbers.exponent import Split

BITS = (64, 512, 4096)
"""Of regions, which are wide: the radius of a ball has 30 bits at any precision. More of them where terms of a kernel cancel."""
CANCELLED = 2.0**-40
"""A kernel that is smaller and not seen to be positive is evaluated again."""


@dataclass(frozen=True)
class TokenFunctions:
    """Kernels kappa_i and weights exp(exponent) rest of a token x in (lower, upper), with parameters.

    Attributes:
        degrees: for every weight the largest power of each kernel beside it in a moment.
    """

    x: Symbol
    kernels: tuple[Expr, ...]
    weights: tuple[Split, ...]
    lower: Expr
    upper: Expr
    parameters: tuple[Symbol, ...]
    degrees: tuple[tuple[int, ...], ...]

    @cached_property
    def _exprs(self) -> tuple[Expr, ...]:
        return tuple(map(prepared, (*self.kernels, *(part for w in self.weights for part in (w.exponent, w.rest)))))

    @cached_property
    def _factors(self) -> list[Expr]:
        """Factors of kernels and of weights, exponentials left out."""
        exprs = [*self._exprs[: len(self.kernels)], *self._exprs[len(self.kernels) + 1 :: 2]]
        return [factor for expr in exprs for factor in Mul.make_args(expr)]

    @cached_property
    def _program(self) -> Program:
        return Program(self._exprs, self.x)

    @cached_property
    def are_nonnegative(self) -> list[bool]:
        """Of every kernel whether its form says that it is >= 0, as a square does, 1 + x on a half line from -1, or max(x, -x)
        on both sides of its kink.
        """
        beside, covers = Dummy(nonnegative=True), [[self.x]]
        covers += [[end + side * beside] for end, side in ((self.lower, 1), (self.upper, -1)) if end.is_finite]
        covers += [[(side * beside - value) / slope for side in (1, -1)] for _, value, slope in self._turns]
        return [
            all(
                any(all(factor.xreplace({self.x: place}).is_nonnegative for place in own) for own in covers)
                for factor in Mul.make_args(kernel)
            )
            for kernel in self.kernels
        ]

    @cached_property
    def are_signed(self) -> list[bool]:
        """Of every weight whether its form leaves it open that it is >= 0."""
        return [not weight.rest.is_nonnegative for weight in self.weights]

    @cached_property
    def _turns(self) -> list[tuple[Expr, Expr, Expr]]:
        """The arguments of |.|, max, min, sign and step, and bases of powers that are factors, where they are linear in x: each
        with both its coefficients.
        """
        turns = dict.fromkeys([*self._program.turns, *(factor.as_base_exp()[0] for factor in self._factors)])
        linear = [own for own in turns if own.has(self.x) and not own.diff(self.x).has(self.x)]
        return [(own, own.xreplace({self.x: S.Zero}), own.diff(self.x)) for own in linear]

    @cached_property
    def kinks(self) -> list[tuple[Expr, Any]]:
        """Each of ``_turns`` with both its coefficients as a function of parameters."""
        return [(own, Balls(0).function(self.parameters, parts)) for own, *parts in self._turns]

    def at(self, p: Sequence[Any]) -> Regions:
        """The functions at given parameters, as balls."""
        return Regions(self, dict(zip(self.parameters, p)))

    @cached_property
    def _points(self) -> Any:
        return Balls(0).function((self.x, *self.parameters), self._exprs)

    def at_nodes(self, x: Sequence[Any], p: Sequence[Any]) -> tuple[list[list[Any]], list[list[Any]]]:
        """(kappa_i, weights) at real balls x as balls: a list over the functions of lists over the nodes."""
        table = list(zip(*(self._points(own, *p) for own in x)))
        count = len(self.kernels)
        weights = [[e.exp() * r for e, r in zip(*pair)] for pair in zip(table[count::2], table[count + 1 :: 2])]
        return [list(row) for row in table[:count]], weights

    @cached_property
    def ends(self) -> Any:
        """Both ends as a function of the parameters, in balls."""
        return Balls(0).function(self.parameters, [self.lower, self.upper])


class Regions:
    """Token functions at given parameters, enclosed on regions of x."""

    def __init__(self, functions: TokenFunctions, scope: dict[Symbol, Any]) -> None:
        self.functions, self.scope = functions, scope
        self.arithmetic, self.constants = Rectangles(scope), dict[int, dict[int, Any]]()
        self.count = 0

    def kinks(self) -> list[tuple[Any, Expr, int]]:
        """(place, argument, its sign on the right of it) of all kinks, from left to right."""
        found = []
        for turns, coefficients in self.functions.kinks:
            value, slope = coefficients(*self.scope.values())
            if slope > 0 or slope < 0:
                found.append((-value / slope, turns, 1 if slope > 0 else -1))
        return sorted(found, key=lambda own: float(own[0].mid()))

    def __call__(self, region: Any, signs: dict[Expr, int]) -> tuple[list[Any], list[float]]:
        """(kernels as complex balls, log of an upper bound of every |weight|) on a region.

        Args:
            signs: of arguments of |.|, max and so on.

        Raises:
            NotProved: where a function is not seen to be analytic.
        """
        self.count += 1
        self.arithmetic.signs = signs
        count = len(self.functions.kernels)
        for bits in BITS:
            with ctx.workprec(bits):
                found = self.functions._program.run(region, self.arithmetic, self.constants.setdefault(bits, {}))
            if all(k.real > 0 or not abs(k).upper() < CANCELLED for k in found[:count]):
                break
        kernels, parts = found[:count], found[count:]
        return kernels, [_log_bound(e, r) for e, r in zip(parts[::2], parts[1::2])]


def _log_bound(exponent: Any, rest: Any) -> float:
    size = abs(rest)
    top = (exponent.real + size.upper().log()).upper() if size > 0 or size.upper() > 0 else arb(float("-inf"))
    if not (top.is_finite() or top == arb(float("-inf"))):
        raise NotProved("certified: no bound was found for a weight")
    return float(top) + 1e-9


@dataclass(frozen=True, eq=False)
class Chart:
    """x = origin + scale y on a part of the line without kinks: balls, so that its end is exact. Panels are intervals of y.

    ``signs``: on this part, of the arguments of |.|, max and so on.
    """

    origin: Any
    scale: Any
    signs: dict[Expr, int] = field(default_factory=dict, compare=False)

    @cached_property
    def log_scale(self) -> float:
        """log |scale|, rounded up."""
        return float(abs(self.scale).upper().log()) + 1e-12

    def ellipse(self, middle: float, half: float, axes: tuple[float, float]) -> Any:
        """A rectangle around the Bernstein ellipse of an interval."""
        return self.origin + self.scale * acb(arb(middle, half * axes[0]), arb(0, half * axes[1]))

    def line(self, middle: float, half: float) -> Any:
        """An interval of the real line."""
        return acb(self.origin + self.scale * arb(middle, half))
