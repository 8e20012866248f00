"""State evolution of the Bayes-optimal estimator: the channel of max-SLR, known values, limits, the hard phase."""

import itertools

import numpy as np
import pytest
from sympy import Rational, oo

from symslr.evaluation import evaluate
from symslr.evaluation.finite_sample import bayes_optimal, hard_phase
from symslr.evaluation.finite_sample.bayes_optimal import sequence_models
from symslr.evaluation.sampling.points import normal_points
from symslr.evaluation.sequence.bayes_optimal import channels_of, draws, starts
from symslr.evaluation.sequence.selection import selected
from symslr.evaluation.sequence.state_evolution import StateEvolution, from_logs, logs
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.scalar_law import laplace
from symslr.model.symbols import nu
from symslr.model.task import Task
from symslr.theory import bayes_risk


def _softmax_mean(omega, rate, overlap, nodes=40):
    """E softmax_l(rate (omega + sqrt(1-q) xi)) by a product Gauss-Hermite rule over three normals."""
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    triples = np.array(list(itertools.product(range(nodes), repeat=3)))
    score = rate * (omega + np.sqrt(1 - overlap) * points[triples])
    mass = np.exp(score - score.max(axis=1, keepdims=True))
    total = weights[triples].prod(axis=1) @ (mass / mass.sum(axis=1, keepdims=True))
    return total / weights.sum() ** 3


@pytest.mark.parametrize("overlap", [0.2, 0.7])
def test_gumbel_integral_is_the_mean_of_the_softmax(overlap):
    omega = np.sqrt(overlap) * normal_points(2, 3, 1)
    seen = selected(2.0, omega, overlap)
    for column in range(2):
        direct = _softmax_mean(omega[:, column], 2.0, overlap)
        np.testing.assert_allclose(np.exp(seen.log_weight[:, column]), direct, rtol=2e-4)  # worst 3e-5


@pytest.mark.parametrize("rate", [2.0, np.inf])
def test_slopes_of_the_channel_by_differences(rate):
    normals, overlap, h = normal_points(8, 3, 2), 0.5, 1e-2
    omega = np.sqrt(overlap) * normals
    slopes = selected(rate, omega, overlap).slopes
    for token in range(3):
        sides = []
        for sign in (1, -1):
            moved = omega.copy()
            moved[token] += sign * h
            sides.append(selected(rate, moved, overlap).log_weight)
        for l in range(3):
            numeric = (sides[0][l] - sides[1][l]) / (2 * h)
            np.testing.assert_allclose(slopes[l][token], numeric, atol=3e-3, rtol=3e-3)


def test_the_positions_of_the_largest_of_three():
    """At nu = infinity and q -> 0 nothing is seen: every position has probability 1/3."""
    seen = selected(np.inf, 1e-5 * normal_points(16, 3, 3), 1e-10)
    np.testing.assert_allclose(np.exp(seen.log_weight), 1 / 3, rtol=1e-4)


def test_values_of_an_independent_code():
    """THEORY values .7506 and .8477 came from plain Monte Carlo of unknown size; they agree to three digits."""
    found = bayes_optimal(SpikedSLR(length=3), {"nu": 2, "Delta": Rational(3, 10)}, alpha=2)
    assert found.change < 1e-5
    assert float(found.overlaps["k"]) == pytest.approx(0.7506, abs=2e-3)
    assert float(found.overlaps["v"]) == pytest.approx(0.8477, abs=4e-3)
    assert not found.hard


@pytest.mark.parametrize("task", [SpikedSLR(2, length=3, noise=Rational(3, 10)), MaxSLR(2, length=2, noise=1)])
def test_the_risk_falls_with_samples_to_the_bayes_risk(task):
    risks = [float(bayes_optimal(task, {}, alpha=alpha, count=1024).risk) for alpha in (0.2, 1.0, 5.0, 1000.0)]
    assert all(left > right for left, right in itertools.pairwise(risks))
    limit = float(evaluate(bayes_risk(task), {}, digits=8))
    assert risks[-1] == pytest.approx(limit, rel=0.01)
    assert risks[0] < float(task.noise) ** 2 + 1


def test_free_entropy_is_stationary_at_the_fixed_point():
    """Phi as a function of the coordinates is flat where state evolution stands still; measured slope below 2e-3."""
    task = SpikedSLR(2, length=3, noise=Rational(3, 10))
    evolution = StateEvolution(draws(channels_of(sequence_models(task, {})), 2**14, 0, 1)[0][0])
    centre = logs(evolution.solve(starts(2)[0], 2.0).Q)
    for axis, h in itertools.product((0, 1), (0.3,)):
        step = np.diag(np.eye(2)[axis]) * h
        high, low = (evolution.free_entropy(from_logs(centre + sign * step), 2.0) for sign in (1, -1))
        assert abs(high - low) / (2 * h) < 5e-3


def test_the_jump_without_noise_lies_where_perfect_recovery_begins():
    """Without noise v* is recovered exactly once alpha > 1 (L = 3): the uninformed start stays behind until 1.1 - 1.3."""
    found = hard_phase(SpikedSLR(2, length=3, noise=0), {}, low=0.7, high=1.8, count=1024, randomisations=2)
    assert found is not None
    assert float(found.appears) <= float(found.overtakes) <= float(found.reached)
    assert float(found.overtakes) == pytest.approx(1.0, abs=0.1)
    assert 1.05 < float(found.reached) < 1.5
    inside = (float(found.overtakes) + float(found.reached)) / 2
    assert bayes_optimal(SpikedSLR(2, length=3, noise=0), {}, alpha=inside, count=1024).hard


def test_no_hard_phase_at_strong_noise():
    assert hard_phase(SpikedSLR(2, length=3, noise=1), {}, low=0.7, high=2.0, count=512, randomisations=2) is None


def test_the_largest_token_is_the_limit_of_strong_signal():
    at = {"alpha": 2.0, "count": 256}
    strong = bayes_optimal(MaxSLR(200, length=2, noise=1), {}, **at)
    largest = bayes_optimal(MaxSLR(oo, length=2, noise=1), {}, **at)
    assert float(strong.risk) == pytest.approx(float(largest.risk), rel=0.01)


def test_other_weights_are_refused():
    task = Task.from_token_laws(laplace(1), laplace(), length=3, noise=0)
    with pytest.raises(ValueError, match="expected standard normal ones"):
        bayes_optimal(task, {}, alpha=2)


def test_alpha_must_be_positive():
    with pytest.raises(ValueError, match="alpha: found 0"):
        bayes_optimal(SpikedSLR(2, length=3, noise=0), {}, alpha=0)


@pytest.mark.parametrize(
    "task", [SpikedSLR(length=3, noise=1), MaxSLR(length=3, noise=1), MaxSLR(2, length=1, noise=1)]
)
def test_keys_that_say_nothing(task):
    """At nu = 0, and at L = 1 on max-SLR, no sample says anything of k*: its overlap is 0 and the risk that of nu -> 0."""
    values = {"nu": 0} if task.law.weight.has(nu) else {}
    silent = bayes_optimal(task, values, alpha=1.5, count=512)
    assert float(silent.overlaps["k"]) == 0
    assert silent.change < 1e-5
    weak = bayes_optimal(SpikedSLR(length=task.length, noise=1), {"nu": Rational(1, 10**12)}, alpha=1.5, count=512)
    spread = 4 * float(silent.risk.error) + 4 * float(weak.risk.error)
    assert abs(float(silent.risk) - float(weak.risk)) < spread


@pytest.mark.parametrize("alpha", [1e-20, 1e-30])
def test_overlaps_of_few_samples(alpha):
    """To first order in alpha q_k = alpha nu/L and q_v = alpha/(L (1 + Delta^2)), as all positions are equally likely."""
    found = bayes_optimal(SpikedSLR(length=3, noise=1), {"nu": 2}, alpha=alpha, count=512)
    assert float(found.overlaps["k"]) == pytest.approx(2 * alpha / 3, rel=1e-6)
    assert float(found.overlaps["v"]) == pytest.approx(alpha / 6, rel=0.02)  # worst 2e-3
    assert found.change < 1e-5


@pytest.mark.parametrize(("length", "nu", "alpha"), [(1, 2, 1.5), (1, 2, 20), (3, Rational(1, 10**9), 2)])
def test_without_noise_the_error_holds_what_the_least_noise_adds(length, nu, alpha):
    """v* is known exactly: the risk is 0 at L = 1 and 1 - 1/L without a signal, to first order in nu."""
    found = bayes_optimal(SpikedSLR(length=length, noise=0), {"nu": nu}, alpha=alpha, count=512)
    assert abs(float(found.risk) - (1 - 1 / length)) <= float(found.risk.error) < 1e-7
    assert abs(float(found.overlaps["v"]) - 1) <= float(found.overlaps["v"].error) < 1e-7
