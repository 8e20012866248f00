"""The tests that `make test` deals out: those that were measured to be slow, each of them in one of ten packs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import durations
from tests.durations import PACKS, Writer, left_out, slow


def test_the_list_names_files_that_are_there() -> None:
    root = Path(__file__).parent.parent
    assert slow()
    for name in slow():
        assert (root / name.partition("::")[0]).is_file(), f"{name}: measure the tests anew (CONTRIBUTING.md)"


@pytest.mark.parametrize("first", [0, 7, 123456])
def test_ten_seeds_in_a_row_run_every_test(first: int) -> None:
    packs = [slow().keys() - left_out(seed) for seed in range(first, first + PACKS)]
    assert sorted(name for pack in packs for name in pack) == sorted(slow())
    costs = [sum(slow()[name] for name in pack) for pack in packs]
    assert max(costs) < 2 * min(costs)


def test_a_part_of_the_tests_leaves_the_rest_of_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: a run of some tests with this plugin emptied the list."""
    monkeypatch.setattr(durations, "LIST", tmp_path / "slow.txt")
    monkeypatch.setattr(
        durations, "_spent", {"tests/test_fuzz.py::test_now_fast": 0.0, "tests/test_fuzz.py::test_slow": 1.0}
    )
    durations.LIST.write_text("9.0 tests/test_fuzz.py::test_now_fast\n2.5 tests/test_readme.py::test_other[a b]\n")
    Writer().pytest_sessionfinish()
    assert slow() == {"tests/test_fuzz.py::test_slow": 1.0, "tests/test_readme.py::test_other[a b]": 2.5}
