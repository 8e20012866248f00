"""Small changes of a Python source that make it wrong: signs, coefficients, conditions, dropped steps."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

WORDS = {
    "name",
    "statement",
    "conditions",
    "source",
    "title",
    "symbol",
    "introduction",
    "note",
    "chapter",
    "sources",
    "label",
}
"""Attributes and keywords for the reader, which change no mathematics."""

BINARY = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
COMPARED = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
SWAPPED = {
    "Zero": "One",
    "One": "Zero",
    "Add": "Mul",
    "Mul": "Add",
    "any": "all",
    "all": "any",
    "max": "min",
    "min": "max",
}
SIGNED = {"is_positive": "is_nonnegative", "is_nonnegative": "is_positive", "is_negative": "is_nonpositive"}
SYMMETRIC = {"has", "atoms", "KroneckerDelta"}
"""Functions that do not care for the order of their arguments."""


ERROR_TERMS = {
    "symslr/referee/one_token.py": {"error"},
    "symslr/referee/rounding.py": {"error"},
    "symslr/evaluation/panels/axis.py": {"relative_error", "left_factor", "right_factor", "whole_factor"},
    "symslr/evaluation/panels/lattice.py": {"beyond", "bound"},
    "symslr/evaluation/separation/widths.py": {"_tail"},
    "symslr/evaluation/sampling/scatter.py": {"standard_error"},
}
"""Functions that return an error, or a bound on one, by file: what they return is halved, and tests/referee/test_error_terms.py
holds them where they are tight."""

Path = tuple[tuple[str, int | None], ...]
Edit = Callable[[ast.AST], ast.AST | None]
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Place:
    """Where a node stands: its path from the module, the statement around it, the names of what it is inside of.

    Attributes:
        path: fields and positions from the module down to the node.
        statement: line on which the innermost statement around it begins.
        names: classes and functions around it, from the outside in.
        function: position in ``names`` and first line of the outermost function that has the node in its body, or None.
    """

    path: Path = ()
    statement: int = 1
    names: tuple[str, ...] = ()
    function: tuple[int, int] | None = None

    def below(self, node: ast.AST, field: str, i: int | None) -> Place:
        """The place of a child of the node that stands here."""
        path, statement, names, function = (*self.path, (field, i)), self.statement, self.names, self.function
        if isinstance(node, ast.stmt):
            statement = node.lineno
        if isinstance(node, (*FUNCTION, ast.ClassDef)):
            names = (*names, node.name)
            if function is None and field == "body" and isinstance(node, FUNCTION):
                function = len(names), min(n.lineno for n in (node, *node.decorator_list))
        return Place(path, statement, names, function)


@dataclass(frozen=True)
class Mutant:
    """One change: where and what. ``key`` is stable while the line and its function's name do not change."""

    file: str
    line: int
    column: int
    change: str
    text: str
    place: Place
    original: str
    edit: Edit
    turn: int = 0

    @property
    def key(self) -> str:
        """File, function, line, change and the column in the line's text: numbers of lines move, the text seldom.

        The calls of a chain begin at one place, and lines may be equal: those after the first have a number.
        """
        where = f"{self.file} {'.'.join(self.place.names)}: {self.text}: {self.change} at {self.column}"
        return f"{where}, {self.turn}" if self.turn else where

    @property
    def function(self) -> tuple[str, int] | None:
        """Qualified name and first line of the function that alone is changed, or None where more is."""
        found = self.place.function
        return None if found is None else (".".join(self.place.names[: found[0]]), found[1])

    def tree(self) -> ast.Module:
        """The changed source, with the places of the original."""
        tree = ast.parse(self.original)
        edited = self.edit(_at(tree, self.place.path))
        if edited is not None:
            _put(tree, self.place.path, edited)
        return ast.fix_missing_locations(tree)

    @property
    def source(self) -> str:
        """The changed source as text."""
        return ast.unparse(self.tree())


def mutants(file: str, source: str) -> list[Mutant]:
    """Every change that the operators know, in the order of the source."""
    lines = source.splitlines()
    found: list[Mutant] = []
    seen: Counter[str] = Counter()
    for place, node in _places(ast.parse(source), Place()):
        terms = ERROR_TERMS.get(file, set())
        for change, edit in (
            *_changes(node),
            *(_halved(node) if place.names[-1:] and place.names[-1] in terms else ()),
        ):
            text = lines[node.lineno - 1]  # type: ignore[attr-defined]
            column = node.col_offset - len(text) + len(text.lstrip())  # type: ignore[attr-defined]
            made = Mutant(file, node.lineno, column, change, text.strip(), place, source, edit)  # type: ignore[attr-defined]
            found.append(replace(made, turn=seen[made.key]))
            seen[made.key] += 1
    return found


def _places(node: ast.AST, place: Place) -> Iterator[tuple[Place, ast.AST]]:
    if _is_words(node):
        return
    yield place, node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        if isinstance(value, ast.AST):
            yield from _places(value, place.below(node, name, None))
        elif isinstance(value, list):
            for i, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _places(item, place.below(node, name, i))


def _is_words(node: ast.AST) -> bool:
    """Docstrings, messages, imports and what only the reader sees."""
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Assert)):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.keyword):
        return node.arg in WORDS
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(t, ast.Name) and t.id in WORDS for t in targets)
    return isinstance(node, ast.FunctionDef) and node.name in ("_latex", "_sympystr", "__str__", "__repr__")


def _changes(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield f"{node.value} -> {node.value + 1}", lambda n: _set(n, "value", n.value + 1)
        if node.value > 1:
            yield f"{node.value} -> {node.value - 1}", lambda n: _set(n, "value", n.value - 1)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield f"{node.value} -> {not node.value}", lambda n: _set(n, "value", not n.value)
    elif isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        other = BINARY[type(node.op)]
        yield f"{type(node.op).__name__} -> {other.__name__}", lambda n: _set(n, "op", other())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield f"drop {type(node.op).__name__}", lambda n: n.operand
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARED:
        wrong = COMPARED[type(node.ops[0])]
        yield f"{type(node.ops[0]).__name__} -> {wrong.__name__}", lambda n: _set(n, "ops", [wrong()])
    elif isinstance(node, ast.BoolOp):
        flipped = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} -> {flipped.__name__}", lambda n: _set(n, "op", flipped())
        for i in range(len(node.values)):
            yield f"drop part {i + 1} of {type(node.op).__name__}", lambda n, i=i: _without(n, i)
    elif isinstance(node, (ast.If, ast.IfExp)):
        yield "condition -> False", lambda n: _set(n, "test", ast.Constant(False))
        yield "condition -> True", lambda n: _set(n, "test", ast.Constant(True))
    elif isinstance(node, ast.Name) and node.id in SWAPPED:
        yield f"{node.id} -> {SWAPPED[node.id]}", lambda n: _set(n, "id", SWAPPED[n.id])
    elif isinstance(node, ast.Attribute) and node.attr in {**SWAPPED, **SIGNED}:
        table = {**SWAPPED, **SIGNED}
        yield f"{node.attr} -> {table[node.attr]}", lambda n: _set(n, "attr", table[n.attr])
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("apply", "xreplace", "subs", "diff"):
            yield f"drop .{node.func.attr}(...)", lambda n: n.func.value
        plain = len(node.args) == 2 and not any(isinstance(a, (ast.Starred, ast.Lambda)) for a in node.args)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if plain and not node.keywords and name not in SYMMETRIC:
            yield "arguments swapped", lambda n: _set(n, "args", n.args[::-1])


def _halved(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.Return) and node.value is not None:
        yield "halved", lambda n: _set(n, "value", ast.BinOp(n.value, ast.Div(), ast.Constant(2)))


def _set(node: ast.AST, name: str, value: object) -> None:
    setattr(node, name, value)


def _without(node: ast.AST, i: int) -> ast.AST | None:
    values = [value for k, value in enumerate(node.values) if k != i]  # type: ignore[attr-defined]
    if len(values) == 1:
        return values[0]
    node.values = values  # type: ignore[attr-defined]
    return None


def _at(tree: ast.AST, path: Path) -> ast.AST:
    for name, i in path:
        value = getattr(tree, name)
        tree = value if i is None else value[i]
    return tree


def _put(tree: ast.AST, path: Path, node: ast.AST) -> None:
    *above, (name, i) = path
    parent = _at(tree, tuple(above))
    if i is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[i] = node
