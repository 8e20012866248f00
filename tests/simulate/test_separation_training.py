"""Training: the torch attention is the numpy one at X = I, gradients are right, and dead networks stay dead."""

import numpy as np
import pytest

from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Marks, power_kernel, separation
from symslr.simulate.separation import attention_on, threshold
from symslr.simulate.separation_training import HEADS, Recipe, train, train_seeds

PARAMETERS = separation(n=32, d=18, t=2, a0=0.05, a1=1.3, b=0.05, c=0.95, m=12, margin=0.2)

pytestmark = pytest.mark.needs("torch")


@pytest.mark.parametrize("kernel", [SOFTMAX_KERNEL, LINEAR_KERNEL, power_kernel(3)], ids=str)
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("interaction", ["diagonal", "full"])
def test_features_at_the_start_are_those_of_the_real_network(kernel, head: str, interaction: str) -> None:
    import torch

    from symslr.simulate.separation_training import _Network

    model = _Network(PARAMETERS, kernel, Recipe(interaction, head), np.random.default_rng(3))
    inputs, labels = model.samples([0, 5])
    outputs = np.stack([attention_on(PARAMETERS, kernel, which, row) for which in (0, 1) for row in (0, 5)])
    tau = threshold(PARAMETERS) if head == "construction" else 0.0
    expected = np.maximum(outputs @ model.weights.numpy() - tau, 0).sum(axis=1)
    if head == "pooled":
        expected = outputs.mean(axis=1)
    with torch.no_grad():
        assert model.features(inputs).numpy() == pytest.approx(expected, rel=1e-12, abs=1e-14)
    assert labels.tolist() == [0, 0, 1, 1]


def test_gradient_of_the_interaction_by_differences() -> None:
    """Worst relative difference 3e-8 over six entries."""
    import torch

    from symslr.simulate.separation_training import _Network

    model = _Network(PARAMETERS, LINEAR_KERNEL, Recipe("full", "free threshold"), np.random.default_rng(3))
    inputs, _ = model.samples([0, 5])
    model.features(inputs).sum().backward()
    gradient = model.interaction.grad.clone()
    for place in [(0, 0), (3, 3), (17, 17), (0, 17), (2, 5), (17, 4)]:
        values = []
        for step in (1e-6, -1e-6):
            with torch.no_grad():
                model.interaction[place] += step
                values.append(float(model.features(inputs).sum()))
                model.interaction[place] -= step
        assert (values[0] - values[1]) / 2e-6 == pytest.approx(float(gradient[place]), rel=1e-5, abs=1e-6)


def test_linear_attention_is_dead_under_the_threshold_and_alive_without_it() -> None:
    dead = train_seeds(PARAMETERS, LINEAR_KERNEL, Recipe("diagonal", "construction", steps=5), (0, 1))
    assert dead.mean == 0.5
    assert not any(run.alive for run in dead.runs)
    free = train_seeds(PARAMETERS, LINEAR_KERNEL, Recipe("identity", "free threshold", steps=150), (0, 1))
    assert free.separated == 2
    softmax = train_seeds(PARAMETERS, SOFTMAX_KERNEL, Recipe("identity", "construction", steps=150), (0, 1))
    assert softmax.mean > 0.9


def test_same_seed_same_run() -> None:
    first, second = (train(PARAMETERS, SOFTMAX_KERNEL, Recipe(steps=20), 4) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"interaction": "none"}, "interaction: found 'none'"),
        ({"head": "mlp"}, "head: found 'mlp'"),
        ({"steps": 0}, "steps: found 0"),
    ],
)
def test_bad_recipes(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Recipe(**arguments)


def test_one_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="found 1; expected at least 2"):
        train_seeds(PARAMETERS, SOFTMAX_KERNEL, Recipe(), [1])


CROSS = separation(n=32, d=18, t=2, a0=0.05, a1=1.3, b=0.05, c=0.95, m=12, margin=0.2, keys=Marks(1.2, 0.1, 0.9))


@pytest.mark.parametrize("interaction", ["diagonal", "full"])
def test_cross_attention_at_the_start_is_that_of_the_real_network(interaction: str) -> None:
    from symslr.simulate.separation_training import _Network

    model = _Network(CROSS, SOFTMAX_KERNEL, Recipe(interaction, "pooled"), np.random.default_rng(3))
    inputs, _ = model.samples([4])
    outputs = np.stack([attention_on(CROSS, SOFTMAX_KERNEL, which, 4) for which in (0, 1)])
    assert model.features(inputs).detach().numpy() == pytest.approx(outputs.mean(axis=1), rel=1e-12)


def test_cross_attention_is_trained() -> None:
    run = train(CROSS, SOFTMAX_KERNEL, Recipe("diagonal", "free threshold", steps=60), 0)
    assert run.alive
    assert run.test_accuracy == 1.0
