"""The guide's sessions give what it says, and the files that it and the documentation name exist."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_sessions() -> None:
    session = doctest.DocTestParser().get_doctest(GUIDE, {}, "CONTRIBUTING", "CONTRIBUTING.md", 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(session)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_exist(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    named = re.findall(r"`((?:symslr|tests|derivations|validation|benchmarks|docs)/[\w/.]+)`", text)
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_formulas_begin_and_end_where_the_site_sees_it(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.S)
    # displayed formulas are paragraphs of their own; running ones touch their dollar signs
    left = re.sub(r"(?:^|(?<=\n\n))\s*\$\$[^$]+\$\$(?=\n\n|\n?$)|\$[^\s$](?:[^$]*[^\s$])?\$", "", text)
    assert "$" not in left


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_local_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = [t.split("#")[0] for t in re.findall(r"\]\(([^)]+)\)", text) if "://" not in t and not t.startswith("#")]
    pages = re.findall(r"\{doc\}`([^`<]+)`", text)
    missing = [t for t in targets if not (page.parent / t).exists()]
    missing += [t for t in pages if not (page.parent / f"{t}.md").exists()]
    assert not missing
