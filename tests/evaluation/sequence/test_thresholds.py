"""Thresholds with exact values, or with values of one-dimensional quadrature; errors that are true."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import k0e, k1e, kn

from symslr.evaluation.sequence.thresholds import thresholds
from symslr.model.sequence.model import SequenceModel


def noisy_square(noise: float) -> float:
    """1/E (E[z^2 | y] - 1)^2 for y = z^2 + noise."""

    def moments(y: float) -> tuple[float, float]:
        def weigh(z: float) -> float:
            return np.exp(-(z**2) / 2 - (y - z**2) ** 2 / (2 * noise**2)) / (np.pi * noise)

        points = [np.sqrt(max(y, 0.0))]
        one = quad(weigh, 0, 9, points=points, limit=200)[0]
        two = quad(lambda z: z**2 * weigh(z), 0, 9, points=points, limit=200)[0]
        return one, two

    def summand(y: float) -> float:
        mass, second = moments(y)
        return (second - mass) ** 2 / mass if mass > 1e-250 else 0.0

    return 1 / sum(quad(summand, a, b, limit=200)[0] for a, b in ((-4, 1), (1, 5), (5, 40)))


def product_without_noise() -> float:
    """y = uv has E[u^2 | y] = |y| K_1(|y|)/K_0(|y|), and the density K_0(|y|)/pi."""

    def summand(y: float) -> float:
        return ((y * k1e(y) / k0e(y) - 1) ** 2 + y**2) * kn(0, y) * 2 / np.pi

    return 1 / (quad(summand, 0, 1)[0] + quad(summand, 1, 40)[0])


@pytest.mark.parametrize(
    ("model", "value", "names"),
    [
        (SequenceModel(["u"], 1, "u[1]**2"), 0.5, ("u",)),
        (SequenceModel(["u"], 1, "abs(u[1])/3 + 1"), 0.5, ("u",)),
        (SequenceModel(["u"], 1, "u[1]**2", "1/2"), noisy_square(0.5), ("u",)),
        (SequenceModel(["u", "v"], 1, "sign(u[1]*v[1])"), np.pi**2 / 4, ("u", "v")),
        (SequenceModel(["u", "v"], 1, "u[1]*v[1]"), product_without_noise(), ("u", "v")),
        (SequenceModel(["u", "v"], 1, "(u[1] + v[1])**2"), 0.5, ("0.707 u + 0.707 v",)),
        # two attention layers with a large skip connection: 1/(L^2 + L)
        (SequenceModel(["v"], 2, "v[l]", invariant="sign"), 1 / 6, ("v",)),
        (SequenceModel(["v"], 3, "v[l]", invariant="sign"), 1 / 12, ("v",)),
        # E (|z|^2/2 - 1)^2 = 1 for a label without noise that is affine in no field
        (SequenceModel(["u", "v"], 1, "u[1]**2 + v[1]**2"), 1.0, ("u", "v")),
    ],
    ids=lambda own: str(own)[:40],
)
def test_thresholds_that_are_known(model, value, names) -> None:
    (found,) = thresholds(model)
    assert set(found.names) == set(names)
    assert abs(float(found.value) - value) < 4.5 * float(found.value.error)
    assert float(found.value.error) < 2e-3 * value


def test_what_the_label_sees_linearly_is_learnt_at_once() -> None:
    (both,) = thresholds(SequenceModel(["u", "v"], 1, "u[1] + u[1]*v[1]", "1/10"))
    assert float(both.value) == 0
    assert set(both.names) == {"u", "v"} or len(both.directions) == 2
    one, other = thresholds(SequenceModel(["u", "v"], 2, "sum(softmax(u)[l]*v[l], l)", "1/2"), ladder=True)
    assert (one.names, other.names, other.after) == (("v",), ("u",), ("v",))
    assert float(one.value) == float(other.value) == 0


def test_what_no_linear_response_sees_has_no_threshold() -> None:
    assert thresholds(SequenceModel(["u", "v", "w"], 1, "sign(u[1]*v[1]*w[1])")) == []


def test_errors_are_true() -> None:
    model = SequenceModel(["u"], 2, "u[1]*u[2]")
    truth = product_without_noise() / 2
    scores = [(float(v.value) - truth) / float(v.error) for s in range(8) for v in [thresholds(model, seed=s)[0].value]]
    assert max(map(abs, scores)) < 4.5
    assert np.sqrt(np.mean(np.square(scores))) < 2
