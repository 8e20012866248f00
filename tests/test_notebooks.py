"""Every notebook of the manual runs, cell after cell."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs/notebooks").glob("*.md"))
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    cells = CELL.findall(path.read_text())
    assert cells
    names: dict[str, object] = {}
    for cell in cells:
        code = re.sub(r"^:[^\n]*\n", "", cell, flags=re.MULTILINE)
        exec(compile(code, path.name, "exec"), names)
