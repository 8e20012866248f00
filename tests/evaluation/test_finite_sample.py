"""Fixed points at finite alpha: global proximal minima, limits, equal answers by different samplers and starts."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from sympy import Integer, Sum, exp, oo, sqrt

from symslr.evaluation import CannotEvaluate, evaluate
from symslr.evaluation.finite_sample import finite_sample, tuned_finite_sample
from symslr.evaluation.finite_sample.fields import (
    KeySampler,
    key_dimensions,
    key_sampler,
    scored_fields,
    shifted_fields,
    value_fields,
)
from symslr.evaluation.finite_sample.fixed_point import SaddleMap, solve
from symslr.evaluation.finite_sample.problem import ReplicaState, Training, numeric_problem, start
from symslr.evaluation.finite_sample.proximal import ProximalTerms, Samples, _descent, dual_residual, minimise
from symslr.evaluation.numbers.newton import newton
from symslr.evaluation.sampling.points import normal_points
from symslr.evaluation.sampling.sequences import weight_values
from symslr.evaluation.sequence.state_evolution import INFORMED, UNINFORMED
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, erf, linear, softmax, softmax1, softplus
from symslr.model.scalar_law import laplace, normal
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, c, chi, epsilon, l, nu, x
from symslr.model.task import Task
from symslr.theory import minimal_risk
from symslr.theory.finite_sample import ProximalProblem

SPIKED, MAX = SpikedSLR(length=3, noise=0), MaxSLR(length=3, noise=0)
OWN_WEIGHTS = [
    Task(weight, length=3, noise=0)
    for weight in (
        Sum(exp(-((chi[l] - chi[epsilon]) ** 2)), (l, 1, L)) / (1 + (L - 1) / sqrt(5)),
        (1 + Sum(chi[l] ** 2, (l, 1, L)) + chi[epsilon] ** 2) / (L + 2),
    )
]


def _samples(length, count, V_k, V_v, seed=7):
    rng = np.random.default_rng(seed)
    return Samples(rng.normal(size=(length, count)) * 1.3, *_values(rng, length, count), V_k, V_v)


def _values(rng, length, count):
    return rng.normal(size=(length, count)), rng.normal(size=count)


@pytest.mark.parametrize(
    ("attention", "length"), [(softmax, 3), (softmax, 5), (softmax1, 3), (softplus, 3), (linear, 3), (softmax, 2)]
)
@pytest.mark.parametrize("widths", [(1.0, 0.5), (20.0, 5.0)])
def test_no_random_start_finds_a_better_proximal_minimum(attention, length, widths):
    """8 random starts a sample inside the ball where a better minimum could lie: none was better by 1e-9."""
    terms, samples = ProximalTerms(ProximalProblem(attention)), _samples(length, 512, *widths)
    _, best = minimise(terms, samples)
    rng = np.random.default_rng(8)
    for _ in range(8):
        ball = rng.normal(size=samples.omega_chi.shape) * np.sqrt(2 * samples.V_k * best / length)
        _, value = newton(partial(_descent, terms), samples, samples.omega_chi + ball)
        assert np.max(best - value) < 1e-9


def test_elementwise_erf_seldom_misses_its_global_minimum():
    """Element-wise kernels have up to 2^L basins; measured: 0.5 % of samples at V_k = 20, by 2e-4 in the mean."""
    terms = ProximalTerms(ProximalProblem(Attention(erf.kernel.subs(c, 0), None)))
    samples = _samples(3, 512, 20.0, 5.0)
    _, best = minimise(terms, samples)
    rng, missed = np.random.default_rng(9), np.zeros(512, dtype=bool)
    for _ in range(8):
        start = samples.omega_chi + rng.normal(size=(3, 512)) * np.sqrt(2 * samples.V_k * best / 3)
        missed |= newton(partial(_descent, terms), samples, start)[1] < best - 1e-9
    assert missed.mean() < 0.02


def test_proximal_point_against_scipy_over_keys_and_values_together():
    """The problem before any reduction, 2 L variables, by BFGS from the reduced answer's neighbourhood."""
    terms, samples = ProximalTerms(ProximalProblem(softmax)), _samples(3, 6, 2.0, 1.0)
    keys, best = minimise(terms, samples)

    def objective(both, column):
        chi, z = both[:3], both[3:]
        sigma = np.exp(chi - chi.max())
        sigma /= sigma.sum()
        distance = ((chi - samples.omega_chi[:, column]) ** 2).sum() / (2 * samples.V_k)
        distance += ((z - samples.omega_z[:, column]) ** 2).sum() / (2 * samples.V_v)
        return distance + (samples.label[column] - sigma @ z) ** 2 / 2

    for column in range(6):
        start = np.concatenate([keys[:, column], samples.omega_z[:, column]])
        found = scipy_minimize(objective, start, (column,), tol=1e-10)
        assert found.fun == pytest.approx(best[column], rel=1e-8)


@pytest.mark.parametrize("widths", [(1.0, 0.5), (30.0, 8.0)])
def test_linear_attention_by_its_dual_and_by_newton(widths):
    terms, samples = ProximalTerms(ProximalProblem(linear)), _samples(4, 512, *widths)
    keys, _ = minimise(terms, samples)
    u, w = 1 + samples.omega_chi, samples.omega_z
    uu, uw, ww = ((a * b).sum(axis=0) for a, b in ((u, u), (u, w), (w, w)))
    rho = dual_residual(uu, uw, ww, samples.label, *widths)
    sigma = 1 + keys
    newton_residual = (samples.label - (sigma * w).sum(axis=0)) / (1 + widths[1] * (sigma**2).sum(axis=0))
    np.testing.assert_allclose(rho, newton_residual, atol=1e-7)


def test_saddle_of_linear_attention_by_dual_and_by_newton():
    """1 + x by the scalar dual, and the same kernel through the general path."""
    problem = numeric_problem(SPIKED, linear, {"nu": 2})
    dual, general = SaddleMap(problem, 512, 1), SaddleMap(problem, 512, 1)
    general.sets[0].affine = None
    one, two = (saddle.step(start(INFORMED, 4.0), Training(4.0, 0.5, 0.5)).following for saddle in (dual, general))
    np.testing.assert_allclose(one.coordinates(), two.coordinates(), rtol=1e-8)


@pytest.mark.parametrize(
    ("length", "nu", "attention", "ridge", "risk"),
    [(3, 2, softmax, (0.1, 0.3), 0.560), (2, 5, softmax, (0.1, 0.3), 0.166)],
)
def test_values_of_an_independent_code(length, nu, attention, ridge, risk):
    """Values of an earlier plain Monte Carlo iteration of the same equations; its own scatter was about 1 %.

    One of 16 randomisations may hold a sample whose two best minima are level, which moves a coordinate by order 1/n.
    """
    found = finite_sample(SpikedSLR(length=length, noise=0), attention, {"nu": nu}, alpha=4, ridge=ridge)
    assert found.change < 20 / found.count
    assert float(found.risk) == pytest.approx(risk, rel=0.012)
    assert float(found.risk.error) < 0.002 * risk


@pytest.mark.parametrize(
    ("task", "attention", "ridge"),
    [
        (SPIKED, softmax, 0.1),
        (SPIKED, linear, 0.1),
        (SPIKED, linear, 0.5),
        (MaxSLR(oo, length=3, noise=0), linear, 0.5),
    ],
)
def test_many_samples_recover_the_population_risk(task, attention, ridge):
    """risk - E_sigma falls like 1/alpha, measured 1.3 to 2 over alpha."""
    values = {"nu": 2} if task.law.weight.has(nu) else {}
    found = finite_sample(task, attention, values, alpha=1e4, ridge=(ridge, ridge), precision=0.005)
    limit = float(evaluate(minimal_risk(task, attention), values, digits=6))
    assert abs(float(found.risk) - limit - 1.6e-4) < 4 * float(found.risk.error) + 1e-4
    assert found.change < 1e-5


def test_a_randomisation_that_strays_to_another_branch_begins_again(monkeypatch):
    """Regression: one of 16 ended at m_k = -17.9, the others followed it, and the risk was 0.793 +- 0.002 for 0.428."""
    arguments = SPIKED, linear, {"nu": 2}
    expected = finite_sample(*arguments, alpha=10, ridge=(0.1, 0.1), precision=0.05)
    starts = []

    def straying(saddle, training, state, **memory):
        starts.append(state)
        point = solve(saddle, training, state, **memory)
        elsewhere = replace(point.state, m_k=point.state.m_k - 5, q_k=point.state.q_k + 30)
        return replace(point, state=elsewhere, risk=0.9) if len(starts) == 3 else point

    monkeypatch.setattr("symslr.evaluation.finite_sample.randomised.solve", straying)
    found = finite_sample(*arguments, alpha=10, ridge=(0.1, 0.1), precision=0.05)
    assert starts[3] == starts[0] != starts[2]
    assert float(found.risk) == pytest.approx(float(expected.risk), rel=1e-5)


def test_forces_that_do_not_know_the_noise_leave_every_mean_as_it_is():
    """Means with and without what is subtracted where data abound, over independent scramblings, by z-score."""
    for task in (SPIKED, MaxSLR(oo, length=3, noise=0)):
        problem, gaps = numeric_problem(task, softmax, {"nu": 2} if task is SPIKED else {}), []
        for seed in range(12):
            (samples,) = SaddleMap(problem, 512, seed).sets
            plain, quiet = (
                samples.means(start(INFORMED, 4.0), True, noise_subtracted)[:6] for noise_subtracted in (False, True)
            )
            gaps.append(quiet - plain)
        moved = np.std(gaps, axis=0, ddof=1) > 1e-6
        assert moved.tolist() == [False, task is not SPIKED, False, False, True, True]
        z = np.mean(gaps, axis=0)[moved] / (np.std(gaps, axis=0, ddof=1)[moved] / np.sqrt(12))
        assert np.all(np.abs(z) < 4.5)


def test_energy_of_the_fixed_point_is_stationary_and_below_the_trivial_fit():
    """k = v = 0 has energy alpha (1 + Delta^2)/2; the fit is below it."""
    found = finite_sample(SPIKED, softmax, {"nu": 2}, alpha=4, ridge=(0.1, 0.3))
    assert float(found.energy) < 4 / 2
    state = found.state
    loss = 4 * float(found.training_loss) + (0.1 * state.q_k + 0.3 * state.q_v) / 2
    assert float(found.energy) == pytest.approx(loss, rel=1e-9)


def test_two_samplers_of_one_task_agree():
    """Spiked keys with h integrated out, and the same law as a general smooth weight with h drawn."""
    problem = numeric_problem(SPIKED, softmax, {"nu": 2})
    results = []
    for seed in range(4):
        saddle = SaddleMap(problem, 2048, seed)
        (samples,) = saddle.sets
        assert samples.sampler.fields.func is shifted_fields
        first = solve(saddle, Training(4.0, 0.3, 0.3), start(INFORMED, 4.0)).risk
        normals = normal_points(2048, 10, seed + 100)
        keys = normals[:3].copy()
        keys[0] += np.sqrt(2)
        score = np.zeros_like(keys)
        score[0] = np.sqrt(2)
        samples.sampler = KeySampler(partial(scored_fields, keys, score, normals[3:6]))
        samples.value_normals = normals[6:]
        results.append(first - solve(saddle, Training(4.0, 0.3, 0.3), start(INFORMED, 4.0)).risk)
    assert abs(np.mean(results)) < 4 * np.std(results, ddof=1) / 2


@pytest.mark.parametrize(
    "task",
    [
        MaxSLR(2, length=3, noise=0),
        MaxSLR(oo, length=3, noise=0),
        Task.from_token_laws(normal(0, 4), length=3, noise=0),
        Task.from_token_laws(laplace(1), laplace(), length=3, noise=0),
        *OWN_WEIGHTS,
    ],
)
def test_fields_have_the_moments_of_the_order_parameters(task):
    """E omega^2 over the tokens is q + m^2 (E h^2 - 1), and push and hidden give the drawn h back in the mean."""
    law = task.law.subs(L, 3)
    sampler = key_sampler(law, 3, normal_points(2**13, key_dimensions(law, 3), 3))
    m, q = 0.8, 1.5
    fields, wide = sampler.fields(m, q), sampler.fields(1.0, 1.0 + 1e-12)
    drawn = wide.omega
    assert np.mean(fields.omega**2) == pytest.approx(q + m * m * (np.mean(drawn**2) - 1), rel=0.02)
    # omega = m h + (q - m^2) push in the mean against any function of the field, here omega itself.
    left = np.mean(fields.omega**2)
    right = np.mean(fields.omega * (m * fields.hidden + (q - m * m) * fields.push))
    assert right == pytest.approx(left, rel=0.02)


def test_label_and_value_fields_have_their_covariances():
    normals = normal_points(2**13, 4, 5)
    m, q, noise = 0.7, 0.9, 0.4
    fields, label = value_fields(normals, m, q, noise)
    assert np.mean(label**2) == pytest.approx(1 + noise**2, rel=5e-3)
    assert np.mean(label * fields.omega[0]) == pytest.approx(m, rel=5e-3)
    assert np.mean(label * fields.hidden[0]) == pytest.approx(1, rel=5e-3)
    assert np.mean(label * fields.push[0]) == pytest.approx(0, abs=5e-3)
    assert np.mean(fields.omega[0] * fields.push[0]) == pytest.approx(1, rel=5e-3)


def test_both_starts_agree_where_there_is_one_branch():
    problem = numeric_problem(SPIKED, softmax, {"nu": 2})
    saddle = SaddleMap(problem, 1024, 0)
    one, two = (solve(saddle, Training(4.0, 0.1, 0.3), start(name, 4.0)) for name in (INFORMED, UNINFORMED))
    np.testing.assert_allclose(one.state.coordinates(), two.state.coordinates(), atol=1e-4)


def test_tuned_ridges_beat_their_neighbours():
    found, tuned = tuned_finite_sample(SPIKED, linear, {"nu": 2}, alpha=4)
    for factor in ((2, 1), (0.5, 1), (1, 2), (1, 0.5)):
        other = finite_sample(
            SPIKED, linear, {"nu": 2}, alpha=4, ridge=(tuned.r_k * factor[0], tuned.r_v * factor[1]), branch="informed"
        )
        slack = 4 * np.hypot(float(other.risk.error), float(found.risk.error))
        assert float(found.risk) < float(other.risk) + slack


def test_a_user_kernel_and_a_user_weight_on_ten_tokens():
    kernel = Attention(1 + x**2 / 4 + sqrt(1 + x**2), name="own")
    task = Task.from_token_laws(normal(0, 4), length=10, noise=0.2)
    saddle = SaddleMap(numeric_problem(task, kernel, {}), 256, 2)
    assert solve(saddle, Training(3.0, 0.5, 0.5), start(INFORMED, 3.0)).change < 1e-2


def test_points_are_refused_unless_a_power_of_two():
    with pytest.raises(ValueError, match="power of two"):
        normal_points(1000, 3, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": -1}, "alpha: found -1; expected a positive number"),
        ({"alpha": 2e4}, "alpha: found 20000; expected at most 10000"),
        ({"task": SpikedSLR(length=1, noise=0)}, "length: found 1 with softmax attention, which is then 1 whatever"),
        ({"ridge": (0.1, 0.0)}, "r_v: found 0; expected a positive number"),
        ({"values": {}}, "no value for nu"),
        ({"attention": erf}, "no value for c"),
        ({"branch": "best"}, "branch: found 'best'"),
        ({"precision": 0.9}, "precision: found 0.9"),
        ({"task": SpikedSLR(length=11, noise=0)}, "length: found 11; expected an integer from 1 to 10"),
    ],
)
def test_bad_input_is_one_line(change, message):
    call = {"task": SPIKED, "attention": softmax, "values": {"nu": 2}, "alpha": 4, "ridge": (0.1, 0.1)} | change
    task, attention, values = call.pop("task"), call.pop("attention"), call.pop("values")
    with pytest.raises(ValueError, match=message):
        finite_sample(task, attention, values, **call)


def test_coordinates_give_the_order_parameters_back():
    point = start(INFORMED, 1.0)
    again = ReplicaState.from_coordinates(point.coordinates())
    np.testing.assert_allclose(again.coordinates(), point.coordinates(), rtol=1e-12)


def test_replica_symmetry_is_stable_at_fair_ridges_and_not_at_low_ones():
    saddle = SaddleMap(numeric_problem(SPIKED, linear, {"nu": 2}), 1024, 0)
    found = {}
    for ridge in ((0.6, 12.0), (0.1, 0.3)):
        state = solve(saddle, Training(4.0, *ridge), start(INFORMED, 4.0)).state
        found[ridge] = saddle.replicon(state, Training(4.0, *ridge))
    assert found[0.6, 12.0] < 0.5
    assert found[0.1, 0.3] > 1
    assert saddle.jumps(state) == 0


def test_one_sample_does_not_decide_on_stability():
    """Of 2048 samples one had a slope that made the plain mean 5.5 at this scrambling; elsewhere it was 0.4 to 0.65."""
    problem, training = numeric_problem(SPIKED, softmax, {"nu": 2}), Training(1.367, 0.357, 0.541)
    for seed in range(3):
        saddle = SaddleMap(problem, 2048, seed)
        state = solve(saddle, training, start(INFORMED, 1.367)).state
        assert 0.3 < saddle.replicon(state, training) < 0.8


def test_one_token_under_linear_attention_has_a_fit():
    one = finite_sample(SpikedSLR(length=1, noise=0), linear, {"nu": 2}, alpha=4, ridge=(0.5, 0.5))
    assert 0 < float(one.risk) < 0.1


def test_samples_jump_where_softmax_is_fitted_with_little_ridge():
    saddle = SaddleMap(numeric_problem(SPIKED, softmax, {"nu": 2}), 1024, 0)
    jumps = [saddle.jumps(solve(saddle, Training(4.0, r, r), start(INFORMED, 4.0)).state) for r in (0.5, 0.02)]
    assert jumps[0] < 2e-3 < jumps[1]


def test_a_kernel_beyond_float64_is_refused_in_one_line():
    """Its squares are infinite: NumPy's warnings of it stood before the line."""
    attention = Attention((1 + x**4) * Integer(10) ** 200, name="large")
    with pytest.raises(CannotEvaluate, match="found no start from which the order parameters settle"):
        finite_sample(SpikedSLR(), attention, {"L": 2, "nu": 2, "Delta": 0}, alpha=4, ridge=(0.3, 0.3))


def test_a_weight_may_sum_over_tokens_what_holds_the_relevant_one():
    """Regression: the command ended in "name 'chi' is not defined"."""
    near = Sum(exp(-((chi[l] - chi[epsilon]) ** 2)), (l, 1, L))
    law, keys = (
        SequenceLaw(near * exp(chi[epsilon]) + Sum(chi[l] ** 2, (l, 1, L)), L),
        np.array([[0.1, 2.0], [-1.0, 0.5], [0.7, -0.2]]),
    )
    pairs = np.exp(-((keys[None] - keys[:, None]) ** 2)).sum(axis=1)
    np.testing.assert_allclose(weight_values(law, keys.T).T, pairs * np.exp(keys) + (keys**2).sum(axis=0), rtol=1e-14)
