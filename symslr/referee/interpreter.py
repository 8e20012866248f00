"""Reads a SymPy tree node by node, each by its definition; integrals go to ``Quadrature``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sympy import (
    Add,
    Basic,
    Expr,
    Float,
    Indexed,
    IndexedBase,
    Integer,
    KroneckerDelta,
    Mod,
    Mul,
    NumberSymbol,
    Piecewise,
    Pow,
    Product,
    Rational,
    S,
    Sum,
    Symbol,
    erfc,
    exp,
    preorder_traversal,
)
from sympy.core.relational import Relational
from sympy.logic.boolalg import And, BooleanFalse, BooleanTrue, Not, Or

from symslr.expression.signs import Indicator
from symslr.referee.arithmetic import Arithmetic, Array, CannotReferee
from symslr.referee.cancellation import complement, with_others, with_tails
from symslr.referee.plans import Quadrature
from symslr.referee.polynomials import Polynomial
from symslr.referee.rounding import Rounding
from symslr.referee.scan import NotFinite
from symslr.referee.scope import Scope, part_of, symbols_of
from symslr.referee.work import METER, NODE

Handler = Callable[["Interpreter", Any, Scope], Array]

HANDLERS: dict[type, Handler] = {}
"""Node class -> its definition; the files beside this one fill it."""

MOST_TERMS = 20_000


def definition_of(*kinds: type) -> Callable[[Handler], Handler]:
    """Registers the definition of some node classes."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(kinds, handler))
        return handler

    return register


@dataclass
class Interpreter:
    """One reading of an expression: an arithmetic, a quadrature, and what it was told about open laws.

    Attributes:
        arithmetic, quadrature: numbers and integrals.
        laws: name of an open length law -> ``LengthLaw``.
        places: node -> where floats found its minimum.
        rounding: what keeps the errors of means and minima, or shakes them; None where rounding is known otherwise.
    """

    arithmetic: Arithmetic
    quadrature: Quadrature
    laws: Mapping[str, Any]
    places: dict[Any, Any] = field(default_factory=dict)
    rounding: Rounding | None = None

    @property
    def planning(self) -> bool:
        return self.quadrature.planning

    def value(self, node: Basic, scope: Scope) -> Array:
        """The value of a node, an array on the axes of its scope."""
        part = part_of(node)
        scope = scope.hoisted(part.symbols)
        memo, quadrature = scope.frame.memo, self.quadrature
        # a draft of a mean, read while a grid is laid, is not the mean
        key: Any = part, tuple([known for known in scope.numbered if known[0] in part.letters]), quadrature.tolerance
        if key not in memo:
            outside = quadrature.magnitude, quadrature.noise
            quadrature.magnitude = quadrature.noise = 0.0
            value = self._read(node, scope)
            METER.add(NODE + getattr(value, "size", 1) * self.arithmetic.price)
            memo[key] = value, quadrature.magnitude, quadrature.noise
            quadrature.magnitude, quadrature.noise = (
                max(outside[0], quadrature.magnitude),
                max(outside[1], quadrature.noise),
            )
            return value
        value, magnitude, noise = memo[key]
        quadrature.magnitude, quadrature.noise = max(quadrature.magnitude, magnitude), max(quadrature.noise, noise)
        return value

    def _read(self, node: Basic, scope: Scope) -> Array:
        handler = self._handler(node)
        if scope.depth:
            return handler(self, node, scope)
        if self.rounding is not None and isinstance(node, tuple(LEAVES)):
            return self.rounding.leaf(self.context(node, scope), scope.scalars(), partial(handler, self, node, scope))
        value = handler(self, node, scope)
        if self.rounding is None:
            return value
        if isinstance(node, (Symbol, Rational)) or self.rounding.chance is None or np.ndim(value) > 0:
            return value
        # integers made of integers are exact
        exact = self.symbols(node) <= scope.integers.keys() and float(value).is_integer()
        return value if exact else self.rounding.shaken(value)

    def symbols(self, node: Basic) -> frozenset[Basic]:
        """Free symbols of a node."""
        return symbols_of(node)

    def context(self, node: Basic, scope: Scope) -> tuple[Any, ...]:
        """A key for a node and the integers it depends on."""
        symbols = self.symbols(node)
        return (node, tuple(sorted((str(s), n) for s, n in scope.integers.items() if s in symbols)))

    def integer(self, node: Expr, scope: Scope) -> int:
        """An index, a length or a bound of a sum."""
        return scope.integer(node)

    def constant(self, node: Expr, scope: Scope) -> Polynomial:
        """A node without random variables, in a polynomial."""
        return {(): self.value(node, scope)}

    def number(self, value: object) -> Array:
        return self.arithmetic.exact(value)

    def _handler(self, node: Basic) -> Handler:
        for kind in type(node).__mro__:
            if kind in HANDLERS:
                return HANDLERS[kind]
        if self.arithmetic.function(type(node).__name__) is not None:
            return _function
        return _fallback


@definition_of(Rational, Float, NumberSymbol)
def _number(self: Interpreter, node: Expr, scope: Scope) -> Array:
    return self.number(node)


@definition_of(Symbol)
def _symbol(self: Interpreter, node: Symbol, scope: Scope) -> Array:
    if node in scope.integers:
        return self.number(scope.integers[node])
    found = scope.lookup(node)
    if found is None:
        raise CannotReferee(f"no value for {node}: expected a parameter, or what an integral or a mean around it binds")
    return self.number(found) if isinstance(found, (int, Fraction)) else found


@definition_of(Indexed)
def _indexed(self: Interpreter, node: Indexed, scope: Scope) -> Array:
    tokens = scope.lookup(node.base.label)
    if tokens is None:
        raise CannotReferee(f"{node} stands outside of an expectation over sequences")
    for position in (self.integer(i, scope) for i in node.indices):
        if position > len(tokens) or position < 1:
            raise CannotReferee(f"{node} is token {position} of {len(tokens)}")
        tokens = tokens[position - 1]
    return tokens


@definition_of(Add)
def _add(self: Interpreter, node: Add, scope: Scope) -> Array:
    values = [self.value(arg, scope) for arg in _terms(node, scope, self)]
    if scope.depth == 0 and self.arithmetic.dtype is not object:
        # a number is no array of one: NumPy takes ten times as long over it
        largest = max(float(np.max(np.abs(v)) if np.ndim(v) else abs(v)) for v in values)
        self.quadrature.magnitude = max(self.quadrature.magnitude, largest)
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _terms(node: Add, scope: Scope, self: Interpreter) -> tuple[Expr, ...]:
    """The terms of a sum, as floats take them."""
    gone = complement(node)
    if gone is None:
        return with_tails(node)
    return with_others(node, gone, self.integer(gone.index, scope), self.integer(gone.law.length, scope))


@definition_of(Mul)
def _mul(self: Interpreter, node: Mul, scope: Scope) -> Array:
    """A factor that is exactly zero ends the product: (L-1) E[f(chi_j)] is 0 at L = 1, where no j exists."""
    product: Array = None
    for arg, weight in _factors(node):
        value = self.value(arg, scope)
        if weight <= 0 and np.ndim(value) == 0 and value == 0:
            if _underflows(arg, self.arithmetic):
                raise NotFinite("a factor underflows")
            return value
        product = value if product is None else product * value
    return product


def _underflows(node: Basic, arithmetic: Arithmetic) -> bool:
    """Whether 0 is what floats have of something else: of an exponential, where long doubles reach further, of erfc, which is
    float64's own in both, of the reciprocal of what overflows, or of a sum or a product of such.
    """
    if isinstance(node, Pow):
        return bool(node.exp.is_negative) or _underflows(node.base, arithmetic)
    if isinstance(node, Add):
        return all(_underflows(term, arithmetic) for term in with_tails(node))
    if isinstance(node, Mul):
        return any(_underflows(factor, arithmetic) for factor in node.args)
    return isinstance(node, erfc) or (isinstance(node, exp) and arithmetic.dtype is np.float64)


@lru_cache(maxsize=2**16)
def _factors(node: Mul) -> tuple[tuple[Basic, int], ...]:
    """The factors with their weights, the lightest first."""
    return tuple(sorted(((arg, _weight(arg)) for arg in node.args), key=lambda pair: pair[1]))


def _weight(node: Basic) -> int:
    """-1 for an indicator, beside which what does not exist is not asked for; 1 where expectations or integrals are inside."""
    return -1 if isinstance(node, Indicator) else int(node.has(*COSTLY))


COSTLY: list[type] = []
"""Node classes that take a quadrature; filled beside their definitions."""


@lru_cache(maxsize=2**12)
def token(family: IndexedBase, *places: Expr | int) -> Indexed:
    """A token by its place: SymPy makes such a node in a quarter of a millisecond, each time anew."""
    return family[places]


LEAVES: list[type] = []
"""Those whose value and error are kept while the formula around them is read again."""

SAMPLED: list[type] = []
"""Those that points may be drawn for where no grid is affordable."""


def may_be_sampled(expr: Basic) -> bool:
    """Whether an expression holds something that points may be drawn for, or a name that may stand for such."""
    return expr.has(*SAMPLED) or any(hasattr(node, "definition") for node in preorder_traversal(expr))


@definition_of(Pow)
def _pow(self: Interpreter, node: Pow, scope: Scope) -> Array:
    base = self.value(node.base, scope)
    if node.exp == S.Half:
        return self.arithmetic.call("sqrt", base)
    if node.exp == -S.Half:
        return self.number(1) / self.arithmetic.call("sqrt", base)
    if isinstance(node.exp, Integer):
        return _integer_power(base, int(node.exp), self)
    if self.symbols(node.exp) <= scope.integers.keys():
        try:
            return _integer_power(base, self.integer(node.exp, scope), self)
        except CannotReferee:
            pass
    return base ** self.value(node.exp, scope)


def _integer_power(base: Array, exponent: int, self: Interpreter) -> Array:
    """Exact for negative bases; in long double by multiplication, which takes a thirtieth of the time of NumPy's power."""
    if exponent < 0:
        return self.number(1) / _integer_power(base, -exponent, self)
    if exponent <= 2 or getattr(base, "dtype", None) != np.longdouble:
        return base**exponent
    root = _integer_power(base, exponent // 2, self)
    return root * root * base if exponent % 2 else root * root


@definition_of(Sum)
def _sum(self: Interpreter, node: Sum, scope: Scope) -> Array:
    return _series(self, node, scope, lambda a, b: a + b, 0)


@definition_of(Product)
def _product(self: Interpreter, node: Product, scope: Scope) -> Array:
    return _series(self, node, scope, lambda a, b: a * b, 1)


def _series(self: Interpreter, node: Any, scope: Scope, join: Callable[[Array, Array], Array], empty: int) -> Array:
    """A sum or product, term by term."""
    scopes = [scope]
    for limit in reversed(node.limits):
        if len(limit) != 3 or any(end.is_infinite for end in limit[1:]):
            raise CannotReferee(f"{node}: expected finite limits; an infinite sum or product has no number here")
        index, lower, upper = limit
        scopes = [
            inner.with_integers({index: i})
            for inner in scopes
            for i in range(self.integer(lower, inner), self.integer(upper, inner) + 1)
        ]
        if len(scopes) > MOST_TERMS:
            raise CannotReferee(f"{node} has more than {MOST_TERMS} terms")
    if not scopes:
        return self.number(empty)
    total = self.value(node.function, scopes[0])
    for inner in scopes[1:]:
        total = join(total, self.value(node.function, inner))
    return total


@definition_of(KroneckerDelta)
def _kronecker(self: Interpreter, node: Any, scope: Scope) -> Array:
    left, right = (self.integer(arg, scope) for arg in node.args[:2])
    return self.number(int(left == right))


@definition_of(Mod)
def _mod(self: Interpreter, node: Any, scope: Scope) -> Array:
    left, right = (self.integer(arg, scope) for arg in node.args)
    return self.number(left % right)


@definition_of(Piecewise)
def _piecewise(self: Interpreter, node: Piecewise, scope: Scope) -> Array:
    *cases, last = node.args
    result = self.value(last.expr, scope)
    if last.cond != S.true:
        raise CannotReferee(f"{node} is not defined everywhere")
    for expr, condition in reversed(cases):
        holds = truth(self, condition, scope)
        if np.ndim(holds) == 0:
            result = self.value(expr, scope) if holds else result
        else:
            result = np.where(holds, self.value(expr, scope), result)
    return result


def truth(self: Interpreter, node: Basic, scope: Scope) -> Any:
    """A condition as a bool or an array of them."""
    if isinstance(node, (BooleanTrue, BooleanFalse)):
        return bool(node)
    if isinstance(node, And):
        return np.logical_and.reduce([truth(self, arg, scope) for arg in node.args])
    if isinstance(node, Or):
        return np.logical_or.reduce([truth(self, arg, scope) for arg in node.args])
    if isinstance(node, Not):
        return np.logical_not(truth(self, node.args[0], scope))
    if isinstance(node, Relational):
        left, right = self.value(node.lhs, scope), self.value(node.rhs, scope)
        compare = {">": np.greater, ">=": np.greater_equal, "<": np.less, "<=": np.less_equal, "==": np.equal}
        if node.rel_op in compare:
            return compare[node.rel_op](left, right)
        return np.not_equal(left, right)
    raise CannotReferee(f"the condition {node} has no definition here")


def _function(self: Interpreter, node: Expr, scope: Scope) -> Array:
    arguments = [self.value(arg, scope) for arg in node.args]
    name = type(node).__name__
    if name in ("Max", "Min") and len(arguments) > 2:
        result = arguments[0]
        for argument in arguments[1:]:
            result = self.arithmetic.call(name, result, argument)
        return result
    if name == "Heaviside":
        arguments = arguments[:1]
    return self.arithmetic.call(name, *arguments)


def _fallback(self: Interpreter, node: Basic, scope: Scope) -> Array:
    """A name with a definition of its own, or a function of integers that SymPy knows exactly."""
    if not isinstance(node, Expr):
        raise CannotReferee(f"{type(node).__name__} is not a number")
    integers = self.symbols(node) <= scope.integers.keys() and not hasattr(node, "definition")
    if node.args and integers:
        exact = node.xreplace({s: Integer(scope.integers[s]) for s in self.symbols(node)}).doit()
        if exact.is_Rational:
            return self.number(exact)
    unfolded = _unfolded(node)
    if unfolded == node:
        raise CannotReferee(f"{type(node).__name__} has no definition here: {node}")
    return self.value(unfolded, scope)


@lru_cache(maxsize=4096)
def _unfolded(node: Expr) -> Expr:
    """What a node stands for, the same object every time: a definition may bind a new letter whenever it is asked, and the
    passes find the grid of an integral by the integral.
    """
    if hasattr(node, "definition"):
        return node.definition()
    # a node of symslr's own without a definition might run rules
    return node.doit() if type(node).__module__.startswith("sympy.") else node
