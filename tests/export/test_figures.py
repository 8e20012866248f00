"""Figures: drawn from a table that is written beside them."""

from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib import pyplot as plt

from symslr.export.figure2 import figure2
from symslr.export.figures import COLOURS, STYLES, Figure, colour, write_figure
from symslr.model.attention import Attention
from symslr.model.task import Task


def dummy(task: Task, attention: Attention | None, length: int, nu: np.ndarray) -> np.ndarray:
    if attention is not None and attention.name == "linear":
        return length / (length + nu)
    return np.exp(-nu / 4) if task.name == "spiked" else 1 / (1 + nu)


def test_figure2_writes_drawing_and_numbers(tmp_path: Path) -> None:
    figure = figure2(nu=(0.5, 1.0, 2.0), curve=dummy)
    files = write_figure(figure, tmp_path)
    assert files.pdf.read_bytes().startswith(b"%PDF")
    ET.parse(files.svg)
    with files.csv.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["nu"]) for row in rows] == [0.5, 1.0, 2.0]
    # The shortest digits that give the float back: nothing is lost on the way to the file.
    assert [float(row["spiked_L10_linear"]) for row in rows] == [10 / (10 + nu) for nu in (0.5, 1.0, 2.0)]
    assert set(rows[0]) == {"nu"} | {
        f"{t}_L{n}_{p}"
        for t in ("spiked", "max")
        for n in (2, 10)
        for p in STYLES
        if p in ("softmax", "linear", "bayes")
    }


def test_two_runs_write_the_same_bytes(tmp_path: Path) -> None:
    figure = figure2(nu=(0.5, 1.0, 2.0), curve=dummy)
    (tmp_path / "again").mkdir()
    one, two = write_figure(figure, tmp_path), write_figure(figure, tmp_path / "again")
    assert one.svg.read_bytes() == two.svg.read_bytes()
    assert one.pdf.read_bytes() == two.pdf.read_bytes()


def test_figure2_is_where_softmax_meets_bayes(tmp_path: Path) -> None:
    table = figure2(nu=(1.0, 5.0), lengths=(2,)).data()
    for task in ("spiked", "max"):
        bayes, softmax, linear = (np.array(table[f"{task}_L2_{name}"]) for name in ("bayes", "softmax", "linear"))
        # Proposition 4.2: equal; both are float64 with twelve digits or more.
        assert np.max(np.abs(softmax / bayes - 1)) < 1e-11
        assert np.all(linear > bayes)
    # THEORY: spiked E_Bayes at L = 2, from E[1/(1 + e^D)] with D ~ N(nu, 2 nu).
    assert table["spiked_L2_bayes"] == pytest.approx([0.324943297662434592, 0.0843965125386967278], rel=1e-12)


def test_columns_of_two_lengths_are_refused(tmp_path: Path) -> None:
    figure = Figure("bad", "", lambda: {"a": [1], "b": [1, 2]}, lambda table: plt.figure())
    with pytest.raises(ValueError, match="columns of lengths"):
        write_figure(figure, tmp_path)


def test_every_predictor_has_its_own_colour_and_dashes() -> None:
    assert len(set(COLOURS.values())) == len(COLOURS)
    assert len({str(style) for style in STYLES.values()}) == len(STYLES) == len(COLOURS)
    assert colour("mine", 0) not in COLOURS.values()
