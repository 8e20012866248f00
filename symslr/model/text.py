"""Text becomes mathematics here and nowhere else: a whitelist over Python's `ast`, one SymPy object per node.

Nothing is executed and nothing hangs: `text_scan` checks the characters, `text_functions` lists what may be called, and
`text_limits` keeps the numbers and the work small. Every refusal is one line with the place and what was expected.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from sympy import E, Expr, IndexedBase, Integer, Rational, Sum, Symbol, oo, pi

from symslr.model.text_functions import FUNCTIONS
from symslr.model.text_limits import Limits, UnfitError, bounded_work
from symslr.model.text_scan import DEEPEST, NUMBER, Source, TextError, as_source, check_digits, scan

__all__ = ["TextError", "parse_expression", "parse_length", "parse_number"]

MOST_TERMS = 500
LONGEST_SEQUENCE = 10**9

_CONSTANTS = {"pi": pi, "E": E}
_INFINITE = {"inf": oo, "+inf": oo, "-inf": -oo}
_NUMBER = re.compile(rf" *([-+]?) *({NUMBER})(?: */ *({NUMBER}))? *")


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
    source = as_source(text, what)
    scan(source)
    padding = len(text) - len(text.lstrip(" "))
    try:
        tree = ast.parse(text[padding:], mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise source.refuse(padding, f"found {type(error).__name__}; expected a simpler expression") from None
    builder = _Builder(source, padding, symbols, frozenset(bound_indices))
    try:
        with bounded_work():
            expression = builder.build(tree)
            if expression.is_extended_real is False:
                raise UnfitError(f"found the result {str(expression)[:40]}; expected a real expression")
    except TextError:
        raise
    except UnfitError as error:
        raise builder.refuse(builder.current, str(error)) from None
    except (RecursionError, MemoryError):
        raise source.refuse(padding, "found an expression too deep for SymPy; expected a shallower one") from None
    return expression


def parse_number(text: str, *, what: str = "number", allow_infinite: bool = False) -> Expr:
    """The exact rational number of '2', '-0.25', '1/3' or '1e-3'; 'inf' and '-inf' where they are allowed.

    Raises:
        TextError: for anything else, in one line.

    >>> parse_number("1e-3"), parse_number("inf", allow_infinite=True)
    (1/1000, oo)
    """
    source = as_source(text, what)
    if allow_infinite and text.strip(" ") in _INFINITE:
        return _INFINITE[text.strip(" ")]
    return _number(source, 0, text)


def parse_length(text: str, *, what: str = "length") -> Integer | tuple[tuple[Integer, Rational], ...]:
    """A fixed length '3', or a law of the length '1:1/3,2:1/3,3:1/3' as pairs (length, probability) in rising order.

    Lengths are distinct integers from 1 to 10**9; probabilities are positive and sum to 1 exactly.

    Raises:
        TextError: for anything else, in one line.

    >>> parse_length("1:1/4, 3:3/4")
    ((1, 1/4), (3, 3/4))
    """
    source = as_source(text, what)
    if ":" not in text and "," not in text:
        return _length(source, 0, text)
    law: dict[Integer, Rational] = {}
    column = 0
    for part in text.split(","):
        length_text, colon, probability_text = part.partition(":")
        if not colon:
            raise source.refuse(column, f"found {ascii(part)[:40]}; expected length:probability, such as 2:1/3")
        length = _length(source, column, length_text)
        if length in law:
            raise source.refuse(column, f"found the length {length} twice; expected each length once")
        start = column + len(length_text) + 1
        law[length] = _number(source, start, probability_text)
        if law[length] <= 0:
            raise source.refuse(start, f"found the probability {law[length]}; expected a positive number")
        column += len(part) + 1
    total = sum(law.values(), Integer(0))
    if total != 1:
        shown = total if total.q < 10**9 else f"about {float(total):.12g}"
        raise source.refuse(0, f"found probabilities that sum to {shown}; expected 1 exactly (write 1/3, not 0.333)")
    return tuple(sorted(law.items()))


def _number(source: Source, start: int, text: str) -> Rational:
    """The number that `text`, which begins at column `start` of the source, consists of."""
    found = _NUMBER.fullmatch(text)
    column = start + len(text) - len(text.lstrip(" "))
    if found is None:
        shown = ascii(text.strip(" "))[:40]
        raise source.refuse(column, f"found {shown}; expected a number such as 2, 0.25, 1/3 or 1e-3")
    for group in (2, 3):
        if found[group] is not None:
            check_digits(source, start + found.start(group), found[group])
    value = Fraction(found[2])
    if found[3] is not None:
        divisor = Fraction(found[3])
        if not divisor:
            raise source.refuse(start + found.start(3), "found a division by zero; expected a divisor other than 0")
        value /= divisor
    return Rational(-value if found[1] == "-" else value)


def _length(source: Source, start: int, text: str) -> Integer:
    value = _number(source, start, text)
    if not value.is_Integer or not 1 <= value <= LONGEST_SEQUENCE:
        raise source.refuse(start, f"found the length {text.strip(' ')[:40]}; expected a whole number from 1 to 10**9")
    return value


@dataclass(slots=True)
class _Builder:
    """Builds the expression of a tree, operands first."""

    source: Source
    padding: int
    symbols: Mapping[str, Expr | IndexedBase]
    bound_indices: frozenset[str]
    limits: Limits = field(default_factory=Limits)
    summed: list[str] = field(default_factory=list)
    count: int = 0
    current: ast.expr = field(default_factory=lambda: ast.Constant(0, col_offset=0))

    def refuse(self, node: ast.expr, reason: str) -> TextError:
        return self.source.refuse(self.padding + node.col_offset, reason)

    def build(self, node: ast.expr, depth: int = 1) -> Expr:
        self.count += 1
        if depth > DEEPEST:
            raise self.refuse(
                node, f"found more than {DEEPEST} levels; expected fewer (group long sums in parentheses)"
            )
        if self.count > MOST_TERMS:
            raise self.refuse(node, f"found more than {MOST_TERMS} terms; expected a shorter expression")
        match node:
            case ast.Constant():
                return self._literal(node)
            case ast.Name():
                return self._name(node)
            case ast.Subscript(value=ast.Name() as base, slice=ast.Name() as index):
                return self._indexed(base, index)
            case ast.Call(func=ast.Name(id="sum"), args=[term, over]):
                return self._sum(node, term, over, depth)
            case ast.Call(func=ast.Name() as function, args=arguments, keywords=[]):
                return self._call(node, function, arguments, depth)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                operand = self.build(node.operand, depth + 1)
                return self._apply(node, lambda: -operand if isinstance(node.op, ast.USub) else operand)
            case ast.BinOp():
                return self._operation(node, depth)
        raise self.refuse(node, f"found {self._fragment(node)}; expected a number, a name, an operation or a function")

    def _apply(self, node: ast.expr, build: Callable[[], Expr]) -> Expr:
        """Let SymPy evaluate one node, whose operands are built and measured."""
        self.current = node
        try:
            return self.limits.check(build())
        except UnfitError as error:
            raise self.refuse(node, str(error)) from None
        except Exception as error:  # hostile operands reach corners of SymPy that no list of types covers
            raise self.refuse(node, f"SymPy has no value for {self._fragment(node)} ({type(error).__name__})") from None

    def _literal(self, node: ast.Constant) -> Expr:
        if type(node.value) not in (int, float):
            raise self.refuse(node, f"found {self._fragment(node)}; expected a number")
        return self._apply(node, lambda: Rational(Fraction(self._segment(node))))

    def _operation(self, node: ast.BinOp, depth: int) -> Expr:
        left, right = self.build(node.left, depth + 1), self.build(node.right, depth + 1)
        match node.op:
            case ast.Add():
                return self._apply(node, lambda: left + right)
            case ast.Sub():
                return self._apply(node, lambda: left - right)
            case ast.Mult():
                return self._apply(node, lambda: left * right)
            case ast.Div():
                return self._apply(node.right, lambda: left * self.limits.power(right, Integer(-1)))
            case ast.Pow():
                return self._apply(node.right, lambda: self.limits.power(left, right))
        raise self.refuse(node, f"found {self._fragment(node)}; expected one of + - * / **")

    def _name(self, node: ast.Name) -> Expr:
        name = node.id
        if name in FUNCTIONS or name == "sum":
            if name not in self.symbols:
                raise self.refuse(node, f"found the function '{name}' alone; expected its argument, {name}(...)")
        elif name not in self.symbols and name not in _CONSTANTS:
            raise self.refuse(node, f"unknown name '{_cut(name)}'; known: {', '.join([*self.symbols, *_CONSTANTS])}")
        if name in self.bound_indices and name not in self.summed:
            raise self.refuse(node, f"found the index '{name}' outside its sum; expected it inside sum(..., {name})")
        value = self.symbols[name] if name in self.symbols else _CONSTANTS[name]
        if isinstance(value, IndexedBase):
            raise self.refuse(node, f"found '{name}' without an index; expected {name}[...]")
        return self._apply(node, lambda: value)

    def _indexed(self, base: ast.Name, index: ast.Name) -> Expr:
        family = self.symbols.get(base.id)
        if not isinstance(family, IndexedBase):
            indexed = [name for name, value in self.symbols.items() if isinstance(value, IndexedBase)]
            raise self.refuse(base, f"'{_cut(base.id)}' takes no index; those that do: {', '.join(indexed) or 'none'}")
        position = self._name(index)
        if not position.is_integer:
            raise self.refuse(
                index, f"found the index '{index.id}', which is not an integer; expected an integer symbol"
            )
        return self._apply(base, lambda: family[position])

    def _sum(self, node: ast.expr, term: ast.expr, index: ast.expr, depth: int) -> Expr:
        name = index.id if isinstance(index, ast.Name) else ""
        symbol, length = self.symbols.get(name), self.symbols.get("L")
        if name not in self.bound_indices or not isinstance(symbol, Symbol):
            allowed = ", ".join(sorted(self.bound_indices)) or "none here"
            raise self.refuse(index, f"found {self._fragment(index)}; expected an index to sum over ({allowed})")
        if length is None:
            raise self.refuse(node, "found a sum where no length L is known; expected an expression without sums")
        if name in self.summed:
            raise self.refuse(index, f"found a sum over '{name}' inside a sum over '{name}'; expected another index")
        self.summed.append(name)
        summand = self.build(term, depth + 1)
        self.summed.pop()
        return self._apply(node, lambda: Sum(summand, (symbol, 1, length)))

    def _call(self, node: ast.expr, function: ast.Name, arguments: list[ast.expr], depth: int) -> Expr:
        name = function.id
        known = FUNCTIONS.get(name)
        if name in self.symbols:
            raise self.refuse(function, f"'{name}' is not a function; expected {name}*(...) for a product")
        if name == "sum":
            raise self.refuse(function, f"found sum with {len(arguments)} arguments; expected sum(term, index)")
        if known is None:
            raise self.refuse(function, f"unknown function '{_cut(name)}'; known: {', '.join([*FUNCTIONS, 'sum'])}")
        if len(arguments) != known.arity:
            raise self.refuse(function, f"found {name} with {len(arguments)} arguments; expected {known.arity}")
        operands = [self.build(argument, depth + 1) for argument in arguments]
        return self._apply(node, lambda: known.build(self.limits, *operands))

    def _segment(self, node: ast.expr) -> str:
        return self.source.text[self.padding + node.col_offset : self.padding + (node.end_col_offset or 0)]

    def _fragment(self, node: ast.expr) -> str:
        return f"'{_cut(self._segment(node))}'"


def _cut(fragment: str) -> str:
    return fragment if len(fragment) <= 40 else f"{fragment[:36]}..."
