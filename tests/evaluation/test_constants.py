"""Every number that decides something says what it bounds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import symslr.evaluation

ROOM = Path(symslr.evaluation.__file__).parent


def unexplained(text: str) -> Iterator[str]:
    """Names in capitals that a module gives a number, without a sentence below the line, or below the lines that follow at once."""
    body = ast.parse(text).body
    for statement, following in zip(body, [*body[1:], None]):
        if not isinstance(statement, ast.Assign):
            continue
        names = [node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        numbers = [
            node
            for node in outside_functions(statement.value)
            if isinstance(node, ast.Constant) and is_number(node.value)
        ]
        if numbers and names[0].isupper() and not is_text(following):
            block = body[body.index(statement) + 1 :]
            while block and isinstance(block[0], ast.Assign) and block[0].lineno == statement.end_lineno + 1:
                statement = block.pop(0)
            if not (block and is_text(block[0])):
                yield from names


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what it is made of, without the bodies of functions: those are code, not constants."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Lambda):
            yield from outside_functions(child)


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_text(statement: ast.stmt | None) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def test_every_constant_of_evaluation_is_explained() -> None:
    found = {str(path.relative_to(ROOM)): list(unexplained(path.read_text())) for path in ROOM.rglob("*.py")}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("A = 3\n", ["A"]),
        ('A = 3\n"""Tokens."""\n', []),
        ("A, B = 3, 4.5\n\n\ndef f() -> None: ...\n", ["A", "B"]),
        ('A = 3\nB = 4\n"""Of both."""\n', []),
        ('A = 3\n\nB = 4\n"""Of one."""\n', ["A"]),
        ('A = "text"\nis_b = 4\n', []),
    ],
)
def test_what_is_not_explained_is_found(text: str, names: list[str]) -> None:
    assert list(unexplained(text)) == names
