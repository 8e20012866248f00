"""Random lengths at finite alpha: the same as one length where they are one, their limits, their refusals."""

import numpy as np
import pytest
from sympy import Rational

from symslr.evaluation import evaluate
from symslr.evaluation.finite_sample import bayes_optimal, finite_sample
from symslr.evaluation.finite_sample.fixed_point import SaddleMap, solve
from symslr.evaluation.finite_sample.problem import Training, numeric_problem, start
from symslr.evaluation.sequence.state_evolution import INFORMED
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax
from symslr.model.length_law import LengthLaw
from symslr.theory import bayes_risk, minimal_risk

THIRD = Rational(1, 3)
LAW = LengthLaw((1, THIRD), (2, THIRD), (4, THIRD))


@pytest.mark.parametrize("attention", [softmax, linear])
def test_a_step_is_the_mean_of_the_steps_of_each_length(attention):
    """Where data abound 1/V is the stiffness, which is a mean over samples; so is the loss, at any alpha."""
    training, state = Training(4.0, 0.3, 0.5), start(INFORMED, 4.0)
    both = SaddleMap(numeric_problem(SpikedSLR(2, length={2: THIRD, 3: 2 * THIRD}, noise=0), attention, {}), 2**13, 0)
    alone = [
        SaddleMap(numeric_problem(SpikedSLR(2, length=length, noise=0), attention, {}), 2**13, 1).step(state, training)
        for length in (2, 3)
    ]
    found = both.step(state, training)
    assert found.training_loss == pytest.approx((alone[0].training_loss + 2 * alone[1].training_loss) / 3, rel=5e-3)
    stiffness = [1 / step.following.V_v for step in (found, *alone)]
    assert stiffness[0] == pytest.approx((stiffness[1] + 2 * stiffness[2]) / 3, rel=5e-3)


@pytest.mark.parametrize("attention", [softmax, linear])
def test_many_samples_recover_the_population_risk(attention):
    """Single tokens among them, which say nothing to softmax about the key; what is left is below 2/alpha."""
    task = SpikedSLR(2, length={1: THIRD, 3: 2 * THIRD}, noise=0)
    found = finite_sample(task, attention, {}, alpha=1e4, ridge=(0.1, 0.1), precision=0.005)
    # Softmax attains the Bayes risk here.
    limit = float(evaluate(bayes_risk(task) if attention is softmax else minimal_risk(task, linear), {}, digits=6))
    assert abs(float(found.risk) - limit - 1e-4) < 4 * float(found.risk.error) + 1e-4


@pytest.mark.parametrize(
    "task",
    [
        SpikedSLR(2, length=LAW, noise=Rational(3, 10)),
        MaxSLR(2, length={1: Rational(1, 2), 2: Rational(1, 2)}, noise=1),
    ],
)
def test_state_evolution_goes_to_the_bayes_risk(task):
    limit = float(evaluate(bayes_risk(task), {}, digits=8))
    assert float(bayes_optimal(task, {}, alpha=1000, count=512).risk) == pytest.approx(limit, rel=0.01)


def test_a_law_may_come_with_the_values():
    one = numeric_problem(SpikedSLR(), softmax, {"nu": 2, "Delta": 0, "P_L": LAW})
    assert [(share.length, share.probability) for share in one.shares] == [(1, 1 / 3), (2, 1 / 3), (4, 1 / 3)]
    state = start(INFORMED, 4.0)
    assert solve(SaddleMap(one, 256, 0), Training(4.0, 0.3, 0.3), state).change < 1e-2
    assert np.isfinite(SaddleMap(one, 256, 0).replicon(state, Training(4.0, 0.3, 0.3)))


@pytest.mark.parametrize(
    ("length", "message"),
    [
        (LengthLaw((2, THIRD), (11, 2 * THIRD)), "length: found 11; expected an integer from 1 to 10"),
        (LengthLaw((1, 1)), "length: found 1 with softmax attention"),
    ],
)
def test_bad_laws_are_one_line(length, message):
    with pytest.raises(ValueError, match=message) as caught:
        finite_sample(SpikedSLR(2, length=length, noise=0), softmax, {}, alpha=4, ridge=(0.1, 0.1))
    assert "\n" not in str(caught.value)


def test_a_missing_length_is_named():
    with pytest.raises(ValueError, match="length: found none; expected an integer from 1 to 10 or a law of such"):
        finite_sample(SpikedSLR(noise=0), softmax, {"nu": 2}, alpha=4, ridge=(0.1, 0.1))
