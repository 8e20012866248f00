"""README's commands and sessions print what README says; ``...`` stands for digits and text left out."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from symslr.cli import main

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n\$ symslr (.*)\n((?:.*\n)*?)```", README)


@pytest.mark.parametrize(("command", "expected"), CONSOLE, ids=[command for command, _ in CONSOLE])
def test_a_command_prints_what_readme_says(capsys, command, expected):
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command))
    assert not ended.value.code
    printed = capsys.readouterr().out
    for said, found in zip(expected.splitlines(), printed.splitlines(), strict=False):
        start = said.removesuffix("...")
        assert found.startswith(start) if said.endswith("...") else found == said


def test_there_are_commands():
    assert len(CONSOLE) >= 5


def test_sessions():
    session = doctest.DocTestParser().get_doctest(README, {}, "README", "README.md", 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(session)
    assert runner.summarize(verbose=False).failed == 0
