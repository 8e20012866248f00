"""Enclosures of analytic functions: the evaluation of an expression, in several arithmetics, of which two are here.

Rectangles of the complex plane, by Arb's complex balls; and power series in a scale, for functions that depend on it.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache, reduce, wraps
from typing import Any, TypeVar, cast

import sympy
from flint import acb, arb, ctx, fmpq
from sympy import Expr, S, Symbol, erf, exp, log, sqrt

from symslr.evaluation.errors import NotProved
from symslr.evaluation.numbers.elementary import FUNCTIONS as BY_NAME
from symslr.evaluation.numbers.elementary import by_squaring, elementary_ball, normal_cdf
from symslr.expression.special import NormalCdf
from symslr.model.float64 import uncancelled

PROOF_BITS = 256
"""Bits at which strips, masses and moments are proved: log(1 + e^x) is seen to be positive down to x = -170."""


Method = TypeVar("Method", bound=Callable[..., Any])


def cached_with_refusals(method: Method) -> Method:
    """A method whose results, and ``NotProved`` exceptions, are cached in the attribute ``known`` of its object."""

    def found(own: Any, *arguments: Any) -> Any:
        key = (method.__name__, *arguments)
        if key not in own.known:
            try:
                own.known[key] = method(own, *arguments)
            except NotProved as reason:
                own.known[key] = reason
        if isinstance(own.known[key], NotProved):
            raise own.known[key].with_traceback(None)
        return own.known[key]

    return cast(Method, wraps(method)(found))


class Arithmetic(ABC):
    """Abstract: enclosures of the values of analytic functions on one region.

    Every operation raises ``NotProved`` where the function is not seen to be analytic on the region.
    """

    @abstractmethod
    def constant(self, expr: Expr) -> Any:
        """The enclosure of an exact number."""

    add: Callable[[Any, Any], Any] = staticmethod(operator.add)
    multiply: Callable[[Any, Any], Any] = staticmethod(operator.mul)

    @abstractmethod
    def power(self, base: Any, exponent: Fraction) -> Any:
        """The enclosure of the principal power."""

    @abstractmethod
    def function(self, at: Any, name: str) -> Any:
        """The enclosure of the function of this name, one of ``FUNCTIONS``."""

    def piece(self, name: str, arguments: list[Any], turns: Turns) -> Any:
        """The enclosure of the function of ``PIECES`` of this name, where it is one of its pieces, between ``turns``."""
        raise NotProved(f"certified: no proof is available for {name}")

    def fermi(self, at: Any) -> Any:
        """1/(1 + e^y) of y."""
        return self.power(self._one_and_exponential(at), Fraction(-1))

    def softplus(self, at: Any) -> Any:
        """log(1 + e^y) of y."""
        return self.function(self._one_and_exponential(at), "log")

    def _one_and_exponential(self, at: Any) -> Any:
        return self.add(self.constant(S.One), self.function(at, "exp"))


PIECES = (sympy.Abs, sympy.sign, sympy.Heaviside, sympy.Max, sympy.Min)
"""Functions that are analytic where they are one of their pieces."""

FUNCTIONS = (exp, log, erf, NormalCdf, sympy.sin, sympy.cos, sympy.atan, sympy.asinh, sympy.gamma, *PIECES)
"""Functions that a kernel may contain, besides sums, products and rational powers."""

REWRITTEN = (sympy.sinh, sympy.cosh, sympy.sech)


def prepared(expr: Expr) -> Expr:
    """The same function written in ``FUNCTIONS`` alone: hyperbolic functions by exponentials, and forms without cancellation in the
    tails.
    """
    expr = expr.replace(lambda node: isinstance(node, REWRITTEN), lambda node: node.rewrite(exp))
    expr = uncancelled(expr, lambda y: 2 * NormalCdf(sqrt(2) * y))
    expr = expr.replace(lambda node: isinstance(node, sympy.erfc), lambda node: 2 * NormalCdf(-sqrt(2) * node.args[0]))
    expr = expr.replace(lambda node: isinstance(node, sympy.tanh), lambda node: 1 - 2 / (1 + exp(2 * node.args[0])))
    return expr.replace(lambda node: node.is_Add, _without_root).replace(lambda node: node.is_Add, _of_ratio)


def _of_ratio(total: Expr) -> Expr:
    """log(c + w) - log(c), c > 0, as log(1 + w/c); other sums as they are."""
    logs = [arg for arg in total.args if isinstance(arg, log)]
    for whole in logs:
        c, w = whole.args[0].as_coeff_Add()
        if c.is_positive and c != 1 and total - whole == -log(c):
            return log(1 + w / c)
    return total


def _without_root(total: Expr) -> Expr:
    """sqrt(y^2 + c) + y, c > 0, as sqrt(c) exp(asinh(y/sqrt(c))), which does not cancel for y < 0; other sums as they are."""
    if len(total.args) == 2:
        for root, y in (total.args, total.args[::-1]):
            rest = sympy.expand(root.base - y**2) if root.is_Pow and root.exp == S.Half else S.Zero
            if rest.is_number and rest.is_positive:
                return sqrt(rest) * exp(sympy.asinh(y / sqrt(rest)))
    return total


Turns = tuple[tuple[Expr, ...], ...]
"""As ``_turns`` gives them."""

Step = tuple[str, tuple[Any, ...], list[int]]
"""(name of an operation of an arithmetic, its extra arguments, indices of the earlier results that it takes)."""


class Program:
    """Some expressions compiled to a list of steps, each common subexpression once; run on thousands of regions."""

    def __init__(self, exprs: tuple[Expr, ...], variable: Symbol) -> None:
        self.exprs, self.variable = exprs, variable
        self.places: dict[Expr, int] = {variable: 0}
        self.steps: list[Step] = []
        self.known: dict[Any, dict[int, Any]] = {}
        self.turns: dict[Expr, None] = {}
        for expr in exprs:
            self._place(expr)

    def _place(self, node: Expr) -> int:
        if node not in self.places:
            step = self._step(node)
            self.steps.append(step)
            self.places[node] = len(self.steps)
        return self.places[node]

    def _step(self, node: Expr) -> Step:
        if not node.has(self.variable):
            return "constant", (node,), []
        if node.is_Add or node.is_Mul:
            return "add" if node.is_Add else "multiply", (), [self._place(arg) for arg in node.args]
        if isinstance(node, log) and (inside := _of_exponential(node.args[0])) is not None:
            return "softplus", (), [self._place(inside)]
        if isinstance(node, PIECES):
            turns = _turns(node)
            self.turns |= dict.fromkeys(own for row in turns for own in row)
            return "piece", (type(node).__name__, turns), [self._place(arg) for arg in node.args]
        if isinstance(node, FUNCTIONS):
            return "function", (type(node).__name__,), [self._place(node.args[0])]
        if node.is_Pow and node.exp == -1 and (inside := _of_exponential(node.base)) is not None:
            return "fermi", (), [self._place(inside)]
        if node.is_Pow and node.exp.is_Rational:
            return "power", (Fraction(int(node.exp.p), int(node.exp.q)),), [self._place(node.base)]
        if node.is_Pow and not (node.exp.has(self.variable) and node.base.has(self.variable)):
            return "function", ("exp",), [self._place(node.exp * log(node.base))]
        raise NotProved(
            f"certified: no proof is available for {node}; expected sums, products, powers, exp, log, erf, atan"
        )

    def run(self, region: Any, arithmetic: Arithmetic, constants: dict[int, Any] | None = None) -> list[Any]:
        """Enclosures of the values of all expressions on a region of the variable.

        Args:
            constants: where the values of constants are kept; by default for this arithmetic and precision.

        Raises:
            NotProved: where a singularity cannot be excluded.
        """
        if constants is None:
            constants = self.known.setdefault((arithmetic, ctx.prec), {})
        found = [region]
        for place, (name, payload, arguments) in enumerate(self.steps):
            if name == "constant":
                if place not in constants:
                    constants[place] = arithmetic.constant(*payload)
                found.append(constants[place])
            elif name in ("add", "multiply"):
                found.append(reduce(getattr(arithmetic, name), [found[i] for i in arguments]))
            elif name == "piece":
                found.append(arithmetic.piece(payload[0], [found[i] for i in arguments], payload[1]))
            else:
                found.append(getattr(arithmetic, name)(found[arguments[0]], *payload))
        return [found[self.places[expr]] for expr in self.exprs]


def _turns(node: Expr) -> tuple[tuple[Expr, ...], ...]:
    """What is 0 between the pieces of |f|, a sign or a step: f, as the one entry of one row. Of max and min the differences of
    every argument (a row each) and all those after it.
    """
    if not isinstance(node, (sympy.Max, sympy.Min)):
        return ((node.args[0],),)
    return tuple(tuple(first - other for other in node.args[n + 1 :]) for n, first in enumerate(node.args))


def _of_exponential(expr: Expr) -> Expr | None:
    """y where the expression is 1 + e^y; None elsewhere."""
    rest = expr - 1 if expr.is_Add else None
    return rest.args[0] if isinstance(rest, exp) else None


_program = lru_cache(maxsize=1024)(Program)


def enclosed(expr: Expr, variable: Symbol, region: Any, arithmetic: Arithmetic) -> Any:
    """An enclosure of the values of ``expr`` on a region of its variable.

    Raises:
        NotProved: for a function that is not of ``FUNCTIONS``, or where a singularity cannot be excluded.
    """
    return _program((expr,), variable).run(region, arithmetic)[0]


def rectangle(left: float, right: float, low: float, high: float) -> Any:
    """The rectangle [left, right] + i [low, high]."""
    return acb(interval(left, right), interval(low, high))


def interval(left: Any, right: Any) -> Any:
    """A ball that contains [left, right]."""
    return arb(left).union(arb(right))


class Rectangles(Arithmetic):
    """The arithmetic of rectangles in the complex plane; ``scope`` holds balls for parameters."""

    def __init__(self, scope: Mapping[Expr, Any] | None = None) -> None:
        self.scope, self.signs = scope or {}, dict[Expr, int]()
        """``signs``: of the arguments of |.|, max and so on whose sign is known on the part of the line under consideration."""

    def constant(self, expr: Expr) -> Any:
        return acb(self._ball(expr))

    def _ball(self, expr: Expr) -> Any:
        return self.scope[expr] if expr in self.scope else elementary_ball(expr, self._ball)

    def piece(self, name: str, arguments: list[Any], turns: Turns) -> Any:
        try:
            if name in ("Max", "Min"):
                best = 0
                for n in range(1, len(arguments)):
                    difference = arguments[best] - arguments[n]
                    if (self._sign(name, turns[best][n - best - 1], difference) > 0) != (name == "Max"):
                        best = n
                return arguments[best]
            sign = self._sign(name, turns[0][0], arguments[0])
            return arguments[0] * sign if name == "Abs" else acb(sign if name == "sign" else (sign + 1) // 2)
        except NotProved:
            if not all(at.imag.is_zero() for at in arguments):
                raise
            return acb(PIECES_OF_BALLS[name](*(at.real for at in arguments)))

    def _sign(self, name: str, turns: Expr, at: Any) -> int:
        if turns in self.signs:
            return self.signs[turns]
        if not (at.real > 0 or at.real < 0):
            raise NotProved(f"certified: a kink of {name} cannot be excluded")
        return 1 if at.real > 0 else -1

    def power(self, base: Any, exponent: Fraction) -> Any:
        if exponent.denominator == 1:
            if exponent < 0 and not base.abs_lower() > 0:
                raise NotProved("certified: a pole cannot be excluded")
            return integer_power(base, int(exponent))
        if base.imag.is_zero() and exponent > 0 and not base.real > 0:  # real on the line, so the base is not negative
            top = base.real.upper()
            return acb(interval(0, top ** arb(fmpq(exponent.numerator, exponent.denominator))) if top > 0 else arb(0))
        _check_branch_cut(base)
        return (base.log() * fmpq(exponent.numerator, exponent.denominator)).exp()

    def function(self, at: Any, name: str) -> Any:
        if name == "log":
            _check_branch_cut(at)
        if name == "atan" and not (at.real > 0 or at.real < 0 or abs(at.imag) < 1):
            raise NotProved("certified: a branch point of atan cannot be excluded")
        if name == "asinh":
            if not (at.real > 0 or at.real < 0 or abs(at.imag) < 1):
                raise NotProved("certified: a branch point of asinh cannot be excluded")
            if at.imag.is_zero():
                return acb(at.real.asinh())
            size = -at if at.real.mid() < 0 else at
            square = integer_power(size, 2) + 1
            _check_branch_cut(square)
            found = (size + square.sqrt()).log()  # Arb's own is not finite on wide balls
            return -found if at.real.mid() < 0 else found
        if name == "gamma" and not at.real > 0:
            raise NotProved("certified: a pole of the gamma function cannot be excluded")
        if name == "NormalCdf":
            return self._normal_cdf(at)
        found = BY_NAME[name](at)
        if name == "exp" and found.real.contains(0):  # a product of wide balls may lose the sign of its factors
            size, part = at.real.exp(), at.imag.cos()
            corners = [s * p for s in (size.lower(), size.upper()) for p in (part.lower(), part.upper())]
            return acb(reduce(arb.union, corners), found.imag)
        return found

    def fermi(self, at: Any) -> Any:
        """1/(1 + e^y). Where Re e^y >= 0, from the end points of each part: a quotient of wide balls would lose the sign of Re.

        With p = e^{-|Re y|}, c and s = cos and sin(Im y): (1 + pc, -ps)/(1 + 2pc + p^2) for Re y < 0, (pp + pc, -ps)/... else.
        """
        cosine, sine = at.imag.cos(), at.imag.sin()
        if not cosine >= 0 and at.real > 0:  # e^-y/(1 + e^-y): no pole, as |e^-y| < 1
            small = (-at).exp()
            return small / (1 + small)
        if not cosine >= 0:
            return super().fermi(at)
        is_left = bool(at.real.mid() < 0)
        small = (at.real if is_left else -at.real).exp()
        p, c = ([part.lower(), part.upper()] for part in (small, cosine))
        bottoms = [1 + 2 * p[i] * c[i] + p[i] * p[i] for i in range(2)]
        tops = [1 + p[i] * c[i] if is_left else p[i] * (p[i] + c[i]) for i in range(2)]
        return acb(
            interval((tops[0] / bottoms[1]).lower(), (tops[1] / bottoms[0]).upper()), -small * sine / interval(*bottoms)
        )

    def softplus(self, at: Any) -> Any:
        """log(1 + e^y) by log1p, accurate however small e^y is."""
        if at.imag.is_zero():  # it increases
            return acb(interval(*(end.exp().log1p() for end in (at.real.lower(), at.real.upper()))))
        if at.real > 0:  # the same function, and no branch of the logarithm is met
            return at + (1 + (-at).exp()).log() if at.real < 1 else at + (-at).exp().log1p()
        load = self.function(at, "exp")
        _check_branch_cut(1 + load)
        return load.log1p()

    def _normal_cdf(self, at: Any) -> Any:
        """Phi(at): on the real line from the end points, as it increases; else by erfc(z) = e^{-z^2} s(z), z = -at/sqrt(2).

        s(z) = (2/sqrt(pi)) int_0^oo e^{-t^2 - 2zt} dt has |s'| <= min(2, 1/(Re z)^2)/sqrt(pi) where Re z > 0.
        """
        if at.imag.is_zero():
            return acb(interval(*(normal_cdf(end) for end in (at.real.lower(), at.real.upper()))))
        z = -at / arb(2).sqrt()
        lowest = z.real.lower()
        if not lowest > 0:
            return normal_cdf(at)
        middle = acb(z.real.mid(), z.imag.mid())
        off = abs(z - middle) * (1 / lowest**2).min(arb(2)) / arb.pi().sqrt()
        around = arb(0, off.upper())
        scaled = (middle * middle).exp() * middle.erfc() + acb(around, around)
        return self.function(-integer_power(z, 2), "exp") * scaled / 2


def integer_power(base: Any, n: int) -> Any:
    """base^n by repeated squaring: Arb's own power is undefined on some balls that contain 0."""
    if n < 0:
        return integer_power(1 / base, -n)
    if n % 2 == 0 and base.imag.is_zero():
        size = interval(base.abs_lower(), base.abs_upper())
        return acb(size**n) if size > 0 else acb(arb(0).union(base.abs_upper() ** n))
    return by_squaring(base, n, acb(1))


def _check_branch_cut(at: Any) -> None:
    """Raise ``NotProved`` unless the region avoids (-oo, 0], the branch cut of the principal logarithm."""
    if not (at.real > 0 or at.imag > 0 or at.imag < 0):
        raise NotProved("certified: a branch point of a logarithm or a root cannot be excluded")


def _step_of(at: Any) -> Any:
    """Heaviside's function of a real ball."""
    return arb(1) if at > 0 else arb(0) if at < 0 else arb(0.5, 0.5)


PIECES_OF_BALLS: dict[str, Callable[..., Any]] = {
    "Abs": abs,
    "sign": lambda at: 2 * _step_of(at) - 1,
    "Heaviside": lambda at, half=None: _step_of(at),
    "Max": lambda *balls: reduce(arb.max, balls),
    "Min": lambda *balls: reduce(arb.min, balls),
}
"""The functions of ``PIECES`` on real balls, with all their pieces."""

RECTANGLES = Rectangles()
