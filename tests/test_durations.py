"""The tests that `make test` leaves out: those that were measured to be slow, and none that `make mutants` counts on."""

from __future__ import annotations

from pathlib import Path

from tests.durations import ALWAYS, LONG, is_slow, slow


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
