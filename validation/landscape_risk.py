"""The risk in seven order parameters against predictors with those overlaps, every attention and a user's own, both tasks."""

import numpy as np
from sympy import Rational, exp, tanh

from symslr.evaluation.landscape import Landscape, OrderParameters
from symslr.model.attention import Attention
from symslr.model.catalogue import ATTENTIONS, TASKS
from symslr.model.symbols import x
from symslr.simulate import Overlaps, risk_monte_carlo
from symslr.validation.validation import NamedComparison, by_z_score

VALUES = {"L": 4, "nu": 1.5, "Delta": 0.5}
SHIFT = 0.3
"""The shift c of erf, which is an order parameter as well."""
POINTS, SIZE = 3, 200_000
OWN = Attention(exp(tanh(2 * x)), offset=Rational(1, 2), name="exp(tanh(2x)) with offset 1/2")
"""Nobody's kernel: bounded, with poles close to the real axis and an offset in its normaliser."""


def validate() -> list[NamedComparison]:
    """Vectors k and v with standard normal coordinates over 2, so that all seven overlaps differ from 0."""
    rows = []
    for task_name, make in TASKS.items():
        for number, attention in enumerate((*ATTENTIONS.values(), OWN)):
            task = make()
            landscape = Landscape.of(task, attention, VALUES)
            own = dict.fromkeys(landscape.names[7:], SHIFT)
            for point in range(POINTS):
                seed = 1 + point + POINTS * number
                overlaps = OrderParameters.of_vectors(np.random.default_rng([5, seed]).normal(size=(2, 4)) / 2).array
                expected = landscape.risk(np.append(overlaps, list(own.values())))
                same = Overlaps(**dict(zip(landscape.names, overlaps.tolist())))
                found = risk_monte_carlo(task, attention, {**VALUES, **own}, size=SIZE, seed=seed, overlaps=same)
                note = f"{found.method}; {found.size} samples, seed {found.seed}"
                name = f"{attention.name} on {task_name}-SLR, random overlaps {point + 1}"
                rows.append(by_z_score(name, expected, found.mean, found.standard_error, note))
    return rows
