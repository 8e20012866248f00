"""Where an integrand has a kink, a jump or a sharp turn along one variable, so that the interval is cut there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from sympy import Abs, Basic, Dummy, Expr, Function, Heaviside, Indexed, Integral, Max, Min, Piecewise, Pow, Sum, sign
from sympy.core.relational import Relational

from symslr.expression.convolution import GaussianConvolution
from symslr.expression.expectation import Expectation, SequenceExpectation
from symslr.expression.folded import FOLDED, Activation
from symslr.model.symbols import chi, x
from symslr.referee.arithmetic import CannotReferee, Floats
from symslr.referee.scope import Frame, Scope

if TYPE_CHECKING:
    from symslr.referee.interpreter import Interpreter

KINKED = (Abs, Heaviside, Max, Min, Piecewise, sign)
REACH = 40.0
POINTS = 321
NARROW = 0.1
"""Half the width of a turn that a grid may pass over: it has moved by nine tenths of all that it does around."""
AROUND = NARROW * np.array([0.0, -4.0, -1.0, 1.0, 4.0])
"""A place and those at which it is seen whether a part has moved near it."""


def scalar_breaks(self: Interpreter, nodes: Iterable[Expr], variable: Basic, scope: Scope) -> tuple[Fraction, ...]:
    """Zeros, along ``variable``, of what decides the branches of the kinked functions in these nodes, and their sharp turns."""
    found: set[Fraction] = set()
    for node in nodes:
        for part in _along_alone(node, variable):
            found |= _sharp_turns(self, part, variable, scope)
        for decider in deciders_of(node):
            if variable in decider.free_symbols:
                found |= _zeros(self, decider, variable, scope)
    return tuple(sorted(found))


@lru_cache(maxsize=1024)
def _along_alone(node: Expr, variable: Basic) -> tuple[Expr, ...]:
    """Functions and powers of a variable in which nothing is summed or integrated."""
    parts, over = node.atoms(Function, Pow), (Sum, Integral, Expectation, GaussianConvolution, Indexed)
    return tuple(p for p in parts if variable in p.free_symbols and not p.has(*over))


def token_breaks(self: Interpreter, node: SequenceExpectation, scope: Scope) -> tuple[Fraction, ...]:
    """The same for one token of a sequence; deciders that compare two tokens have no place on one axis."""
    token = Dummy(real=True)
    found: set[Fraction] = set()
    for decider in _opened(node):
        tokens = decider.atoms(Indexed)
        if len(tokens) == 1 and next(iter(tokens)).base == chi:
            found |= _zeros(self, decider.xreplace({next(iter(tokens)): token}), token, scope)
    for decider in deciders_of(node.law.base.density):
        if x in decider.free_symbols:
            found |= _zeros(self, decider, x, scope)
    return tuple(sorted(found))


def token_peaks(self: Interpreter, node: SequenceExpectation, scope: Scope) -> tuple[Fraction, ...]:
    """Sharp turns, along one token, of parts of the weight, the body or the density: equal steps pass over them."""
    return tuple(sorted(set[Fraction]().union(*(_sharp_turns(self, part, x, scope) for part in _of_one_token(node)))))


@lru_cache(maxsize=256)
def _opened(node: SequenceExpectation) -> tuple[Expr, ...]:
    """The deciders of the weight and of the body; in their product a factor may cancel."""
    return tuple(decider for part in (node.law.weight, node.body) for decider in deciders_of(_unfolded(part)))


def _unfolded(expr: Expr) -> Expr:
    return expr.replace(lambda n: isinstance(n, FOLDED), lambda n: n.doit())


@lru_cache(maxsize=256)
def _of_one_token(node: SequenceExpectation) -> tuple[Expr, ...]:
    """Functions and powers of one token, with ``x`` in its place; what sums over tokens or integrates is left out.

    Kernels are written in x at once: for each token that is put into a new one SymPy takes a millisecond.
    """
    body = node.law.weight * node.body
    kernels = {own: own.kernel.xreplace({x: own.args[4] * x}) for own in body.atoms(Activation)}
    shares = {own: kernel if own.args[2] == 0 else kernel * _SHARE for own, kernel in kernels.items()}
    opened = _unfolded(body.xreplace(shares)), *kernels.values(), node.law.base.density
    parts = {part: None for expr in opened for part in expr.atoms(Function, Pow)}
    found: dict[Expr, None] = {}
    for part in parts:
        tokens = [*part.atoms(Indexed), *(part.free_symbols & {x})]
        if len(tokens) == 1 and _is_token(tokens[0]) and not part.has(Sum, Integral, Expectation):
            found[part.xreplace({tokens[0]: x})] = None
    return tuple(found)


def _is_token(place: Basic) -> bool:
    return place == x or (isinstance(place, Indexed) and place.base == chi)


_SHARE = Dummy(positive=True)
"""What an attention's kernel is multiplied by where it has a normaliser."""


@lru_cache(maxsize=1024)
def deciders_of(node: Expr) -> tuple[Expr, ...]:
    """What decides between the branches of a formula, by its sign; Kronecker deltas are left out."""
    result: list[Expr] = []
    for kinked in node.atoms(*KINKED):
        if isinstance(kinked, Piecewise):
            result += [relation.lhs - relation.rhs for relation in kinked.atoms(Relational)]
        elif isinstance(kinked, (Max, Min)):
            first, *others = kinked.args
            result += [first - other for other in others]
        else:
            result.append(kinked.args[0])
    return tuple(result)


def _along(self: Interpreter, part: Expr, variable: Basic, scope: Scope) -> Callable[[np.ndarray], np.ndarray] | None:
    """A part that depends on ``variable`` and on fixed numbers alone as a function of it, in double precision."""
    numbers = {}
    for symbol in part.free_symbols - {variable}:
        value = scope.integers.get(symbol, scope.lookup(symbol))
        if value is None or isinstance(value, list) or np.ndim(value) > 0:
            return None
        exact = isinstance(value, (int, Fraction))
        numbers[symbol] = float(value) if exact else self.arithmetic.midpoint(value)
    plain = type(self)(Floats(), self.quadrature, self.laws)

    def values(points: np.ndarray) -> np.ndarray:
        inside = Scope(Frame({variable: points, **numbers}), scope.integers)  # a frame keeps what is read in it
        with self.quadrature.looking():
            return np.broadcast_to(plain.value(part, inside), points.shape)

    return values


def _zeros(self: Interpreter, decider: Expr, variable: Basic, scope: Scope) -> set[Fraction]:
    """Sign changes of a decider, to double precision."""
    values = _along(self, decider, variable, scope)
    if values is None:
        return set()
    grid = np.linspace(-REACH, REACH, POINTS) + 2.0**-20
    signs = np.sign(values(grid))
    places = np.nonzero(signs[:-1] * signs[1:] < 0)[0]
    if len(places) == 0:
        return set()
    low, high = grid[places], grid[places + 1]
    below = signs[places]
    for _ in range(60):
        middle = (low + high) / 2
        left = np.sign(values(middle)) == below
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    return {_tidy(float(v)) for v in (low + high) / 2}


def _zeros_anywhere(self: Interpreter, equation: Expr, variable: Basic, scope: Scope) -> set[Fraction]:
    """Sign changes as ``_zeros``; of what is linear, however far out."""
    is_linear = equation.is_polynomial(variable) and variable not in _slope(equation, variable).free_symbols
    values = _along(self, equation, variable, scope) if is_linear else None
    if values is None:
        return _zeros(self, equation, variable, scope)
    first, second = (float(value) for value in values(np.array([0.0, 1.0])))
    return {_tidy(first / (first - second))} if np.isfinite(first - second) and first != second else set()


@lru_cache(maxsize=1024)
def _slope(part: Expr, variable: Basic) -> Expr:
    return part.diff(variable)


def _sharp_turns(self: Interpreter, part: Expr, variable: Basic, scope: Scope) -> set[Fraction]:
    """Where the argument of a part turns, or is 0, and the part moves nearer to that than a grid shows.

    So do e^(-10^8 (x - 1)^2) and tanh(10^8 (x - 1)) at 1.
    """
    inside = part.args[-1] if isinstance(part, Function) else part.args[0]
    if inside == variable or part.has(*KINKED):
        return set()
    equations = [own for own in (inside, _slope(inside, variable)) if variable in own.free_symbols]
    values = _along(self, part, variable, scope)
    if values is None:
        return set()
    found: set[Fraction] = set()
    try:
        turns = found.union(*(_zeros_anywhere(self, own, variable, scope) for own in equations))
        with np.errstate(all="ignore"):
            looks = [np.asarray(values(float(turn) + AROUND), dtype=float) for turn in turns]
    except CannotReferee:  # as of the slope of a kernel that is left open
        return set()
    for turn, (top, *around) in zip(turns, looks):
        away = np.abs(np.array(around) - top)
        if np.isfinite(away).all() and away.max() > 0 and away[1:3].min() > 0.9 * away.max():
            found.add(turn)
    return found


def _tidy(value: float) -> Fraction:
    """A simple fraction where the float is within rounding of one."""
    simple = Fraction(value).limit_denominator(64)
    return simple if abs(float(simple) - value) <= 1e-13 * max(1.0, abs(value)) else Fraction(value)
