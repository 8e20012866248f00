"""The tests that `make test` leaves out: those that were measured to be slow, and none that `make mutants` counts on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import durations
from tests.durations import ALWAYS, LONG, Writer, is_slow, slow


def test_what_is_slow() -> None:
    assert is_slow("tests/evaluation/test_a.py::test_b[1]", LONG)
    assert not is_slow("tests/evaluation/test_a.py::test_b[1]", LONG / 2)
    assert not is_slow("tests/algebra/test_a.py::test_b", 10 * LONG)


def test_the_list_names_files_that_are_there() -> None:
    root = Path(__file__).parent.parent
    assert slow()
    for name in slow():
        assert (root / name.partition("::")[0]).is_file(), f"{name}: measure the tests anew (CONTRIBUTING.md)"
        assert not name.startswith(ALWAYS)


def test_a_part_of_the_tests_leaves_the_rest_of_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: a run of some tests with this plugin emptied the list."""
    monkeypatch.setattr(durations, "LIST", tmp_path / "slow.txt")
    monkeypatch.setattr(durations, "_spent", {"tests/test_a.py::test_now_fast": 0.0, "tests/test_a.py::test_slow": 1.0})
    durations.LIST.write_text("tests/test_a.py::test_now_fast\ntests/test_b.py::test_other\n")
    Writer().pytest_sessionfinish()
    assert slow() == {"tests/test_a.py::test_slow", "tests/test_b.py::test_other"}
