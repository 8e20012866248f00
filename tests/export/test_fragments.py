"""What goes into a paper of one's own: every fragment of the house, by TeX and by KaTeX as a strict parser."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from symslr.export.report import write_fragments
from symslr.export.text import MATH
from tests.derivations.made import every_chain
from tests.export.strict import parsed

PAPER = r"""\documentclass{{article}}
\usepackage{{amsmath,amssymb,xcolor}}
\input{{macros}}
\begin{{document}}
{fragments}
\bibliographystyle{{plain}}
\bibliography{{references}}
\end{{document}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fragments of all of symslr's own derivations."""
    found = tmp_path_factory.mktemp("paper")
    write_fragments(every_chain(), found)
    return found


def formulas(fragment: str) -> list[tuple[str, bool]]:
    """(LaTeX, whether displayed) of every formula: the lines of flalign*, which KaTeX does not know, one by one."""
    displayed = re.findall(r"\\begin\{flalign\*\}\n(.*?)\n\\end\{flalign\*\}", fragment, re.DOTALL)
    rows = [row.removeprefix(r"\quad & ").removesuffix(" &&") for block in displayed for row in block.split("\\\\\n")]
    running = re.sub(r"\\begin\{flalign\*\}.*?\\end\{flalign\*\}", "", fragment, flags=re.DOTALL)
    return [(row, True) for row in rows] + [(found, False) for found in MATH.findall(running)]


@pytest.mark.needs("node")
def test_katex_takes_every_formula(folder: Path, tool: Callable[[str], str]) -> None:
    fragments = sorted((folder / "fragments").glob("*.tex"))
    items = {item for path in fragments for item in formulas(path.read_text(encoding="utf-8"))}
    assert len(fragments) > 70
    assert len(items) > 5 * len(fragments)
    assert parsed(sorted(items), tool("node")) == []


@pytest.mark.needs("node")
def test_katex_is_strict(tool: Callable[[str], str]) -> None:
    bad = [(r"\symslrtrue{x}", True), (r"\frac{1}{", True), (r"x_1_2", False), (r"\left( x", True)]
    refused = parsed([(r"\frac{1}{2}", True), *bad], tool("node"))
    assert [tex for tex, _ in refused] == [tex for tex, _ in bad]


@pytest.mark.needs("pdflatex", "latexmk", "bibtex")
def test_tex_takes_all_fragments_with_the_bibliography(folder: Path, tool: Callable[[str], str]) -> None:
    names = sorted(path.stem for path in (folder / "fragments").glob("*.tex"))
    text = PAPER.format(fragments="\n".join(rf"\input{{fragments/{name}}}" for name in names))
    (folder / "paper.tex").write_text(text, encoding="utf-8")
    command = [tool("latexmk"), "-pdf", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=800, errors="replace"
    )
    assert done.returncode == 0, done.stdout[-2000:]
    log = (folder / "paper.log").read_text(encoding="utf-8", errors="replace")
    assert not re.findall(r"^LaTeX Warning: .*(?:undefined|multiply).*$", log, re.MULTILINE)
    assert "Warning--" not in (folder / "paper.blg").read_text(encoding="utf-8", errors="replace")
