"""The separation's figures: their tables agree with the exact law, and they are drawn without a warning."""

import math
from pathlib import Path

import pytest

from figures.separation import (
    FIGURES,
    figure_attention_cost,
    figure_separation_degrees,
    figure_separation_gap,
    figure_separation_map,
    figure_separation_width,
)
from symslr.evaluation.separation import NeuronLaw
from symslr.export.figures import write_figure
from symslr.model.separation import separation


def test_map_holds_exact_probabilities_and_boundaries() -> None:
    table = figure_separation_map(marks=(0.6, 1.1), widths=(0.2,)).data()
    rows = [dict(zip(table, values)) for values in zip(*table.values())]
    assert len(rows) == 6
    for row in rows:
        numbers = {name: row[name] for name in ("n", "t", "a1", "b")}
        made = separation(**numbers, d=row["n"] // row["t"] + 2, a0=0.05, c=0.8, m=52)
        assert row["success"] == float(NeuronLaw(made).fixed_row)
    assert rows[2]["boundary_a1"] == pytest.approx(0.80107, abs=1e-5)
    assert rows[2]["success"] < 1e-6
    assert rows[3]["success"] > 0.99


def test_cost_and_widths() -> None:
    cost = figure_attention_cost(4)
    table = cost.data()
    assert all(claim.agrees for claim in figure_attention_cost().claims(figure_attention_cost().data()))
    printed = cost.printed(table)
    assert printed is not None
    assert printed.rows[1][0] == "64"
    widths = figure_separation_width((0.01,)).data()
    assert (widths["exact_least"][0], widths["union_most"][0]) == (17.0, 68.0)
    assert math.isnan(widths["hoeffding_least"][0])


@pytest.mark.needs("matplotlib")
def test_figures_are_drawn(tmp_path: Path) -> None:
    small = (
        figure_separation_map(marks=(0.6, 0.9, 1.1), widths=(0.1, 0.2)),
        figure_separation_degrees(scan=(1, 5, 20)),
        figure_separation_gap(sizes=(64, 256)),
        figure_separation_width((0.01, 0.1)),
        figure_attention_cost(32),
    )
    for figure in small:
        files = write_figure(figure, tmp_path)
        assert files.svg.stat().st_size > 1000
        assert files.csv.read_text().count("\n") > 2
    assert len({build().name for build in FIGURES}) == len(FIGURES)
