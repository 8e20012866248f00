"""Text becomes mathematics here and nowhere else: a whitelist over Python's `ast`, one SymPy object per node.

Nothing is executed and nothing hangs: `text_scan` checks the characters, `text_tree` what they say, `text_functions` tells
what may be called, and `text_limits` keeps the numbers and the work small. Every refusal is one line with the place and
what was expected.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from sympy import E, Expr, IndexedBase, Integer, Rational, Sum, oo, pi

from symslr.model.text_functions import FUNCTIONS
from symslr.model.text_limits import Limits, UnfitError, bounded_work
from symslr.model.text_numbers import read_length, read_number
from symslr.model.text_scan import TextError
from symslr.model.text_tree import NameKind, Tree, read_tree

__all__ = ["TextError", "parse_expression", "parse_length", "parse_number"]

_CONSTANTS = {"pi": pi, "E": E}


def parse_expression(
    text: str,
    symbols: Mapping[str, Expr | IndexedBase],
    *,
    bound_indices: Collection[str] = (),
    what: str = "expression",
) -> Expr:
    """The SymPy expression a formula stands for, with exact numbers.

    Grammar: decimal numbers, the names in `symbols`, pi, E, + - * / **, parentheses, the functions of `FUNCTIONS`,
    ``chi[l]`` where chi is an IndexedBase and l a name of an integer symbol, and ``sum(term, l)`` for the sum over
    l = 1..L, where l is one of `bound_indices` and the symbols include L.

    Args:
        text: the formula, at most 2000 ASCII characters on one line.
        symbols: what each name means.
        bound_indices: names that only mean something inside their own sum.
        what: what the text stands for ('kernel', 'weight'); errors begin with it.

    Raises:
        TextError: for anything else, in one line that points at the offending part.

    >>> from sympy.abc import x
    >>> parse_expression("log(1 + exp(x)) / 4 + 0.1", {"x": x})
    log(exp(x) + 1)/4 + 1/10
    >>> parse_expression("exp(x", {"x": x}, what="kernel")
    Traceback (most recent call last):
    symslr.model.text_scan.TextError: kernel 'exp(x': column 6: expected ')'
    """
    kinds = {name: _kind(meaning) for name, meaning in symbols.items()}
    tree = read_tree(text, kinds, bound_indices=bound_indices, what=what)
    builder = _Builder(tree, symbols)
    try:
        with bounded_work():
            expression = builder.build(tree.root)
            if expression.is_extended_real is False:
                raise UnfitError(f"found the result {str(expression)[:40]}; expected a real expression")
    except TextError:
        raise
    except UnfitError as error:
        raise tree.refuse(builder.current, str(error)) from None
    except (RecursionError, MemoryError):
        raise tree.refuse(tree.root, "found an expression too deep for SymPy; expected a shallower one") from None
    return expression


def _kind(meaning: Expr | IndexedBase) -> NameKind:
    if isinstance(meaning, IndexedBase):
        return NameKind.FAMILY
    return NameKind.INTEGER if meaning.is_Symbol and meaning.is_integer else NameKind.VALUE


def parse_number(text: str, *, what: str = "number", allow_infinite: bool = False) -> Expr:
    """The exact rational number of '2', '-0.25', '1/3' or '1e-3'; 'inf' and '-inf' where they are allowed.

    Raises:
        TextError: for anything else, in one line.

    >>> parse_number("1e-3"), parse_number("inf", allow_infinite=True)
    (1/1000, oo)
    """
    return exactly(read_number(text, what=what, allow_infinite=allow_infinite))


def exactly(number: Fraction | float) -> Expr:
    """A number that was read, as SymPy's: a rational one, or an infinity."""
    if isinstance(number, Fraction):
        return Rational(number)
    return oo if number > 0 else -oo


def parse_length(text: str, *, what: str = "length") -> Integer | tuple[tuple[Integer, Rational], ...]:
    """A fixed length '3', or a law of the length '1:1/3,2:1/3,3:1/3' as pairs (length, probability) in rising order.

    Lengths are distinct integers from 1 to 10**300; probabilities are positive and sum to 1 exactly.

    Raises:
        TextError: for anything else, in one line.

    >>> parse_length("1:1/4, 3:3/4")
    ((1, 1/4), (3, 3/4))
    """
    found = read_length(text, what=what)
    if isinstance(found, int):
        return Integer(found)
    return tuple((Integer(length), Rational(share)) for length, share in found)


@dataclass(slots=True)
class _Builder:
    """Builds the expression of a tree that was read, operands first."""

    tree: Tree
    symbols: Mapping[str, Expr | IndexedBase]
    limits: Limits = field(default_factory=Limits)
    current: ast.expr = field(default_factory=lambda: ast.Constant(0, col_offset=0))

    def build(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant():
                return self._apply(node, lambda: Rational(Fraction(self.tree.segment(node))))
            case ast.Name(id=name):
                value = self.symbols[name] if name in self.symbols else _CONSTANTS[name]
                return self._apply(node, lambda: value)
            case ast.Subscript(value=ast.Name(id=family) as base, slice=ast.Name(id=index)):
                return self._apply(base, lambda: self.symbols[family][self.symbols[index]])
            case ast.Call(func=ast.Name(id="sum"), args=[term, ast.Name(id=index)]):
                summand = self.build(term)
                return self._apply(node, lambda: Sum(summand, (self.symbols[index], 1, self.symbols["L"])))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                operands = [self.build(argument) for argument in arguments]
                return self._apply(node, lambda: FUNCTIONS[name](self.limits, *operands))
            case ast.UnaryOp(op=op, operand=inner):
                operand = self.build(inner)
                return self._apply(node, lambda: -operand if isinstance(op, ast.USub) else operand)
            case ast.BinOp():
                return self._operation(node)
        raise AssertionError(f"{type(node).__name__} is no node of a tree that was read")

    def _apply(self, node: ast.expr, build: Callable[[], Expr]) -> Expr:
        """Let SymPy evaluate one node, whose operands are built and measured."""
        self.current = node
        try:
            return self.limits.check(build())
        except UnfitError as error:
            raise self.tree.refuse(node, str(error)) from None
        except Exception as error:  # hostile operands reach corners of SymPy that no list of types covers
            shown = self.tree.fragment(node)
            raise self.tree.refuse(node, f"SymPy has no value for {shown} ({type(error).__name__})") from None

    def _operation(self, node: ast.BinOp) -> Expr:
        left, right = self.build(node.left), self.build(node.right)
        match node.op:
            case ast.Add():
                return self._apply(node, lambda: left + right)
            case ast.Sub():
                return self._apply(node, lambda: left - right)
            case ast.Mult():
                return self._apply(node, lambda: left * right)
            case ast.Div():
                return self._apply(node.right, lambda: left * self.limits.power(right, Integer(-1)))
            case _:
                return self._apply(node.right, lambda: self.limits.power(left, right))
