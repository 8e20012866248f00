"""Selections among few tokens, by rules in every support: against what is known, and against sequences that are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from symslr.evaluation.location import least_value, risk_value
from symslr.evaluation.location.attention_function import AttentionFunction, ParameterValues
from symslr.evaluation.location.samples.points import sampled
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.rules import COARSE, FINE
from symslr.evaluation.location.tables.selection import selected_row
from symslr.expression.value import Kind
from symslr.model.attention import Attention
from symslr.model.task import Task

SELECTIONS = (
    Attention("sparsemax"),
    Attention("entmax"),
    Attention("top(1)"),
    Attention("top(2)"),
    Attention("top(3)"),
)
SCALES = (0.1, 0.6, -1.3, 20.0)


def attend(selection: Attention, length: int, signal: str = "1:1") -> AttentionFunction:
    return AttentionFunction.of(selection, Setting.of(Task(nu=2, length=length, noise=0, signal=signal).at({})))


def at(scale: float) -> ParameterValues:
    return ParameterValues(np.array([[scale]]), np.zeros(1), 0.0, ())


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_moments_are_those_of_drawn_sequences(selection: Attention, length: int, scale: float) -> None:
    here = attend(selection, length, "1:2/3,-2:1/3")
    row, other = selected_row(here, at(scale), FINE), selected_row(here, at(scale), COARSE)

    def drawn(keys: np.ndarray, mass: np.ndarray) -> np.ndarray:
        weights = here.weights(keys, at(scale))[..., 0]
        return np.array([mass.sum(), mass @ weights[:, 0], mass @ weights[:, 0], mass @ (weights**2).sum(axis=1)])

    rows = sampled(here.setting, drawn, 2**9).rows
    assert np.all(np.abs(row - rows.mean(axis=0)) < 5 * rows.std(axis=0) / 4 + 1e-12)
    assert np.max(np.abs(row - other)) < 1e-9


def test_the_largest_of_three_tokens() -> None:
    hit = quad(lambda x: norm.pdf(x - np.sqrt(2)) * norm.cdf(x) ** 2, -9, 12, epsabs=1e-14)[0]
    assert selected_row(attend(Attention("top(1)"), 3), at(0.7), FINE)[1:] == pytest.approx([hit, hit, 1.0], abs=1e-13)


@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_sparsemax_of_two_tokens_is_linear_between_its_ends(scale: float) -> None:
    def mean(power: int) -> float:
        def body(x: float) -> float:
            weight = min(max((1 + scale * x) / 2, 0.0), 1.0)
            return (weight if power == 1 else weight**2 + (1 - weight) ** 2) * norm.pdf(x, np.sqrt(2), np.sqrt(2))

        return quad(body, -12, 15, points=[-1 / scale, 1 / scale], epsabs=1e-14, limit=200)[0]

    found = selected_row(attend(Attention("sparsemax"), 2), at(scale), FINE)[1:]
    assert found == pytest.approx([mean(1), mean(1), mean(2)], abs=1e-12)


def test_a_least_risk_is_no_higher_than_risks_beside_it() -> None:
    task, selection = Task(nu=2, length=3, noise=0), Attention("sparsemax")
    least, places = least_value(task, selection)
    assert least.kind is Kind.ESTIMATED
    assert least.digits >= 13
    best = float(places["a"])
    assert float(least) < min(float(risk_value(task, selection, best + side * 0.01)) for side in (-1, 1))


def test_tokens_of_one_score_share_the_weight() -> None:
    task = Task(nu=2, length=3, noise=0)
    assert float(risk_value(task, Attention("entmax"), 0)) == pytest.approx(2 / 3)
