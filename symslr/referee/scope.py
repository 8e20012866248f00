"""The values of symbols while the referee reads an expression: frames of arrays, and integers beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
from sympy import Basic, Expr, Integer, Product, Sum

from symslr.referee.arithmetic import CannotReferee

MOST_PARTS = 2**17
"""Parts of expressions that are kept at once, some 50 MB."""


class Part:
    """A part of an expression as the referee knows it: one for all equal nodes, compared by identity.

    SymPy compares two equal nodes that are not one object by their whole trees, in Python, at every look into a dictionary.

    Attributes:
        node: one of the equal nodes.
        symbols: its free symbols.
        letters: their numbers, see ``letter``.
    """

    __slots__ = ("letters", "node", "symbols")

    def __init__(self, node: Basic) -> None:
        self.node = node
        self.symbols = _free_symbols(node)
        self.letters = frozenset(map(letter, self.symbols))


_objects: dict[int, tuple[Basic, Part]] = {}
"""The address of a node -> the node, which keeps the address its own, and the part it is."""

_parts: dict[Basic, Part] = {}

_letters: dict[Basic, int] = {}
"""Every symbol that has been met -> its number, kept for good."""

_numbers = count()


def letter(symbol: Basic) -> int:
    """A number for a symbol: SymPy's hash is a call in Python, and there were fifteen of them for every value that was read."""
    return _letters.setdefault(symbol, next(_numbers))  # of two threads neither gives the other's number


def part_of(node: Basic) -> Part:
    """What is known of a node, kept for all readings: an expression is read some ten times at each of its points."""
    found = _objects.get(id(node))
    if found is None:
        if len(_objects) >= MOST_PARTS:
            _objects.clear()
            _parts.clear()
        known = _parts.get(node)
        if known is None:
            known = _parts[node] = Part(node)
        found = _objects[id(node)] = node, known
    return found[1]


def symbols_of(node: Basic) -> frozenset[Basic]:
    """The free symbols of a node."""
    return part_of(node).symbols


def _free_symbols(node: Basic) -> frozenset[Basic]:
    if type(node).free_symbols is Basic.free_symbols:  # what it binds is told by the parts, which are kept too
        return frozenset().union(*map(symbols_of, node.args))
    if isinstance(node, (Sum, Product)):
        found = symbols_of(node.function)
        for index, *ends in node.limits:
            found = (found - {index}).union(*map(symbols_of, ends))
        return found
    return frozenset(node.free_symbols)


@lru_cache(maxsize=2**16)
def _integer(node: Expr, known: tuple[tuple[Basic, int], ...]) -> int:
    """The integer that a node is where these symbols have these values."""
    exact = node.xreplace({symbol: Integer(number) for symbol, number in known}).doit()
    if not isinstance(exact, Integer):
        raise CannotReferee(f"{node} = {exact} is not an integer here")
    return int(exact)


@dataclass
class Frame:
    """One level of binding: symbols with arrays that occupy array axes up to ``depth``, counted from the last one.

    Attributes:
        bound: symbol -> array; a family such as chi -> list of arrays, one for each token.
        parent: the frame around this one.
        depth: array axes in use up to here.
        size: number of points of the grid up to here.
        memo: nodes that depend on this frame -> value, largest absolute integral and noise on the way to it.
        symbols: the bound ones, as a set: two sets are compared without a call of SymPy's hash.
    """

    bound: Mapping[Basic, Any]
    parent: Frame | None = None
    depth: int = 0
    size: int = 1
    memo: dict[Any, Any] = field(default_factory=dict)
    symbols: frozenset[Basic] = field(init=False)

    def __post_init__(self) -> None:
        self.symbols = frozenset(self.bound)


@dataclass(frozen=True)
class Scope:
    """A frame and the integers (length, positions, summation indices) known in it.

    Attributes:
        numbered: the number of each of their symbols, and the integer.
    """

    frame: Frame
    integers: Mapping[Basic, int]
    numbered: tuple[tuple[int, int], ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if len(self.numbered) != len(self.integers):
            object.__setattr__(self, "numbered", tuple([(letter(s), n) for s, n in self.integers.items()]))

    @property
    def depth(self) -> int:
        return self.frame.depth

    @property
    def size(self) -> int:
        return self.frame.size

    def bind(
        self, bound: Mapping[Basic, Any], axes: int = 0, points: int = 1, known: dict[Any, Any] | None = None
    ) -> Scope:
        """A scope inside this one with more symbols bound to arrays on ``axes`` new axes; ``known`` becomes its memo."""
        memo = {} if known is None else known
        inside = Frame(bound, self.frame, self.frame.depth + axes, self.frame.size * points, memo)
        return Scope(inside, self.integers, self.numbered)

    def with_integers(self, integers: Mapping[Basic, int]) -> Scope:
        """The same frame with more integers known."""
        return Scope(self.frame, {**self.integers, **integers})

    def hoisted(self, symbols: frozenset[Basic]) -> Scope:
        """The outermost scope that still binds what an expression in ``symbols`` needs."""
        frame = self.frame
        while frame.parent is not None and frame.symbols.isdisjoint(symbols):
            frame = frame.parent
        return self if frame is self.frame else Scope(frame, self.integers, self.numbered)

    def integer(self, node: Expr) -> int:
        """The integer that a node is here.

        Raises:
            CannotReferee: where it is none.
        """
        if isinstance(node, Integer):
            return int(node)
        known = self.integers.get(node)
        if known is not None:
            return known
        symbols = symbols_of(node)
        return _integer(node, tuple((s, n) for s, n in self.integers.items() if s in symbols))

    def scalars(self) -> tuple[tuple[str, float], ...]:
        """What is bound to single numbers, the outermost last: two scopes that differ in it may give an integral two values."""
        found: list[tuple[str, float]] = []
        frame: Frame | None = self.frame
        while frame is not None:
            for symbol, value in frame.bound.items():
                if isinstance(value, list):
                    found += [(str(symbol), float(v)) for v in value]
                elif value is not None:
                    found.append((str(symbol), float(value)))
            frame = frame.parent
        return tuple(found)

    def rows(self, most: int) -> tuple[tuple[int, ...], list[Scope]] | None:
        """The shape of the grid around, and a scope of numbers for every point of it; None where these are many, or tokens."""
        if not self.depth:
            return (), [self]
        bound: dict[Basic, Any] = {}
        frame: Frame | None = self.frame
        while frame is not None:
            bound = {**frame.bound, **bound}
            frame = frame.parent
        if any(isinstance(value, list) for value in bound.values()):
            return None
        arrays = {symbol: value for symbol, value in bound.items() if np.ndim(value) > 0}
        shape = np.broadcast_shapes(*(np.shape(value) for value in arrays.values()))
        if np.prod(shape) > most:
            return None
        spread = {symbol: np.broadcast_to(value, shape).ravel() for symbol, value in arrays.items()}
        each = [{symbol: values[i] for symbol, values in spread.items()} for i in range(int(np.prod(shape)))]
        return shape, [Scope(Frame({**bound, **own}), self.integers) for own in each]

    def lookup(self, symbol: Basic) -> Any:
        """The array bound to a symbol, or None."""
        frame: Frame | None = self.frame
        while frame is not None:
            if symbol in frame.bound:
                return frame.bound[symbol]
            frame = frame.parent
        return None
