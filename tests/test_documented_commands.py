"""Every command that README, the guide and the documentation name can be given: its options and targets exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from symslr.cli.application import app

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "symslr" / "cli" / "starter" / "README.md",
]
NAMES = "|".join(
    sorted((str(command.name or command.callback.__name__) for command in app.registered_commands), reverse=True)
)
SYMSLR = rf"(symslr (?:{NAMES}|study)\b[^`\n]*)"
PLACE = re.compile(r"\b(?:NAME|OUT\.tex|FOLDER|FILE|DIR)\b")


def commands(page: Path) -> list[str]:
    """Lines of code that begin with symslr, and commands with arguments in running text; outlines in brackets are none."""
    text = page.read_text(encoding="utf-8")
    lines = re.findall(rf"^(?:    |\$ |){SYMSLR}$", text, re.M) + re.findall(rf"`{SYMSLR}`", text)
    return [line for line in lines if not re.search(r"\[|HOST|--help", line)]


GIVEN = sorted({(page.name, line) for page in PAGES for line in commands(page)})
TARGETS = sorted({name for page in PAGES for name in re.findall(r"(?:`|^    )make ([a-z]+)", page.read_text(), re.M)})


@pytest.mark.parametrize(("page", "line"), GIVEN)
def test_a_command_can_be_given(page: str, line: str) -> None:
    # parsed as the command line parses it, and not run: what README prints is run by test_readme.py
    command = typer.main.get_command(app)
    arguments = shlex.split(PLACE.sub("x", line), comments=True)[1:]
    context = None
    while arguments and hasattr(command, "resolve_command"):
        context = command.make_context("symslr", arguments, parent=context, resilient_parsing=True)
        _, command, arguments = command.resolve_command(context, arguments)
    if arguments:
        command.make_context("symslr", arguments, parent=context)


def test_there_are_commands() -> None:
    assert len(GIVEN) > 20
    assert {"report", "test", "docs"} <= set(TARGETS)


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M)
