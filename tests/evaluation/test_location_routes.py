"""Routes are data: the manual's tables are theirs, and what a route lacks is said."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from symslr import LocationTask
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location import bayes_value
from symslr.evaluation.location.bayes import BAYES, FORMULA
from symslr.evaluation.location.moments import MOMENTS
from symslr.evaluation.location.routes import as_markdown
from symslr.evaluation.location.setting import Setting

DOCS = Path(__file__).parents[2] / "docs"


def test_the_tables_of_the_manual_are_those_of_the_routes() -> None:
    assert as_markdown() in (DOCS / "location.md").read_text(encoding="utf-8")
    assert BAYES[-1].needs == MOMENTS[-1].needs == ()


def test_what_a_route_lacks_is_said() -> None:
    chain = LocationTask(2, key_covariance="(1/2)**abs(i-j)", length=4, noise=0)
    assert FORMULA.lacks(chain) == "independent keys"
    taken = next(route for route in BAYES if route.lacks(Setting.of(chain)) is None)
    assert bayes_value(chain).method == taken.method
    with pytest.raises(CannotEvaluate, match="which needs independent keys"):
        bayes_value(chain, backend="arb")


def test_the_page_of_symbols() -> None:
    assert doctest.testfile(str(DOCS / "symbols.md"), module_relative=False).failed == 0
