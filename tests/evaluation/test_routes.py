"""Routes are data: the manual's tables are theirs, and what a route lacks is said."""

from __future__ import annotations

import doctest
from dataclasses import replace
from pathlib import Path

import pytest
from sympy import Expr, Integer, Max

from symslr import SpikedSLR, Task, softmax, softplus
from symslr.cli import options
from symslr.evaluation.engine import BACKENDS, EXPONENTIAL, USUAL, evaluate
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location import bayes_value, risk_value
from symslr.evaluation.location.bayes import BAYES, FORMULA, INTEGRALS_METHOD
from symslr.evaluation.location.moments import MOMENTS
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.routes import as_markdown
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Minimum
from symslr.model.catalogue import attention_of
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import c, chi
from symslr.theory import bayes_risk, population_risk

DOCS = Path(__file__).parents[2] / "docs"


def test_the_tables_of_the_manual_are_those_of_the_routes() -> None:
    said = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("location.md", "domain.md"))
    assert [title for title, table in as_markdown().items() if table not in said] == []
    assert BAYES[-1].needs == MOMENTS[-1].needs == ()


def test_what_a_route_lacks_is_said() -> None:
    chain = Task(nu=2, key_covariance="(1/2)**abs(i-j)", length=4, noise=0)
    assert FORMULA.lacks(chain) == "independent keys"
    taken = next(route for route in BAYES if route.lacks(Setting.of(chain)) is None)
    assert bayes_value(chain).method == taken.method
    with pytest.raises(CannotEvaluate, match="which needs independent keys"):
        bayes_value(chain, backend="arb")


@pytest.mark.parametrize(
    ("expr", "values", "lacks"),
    [
        (Minimum(1 + (c - 1) ** 2, c), {}, "no minimum that is searched"),
        (SequenceExpectation(Max(chi[1], chi[2]) ** 4, SequenceLaw(Integer(1), Integer(2))), {}, "single tokens"),
        (bayes_risk(SpikedSLR()), {"L": 3, "Delta": 0, "nu": [1, 2]}, "single numbers"),
    ],
)
def test_what_has_no_proof_is_said_by_the_table(expr: Expr, values: dict[str, object], lacks: str) -> None:
    with pytest.raises(CannotEvaluate, match=rf"^certified: needs .*{lacks}"):
        evaluate(expr, values, backend="arb")
    assert evaluate(expr, values).digits >= 6


def test_a_lattice_needs_an_exponential_kernel() -> None:
    values = {"L": 3, "Delta": 0, "nu": 2}
    proved = [evaluate(population_risk(SpikedSLR(), softmax, 1), values, backend=name) for name in ("arb", EXPONENTIAL)]
    assert proved[0] == replace(proved[1], seconds=proved[0].seconds)
    with pytest.raises(CannotEvaluate, match="exponential kernels under Gaussian laws"):
        evaluate(population_risk(SpikedSLR(), softplus, 1), values, backend=EXPONENTIAL)


def test_the_help_says_what_the_routes_do() -> None:
    """It is a text, as a command that prints its help loads no route."""
    assert INTEGRALS_METHOD.partition(",")[0] in options.CertifiedOption.help
    assert f"by default {USUAL['arb']}" in options.RiskDigitsOption.help
    assert "float64" in BACKENDS[next(iter(USUAL))].method
    assert "float64" in options.RiskDigitsOption.help
    task, chosen = Task(nu=2, length=3, noise=0, location="subset(2)"), attention_of("sparsemax")
    with pytest.raises(CannotEvaluate, match=r"^certified: not available .* needs one kernel of single keys"):
        risk_value(task, chosen, 1, backend="arb")


@pytest.mark.parametrize("page", ["symbols.md", "location.md", "cite.md"])
def test_what_is_typed_on_a_page(page: str) -> None:
    found = doctest.testfile(str(DOCS / page), module_relative=False)
    assert found.failed == 0 < found.attempted
