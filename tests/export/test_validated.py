"""The section on validations: verdicts in words, reasons for what was skipped, tables within the page."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from symslr.algebra.derivation import Derivation
from symslr.export import pdf
from symslr.export.report import ReportFiles, write_report
from symslr.export.validated import validations_to_html
from symslr.validation.validate import Validation
from symslr.validation.validation import NamedComparison
from tests.export.unpacked import unpacked

LONG = "200000 samples of a_1 & 5 % of x^2 {by} simulation, seed 250921936; " * 3
VALIDATIONS = (
    Validation(
        "toy_risk",
        (
            NamedComparison("[x^2] risk of a_1 & <b>, softmax at scale 1.2", 0.4635341, np.float64(0.4631), 1e-2, LONG),
            NamedComparison("probability", 4.92372e-206, 0.0, 1e-9, "never seen"),
            NamedComparison("mean", -1.5, 2.0, 0.1, "far off"),
        ),
        title="Toy risks & 5 % more: x_1 >= 0.7.",
    ),
    Validation("toy_training", (), "needs torch: pip install 'symslr[train]'"),
)


def test_page_and_table_of_checks_say_the_verdicts(
    toy: Derivation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)
    files = write_report([toy], tmp_path, validations=VALIDATIONS)
    markup = unpacked(files.html)
    assert markup.count("✓ within") == 2
    assert markup.count("✗ not within") == 1
    assert "Toy risks &amp; 5 % more: x_1 &gt;= 0.7</h3>" in markup
    assert '<p class="meta">2 of 3 agree' in markup
    assert '<p class="meta">skipped, needs torch' in markup
    assert "4.92×10<sup>−206</sup>" in markup
    assert 'href="#validation"' in markup
    risk, training = json.loads(files.checks.read_text())["validations"]
    assert [row["agrees"] for row in risk["comparisons"]] == [True, True, False]
    assert risk["comparisons"][0]["tolerance"] == 1e-2
    assert training["skipped"].startswith("needs torch")


def test_mathematics_in_a_heading_and_in_a_note_is_set() -> None:
    named = Validation(
        "toy", (NamedComparison("a", 1.0, 1.0, 0.1, r"over $\log n$ & more"),), title=r"A window of $x^p$."
    )
    markup = validations_to_html([named])
    assert "<msup><mi>x</mi><mi>p</mi></msup>" in markup
    assert ">log</mo><mi>n</mi>" in markup


def test_mathematics_in_a_name_is_set_and_what_stands_beside_it_is_escaped() -> None:
    named = Validation("toy", (NamedComparison(r"$q_{kk}$ on a_1 & <b>, cost 5 $", 1.0, 1.0, 0.1),))
    markup = validations_to_html([named])
    assert "<msub><mi>q</mi>" in markup
    assert " on a_1 &amp; &lt;b&gt;, cost 5 $" in markup


def test_without_validations_there_is_no_section(
    toy: Derivation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)
    files = write_report([toy], tmp_path)
    assert 'id="validation"' not in unpacked(files.html)


@pytest.fixture(scope="module")
def files(toy: Derivation, tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    """A report with its PDFs, where TeX is installed."""
    return write_report([toy], tmp_path_factory.mktemp("validated"), validations=VALIDATIONS)


@pytest.mark.needs("chromium")
def test_table_scrolls_by_itself_on_a_phone(files: ReportFiles, tool: Callable[[str], str], tmp_path: Path) -> None:
    probe = (
        "<script>const t=document.querySelector('.validation').parentNode;"
        "document.title=[document.documentElement.scrollWidth,innerWidth,t.scrollWidth,t.clientWidth].join(' ')"
        "</script></body>"
    )
    (tmp_path / "probe.html").write_text(unpacked(files.html).replace("</body>", probe))
    command = [tool("chromium"), "--headless", "--no-sandbox", "--disable-gpu"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--window-size=500,900", "--dump-dom"]
    done = subprocess.run(
        [*command, (tmp_path / "probe.html").as_uri()], capture_output=True, text=True, check=False, timeout=600
    )
    found = re.search(r"<title>(\d+) (\d+) (\d+) (\d+)</title>", done.stdout)
    assert found, done.stderr[-500:]
    page, window, table, room = map(int, found.groups())
    assert page <= window
    assert table > room
