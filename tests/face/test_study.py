"""A study from Python: killed, resumed, and read as pandas and xarray."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import symslr as s

STUDY = """
[common]
task = "spiked"
digits = 12

[[sweep]]
kind = "bayes"
length = ["2", "3"]
nu = ["1/2", "2", "20"]
"""
SCRIPT = "import sys, symslr as s\nif __name__ == '__main__':\n    s.run_study(*sys.argv[1:], workers=1)\n"


def test_a_killed_study_is_resumed_and_is_a_table(tmp_path: Path) -> None:
    file, store, script = tmp_path / "study.toml", tmp_path / "store.sqlite", tmp_path / "script.py"
    file.write_text(STUDY)
    script.write_text(SCRIPT)
    with subprocess.Popen([sys.executable, script, file, store], start_new_session=True) as process:
        while process.poll() is None and not (store.exists() and b'"value"' in store.read_bytes()):
            time.sleep(0.05)
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)
    seen = []
    found = s.run_study(file, store, workers=1, report=lambda progress: seen.append(progress.done))
    assert seen[0] >= 1
    assert repr(found) == "Study(6 points: 6 done, 0 failed)"
    frame, data = found.to_dataframe(), found.to_xarray()
    assert frame.value.dtype == frame.nu.dtype == float
    assert sorted(frame.nu) == [0.5, 0.5, 2, 2, 20, 20]
    truth = float(s.bayes_risk(s.SpikedSLR(noise=0))(nu=2, length=3))
    (quantity,) = set(frame.quantity)
    assert float(data[quantity].sel(nu=2, length=3)) == pytest.approx(truth, rel=1e-12)
    assert found.to_csv(tmp_path / "t.csv") == (tmp_path / "t.csv").read_text()
    assert s.run_study(file, store, workers=1).rows == found.rows


def test_what_failed_says_why(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace('kind = "bayes"', 'kind = "risk"\nscale = "1"\nkernel = "1/(x-1)"'))
    with pytest.raises(ValueError, match="kernel"):
        s.run_study(file, tmp_path / "store.sqlite", workers=1).to_xarray()
    file.write_text(STUDY)
    with pytest.raises(ValueError, match="executor: found 'cluster'"):
        s.run_study(file, tmp_path / "store.sqlite", executor="cluster")
