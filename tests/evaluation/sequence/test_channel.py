"""Z(y, omega) and its derivatives against sums over all fields at once, which know nothing of affine fields or parts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.sequence.channel import Channel
from symslr.model.sequence.model import SequenceModel

Q = np.array([[0.3, 0.1], [0.1, 0.5]])
SLR = {"hidden": {"eps": "1..L"}, "weight": "exp(s*u[eps] - s**2/2)", "values": {"s": 1}}
CHOSEN = {"hidden": {"eps": "1..L"}, "weight": "L*exp(u[eps])/sum(exp(u[l]), l)"}
MODELS = [
    SequenceModel(["u", "v"], 2, "sum(softmax(u)[l]*v[l], l)", "1/2"),
    SequenceModel(["u", "v"], 2, "v[eps]", 1, **SLR),
    SequenceModel(["u", "v"], 2, "v[eps] + u[eps]**2/2", 1, **SLR),
    SequenceModel(["u", "v"], 2, "v[eps]", 1, **CHOSEN),
    SequenceModel(["u", "v"], 2, "v[eps]", 1, **SLR | {"weight": "exp(s*eps*u[eps]/2 - (s*eps/2)**2/2)"}),
    SequenceModel(["u", "v"], 1, ["u[1]*v[1]", "u[1] - v[1]"], 1),
    SequenceModel(["u", "v"], 1, "u[1]*v[1]", 1, invariant="sign"),
]


def brute(model: SequenceModel, y, omega, V):
    """log Z of one sample by a Gauss-Hermite sum over all fields."""
    fields = model.length * len(model.teachers)
    at, share = np.polynomial.hermite_e.hermegauss(60 if fields == 2 else 16)
    grid = np.array(list(product(at, repeat=fields)))
    weight = np.prod(np.array(list(product(share / share.sum(), repeat=fields))), axis=1)
    z = omega + grid @ np.kron(np.eye(model.length), np.linalg.cholesky(V)).T
    z = z.reshape(-1, model.length, len(model.teachers))
    noise = float(model.noise)
    like = np.exp(-((y[None, :, None] - model.labels_at(z)) ** 2).sum(axis=1) / (2 * noise**2))
    return float(np.log((model.weights_at(z) * like).sum(axis=0) @ weight)) - len(y) * np.log(noise)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model.written))
def test_z_and_its_derivatives(model: SequenceModel) -> None:
    random = np.random.default_rng(2)
    fields, V, n = model.length * 2, np.eye(2) - Q, 2
    omega = random.standard_normal((fields, n)) * 0.6
    y = random.standard_normal((len(model.written), n))
    seen = Channel(model).seen(y, omega, V, second=True)
    found = [brute(model, y[:, k], omega[:, k], V) for k in range(n)]
    assert seen.log_z - seen.log_z[0] == pytest.approx(np.array(found) - found[0], abs=2e-4)
    for f in range(fields):
        moved = [omega + side * 1e-3 * np.eye(fields)[:, f : f + 1] for side in (1, -1)]
        up, down = ([brute(model, y[:, k], own[:, k], V) for k in range(n)] for own in moved)
        assert seen.force[f] == pytest.approx((np.array(up) - np.array(down)) / 2e-3, abs=2e-3)
        one, other = (Channel(model).seen(y, own, V).force for own in moved)
        assert seen.second[f] == pytest.approx((one - other) / 2e-3 + seen.force[f] * seen.force, abs=1e-3)


def test_the_sign_of_a_product_is_an_orthant() -> None:
    # P(uv > 0) = 1/2 + asin(rho)/pi for correlated u, v without a mean
    seen = Channel(SequenceModel(["u", "v"], 1, "sign(u[1]*v[1])")).seen(
        np.array([[1.0, -1.0]]), np.zeros((2, 2)), np.array([[1, 0.6], [0.6, 1]])
    )
    assert np.exp(seen.log_z) == pytest.approx([0.5 + np.arcsin(0.6) / np.pi, 0.5 - np.arcsin(0.6) / np.pi], abs=1e-6)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"label": "sum(u[l]**2, l)", "length": 4, "noise": 1}, "found 4 fields in which the label is not affine"),
        ({"label": "u[1]**2 + u[2]**2", "length": 2}, "not affine in some field"),
        ({"label": ["u[1]", "2*u[1]"], "length": 2}, "more outputs than such fields"),
    ],
)
def test_what_no_nodes_reach_is_refused_with_its_number(words, told) -> None:
    with pytest.raises(CannotEvaluate, match=told):
        Channel(SequenceModel(["u"], **words))
