"""``symslr figure``: the risk of one's own attention as files that a paper takes."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from symslr.cli import main
from symslr.evaluation import evaluate
from symslr.export.standard import standard_figures
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR
from symslr.model.symbols import x
from symslr.theory import bayes_risk, minimal_risk
from tests.conftest import REQUIRE_TOOLS


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["figure", *arguments])
    return int(str(ended.value.code))


def test_files_of_one_s_own_kernel_have_its_risks(tmp_path: Path) -> None:
    assert run("spiked", "--length", "3", "--kernel", "1+x**2", "--nu", "1:3:2", "--out", str(tmp_path)) == 0
    with (tmp_path / "risk-spiked.csv").open() as file:
        low, high = csv.DictReader(file)
    task, values = SpikedSLR(), {"L": 3, "nu": 3, "Delta": 0}
    assert float(high["nu"]) == 3
    assert float(high["bayes"]) == pytest.approx(float(evaluate(bayes_risk(task), values).value), rel=1e-5)
    own = [float(high[name]) for name in high if name not in ("nu", "bayes", "softmax")]
    least = evaluate(minimal_risk(task, Attention(1 + x**2)), values).value
    assert own == pytest.approx([float(least)], rel=1e-5)
    assert float(high["bayes"]) < own[0] < float(low["bayes"])
    assert b"/Subtype /Type3" not in (tmp_path / "risk-spiked.pdf").read_bytes()  # which journals refuse
    assert (tmp_path / "risk-spiked.svg").exists()


def test_the_example_of_a_folder_of_one_s_own_has_its_risk_curve() -> None:
    (found,) = standard_figures(Path(str(files("symslr.cli").joinpath("starter"))))
    assert found.name == "figure-quartic-risk"
    assert "Least risk of quartic attention on spiked, beside softmax and the Bayes risk, at 12 values" in found.caption


@pytest.mark.needs("pdflatex")
def test_a_paper_inputs_the_pgf(tmp_path: Path, tool: Callable[[str], str]) -> None:
    assert run("spiked", "--length", "2", "--attention", "linear", "--nu", "1:2:2", "--out", str(tmp_path)) == 0
    text = r"\documentclass{article}\usepackage{pgf}\begin{document}\input{risk-spiked.pgf}\end{document}"
    (tmp_path / "paper.tex").write_text(text)
    if (
        not REQUIRE_TOOLS
        and not subprocess.run([tool("kpsewhich"), "pgf.sty"], capture_output=True, check=False).stdout
    ):
        pytest.skip("pgf.sty is not installed")
    command = [tool("pdflatex"), "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-1000:]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("spiked", "--length", "3"), "--nu: found none; expected strengths A:B:N"),
        (("spiked", "--length", "3", "--nu", "3:1:2"), "--nu: found '3:1:2'; expected A:B:N with 0 <= A < B"),
        (("figure2", "--nu", "1:2:3"), "--nu: found with figure2, which has its own; leave it out"),
        (("spikd", "--length", "3", "--nu", "1:2:3"), "spikd"),
    ],
)
def test_what_it_cannot_draw_is_refused_in_one_line(
    arguments: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments, "--out", str(tmp_path)) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
