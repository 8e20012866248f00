"""Message passing on samples of sequence models against state evolution, by z-scores over independent samples."""

from __future__ import annotations

import numpy as np
import pytest

from symslr.evaluation.sampling.scatter import standard_error
from symslr.evaluation.sequence.bayes_optimal import bayes_optimal
from symslr.model.sequence.model import SequenceModel
from symslr.simulate.sequence.message_passing import estimate_teachers
from symslr.simulate.sequence.samples import sample_sequence_model

ATTENTION = SequenceModel(["u", "v"], 2, "sum(softmax(u)[l]*v[l], l)", "1/2")
SQUARE = SequenceModel(["u"], 1, "u[1]**2", "1/2")


@pytest.mark.parametrize(("model", "alpha", "dimension", "seeds"), [(ATTENTION, 3.0, 120, 6), (SQUARE, 2.0, 150, 6)])
def test_it_ends_where_state_evolution_ends(model: SequenceModel, alpha: float, dimension: int, seeds: int) -> None:
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        data = sample_sequence_model(model, round(alpha * dimension), dimension, rng)
        run = estimate_teachers(data, model, rng, start=0.2, draws=144)
        assert run.converged
        found.append([*np.diag(run.overlap), *(1 - np.diag(run.V))])
    theory = bayes_optimal(model, alpha)
    expected = [float(theory.overlaps[name]) for name in model.teachers] * 2
    error = np.array([standard_error(list(column)) for column in np.transpose(found)])
    assert np.all(np.abs(np.mean(found, axis=0) - expected) < 4.5 * error)
    assert np.max(error) < 0.05


def test_below_the_threshold_nothing_is_learnt() -> None:
    """y = u^2 at alpha = 0.3 < 1/2: what was told at the start is lost."""
    rng = np.random.default_rng(0)
    data = sample_sequence_model(SQUARE, 90, 300, rng)
    run = estimate_teachers(data, SQUARE, rng, start=0.3)
    assert run.converged
    assert abs(run.overlap[0, 0]) < 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [({"damping": 1.0}, "damping: found 1; expected"), ({"start": -0.1}, "start: found -0.1; expected")],
)
def test_options_out_of_range_are_refused(options: dict[str, float], message: str) -> None:
    rng = np.random.default_rng(0)
    data = sample_sequence_model(SQUARE, 20, 10, rng)
    with pytest.raises(ValueError, match=message):
        estimate_teachers(data, SQUARE, rng, **options)


def test_a_label_without_noise_is_refused() -> None:
    model, rng = SequenceModel(["u"], 1, "u[1]**2"), np.random.default_rng(0)
    with pytest.raises(ValueError, match="expected noise > 0"):
        estimate_teachers(sample_sequence_model(model, 20, 10, rng), model, rng)
