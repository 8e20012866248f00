"""What goes into a paper of one's own: every fragment of the house, by TeX and by KaTeX as a strict parser; an author's letters."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from symslr.algebra.derivation import Derivation
from symslr.export.notation import Notation, notation_in
from symslr.export.report import latex_of, write_fragments
from symslr.export.text import MATH
from symslr.export.theorem import Form
from tests.derivations.made import every_chain
from tests.export.strict import parsed

PAPER = r"""\documentclass[{columns}]{{article}}
\usepackage{{amsmath,amssymb,amsthm}}
\newtheorem{{theorem}}{{Theorem}}
\allowdisplaybreaks
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


def formulas(fragment: str, macros: str) -> list[tuple[str, bool]]:
    """(LaTeX, whether displayed) of every formula, its macros put in; rows of align*, which may end within a bracket, are apart."""
    letters = dict(re.findall(r"\\providecommand\{(\\\w+)\}\{(.*)\}", macros))
    text = re.sub(r"\\symslr[A-Za-z]+", lambda found: letters[found[0]], fragment)
    found = re.findall(r"\\begin\{(?:align\*|split)\}\n(.*?)\n\\end\{", text, re.DOTALL)
    rows = [row for block in found for row in re.sub(r"\\intertext\{.*\}\n", "", block).split(" \\\\\n")]
    bare = [re.sub(r" ?\\tag\*\{.*$|&", "", row) for row in rows]
    running = re.sub(r"\\begin\{(align\*|equation)\}.*?\\end\{\1\}", "", text, flags=re.DOTALL)
    return [(row.strip(), True) for row in bare] + [(found, False) for found in MATH.findall(running)]


@pytest.mark.needs("node")
def test_katex_takes_every_formula(folder: Path, tool: Callable[[str], str]) -> None:
    fragments = sorted((folder / "fragments").glob("*.tex"))
    macros = (folder / "macros.tex").read_text(encoding="utf-8")
    items = {item for path in fragments for item in formulas(path.read_text(encoding="utf-8"), macros)}
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
    text = PAPER.format(columns="onecolumn", fragments="\n".join(rf"\input{{fragments/{name}}}" for name in names))
    (folder / "paper.tex").write_text(text, encoding="utf-8")
    command = [tool("latexmk"), "-pdf", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=800, errors="replace"
    )
    assert done.returncode == 0, done.stdout[-2000:]
    log = (folder / "paper.log").read_text(encoding="utf-8", errors="replace")
    assert not re.findall(r"^LaTeX Warning: .*(?:undefined|multiply).*$", log, re.MULTILINE)
    assert "Warning--" not in (folder / "paper.blg").read_text(encoding="utf-8", errors="replace")


LETTERS = r"""[symbols]
nu = "\\lambda"
E = "\\operatorname{E}"
chi = "u"
sigma = "\\alpha"
p = "\\pi"
"""
THREE = ("bayes-risk", "softmax-attains-bayes", "linear-spiked-least")


def own_letters(folder: Path) -> Notation:
    file = folder / "letters.toml"
    file.write_text(LETTERS, encoding="utf-8")
    return notation_in(file)


@pytest.mark.needs("pdflatex")
def test_two_columns_take_three_results_in_other_letters(tmp_path: Path, tool: Callable[[str], str]) -> None:
    chosen = [item for item in every_chain() if item.name in THREE]
    write_fragments(chosen, tmp_path, Form(width=22, notation=own_letters(tmp_path)))
    text = PAPER.format(columns="twocolumn", fragments="\n".join(rf"\input{{fragments/{name}}}" for name in THREE))
    (tmp_path / "paper.tex").write_text(text, encoding="utf-8")
    command = [tool("pdflatex"), "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300, errors="replace"
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


def test_an_author_s_letters_are_put_everywhere(toy: Derivation, tmp_path: Path) -> None:
    said = latex_of([toy], Form(notation=own_letters(tmp_path)))
    assert r"\operatorname{E}_{x\sim \mathcal{N}(0,1)}" in said
    assert r"\lambda" in said
    assert r"\nu" not in said
    assert r"\mathbb{E}" not in said
    assert r"[{A toy with $\lambda$\_1 \& 5 \% of signs}]\label{thm:toy}" in said
    assert said.count(r"\begin{equation}") == said.count(r"\begin{align*}") == 1
    assert r"\tag*{\footnotesize Gaussian integral}" in said
    for never in (r"\exp{", r"{\left(", r"\symslr"):
        assert never not in said


def test_the_result_alone_has_no_proof(toy: Derivation) -> None:
    said = latex_of([toy], Form(proof=False))
    assert r"\begin{theorem}" in said
    assert "proof" not in said


def test_a_letter_that_means_something_else_is_refused(toy: Derivation) -> None:
    with pytest.raises(ValueError, match=r"nu = .*Delta': found .Delta .* for something else; expected a free letter"):
        latex_of([toy], Form(notation=Notation({r"\nu": r"\Delta"}, {r"\nu": "nu"})))
    swapped = Notation({r"\nu": r"\Delta", r"\Delta": r"\nu"}, {r"\nu": "nu", r"\Delta": "Delta"})
    assert r"\nu^{2} + 2" in latex_of([toy], Form(notation=swapped))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nu = 3", "found nu; expected one table"),
        ("[symbols]\nnu = 3", "nu: found 3; expected LaTeX of a symbol"),
        ('[symbols]\nnu = "{"', "nu: found '{'"),
        ('[symbols]\n"a b" = "c"', "found the symbol 'a b'"),
        ("[symbols", "expected TOML"),
    ],
)
def test_another_file_is_refused_in_one_line(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(said)) as found:
        notation_in(tmp_path / "bad.toml")
    assert "\n" not in str(found.value)
