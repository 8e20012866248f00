"""The tree of a formula: only what the whitelist knows, each name used as what it is; no SymPy, so that a refusal comes at once."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum

from symslr.model.text_scan import DEEPEST, Source, TextError, as_source, scan

MOST_TERMS = 500

CONSTANTS = ("pi", "E")

ARITY = {
    **dict.fromkeys(("exp", "log", "sqrt", "erf", "erfc", "sin", "cos", "sinh", "cosh", "tanh", "atan", "gamma"), 1),
    **dict.fromkeys(("abs", "Abs", "sign", "step", "Heaviside"), 1),
    **dict.fromkeys(("max", "min"), 2),
    **dict.fromkeys(("relu", "elu", "gelu", "sigmoid", "softplus"), 1),
}
"""The functions that a formula may call, with the number of their arguments; ``text_functions`` says what they mean."""


class NameKind(Enum):
    """What a name of a formula may stand for."""

    VALUE = "value"
    INTEGER = "integer"
    FAMILY = "family"
    """Takes an index, such as chi[l]."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A formula whose every node is known: its source, the expression's root, and the blanks before it."""

    source: Source
    root: ast.expr
    padding: int

    def refuse(self, node: ast.expr, reason: str) -> TextError:
        """The error to raise for a fault at this node."""
        return self.source.refuse(self.padding + node.col_offset, reason)

    def segment(self, node: ast.expr) -> str:
        """The node as it is written."""
        return self.source.text[self.padding + node.col_offset : self.padding + (node.end_col_offset or 0)]

    def fragment(self, node: ast.expr) -> str:
        """The node as a message shows it."""
        return f"'{_cut(self.segment(node))}'"


def read_tree(
    text: str, names: Mapping[str, NameKind], *, bound_indices: Collection[str] = (), what: str = "expression"
) -> Tree:
    """The tree of a formula of the grammar of ``parse_expression``.

    Args:
        text, bound_indices, what: as there.
        names: what each name may stand for.

    Raises:
        TextError: for anything else, in one line that points at the offending part.
    """
    source = as_source(text, what)
    scan(source)
    padding = len(text) - len(text.lstrip(" "))
    try:
        root = ast.parse(text[padding:], mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise source.refuse(padding, f"found {type(error).__name__}; expected a simpler expression") from None
    tree = Tree(source, root, padding)
    _Reader(tree, names, frozenset(bound_indices)).read(root)
    return tree


@dataclass(slots=True)
class _Reader:
    """Walks a tree once, operands in the order in which they stand."""

    tree: Tree
    names: Mapping[str, NameKind]
    bound_indices: frozenset[str]
    summed: list[str] = field(default_factory=list)
    count: int = 0

    def read(self, node: ast.expr, depth: int = 1) -> None:
        refuse = self.tree.refuse
        self.count += 1
        if depth > DEEPEST:
            raise refuse(node, f"found more than {DEEPEST} levels; expected fewer (group long sums in parentheses)")
        if self.count > MOST_TERMS:
            raise refuse(node, f"found more than {MOST_TERMS} terms; expected a shorter expression")
        match node:
            case ast.Constant():
                if type(node.value) not in (int, float):
                    raise refuse(node, f"found {self.tree.fragment(node)}; expected a number")
            case ast.Name():
                self._name(node)
            case ast.Subscript(value=ast.Name() as base, slice=ast.Name() as index):
                self._indexed(base, index)
            case ast.Call(func=ast.Name(id="sum"), args=[term, over]):
                self._sum(node, term, over, depth)
            case ast.Call(func=ast.Name() as function, args=arguments, keywords=[]):
                self._call(node, function, arguments)
                for argument in arguments:
                    self.read(argument, depth + 1)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                self.read(node.operand, depth + 1)
            case ast.BinOp():
                self.read(node.left, depth + 1)
                self.read(node.right, depth + 1)
                if not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)):
                    raise refuse(node, f"found {self.tree.fragment(node)}; expected one of + - * / **")
            case _:
                shown = self.tree.fragment(node)
                raise refuse(node, f"found {shown}; expected a number, a name, an operation or a function")

    def _name(self, node: ast.Name) -> NameKind:
        name, refuse = node.id, self.tree.refuse
        if name in ARITY or name == "sum":
            if name not in self.names:
                raise refuse(node, f"found the function '{name}' alone; expected its argument, {name}(...)")
        elif name not in self.names and name not in CONSTANTS:
            raise refuse(node, f"unknown name '{_cut(name)}'; known: {', '.join([*self.names, *CONSTANTS])}")
        if name in self.bound_indices and name not in self.summed:
            raise refuse(node, f"found the index '{name}' outside its sum; expected it inside sum(..., {name})")
        kind = self.names.get(name, NameKind.VALUE)
        if kind is NameKind.FAMILY:
            raise refuse(node, f"found '{name}' without an index; expected {name}[...]")
        return kind

    def _indexed(self, base: ast.Name, index: ast.Name) -> None:
        if self.names.get(base.id) is not NameKind.FAMILY:
            indexed = [name for name, kind in self.names.items() if kind is NameKind.FAMILY]
            raise self.tree.refuse(
                base, f"'{_cut(base.id)}' takes no index; those that do: {', '.join(indexed) or 'none'}"
            )
        if self._name(index) is not NameKind.INTEGER:
            raise self.tree.refuse(
                index, f"found the index '{index.id}', which is not an integer; expected an integer symbol"
            )

    def _sum(self, node: ast.expr, term: ast.expr, index: ast.expr, depth: int) -> None:
        refuse = self.tree.refuse
        name = index.id if isinstance(index, ast.Name) else ""
        if name not in self.bound_indices or name not in self.names or self.names[name] is NameKind.FAMILY:
            allowed = ", ".join(sorted(self.bound_indices)) or "none here"
            raise refuse(index, f"found {self.tree.fragment(index)}; expected an index to sum over ({allowed})")
        if "L" not in self.names:
            raise refuse(node, "found a sum where no length L is known; expected an expression without sums")
        if name in self.summed:
            raise refuse(index, f"found a sum over '{name}' inside a sum over '{name}'; expected another index")
        self.summed.append(name)
        self.read(term, depth + 1)
        self.summed.pop()

    def _call(self, node: ast.expr, function: ast.Name, arguments: list[ast.expr]) -> None:
        name, refuse = function.id, self.tree.refuse
        arity = ARITY.get(name)
        if name in self.names:
            raise refuse(function, f"'{name}' is not a function; expected {name}*(...) for a product")
        if name == "sum":
            raise refuse(function, f"found sum with {len(arguments)} arguments; expected sum(term, index)")
        if arity is None:
            raise refuse(function, f"unknown function '{_cut(name)}'; known: {', '.join([*ARITY, 'sum'])}")
        if len(arguments) != arity:
            raise refuse(function, f"found {name} with {len(arguments)} arguments; expected {arity}")


def _cut(fragment: str) -> str:
    return fragment if len(fragment) <= 40 else f"{fragment[:36]}..."
