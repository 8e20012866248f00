"""The risk in seven order parameters against predictors with those overlaps, every attention on both tasks."""

import numpy as np

from symslr.evaluation.landscape import Landscape, OrderParameters
from symslr.model.catalogue import ATTENTIONS, TASKS
from symslr.simulate import Overlaps, risk_monte_carlo
from symslr.verify.validation import NamedComparison, by_z_score

VALUES = {"L": 4, "nu": 1.5, "Delta": 0.5, "c": 0.3}
POINTS, SIZE = 3, 200_000


def validate() -> list[NamedComparison]:
    """Vectors k and v with standard normal coordinates over 2, so that all seven overlaps differ from 0."""
    rows = []
    for task_name, make in TASKS.items():
        for number, attention in enumerate(ATTENTIONS.values()):
            task = make()
            landscape = Landscape.of(task, attention, VALUES)
            own = [VALUES[name] for name in landscape.names[7:]]
            for point in range(POINTS):
                seed = 1 + point + POINTS * number
                overlaps = OrderParameters.of_vectors(np.random.default_rng([5, seed]).normal(size=(2, 4)) / 2).array
                expected = landscape.risk(np.append(overlaps, own))
                same = Overlaps(**dict(zip(landscape.names, overlaps.tolist())))
                found = risk_monte_carlo(task, attention, VALUES, size=SIZE, seed=seed, overlaps=same)
                note = f"{found.method}; {found.size} samples, seed {found.seed}"
                name = f"{attention.name} on {task_name}, random overlaps {point + 1}"
                rows.append(by_z_score(name, expected, found.mean, found.standard_error, note))
    return rows
