"""Figures: drawn from a table that is written beside them."""

from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib import pyplot as plt

from figures.figure2 import Minimum, figure2
from symslr.cache.parts import measured
from symslr.export.figures import COLOURS, STYLES, Figure, FigureFiles, colour, write_figure
from symslr.model.attention import Attention
from symslr.model.catalogue import linear, softmax, softplus
from symslr.model.task import Task
from tests.figures.conftest import in_this_process  # noqa: F401 - for every test of this file


def dummy(task: Task, attention: Attention | None, nu: float) -> Minimum:
    if attention is None:
        return {"risk": measured(1 / (1 + nu), 0.0)}
    scale = np.inf if attention == softplus and nu > 1.5 else nu
    return {"risk": measured(2 / (1 + nu) if attention == softplus else 1 / (1 + nu), 0.0), "a": measured(scale, 0.0)}


THREE = (0.5, 1.0, 2.0)


@pytest.fixture(scope="module")
def drawn() -> Figure:
    return figure2(strengths=THREE, curve=dummy)


@pytest.fixture(scope="module")
def files(drawn: Figure, tmp_path_factory: pytest.TempPathFactory) -> FigureFiles:
    return write_figure(drawn, tmp_path_factory.mktemp("figure2"))


def test_figure2_writes_drawing_and_numbers(files: FigureFiles) -> None:
    assert files.pdf.read_bytes().startswith(b"%PDF")
    ET.parse(files.svg)
    with files.csv.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["nu"]) for row in rows] == list(THREE)
    # The shortest digits that give the float back: nothing is lost on the way to the file.
    assert [float(row["spiked_softplus"]) for row in rows] == [2 / (1 + nu) for nu in THREE]
    assert [float(row["spiked_softplus_a"]) for row in rows] == [0.5, 1.0, np.inf]
    risks = {column for column in rows[0] if column.count("_") == 1}
    assert risks == {f"{task}_{name}" for task in ("spiked", "max") for name in STYLES}


def test_two_runs_write_the_same_bytes(drawn: Figure, files: FigureFiles, tmp_path: Path) -> None:
    again = write_figure(drawn, tmp_path)
    assert files.svg.read_bytes() == again.svg.read_bytes()
    assert files.pdf.read_bytes() == again.pdf.read_bytes()


def test_figure2_is_where_softmax_meets_bayes() -> None:
    table = figure2(2, attentions=(softmax, linear), strengths=(0.2, 0.4, 0.6, 0.8, 1.0, 5.0)).data()
    for task, matched in (("spiked", 1.0), ("max", 1.0)):
        bayes, least, line = (np.array(table[f"{task}_{name}"]) for name in ("bayes", "softmax", "linear"))
        # Proposition 4.2: equal; both are float64 with twelve digits or more.
        assert np.max(np.abs(least / bayes - 1)) < 1e-11
        assert np.all(line > bayes)
        # Searched for without that knowledge, every eighth strength from the fifth: nu = 1.
        assert table[f"{task}_softmax_found"][4] == pytest.approx(bayes[4], rel=1e-7)
        assert table[f"{task}_softmax_found_a"][4] == pytest.approx(matched, rel=1e-3)
    # THEORY: spiked E_Bayes at L = 2, from E[1/(1 + e^D)] with D ~ N(nu, 2 nu).
    assert table["spiked_bayes"][4:] == pytest.approx([0.324943297662434592, 0.0843965125386967278], rel=1e-12)


def test_figure2_ends_in_the_selection_of_the_largest_key(tmp_path: Path) -> None:
    """At L = 2 and nu = infinity linear attention has (1 - 1/pi)/2, as E[max] = 1/sqrt(pi); softmax reaches 0 there."""
    figure = figure2(2, attentions=(softmax, linear), strengths=(0.2, 0.5, 0.8, 1.0, 2.0, np.inf), name="ends")
    table = figure.data()
    assert table["max_linear"][-1] == pytest.approx((1 - 1 / np.pi) / 2, rel=1e-6)
    assert (table["max_softmax"][-1], table["max_softmax_a"][-1], table["max_bayes"][-1]) == (0, np.inf, 0)
    assert np.isnan(table["spiked_linear"][-1])
    files = write_figure(Figure(figure.name, "", lambda: table, figure.draw, "", figure.claims), tmp_path)
    assert all(row.agrees for row in files.comparisons)
    assert len(files.comparisons) == 5


def test_columns_of_two_lengths_are_refused(tmp_path: Path) -> None:
    figure = Figure("bad", "", lambda: {"a": [1], "b": [1, 2]}, lambda table: plt.figure())
    with pytest.raises(ValueError, match="columns of lengths"):
        write_figure(figure, tmp_path)


def test_every_predictor_has_its_own_colour_and_dashes() -> None:
    assert len(set(COLOURS.values())) == len(COLOURS)
    assert len({str(style) for style in STYLES.values()}) == len(STYLES) == len(COLOURS)
    assert colour("mine", 0) not in COLOURS.values()
