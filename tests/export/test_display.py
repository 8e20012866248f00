"""What a notebook shows of a task, an attention, a quantity, a number and a derivation: LaTeX that KaTeX takes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from symslr import Attention, Derivation, SpikedSLR, Task, evaluate, laplace, linear, minimal_risk, rules
from symslr.export.text import sentence
from symslr.expression.expectation import SequenceExpectation
from symslr.model.catalogue import MaxSLR, erf, softmax, softmax1, softplus
from symslr.model.symbols import chi, epsilon, x
from symslr.theory import bayes_risk
from tests.export.strict import parsed

AT = {"L": 3, "nu": 2, "Delta": 0}
CHAIN = Derivation(SequenceExpectation(chi[epsilon] ** 2, SpikedSLR().law), name="second-moment", title="A moment")
SHOWN = {
    "spiked": SpikedSLR(),
    "max": MaxSLR(),
    "own task": Task.from_token_laws(laplace(1), laplace(), noise=0, length=3),
    **{attention.name: attention for attention in (softmax, softmax1, linear, erf, softplus)},
    "own attention": Attention(1 + x**4, name="quartic"),
    "bayes risk": bayes_risk(SpikedSLR()),
    "minimal risk": minimal_risk(SpikedSLR(), softmax),
    "number": evaluate(bayes_risk(SpikedSLR()), AT, digits=12),
    "derivation": CHAIN.apply(rules.CameronMartin()).apply(rules.Linearity()),
}


@pytest.mark.needs("node")
def test_katex_takes_what_a_notebook_shows(tool: Callable[[str], str]) -> None:
    shown = {name: item._repr_latex_() for name, item in SHOWN.items()}
    assert all(text.startswith("$") and text.endswith("$") for text in shown.values())
    assert parsed([(text.strip("$"), False) for text in shown.values()], tool("node")) == []


def test_a_number_shows_its_error_and_kind() -> None:
    value = SHOWN["number"]
    assert r"\pm" in value._repr_latex_()
    assert str(value.kind) in value._repr_latex_()
    assert repr(value).startswith("0.352423268884")


def test_an_array_of_numbers_has_no_latex_and_prints() -> None:
    values = evaluate(bayes_risk(SpikedSLR()), {"L": 3, "nu": np.array([1.0, 2.0]), "Delta": 0})
    assert values._repr_latex_() is None
    assert repr(values).startswith("[0.48")


def test_a_derivation_prints_its_chain() -> None:
    assert repr(SHOWN["derivation"]).splitlines() == [
        "second-moment: A moment",
        "    E_g[chi[epsilon]**2]",
        "  = E_0[2*sqrt(nu)*chi[epsilon] + nu + chi[epsilon]**2]    [Cameron-Martin shift]",
        "  = 2*sqrt(nu)*E_0[chi[epsilon]] + nu + E_0[chi[epsilon]**2]    [linearity]",
    ]


def test_a_note_is_a_sentence() -> None:
    assert [sentence(note) for note in ("one row is enough", "$x$ moves.", "")] == [
        "One row is enough.",
        "$x$ moves.",
        "",
    ]
