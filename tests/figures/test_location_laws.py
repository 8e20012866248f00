"""The figure of laws of location: what its kept numbers say, its table, and its place in a report."""

from __future__ import annotations

from pathlib import Path

import pytest

from figures.location_laws import ATTAINED, ATTENTIONS, LAWS, STRENGTHS, figure_location_laws
from symslr.cache.results import Cache
from symslr.export.content import content
from symslr.export.figures import Drawn, computed
from symslr.export.html_figure import figure as figure_to_html
from symslr.export.page import behind, in_order
from symslr.library.records import read_record
from tests.derivations.made import chains

FOLDER = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def table() -> dict[str, list[object]]:
    record = read_record(FOLDER / "figures" / "data" / "figure-location-laws.json")
    assert record is not None
    with Cache() as store:
        return {name: list(column) for name, column in computed(figure_location_laws(), store, record=record).items()}


def test_only_what_is_derived_is_optimal(table: dict[str, list[object]]) -> None:
    figure = figure_location_laws()
    assert len(table["law"]) == len(LAWS) * len(STRENGTHS) * (1 + len(ATTENTIONS))
    assert all(row.agrees for row in figure.claims(table))
    worse = {**table, "risk": [0.99 * float(str(risk)) for risk in table["risk"]]}
    worse["risk"] = [b if a == "bayes" else c for a, b, c in zip(table["attention"], table["risk"], worse["risk"])]
    assert not any(row.agrees for row in figure.claims(worse) if "two of three" not in row.name)


def test_the_table_is_printed_in_its_chapter(table: dict[str, list[object]]) -> None:
    figure = figure_location_laws()
    printed = figure.printed(table)
    assert printed is not None
    assert len(printed.rows) == len(LAWS)
    ones = {row[0]: [cell for cell in row[2:-1] if cell == "1"] for row in printed.rows}
    assert [len(ones[title]) for title, _ in LAWS.values()] == [len(names) for names in ATTAINED.values()]
    shown = Drawn(figure, "<svg></svg>", printed=printed)
    assert "optimal attention</th>" in figure_to_html(1, shown)
    said = content(chains(FOLDER / "derivations" / "14_location_laws.py"))
    assert behind(figure.chapter, said, in_order(said, [shown])) == [shown]
    assert behind("", said, [shown]) == []
