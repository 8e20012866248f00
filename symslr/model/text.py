"""Text becomes mathematics here and nowhere else: a whitelist over Python's `ast`, one SymPy object per node.

Nothing is executed and nothing hangs: `text_tree` reads what the text says, and `text_limits` keeps the numbers and the
work small. Every refusal is one line with the place and what was expected.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction

import sympy
from sympy import (
    Abs,
    E,
    Expr,
    Heaviside,
    IndexedBase,
    Integer,
    Max,
    Min,
    Piecewise,
    Rational,
    S,
    Sum,
    Symbol,
    erf,
    exp,
    log,
    oo,
    pi,
)

from symslr.model import symbols as shared
from symslr.model.text_limits import Limits, UnfitError, bounded_work
from symslr.model.text_numbers import Source, TextError, cut, read_number
from symslr.model.text_tree import NameKind, read_tree

__all__ = ["TextError", "parse_expression", "parse_number"]

LARGEST_GAMMA = 64

_CONSTANTS = {"pi": pi, "E": E}


def parse_expression(
    text: str,
    symbols: Mapping[str, Expr | IndexedBase],
    *,
    bound_indices: Collection[str] = (),
    what: str = "expression",
    positions: int = 0,
    free_index: str = "",
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
        positions: L, where a family also takes the numbers 1 to L as an index, and where the softmax over tokens is known:
            ``softmax(u)[l]`` = e^{u_l} / sum_m e^{u_m}, and ``softmax(term, m)`` inside a sum over m.
        free_index: one of ``bound_indices`` that may also stand outside a sum.

    Raises:
        TextError: for anything else, in one line that points at the offending part.

    >>> from sympy.abc import x
    >>> parse_expression("log(1 + exp(x)) / 4 + 0.1", {"x": x})
    log(exp(x) + 1)/4 + 1/10
    >>> parse_expression("exp(x", {"x": x}, what="kernel")
    Traceback (most recent call last):
    symslr.model.text_numbers.TextError: kernel 'exp(x': column 6: expected ')'
    """
    kinds = {name: _kind(meaning) for name, meaning in symbols.items()}
    source, steps = read_tree(
        text, kinds, bound_indices=bound_indices, what=what, positions=positions, free_index=free_index
    )
    limits, blamed = Limits(), steps[0][0]
    results: list[Expr] = []
    try:
        with bounded_work():
            for node, count in steps:
                blamed = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Pow) else node
                arguments = [results.pop() for _ in range(count)][::-1]
                results.append(limits.check(_applied(node, arguments, source, symbols, limits)))
            if results[0].is_extended_real is False:
                raise UnfitError(f"found the result {cut(str(results[0]))}; expected a real expression")
    except UnfitError as error:
        raise source.refuse(blamed.col_offset, str(error)) from None
    except Exception as error:  # hostile operands reach corners of SymPy that no list of types covers
        shown = cut(source.segment(blamed))
        raise source.refuse(blamed.col_offset, f"SymPy has no value for '{shown}' ({type(error).__name__})") from None
    return results[0]


INFINITE = {"inf": oo, "oo": oo, "-inf": -oo, "-oo": -oo}


def formula(text: str, what: str) -> Expr:
    """A formula in the symbols that every room shares, by their names; ``eps`` is the hidden position.

    Raises:
        TextError: as ``parse_expression``.
    """
    if text.strip() in INFINITE:
        return INFINITE[text.strip()]
    named = {name: own for name, own in vars(shared).items() if isinstance(own, (Symbol, IndexedBase))}
    return parse_expression(
        text, {**named, "eps": shared.epsilon}, bound_indices=("l", "m") if "sum(" in text else (), what=what
    )


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


def exactly(number: Fraction | float | Expr) -> Expr:
    """A number that was read, as SymPy's: a rational one, an infinity, or the formula that it was."""
    if isinstance(number, Expr):
        return number
    if isinstance(number, Fraction):
        return Rational(number)
    return oo if number > 0 else -oo


def _same(name: str) -> Callable[[Limits, Expr], Expr]:
    """SymPy's function of this name, of an argument without large constants."""
    function = getattr(sympy, name)
    return lambda limits, x: function(limits.argument(x))


FUNCTIONS: dict[str, Callable[..., Expr]] = {
    "exp": lambda limits, x: limits.exp(x),
    "log": lambda limits, x: log(x),
    "sqrt": lambda limits, x: limits.power(x, S.Half),
    **{name: _same(name) for name in ("erf", "erfc", "sin", "cos", "sinh", "cosh", "tanh", "atan")},
    "gamma": lambda limits, x: sympy.gamma(limits.argument(x, LARGEST_GAMMA)),
    **dict.fromkeys(("abs", "Abs"), lambda limits, x: Abs(limits.real(x))),
    "sign": lambda limits, x: sympy.sign(limits.real(x)),
    **dict.fromkeys(("step", "Heaviside"), lambda limits, x: Heaviside(limits.real(x))),
    "max": lambda limits, x, y: Max(limits.real(x), limits.real(y)),
    "min": lambda limits, x, y: Min(limits.real(x), limits.real(y)),
    "relu": lambda limits, x: Max(limits.real(x), 0),
    "elu": lambda limits, x: Piecewise((limits.real(x), x > 0), (limits.exp(x) - 1, True)),
    "gelu": lambda limits, x: x * (1 + erf(limits.argument(x) / sympy.sqrt(2))) / 2,
    "sigmoid": lambda limits, x: 1 / (1 + limits.exp(-x)),
    "softplus": lambda limits, x: log(1 + limits.exp(x)),
}
"""What a formula may call, by its limits and the arguments: relu = max(x, 0), sigmoid = 1/(1 + e^-x), softplus =
log(1 + e^x), gelu = x (1 + erf(x/sqrt 2))/2, elu = x for x > 0 and e^x - 1 below, step = Heaviside, 1/2 at 0."""

_OPERATIONS: dict[type[ast.AST], Callable[..., Expr]] = {
    ast.UAdd: lambda limits, x: x,
    ast.USub: lambda limits, x: -x,
    ast.Add: lambda limits, x, y: x + y,
    ast.Sub: lambda limits, x, y: x - y,
    ast.Mult: lambda limits, x, y: x * y,
    ast.Div: lambda limits, x, y: x * limits.power(y, Integer(-1)),
    ast.Pow: lambda limits, x, y: limits.power(x, y),
}


def _applied(
    node: ast.expr, arguments: list[Expr], source: Source, symbols: Mapping[str, Expr | IndexedBase], limits: Limits
) -> Expr:
    """What SymPy makes of one node and its operands."""
    match node:
        case ast.Constant():
            return Rational(Fraction(source.segment(node)))
        case ast.Name(id=name):
            return symbols[name] if name in symbols else _CONSTANTS[name]
        case ast.Subscript(value=ast.Name(id=family), slice=index):
            return symbols[family][_index(index, symbols)]
        case ast.Subscript(value=ast.Call(args=[ast.Name(id=family)]), slice=index):
            return _softmax(exp(symbols[family][shared.l]), shared.l, _index(index, symbols), symbols["L"])
        case ast.Call(func=ast.Name(id="softmax"), args=[_, ast.Name(id=index)]):
            return _softmax(limits.exp(*arguments), symbols[index], symbols[index], symbols["L"])
        case ast.Call(func=ast.Name(id="sum"), args=[_, ast.Name(id=index)]):
            return Sum(*arguments, (symbols[index], 1, symbols["L"]))
        case ast.Call(func=ast.Name(id=name)):
            return FUNCTIONS[name](limits, *arguments)
        case ast.UnaryOp(op=operation) | ast.BinOp(op=operation):
            return _OPERATIONS[type(operation)](limits, *arguments)
    raise AssertionError(f"{type(node).__name__} is no node of a formula that was read")


def _index(node: ast.expr, symbols: Mapping[str, Expr | IndexedBase]) -> Expr:
    return Integer(node.value) if isinstance(node, ast.Constant) else symbols[getattr(node, "id", "")]


def _softmax(term: Expr, running: Expr, at: Expr, length: Expr) -> Expr:
    """The share of the token ``at`` in a sum of positive terms over the running token."""
    return term.xreplace({running: at}) / Sum(term, (running, 1, length))
