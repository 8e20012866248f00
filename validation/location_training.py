"""A layer of two heads trained on fresh sequences finds the heads that are derived for a signal of random sign."""

from typing import Any

import numpy as np
from sympy import S

from symslr.cache.parts import OTHER_SEEDS, computed_once, measured
from symslr.model.symbols import L, nu
from symslr.model.task import Task
from symslr.simulate.location import train_heads
from symslr.simulate.recipe import Recipe
from symslr.validation.validation import NamedComparison, by_z_score, states

TASK = Task(signal="1:1/2,-1:1/2", noise=S.Zero)
VALUES = {nu: 4, L: 3}
SEEDS = (1, 2, 3)
RECIPE = Recipe("adam", steps=1500, batch=256, rate=0.02, dimension=10, start=1.0)


Run = dict[str, Any]
"""Of two heads: keys, values, biases, what is outside, and the test risk."""


def trained(job: tuple[int, bool]) -> Run:
    """Two heads, under one normaliser or each with its own."""
    seed, joint = job
    run = train_heads(TASK, VALUES, 2, RECIPE, seed, joint=joint)
    found = {"keys": run.keys[:, 0], "values": run.values, "biases": run.biases, "outside": run.outside}
    return {**found, "test": measured(run.test.mean, run.test.standard_error)}


def _others(job: tuple[int, bool], run: int) -> tuple[int, bool]:
    return job[0] + OTHER_SEEDS * run, job[1]


def validate() -> list[NamedComparison]:
    """Keys sqrt(nu) theta with theta = +-1, values v*, equal biases, and the Bayes risk; separate normalisers do not reach it."""
    from symslr.evaluation.location import bayes_value

    found = computed_once(trained, [(seed, joint) for joint in (True, False) for seed in SEEDS], again=_others)
    runs, separate = found[: len(SEEDS)], found[len(SEEDS) :]
    bayes = float(bayes_value(TASK, VALUES).value)
    note = f"{RECIPE.steps} steps of {RECIPE.batch} fresh sequences in dimension {RECIPE.dimension}, seeds {SEEDS}"
    heads = np.array([np.sort(run["keys"]) for run in runs])
    mean = float(np.mean([run["test"]["value"] for run in runs]))
    error = float(np.sqrt(np.sum([run["test"]["error"] ** 2 for run in runs])) / len(runs))
    least = min(run["test"]["value"] for run in separate)
    return [
        NamedComparison(
            r"head along $-k^\star$", -2.0, float(heads[:, 0].mean()), 0.1, f"{note}; {heads[:, 0].round(3)}"
        ),
        NamedComparison(
            r"head along $k^\star$", 2.0, float(heads[:, 1].mean()), 0.1, f"{note}; {heads[:, 1].round(3)}"
        ),
        NamedComparison(r"values along $v^\star$", 1.0, float(np.mean([run["values"] for run in runs])), 0.02, note),
        NamedComparison("difference of the biases", 0.0, float(np.mean([run["biases"][1] for run in runs])), 0.1, note),
        NamedComparison(
            r"keys orthogonal to $k^\star$", 0.0, float(np.mean([run["outside"] for run in runs])), 0.15, note
        ),
        by_z_score("risk of two heads under one normaliser", bayes, mean, error, note),
        states(
            "two heads, each with its own normaliser, have more than the Bayes risk",
            least > bayes + 0.1,
            f"least risk {least:.3f}; Bayes risk {bayes:.3f}",
        ),
    ]
