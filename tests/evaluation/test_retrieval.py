"""Errors of recall predicted from moments of scores: against draws of the same law, made another way."""

import numpy as np
import pytest

from symslr.evaluation.retrieval import elsewhere, read_error, recall_attention, wrong
from symslr.model.retrieval import ScoreLaw

LAW = ScoreLaw(
    keys=6, relevant=4.0, others=0.3, rest=-1.0, relevant_spread=1.2, others_spread=1.1, rest_spread=1.4, shift_spread=0.4,
    shift_covariance=0.1, rest_count=13.6, trained_shift=-2.0, read=5.0, read_spread=1.0, rest_read_spread=0.7,
)  # fmt: skip
DRAWS, VALUES = 40_000, 10


def drawn(law: ScoreLaw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Relevant score, other keys', rest, with the shift that a query's scores share and its covariance with the relevant one."""
    rng = np.random.default_rng(3)
    shift = law.shift_spread * rng.standard_normal(DRAWS)
    slope = law.shift_covariance / law.shift_spread**2
    own = np.sqrt(law.relevant_spread**2 - slope**2 * law.shift_spread**2)
    relevant = law.relevant + slope * shift + own * rng.standard_normal(DRAWS)
    others = law.others + shift[:, None] + law.others_spread * rng.standard_normal((DRAWS, law.keys - 1))
    rest = law.rest + shift[:, None] + law.rest_spread * rng.standard_normal((DRAWS, 14))
    return relevant, others, rest


def test_strength_correlation_and_positions() -> None:
    assert LAW.strength == pytest.approx((3.7 / 1.1) ** 2)
    assert LAW.correlation == pytest.approx(0.16 / (0.16 + 1.21))
    assert LAW.apart_spread == pytest.approx((1.44 - 0.2 + 0.16) ** 0.5)
    assert LAW.positions == 20


def test_elsewhere_is_that_of_draws() -> None:
    """The relevant score less the shift is independent of the others less the shift only up to its covariance with the shift."""
    relevant, others, rest = drawn(LAW)
    found = np.mean(relevant < np.maximum(others.max(axis=1), rest.max(axis=1)))
    assert elsewhere(LAW) == pytest.approx(found, abs=4 * np.sqrt(found * (1 - found) / DRAWS))


@pytest.mark.parametrize("kind", ["linear", "sigmoid"])
def test_element_wise_risk_is_that_of_draws(kind: str) -> None:
    relevant, others, rest = drawn(LAW)
    kernel = {"linear": lambda s: s - 2.0, "sigmoid": lambda s: 1 / (1 + np.exp(2.0 - s))}[kind]
    scores = np.concatenate([relevant[:, None], others, rest], axis=1)
    weights = kernel(scores)
    blocks = np.array_split(np.arange(DRAWS), 20)
    risks = [1 - weights[b, 0].mean() ** 2 / (weights[b] ** 2).sum(axis=1).mean() for b in blocks]
    assert float(read_error(kind, LAW)) == pytest.approx(np.mean(risks), abs=5 * np.std(risks) / np.sqrt(20))


def test_softmax_risk_is_that_of_draws() -> None:
    relevant, others, rest = drawn(LAW)
    scores = np.concatenate([relevant[:, None], others, rest], axis=1)
    weights = np.exp(scores)
    weights /= weights.sum(axis=1, keepdims=True)
    risk = 1 - weights[:, 0].mean() ** 2 / (weights**2).sum(axis=1).mean()
    # the mixture takes a share of 5/19 of the other tokens where the law has 5 of them exactly
    assert float(read_error("softmax", LAW)) == pytest.approx(risk, abs=0.01)


def test_wrong_answers() -> None:
    """Certain where the read-out is clean and the relevant score far above; a guess where scores say nothing; reproducible."""
    clean = {"read_spread": 1e-6, "rest_read_spread": 1e-6, "relevant": 60.0}
    sure = ScoreLaw(**{**LAW.__dict__, **clean})
    assert float(wrong("softmax", sure, VALUES)) == 0.0
    blind = ScoreLaw(**{**LAW.__dict__, "relevant": 0.3, "others_spread": 30.0, "rest": -1e3, "rest_spread": 1.0})
    assert float(wrong("softmax", blind, 1000)) == pytest.approx(5 / 6, abs=0.15)
    first, second = wrong("linear", LAW, VALUES), wrong("linear", LAW, VALUES)
    assert (first.value, first.error) == (second.value, second.error)
    assert 0.0 < float(wrong("softmax", LAW, VALUES)) < float(first)


def test_unknown_attention() -> None:
    with pytest.raises(ValueError, match="attention: found 'relu'; expected one of softmax"):
        recall_attention("relu", LAW)
