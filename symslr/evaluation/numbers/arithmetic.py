"""The numbers that a plan is carried out in: float64 arrays, or object arrays of numbers of any precision."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from sympy import Expr, Symbol

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.compiled import compile_float


class Arithmetic(ABC):
    """Abstract: array functions in one kind of number.

    Attributes:
        name: the backend's name.
        eps: unit roundoff.
        tiny: the size below which numbers lose digits and vanish.
        decades: decimal digits that the arithmetic can resolve; meshes reach that far into the tails.
        number: a float, an integer or a SymPy number to a scalar.
        integers: (start, stop) to start, ..., stop - 1 as an array.
    """

    name: ClassVar[str]
    eps: Any
    tiny: Any
    decades: float
    pi: Any
    exp: Callable[[Any], Any]
    log: Callable[[Any], Any]
    number: Callable[[Any], Any]
    integers: Callable[[int, int], Any]

    def held(self, value: Any) -> Any:
        """The scalar itself.

        Raises:
            CannotEvaluate: for one that is beyond what the arithmetic holds: 1 / inf would be an exact zero.
        """
        return value

    def middle(self, value: Any) -> Any:
        """A scalar without its error, which ``number`` takes again."""
        return value

    def lost(self, value: Any) -> Any:
        """What a number may have lost that is too small to keep its digits, or to be told from zero."""
        return self.tiny if abs(value) < self.tiny else 0

    def more_bits(self, bits: int) -> AbstractContextManager[Any]:
        """While it lasts, results of operations are rounded to so many more bits; float64 has no more."""
        return nullcontext()

    @abstractmethod
    def compile(self, symbols: Sequence[Symbol], exprs: Sequence[Expr]) -> Callable[..., list[Any]]:
        """Functions of arrays; a result may be a scalar where the expression is constant."""


class Float64(Arithmetic):
    """IEEE double precision on NumPy arrays."""

    name = "numpy"
    eps = 2.0**-53
    tiny = 2.0**-1022
    decades = 17.0
    pi = np.pi
    exp = staticmethod(np.exp)
    log = staticmethod(np.log)
    compile = staticmethod(compile_float)
    number = staticmethod(float)
    integers = staticmethod(partial(np.arange, dtype=float))

    def held(self, value: Any) -> Any:
        if not math.isfinite(value):
            raise CannotEvaluate(f"a number on the way is beyond the range of float64, {sys.float_info.max:.1e}")
        return value

    def masses(self, values: Any) -> list[float]:
        """Sums of absolute values, for every entry of the first axis."""
        found: list[float] = np.abs(values).reshape(len(values), -1).sum(axis=1).tolist()
        return found

    def pair(self, total: Any, error: Any, factor: Any) -> tuple[float, float]:
        """(value, error) of a sum times a factor, which may underflow."""
        lost = self.lost(total * factor) if total != 0 else 0.0
        return float(total) * factor, float(error) * factor + lost


FLOAT = Float64()

Made = TypeVar("Made")


def once_per_kind(make: Callable[[Any], Made]) -> Callable[[Arithmetic], Made]:
    """``make``, carried out once for every kind of number, whatever its precision."""
    made: dict[str, Made] = {}

    def of(arithmetic: Arithmetic) -> Made:
        if arithmetic.name not in made:
            made[arithmetic.name] = make(arithmetic)
        return made[arithmetic.name]

    return of


class ObjectArrays(Arithmetic):
    """Abstract: numbers of any precision in object arrays."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.decades = bits * 0.30103

    @abstractmethod
    def function(self, symbols: Sequence[Symbol], exprs: Sequence[Expr]) -> Callable[..., Sequence[Any]]:
        """Functions of single numbers."""

    def integers(self, start: int, stop: int) -> Any:
        return np.array([self.number(i) for i in range(start, stop)], dtype=object)

    def compile(self, symbols: Sequence[Symbol], exprs: Sequence[Expr]) -> Callable[..., list[Any]]:
        function = self.function(symbols, exprs)
        vectorised = np.frompyfunc(function, len(symbols), 1)

        def call(*arrays: Any) -> list[Any]:
            if not any(isinstance(a, np.ndarray) for a in arrays):
                return list(function(*arrays))
            table = vectorised(*arrays)
            columns = [np.empty(table.shape, dtype=object) for _ in exprs]
            for index in np.ndindex(table.shape):
                for column, value in zip(columns, table[index]):
                    column[index] = value
            return columns

        return call
