"""Small changes of a Python source that make it wrong: signs, coefficients, conditions, dropped steps."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Mutant:
    """One change: where, what, and the source that has it. ``key`` is stable while the line does not change."""

    file: str
    line: int
    change: str
    text: str
    source: str

    @property
    def key(self) -> str:
        """File, change, and the text of the line: numbers of lines move, the text seldom."""
        return f"{self.file}: {self.change}: {self.text}"


def mutants(file: str, source: str) -> list[Mutant]:
    """Every change that the operators know, in the order of the lines; changes that leave the same program are left out."""
    tree = ast.parse(source)
    lines = source.splitlines()
    same = ast.unparse(tree)
    found: list[Mutant] = []
    seen = {same}
    for path, node in _places(tree, ()):
        for change, edit in _changes(node):
            copy = deepcopy(tree)
            target = _at(copy, path)
            edited = edit(target)
            if edited is not None:
                _put(copy, path, edited)
            made = ast.unparse(ast.fix_missing_locations(copy))
            if made not in seen:
                seen.add(made)
                line = getattr(node, "lineno", 0)
                found.append(Mutant(file, line, change, lines[line - 1].strip(), made))
    return found


Path = tuple[tuple[str, int | None], ...]


def _places(node: ast.AST, path: Path) -> Iterator[tuple[Path, ast.AST]]:
    if _is_words(node):
        return
    yield path, node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        if isinstance(value, ast.AST):
            yield from _places(value, (*path, (name, None)))
        elif isinstance(value, list):
            for i, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _places(item, (*path, (name, i)))


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


Edit = Callable[[ast.AST], ast.AST | None]


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
        if plain and not node.keywords:
            yield "arguments swapped", lambda n: _set(n, "args", n.args[::-1])


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
