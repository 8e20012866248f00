"""Figures 4 and 5 at small size: what their tables say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from figures import trained_kernels
from figures.figure4 import figure4
from figures.figure5 import figure5
from figures.reach import figure_reach
from figures.trained_kernels import figure_trained_kernels
from symslr.evaluation import evaluate
from symslr.export.figures import write_figure
from symslr.model.catalogue import SpikedSLR, linear
from symslr.theory import minimal_risk


def test_figure4_counts_where_its_starts_end(tmp_path: Path) -> None:
    figure = figure4(starts=1, length=2, attentions=("linear",))
    table = figure.data()
    assert list(table["task"]) == ["spiked", "max"]
    assert [a + b + c for a, b, c in zip(*(table[kind] for kind in ("matched", "mismatched", "neither")))] == [1, 1]
    for row in range(2):
        if table["matched"][row] == 1:
            assert abs(float(str(table["R_vv_max"][row]))) < 1e-6
    write_figure(figure, tmp_path)
    assert (tmp_path / "figure4.pdf").stat().st_size > 1000


def test_figure5_has_the_least_risk_and_the_mismatched_limit(tmp_path: Path) -> None:
    figure = figure5(length=4, nu=(3.0,), attentions=("linear",))
    table = figure.data()
    for row, nu in enumerate((3,)):
        theory = float(evaluate(minimal_risk(SpikedSLR(), linear), {"nu": nu, "L": 4, "Delta": 0}))
        assert float(str(table["spiked_linear_matched_risk"][row])) == pytest.approx(theory, abs=1e-9)
        # k along v*, v along k*: L/(L + nu) is reached in the limit of a long key only
        mismatched = float(str(table["spiked_linear_mismatched_risk"][row]))
        assert 4 / (4 + nu) < mismatched < 4 / (4 + nu) + 1e-2
        assert table["spiked_linear_mismatched_strict"][row] == 0
    write_figure(figure, tmp_path)


@pytest.mark.needs("torch")
def test_trained_kernels_stand_beside_the_derived_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few steps of one seed: the table's shape, and the derived logarithms, sqrt(nu) x, nu x and |x| - |x - 2|."""
    monkeypatch.setattr(trained_kernels, "SEEDS", (1,))
    monkeypatch.setattr(trained_kernels, "TESTS", 1000)
    table = {name: np.array(column) for name, column in figure_trained_kernels(steps=2).data().items()}
    for name, expected in (
        ("spiked", lambda keys: 2**0.5 * keys),
        ("max", lambda keys: 2 * keys),
        ("laplace", lambda keys: np.abs(keys) - np.abs(keys - 2)),
    ):
        gap = table[f"{name}_derived"] - expected(table[f"{name}_key"])
        assert np.ptp(gap) < 1e-12
        assert np.all(np.isfinite(table[f"{name}_seed1"]))


def test_every_start_of_figure_reach_ends_somewhere(tmp_path: Path) -> None:
    figure = figure_reach(starts=2, lengths=(3,), nu=(2.0, 4.0))
    table = figure.data()
    kinds = ("good", "mismatched", "plateau", "elsewhere")
    for size in (0.1, 1.0):
        shares = np.array([table[f"{kind}_{size}"] for kind in kinds], dtype=float)
        assert np.array_equal(shares.sum(axis=0), [1.0, 1.0])
    assert all(item.agrees for item in figure.claims(table))
    write_figure(figure, tmp_path)
