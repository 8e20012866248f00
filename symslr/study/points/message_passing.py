"""Kind ``message_passing``: Bayes-optimal message passing on real samples, several training sets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from symslr.study.parameter import Parameter, count, number, positive
from symslr.study.points.asked import TASK, problem, real

if TYPE_CHECKING:
    from symslr.expression.value import Value

PARAMETERS = (
    *TASK,
    Parameter("alpha", positive),
    Parameter("dimension", count),
    Parameter("damping", number, "1/2"),
    Parameter("replicates", count, "4"),
)


def check(asked: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Refuse weights without levels, and fewer than two training sets, which have no spread."""
    if int(asked["replicates"]) < 2:
        raise ValueError(f"replicates: found {asked['replicates']}; expected at least 2 for a standard error")
    from symslr.simulate.position_levels import position_levels

    found = problem(asked, files)
    position_levels(found.task.law, found.values)


def compute(asked: Mapping[str, str], files: Mapping[str, str], seed: int) -> dict[str, Value]:
    """Overlaps q_k = k.k*/D and q_v = v.v*/D at the end, with standard errors over training sets."""
    import numpy as np
    from mpmath import mpf

    from symslr.expression.value import Kind, Value
    from symslr.simulate.erm import sample_training_set
    from symslr.simulate.message_passing import message_passing

    check(asked, files)
    found = problem(asked, files)
    dimension, size = int(asked["dimension"]), round(real(asked["alpha"]) * int(asked["dimension"]))
    ends, converged = [], True
    for i in range(int(asked["replicates"])):
        data = sample_training_set(found.task, found.values, size, dimension, np.random.default_rng(seed + i))
        run = message_passing(data, found.task, found.values, damping=real(asked["damping"]))
        ends.append(run.overlaps[-1])
        converged = converged and run.converged
    error = np.std(ends, axis=0, ddof=1) / math.sqrt(len(ends))
    method = f"message passing, D = {dimension}, {len(ends)} training sets" + (
        "" if converged else ", not all converged"
    )
    numbers = zip(("q_k", "q_v"), np.mean(ends, axis=0), error, strict=True)
    return {name: Value(mpf(mean), mpf(spread), Kind.STATISTICAL, 6, method) for name, mean, spread in numbers}
