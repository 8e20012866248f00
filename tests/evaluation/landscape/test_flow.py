"""Gradient flow and minima: the same flow over vectors and over order parameters, and minima with known values."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Rational

from symslr.evaluation import evaluate
from symslr.evaluation.landscape import Landscape, OrderParameters, both_minima, gradient_flow, time_to_risk
from symslr.evaluation.landscape.flow import velocity
from symslr.evaluation.landscape.minima import FARTHEST, descend, kind_of, mismatched_start
from symslr.model.catalogue import ATTENTIONS, TASKS, SpikedSLR, linear, softmax
from symslr.theory import minimal_risk

VALUES = {"nu": 2, "L": 4, "Delta": 0}


def start(seed: int, size: float = 0.5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(2, 4)) * size


@pytest.mark.parametrize("task", TASKS)
def test_the_flow_closes_on_the_order_parameters(task: str) -> None:
    """dq/dt = W' W^T + W W'^T and dm/dt = W' for vectors that follow -dE/dW."""
    landscape = Landscape.of(TASKS[task](), softmax, VALUES)
    vectors = start(1)
    state = OrderParameters.of_vectors(vectors).array
    moved = -landscape.in_vectors(vectors.ravel())[1].reshape(2, 4)
    dq = moved @ vectors.T + vectors @ moved.T
    expected = [*moved[[0, 1, 0, 1], [0, 1, 1, 0]], dq[0, 0], dq[1, 1], dq[0, 1]]
    assert np.allclose(velocity(landscape, state), expected, atol=1e-12)


def test_gradient_over_vectors_is_the_slope_of_the_risk() -> None:
    landscape = Landscape.of(SpikedSLR(), ATTENTIONS["erf"], VALUES)
    point = np.append(start(2).ravel(), 0.3)
    _, gradient = landscape.in_vectors(point)
    step = 1e-5
    numbers = [
        (landscape.in_vectors(point + step * e)[0] - landscape.in_vectors(point - step * e)[0]) / (2 * step)
        for e in np.eye(len(point))
    ]
    assert np.allclose(gradient, numbers, atol=1e-8)
    assert np.allclose(landscape.hessian_in_vectors(point), landscape.hessian_in_vectors(point, 2e-4), atol=1e-5)


def test_flow_falls_and_lands_on_the_manifold() -> None:
    landscape = Landscape.of(SpikedSLR(), softmax, VALUES)
    flow = gradient_flow(landscape, OrderParameters.of_vectors(start(3, 0.3)).array)
    assert flow.arrived
    assert np.all(np.diff(flow.risks) < 1e-9)
    end = OrderParameters.of(flow.end)
    assert np.max(np.abs(end.outside)) < 1e-5
    assert max(abs(end.m_kv), abs(end.m_vk)) < 1e-5
    assert flow.risks[-1] == pytest.approx(float(evaluate(minimal_risk(SpikedSLR(), softmax), VALUES)), abs=1e-8)


def test_flow_is_converged_in_its_tolerances(monkeypatch: pytest.MonkeyPatch) -> None:
    landscape = Landscape.of(SpikedSLR(), softmax, VALUES)
    begin, times = OrderParameters.of_vectors(start(4, 0.3)).array, np.linspace(0, 5, 6)
    coarse = gradient_flow(landscape, begin, 5.0, times)
    monkeypatch.setattr("symslr.evaluation.landscape.flow.RELATIVE", 1e-9)
    monkeypatch.setattr("symslr.evaluation.landscape.flow.ABSOLUTE", 1e-12)
    fine = gradient_flow(landscape, begin, 5.0, times)
    assert np.max(np.abs(coarse.states - fine.states)) < 2e-6


def test_a_saturated_flow_crawls_and_arrives() -> None:
    """At nu = 16 the slowest relaxation takes thousands of units of time, and the end is the minimum."""
    landscape = Landscape.of(SpikedSLR(), softmax, {"nu": 16, "L": 3, "Delta": 0})
    begin = OrderParameters.of_vectors(start(1, 1.0)).array
    flow = gradient_flow(landscape, begin)
    assert flow.arrived
    assert 5e3 < flow.times[-1] < 5e4
    # softmax is Bayes optimal at k = sqrt(nu) k*, v = v*
    least = landscape.risk(np.array([4.0, 1.0, 0, 0, 16.0, 1.0, 0]))
    assert least - 1e-12 < flow.risks[-1] < least + 1e-7


def test_a_start_at_rest_stays() -> None:
    landscape = Landscape.of(SpikedSLR(), softmax, VALUES)
    matched, _ = both_minima(landscape)
    flow = gradient_flow(landscape, matched.order.array)
    assert flow.arrived
    assert flow.times[-1] == 0


def test_a_flow_that_rests_before_all_times_asked_for_is_where_it_rests() -> None:
    """Regression: it had no end."""
    landscape = Landscape.of(SpikedSLR(), softmax, VALUES)
    matched, _ = both_minima(landscape)
    begin = matched.order.array + np.array([1e-5, 0, 0, 0, 3e-5, 0, 0])
    flow, whole = gradient_flow(landscape, begin, 1e7, np.array([1e6, 2e6])), gradient_flow(landscape, begin)
    assert flow.arrived
    assert len(flow.times) == len(flow.risks) == 1
    assert flow.times[-1] == pytest.approx(whole.times[-1], rel=1e-6)
    assert np.allclose(flow.end, whole.end, atol=1e-9)


@pytest.mark.parametrize(
    ("begin", "time", "at", "found"),
    [
        (np.zeros(5), 1.0, None, "start: found the shape"),
        (np.zeros(7), -1.0, None, "time: found -1"),
        (np.zeros(7), float("nan"), None, "time: found nan"),
        (np.zeros(7), float("inf"), None, "time: found inf"),
        (np.zeros(7), 1.0, [0.5, 0.2], "at: found"),
        (np.zeros(7), 1.0, [0.0, 2.0], "at: found"),
        (np.zeros(7), 1.0, [-1.0, 0.5], "at: found"),
        (np.zeros(7), 1.0, [float("nan")], "at: found"),
        (np.zeros(7), 1.0, [], "at: found"),
    ],
)
def test_times_and_starts_that_are_none_are_refused_in_one_line(
    begin: np.ndarray, time: float, at: list[float] | None, found: str
) -> None:
    """Regression: at a negative time the flow went uphill."""
    landscape = Landscape.of(SpikedSLR(), softmax, VALUES)
    with pytest.raises(ValueError, match=found) as refused:
        gradient_flow(landscape, begin, time, None if at is None else np.array(at))
    assert "\n" not in str(refused.value)


def test_time_to_risk_is_when_the_flow_passes() -> None:
    landscape = Landscape.of(SpikedSLR(), softmax, VALUES)
    begin = start(3, 0.3)
    flow = gradient_flow(landscape, OrderParameters.of_vectors(begin).array, 50.0)
    level = 0.8
    passed = float(np.interp(-level, -flow.risks, flow.times))
    assert time_to_risk(landscape, begin.ravel(), level) == pytest.approx(passed, rel=3e-2)
    assert time_to_risk(landscape, begin.ravel(), 2 * flow.risks[0]) == 0
    assert time_to_risk(landscape, begin.ravel(), 0.0, time=20.0) == float("inf")


@pytest.mark.parametrize("name", ATTENTIONS)
def test_matched_minimum_is_the_least_risk_on_the_manifold(name: str) -> None:
    """Seven free parameters find what the minimisation over the scale alone finds: R = 0 and no other overlap help."""
    landscape = Landscape.of(SpikedSLR(), ATTENTIONS[name], VALUES)
    matched, mismatched = both_minima(landscape)
    assert matched.is_minimum
    assert matched.kind == "matched"
    theory = float(evaluate(minimal_risk(SpikedSLR(), ATTENTIONS[name]), VALUES, digits=8))
    assert matched.risk == pytest.approx(theory, abs=1e-8)
    assert mismatched.risk > matched.risk + 0.01
    if name != "linear":
        assert mismatched.is_minimum
        assert mismatched.kind == "mismatched"


def test_mismatched_linear_has_no_minimum_but_a_limit() -> None:
    """k = a v*, v = b k* with a -> oo: the risk falls to L/(L + nu) as 1/a^2, and the search ends at its wall."""
    landscape = Landscape.of(SpikedSLR(), linear, VALUES)
    _, mismatched = both_minima(landscape)
    limit = Rational(4, 6)
    assert not mismatched.is_minimum
    assert 0 < mismatched.risk - float(limit) < 1 / FARTHEST**2
    assert np.max(np.abs(mismatched.point)) == FARTHEST


def test_the_true_mismatched_minimum_lies_below_the_mismatched_line() -> None:
    landscape = Landscape.of(SpikedSLR(), softmax, VALUES)
    begin = mismatched_start(landscape, 2.0)
    assert descend(landscape, begin).risk < landscape.in_vectors(begin)[0]


def test_coordinates_round_trip() -> None:
    order = OrderParameters.of_vectors(start(5))
    assert np.allclose(OrderParameters.of_vectors(order.vectors).array, order.array, atol=1e-12)


def test_v_against_v_star_is_no_match() -> None:
    assert kind_of(OrderParameters(3.2, -0.4, 2.8, 0.3, 18.5, 0.3, -0.16)) == "mismatched"
    assert kind_of(OrderParameters(-1, 1, 0, 0, 1, 1, 0)) == "matched"  # an even kernel does not tell k from -k
    assert kind_of(OrderParameters(0, 1, 0, 0, 0, 1, 0)) == "neither"
