"""Samples have the law of the definition: z-scores against importance weights, moments and distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sympy import Integer, Rational, Sum, exp, oo

from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import ScalarLaw, laplace, normal, student
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, l, nu, x
from symslr.simulate import (
    Projections,
    Sequences,
    length_counts,
    log_weight,
    sample_by_length,
    sample_projections,
    sample_sequences,
)

SIZE = 200_000
LIMIT = 4.5


def z_score(samples: np.ndarray, expected: float) -> float:
    return float((samples.mean() - expected) / (samples.std(ddof=1) / np.sqrt(len(samples))))


def z_between(first: np.ndarray, second: np.ndarray) -> float:
    return float((first.mean() - second.mean()) / np.sqrt(first.var() / len(first) + second.var() / len(second)))


def relevant(sample: Projections | Sequences) -> np.ndarray:
    return np.take_along_axis(sample.chi, sample.epsilon[:, None], axis=1)[:, 0]


def ratio_law(own: ScalarLaw, others: ScalarLaw) -> SequenceLaw:
    return SequenceLaw((own.density / others.density).subs(x, chi[epsilon]), L, others)


LAWS = {
    "spiked": SequenceLaw(SpikedSLR(1).law.weight, L),
    "max": SequenceLaw(MaxSLR(2).weight, L),
    "variance spike": ratio_law(normal(0, Rational(3, 2)), normal()),
    "laplace, shifted": ratio_law(laplace(Rational(3, 4)), laplace()),
    "student, shifted": ratio_law(student(3, 1), student(3)),
    "finite support": SequenceLaw(1 + chi[epsilon], L, ScalarLaw(Rational(1, 2), -1, 1)),
    "half line": SequenceLaw(chi[epsilon], L, ScalarLaw(exp(-x), 0, oo)),
    "square": SequenceLaw(chi[epsilon] ** 2, L),
    "selection by square": SequenceLaw(L * chi[epsilon] ** 2 / Sum(chi[l] ** 2, (l, 1, L)), L),
    "user": SequenceLaw((chi[epsilon] ** 2 + Sum(chi[l] ** 2, (l, 1, L)) / L) / 2, L),
}
EXACT = [name for name in LAWS if name != "user"]


def bounded_statistics(sample: Projections | Sequences) -> dict[str, np.ndarray]:
    own, everything = np.tanh(relevant(sample)), np.tanh(sample.chi).sum(axis=1)
    return {
        "own": own,
        "own squared": own**2,
        "own times others": own * (everything - own),
        "total": everything,
    }


@pytest.mark.parametrize("name", EXACT)
def test_exact_sampling_agrees_with_the_definition_reweighted(name: str) -> None:
    law = LAWS[name].subs(L, 3)
    exact = sample_projections(law, {}, SIZE, np.random.default_rng(11))
    weighted = sample_projections(law, {}, SIZE, np.random.default_rng(12), reweighted=True)
    assert np.all(exact.weights == 1)
    assert exact.effective_size == SIZE
    assert weighted.effective_size < SIZE
    assert abs(z_score(weighted.weights, 1)) < LIMIT
    references = bounded_statistics(weighted)
    for statistic, samples in bounded_statistics(exact).items():
        assert abs(z_between(samples, weighted.weights * references[statistic])) < LIMIT, statistic


@pytest.mark.parametrize("name", EXACT)
def test_projections_and_tokens_have_the_same_law(name: str) -> None:
    law = LAWS[name].subs(L, 3)
    fast = sample_projections(law, {}, SIZE, np.random.default_rng(21))
    slow = sample_sequences(law, {}, SIZE // 4, 5, np.random.default_rng(22))
    references = bounded_statistics(slow)
    for statistic, samples in bounded_statistics(fast).items():
        assert abs(z_between(samples, references[statistic])) < LIMIT, statistic
    for own in (fast, slow):
        for samples in (
            own.label(0.5) ** 2 - 1.25,
            own.z.mean(axis=1),
            own.z[:, 0] * own.chi[:, 0].clip(-3, 3),
        ):
            assert abs(z_score(samples, 0)) < LIMIT


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("spiked", stats.norm(1, 1)),
        ("variance spike", stats.norm(0, 1.5**0.5)),
        ("laplace, shifted", stats.laplace(0.75)),
        ("student, shifted", stats.t(3, 1)),
        ("half line", stats.gamma(2)),
        ("finite support", stats.triang(1, -1, 2)),
    ],
)
def test_the_relevant_token_has_its_own_law(name: str, reference: object) -> None:
    law = LAWS[name].subs(L, 2)
    sample = sample_projections(law, {}, SIZE, np.random.default_rng(31))
    assert stats.kstest(relevant(sample), reference.cdf).pvalue > 1e-5
    assert stats.binomtest(int(sample.epsilon.sum()), SIZE).pvalue > 1e-5


def test_a_random_weight_keeps_its_mean() -> None:
    sample = sample_projections(LAWS["user"].subs(L, 4), {}, SIZE, np.random.default_rng(41))
    assert sample.method == "importance weights"
    assert SIZE / 4 < sample.effective_size < SIZE
    assert abs(z_score(sample.weights, 1)) < LIMIT
    # E[chi^2 (chi^2 + mean of squares)/2] = (3 + (3 + 3)/4)/2, from E chi^4 = 3.
    assert abs(z_score(sample.weights * relevant(sample) ** 2, 2.25)) < LIMIT


def test_tokens_keep_their_orthogonal_complement() -> None:
    sample = sample_sequences(LAWS["spiked"].subs(L, 3), {}, 50_000, 6, np.random.default_rng(51))
    assert sample.k_star @ sample.k_star == pytest.approx(6)
    assert sample.v_star @ sample.v_star == pytest.approx(6)
    assert abs(sample.k_star @ sample.v_star) < 1e-12
    direction = np.linalg.svd(np.stack([sample.k_star, sample.v_star]))[2][2]
    across = (sample.X @ direction).ravel()
    assert stats.kstest(across, "norm").pvalue > 1e-5
    own = np.take_along_axis(sample.X, sample.epsilon[:, None, None], axis=1)[:, 0]
    shift = sample.k_star / np.sqrt(6)
    deviations = (own.mean(axis=0) - shift) * np.sqrt(len(own))
    assert np.all(np.abs(deviations) < LIMIT)


@pytest.mark.parametrize("strength", [1e3, 1e5])
def test_selection_is_stable_at_large_scores(strength: float) -> None:
    sample = sample_projections(MaxSLR().law.subs(L, 4), {nu: strength}, 20_000, np.random.default_rng(61))
    assert np.isfinite(sample.chi).all()
    hits = sample.epsilon == sample.chi.argmax(axis=1)
    # The chance of another token is E[max of 4 normals]/nu or below, 1.03/nu (THEORY.md, section 4).
    assert (~hits).mean() < 1.03 / strength + LIMIT * np.sqrt(1.03 / strength / 20_000)


def test_infinite_signal_selects_the_largest_token() -> None:
    law = MaxSLR().law.subs(L, 5)
    sample = sample_projections(law, {"nu": oo}, 1000, np.random.default_rng(71))
    assert np.array_equal(sample.epsilon, sample.chi.argmax(axis=1))
    weights = np.exp(log_weight(law, {"nu": oo})(sample.chi))
    assert weights.sum(axis=1) == pytest.approx(np.full(1000, 5.0))


def test_log_weight_is_the_weight() -> None:
    law = MaxSLR().law.subs(L, 3)
    tokens = np.array([[0.5, -1.0, 2.0]])
    expected = 3 * np.exp(2 * tokens) / np.exp(2 * tokens).sum()
    assert np.exp(log_weight(law, {nu: 2})(tokens)) == pytest.approx(expected, rel=1e-14)


def test_lengths_are_drawn_in_proportion() -> None:
    task = SpikedSLR(2, length={1: Rational(1, 3), 2: Rational(1, 6), 5: Rational(1, 2)})
    counts = length_counts(task, {}, SIZE, np.random.default_rng(81))
    assert sum(counts.values()) == SIZE
    assert stats.chisquare([counts[1], counts[2], counts[5]], [SIZE / 3, SIZE / 6, SIZE / 2]).pvalue > 1e-5
    groups = sample_by_length(task, {}, 1000, np.random.default_rng(82))
    assert sum(len(group.chi) for group in groups.values()) == 1000
    assert all(group.chi.shape[1] == length for length, group in groups.items())


def test_an_open_length_is_read_from_the_values() -> None:
    rng = np.random.default_rng(83)
    assert length_counts(SpikedSLR(), {"L": 4}, 10, rng) == {4: 10}
    assert length_counts(SpikedSLR(), {"P_L": LengthLaw({Integer(7): Integer(1)})}, 10, rng) == {7: 10}


def test_one_seed_gives_one_sample() -> None:
    first, second = (sample_projections(LAWS["max"].subs(L, 3), {}, 100, np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(first.chi, second.chi)
    assert np.array_equal(first.epsilon, second.epsilon)


@pytest.mark.parametrize(
    ("law", "values", "size", "found"),
    [
        (SpikedSLR().law.subs(L, 3), {}, 10, "expected a number for nu"),
        (SpikedSLR().law, {nu: 1}, 10, "found L; expected a positive integer"),
        (SpikedSLR().law.subs(L, 3), {nu: 1}, 0, "size: found 0"),
        (SpikedSLR().law.subs(L, 3), {nu: oo}, 10, "nu: found oo; expected a finite"),
        (MaxSLR().law.subs(L, 3), {nu: 1j}, 10, "nu: found"),
        (SequenceLaw(chi[epsilon], 3), {}, 10, "mass 0|negative|mass"),
        (SequenceLaw(2 * chi[epsilon] ** 2, 3), {}, 10, "total mass 2"),
        (SequenceLaw(1 + chi[epsilon] + Sum(chi[l], (l, 1, 3)), 3), {}, 10, "negative value"),
    ],
)
def test_bad_input_is_refused_in_one_line(law: SequenceLaw, values: dict, size: int, found: str) -> None:
    with pytest.raises((ValueError, TypeError), match=found) as caught:
        sample_projections(law, values, size, np.random.default_rng(0))
    assert "\n" not in str(caught.value)


def test_tokens_need_two_dimensions() -> None:
    with pytest.raises(ValueError, match="found D = 1; expected at least 2"):
        sample_sequences(LAWS["spiked"].subs(L, 2), {}, 10, 1, np.random.default_rng(0))
