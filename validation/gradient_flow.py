"""The gradient flow of the order parameters against gradient descent on vectors in dimension 200."""

import numpy as np

from symslr.evaluation.landscape import Landscape, OrderParameters, gradient_flow
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax
from symslr.simulate.training import Recipe, train
from symslr.verify.validation import NamedComparison, by_z_score

VALUES = {"L": 3, "nu": 2, "Delta": 0}
START = np.array([[0.3, 0.1, 0.2, 0.0], [0.1, 0.3, -0.1, 0.2]])
SEEDS, TIME, RATE, BATCH, DIMENSION = (1, 2, 3, 4), 4.0, 0.02, 300, 200


def validate() -> list[NamedComparison]:
    """Order parameters at time 4; runs at a rate and at half of it are extrapolated to rate 0, seed by seed.

    Steps of finite size and the noise of finite batches both move the path in proportion to the rate.
    """
    rows = []
    for task in (SpikedSLR(), MaxSLR()):
        landscape = Landscape.of(task, softmax, VALUES)
        theory = gradient_flow(landscape, OrderParameters.of_vectors(START).array, TIME, np.array([0.0, TIME])).end
        ends = np.array([2 * _end(task, RATE / 2, seed) - _end(task, RATE, 100 + seed) for seed in SEEDS])
        errors = ends.std(axis=0, ddof=1) / len(SEEDS) ** 0.5
        pooled = float(np.sqrt(np.mean(errors**2)))  # of the seven: one of four runs alone is too uncertain
        note = (
            f"softmax; {len(SEEDS)} seeds, batches of {BATCH}, rates {RATE} and {RATE / 2}; error pooled over the seven"
        )
        for name, expected, found in zip(landscape.names, theory, ends.mean(axis=0)):
            rows.append(by_z_score(f"{name} on {task.name} at time {TIME:g}", expected, found, pooled, note))
    return rows


def _end(task, rate: float, seed: int) -> np.ndarray:
    steps = round(TIME / rate)
    recipe = Recipe("sgd", steps, BATCH, rate, DIMENSION, steady=True, every=steps)
    return train(task, softmax, VALUES, recipe, seed, vectors=(START[0], START[1])).path[-1]
