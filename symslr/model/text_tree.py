"""The tree of a formula: Python's `ast`, of which only what the whitelist knows passes.

What reaches Python's parser is short, of a few ASCII characters, balanced and shallow, and its numbers are decimals.
Nothing here needs SymPy, so that a refusal comes at once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum

from symslr.model.text_numbers import Source, TextError, cut

DEEPEST = 50
MOST_TERMS = 500

CONSTANTS = ("pi", "E")

ARITY = {
    **dict.fromkeys(("exp", "log", "sqrt", "erf", "erfc", "sin", "cos", "sinh", "cosh", "tanh", "atan", "gamma"), 1),
    **dict.fromkeys(("abs", "Abs", "sign", "step", "Heaviside"), 1),
    **dict.fromkeys(("max", "min"), 2),
    **dict.fromkeys(("relu", "elu", "gelu", "sigmoid", "softplus"), 1),
}
"""The functions that a formula may call, with the number of their arguments; ``text.FUNCTIONS`` says what they mean."""

_NUMBER = re.compile(r"(?<![\w.])[0-9.][\w.]*(?:(?<=[eE])[+-]\w*)?")
_HINTS = {
    "^": "write ** for a power",
    "=": "an expression has no '='",
    **dict.fromkeys("<>", "pieces are joined with step(x)"),
}


Step = tuple[ast.expr, int]
"""A node, and how many of the last results it joins into one."""


class NameKind(Enum):
    """What a name of a formula may stand for."""

    VALUE = "value"
    INTEGER = "integer"
    FAMILY = "family"
    """Takes an index, such as chi[l]."""


def read_tree(
    text: str,
    names: Mapping[str, NameKind],
    *,
    bound_indices: Collection[str] = (),
    what: str = "expression",
    positions: int = 0,
    free_index: str = "",
) -> tuple[Source, list[Step]]:
    """A formula of the grammar of ``parse_expression``, whose every node is known: its text, and its steps in their order.

    Args:
        text, bound_indices, what, positions, free_index: as there.
        names: what each name may stand for.

    Raises:
        TextError: for anything else, in one line that points at the offending part.
    """
    source = Source(text.lstrip(" ") if isinstance(text, str) else text, what)
    _check_characters(source)
    try:
        root = ast.parse(source.text, mode="eval").body
    except SyntaxError as error:
        column = error.offset - 1 if error.offset else len(source.text)
        rest = cut(source.text[column:].strip(" "))
        found = f"found '{rest}'; expected an operator such as * before it, or an operand behind an operator"
        raise source.refuse(column, found if rest else "expected a number, a name or '('") from None
    except (RecursionError, MemoryError):
        raise source.refuse(0, "found an expression too deep; expected a shallower one") from None
    whitelist = _Whitelist(source, names, frozenset(bound_indices), positions, free_index)
    whitelist.check(root)
    return source, whitelist.steps


def _check_characters(source: Source) -> None:
    closing: list[str] = []
    for column, character in enumerate(source.text):
        if character in "([":
            closing.append(")" if character == "(" else "]")
            if len(closing) > DEEPEST:
                raise source.refuse(column, f"found more than {DEEPEST} levels; expected a shallower expression")
        elif character in ")]":
            if not closing or closing.pop() != character:
                raise source.refuse(column, f"found '{character}' without the bracket that it closes")
        elif not character.isalnum() and character not in "_ .+-*/,":
            hint = _HINTS.get(character, "only names, numbers, + - * / ** ( ) [ ] and commas are read")
            raise source.refuse(column, f"found {character!a}; {hint}")
    if closing:
        raise source.refuse(len(source.text), f"expected '{closing[-1]}'")
    for number in _NUMBER.finditer(source.text):
        source.check_number(number.start(), number[0])


@dataclass(slots=True)
class _Whitelist:
    """Walks a tree once, operands in the order in which they stand and before what joins them."""

    source: Source
    names: Mapping[str, NameKind]
    bound: frozenset[str]
    positions: int = 0
    free: str = ""
    count: int = 0
    steps: list[Step] = field(default_factory=list)

    def check(self, node: ast.expr, depth: int = 1, summed: frozenset[str] = frozenset()) -> None:
        self.count += 1
        if depth > DEEPEST:
            raise self._refuse(node, f"more than {DEEPEST} levels; expected fewer (group long sums in parentheses)")
        if self.count > MOST_TERMS:
            raise self._refuse(node, f"more than {MOST_TERMS} terms; expected a shorter expression")
        operands: list[ast.expr] = []
        match node:
            case ast.Constant() if type(node.value) in (int, float):
                pass
            case ast.Name():
                if self._name(node, summed) is NameKind.FAMILY:
                    raise self._refuse(node, f"'{node.id}' without an index; expected {node.id}[...]")
            case ast.Subscript(value=ast.Name() as base, slice=index) if self._is_index(index):
                self._entry(base, index, summed)
            case ast.Subscript(
                value=ast.Call(func=ast.Name(id="softmax"), args=[ast.Name() as base], keywords=[]), slice=index
            ) if self.positions and self._is_index(index):
                self._entry(base, index, summed)
            case ast.Call(func=ast.Name(id="softmax"), args=[term, ast.Name() as index], keywords=[]) if self.positions:
                operands = [term]
                self._name(index, summed)
                summed |= {self._index(node, index, frozenset())}
            case ast.Call(func=ast.Name(id="sum"), args=[term, index], keywords=[]):
                operands = [term]
                summed |= {self._index(node, index, summed)}
            case ast.Call(func=ast.Name() as function, args=operands, keywords=[]) if (
                function.col_offset == node.col_offset
            ):
                self._call(function, len(operands))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                operands = [node.operand]
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow()):
                operands = [node.left, node.right]
            case _:
                shown = cut(self.source.segment(node))
                raise self._refuse(node, f"'{shown}'; expected a number, a name, a function or one of + - * / **")
        for operand in operands:
            self.check(operand, depth + 1, summed)
        self.steps.append((node, len(operands)))

    def _refuse(self, node: ast.expr, found: str) -> TextError:
        return self.source.refuse(node.col_offset, f"found {found}")

    def _is_index(self, index: ast.expr) -> bool:
        return isinstance(index, ast.Name) or (self.positions > 0 and isinstance(index, ast.Constant))

    def _entry(self, base: ast.Name, index: ast.expr, summed: frozenset[str]) -> None:
        """An index of a family: an integer symbol, or one of the positions."""
        if self.names.get(base.id) is not NameKind.FAMILY:
            families = [name for name, kind in self.names.items() if kind is NameKind.FAMILY]
            known = f"those that do: {', '.join(families) or 'none'}{_near(base.id, families)}"
            raise self._refuse(base, f"an index of '{cut(base.id)}', which takes none; {known}")
        if isinstance(index, ast.Name):
            if self._name(index, summed) is not NameKind.INTEGER:
                raise self._refuse(index, f"the index '{index.id}'; expected an integer symbol")
        elif not (isinstance(index, ast.Constant) and type(index.value) is int and 1 <= index.value <= self.positions):
            raise self._refuse(index, f"the index {self.source.segment(index)}; expected 1 to {self.positions}")

    def _name(self, node: ast.Name, summed: frozenset[str]) -> NameKind:
        name = node.id
        if name in self.bound and name not in summed and name != self.free:
            raise self._refuse(node, f"the index '{name}' outside its sum; expected it inside sum(..., {name})")
        if name in self.names:
            return self.names[name]
        if name in ARITY or name == "sum":
            raise self._refuse(node, f"the function '{name}' alone; expected its argument, {name}(...)")
        if name not in CONSTANTS:
            known = ", ".join([*self.names, *CONSTANTS])
            near = _near(name, [*self.names, *CONSTANTS])
            raise self.source.refuse(node.col_offset, f"unknown name '{cut(name)}'; known: {known}{near}")
        return NameKind.VALUE

    def _index(self, node: ast.expr, index: ast.expr, summed: frozenset[str]) -> str:
        name = index.id if isinstance(index, ast.Name) else ""
        if name not in self.bound or self.names.get(name) not in (NameKind.VALUE, NameKind.INTEGER):
            allowed = ", ".join(sorted(self.bound)) or "none here"
            shown = cut(self.source.segment(index))
            raise self._refuse(index, f"'{shown}'; expected an index to sum over ({allowed})")
        if "L" not in self.names:
            raise self._refuse(node, "a sum where no length L is known; expected an expression without sums")
        if name in summed:
            raise self._refuse(index, f"a sum over '{name}' inside a sum over '{name}'; expected another index")
        return name

    def _call(self, function: ast.Name, arguments: int) -> None:
        name = function.id
        if name in self.names:
            reason = f"'{name}' is not a function; expected {name}*(...) for a product"
        elif name == "sum":
            reason = f"found sum with {arguments} arguments; expected sum(term, index)"
        elif name not in ARITY:
            known = [*ARITY, "sum", *(["softmax"] if self.positions else [])]
            reason = f"unknown function '{cut(name)}'; known: {', '.join(known)}{_near(name, known)}"
        elif arguments != ARITY[name]:
            reason = f"found {name} with {arguments} arguments; expected {ARITY[name]}"
        else:
            return
        raise self.source.refuse(function.col_offset, reason)


def _near(name: str, known: Iterable[str]) -> str:
    """What was probably meant, as the end of a line."""
    found = get_close_matches(name, list(known), 1, 0.7)
    return f"; did you mean {found[0]}?" if found else ""
