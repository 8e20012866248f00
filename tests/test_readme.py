"""README's commands and sessions print what README says; ``...`` stands for digits and text left out."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from symslr.cli import main
from symslr.export.figures import write_figure
from symslr.export.standard import standard_figures

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
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


@pytest.mark.needs("matplotlib")
def test_the_picture_is_the_figure_of_the_report(tmp_path):
    """``build/report/figures/figure2.svg`` of ``make report`` goes to ``docs/_static`` where this fails."""
    (picture,) = re.findall(r"!\[[^\]]+\]\((\S+)\)", README)
    (figure,) = (found for found in standard_figures() if found.name == Path(picture).stem)
    shown, now = ((ROOT / picture).read_text(), write_figure(figure, tmp_path).svg.read_text())
    points = [
        [float(number) for line in re.findall(r' d="([^"]*)"', text) for number in re.findall(r"-?\d+\.?\d*", line)]
        for text in (shown, now)
    ]
    assert points[1] == pytest.approx(points[0], abs=0.2)  # of a point of type
