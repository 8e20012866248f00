"""The gradient flow of the order parameters against gradient descent on vectors in dimension 200."""

from dataclasses import replace

import numpy as np

from symslr.cache.parts import OTHER_SEEDS, computed_once, measured
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax
from symslr.model.task import Task
from symslr.simulate.training import Recipe, Training
from symslr.validation.validation import NamedComparison, by_z_score

VALUES = {"L": 3, "nu": 2, "Delta": 0}
START = ((0.3, 0.1, 0.2, 0.0), (0.1, 0.3, -0.1, 0.2))
SEEDS, TIME, RATE, BATCH, DIMENSION = (1, 2, 3, 4), 4.0, 0.02, 300, 200
RATES = (RATE / 2, RATE)
RUNS = [(RATE / 2, seed) for seed in SEEDS] + [(RATE, 100 + seed) for seed in SEEDS]


def validate() -> list[NamedComparison]:
    """Order parameters at time 4; runs at a rate and at half of it are extrapolated to rate 0, seed by seed.

    Steps of finite size and the noise of finite batches both move the path in proportion to the rate.
    """
    from symslr.evaluation.landscape import Landscape, OrderParameters, gradient_flow

    tasks = (SpikedSLR(), MaxSLR())
    jobs = [(_run(task, rate, 0), tuple(seed for one, seed in RUNS if one == rate)) for task in tasks for rate in RATES]
    found = {
        (job.task.name, seed): np.array(end)
        for (job, seeds), ends in zip(jobs, computed_once(descended, jobs, again=_others))
        for seed, end in zip(seeds, ends["ends"])
    }
    rows = []
    for task in tasks:
        landscape = Landscape.of(task, softmax, VALUES)
        theory = gradient_flow(
            landscape, OrderParameters.of_vectors(np.array(START)).array, TIME, np.array([0.0, TIME])
        ).end
        ends = np.array([2 * found[task.name, seed] - found[task.name, 100 + seed] for seed in SEEDS])
        errors = ends.std(axis=0, ddof=1) / len(SEEDS) ** 0.5
        pooled = float(np.sqrt(np.mean(errors**2)))  # of the seven: one of four runs alone is too uncertain
        note = (
            f"softmax; {len(SEEDS)} seeds, batches of {BATCH}, rates {RATE} and {RATE / 2}; error pooled over the seven"
        )
        for name, expected, end in zip(landscape.names, theory, ends.mean(axis=0)):
            rows.append(
                by_z_score(
                    f"${name[0]}_{{{name[2:]}}}$ on {task.name}-SLR at time $t={TIME:g}$", expected, end, pooled, note
                )
            )
    return rows


def descended(job: tuple[Training, tuple[int, ...]]) -> dict[str, object]:
    """The order parameters where gradient descent ends, of each seed and on average."""
    from symslr.simulate.training import trained

    run, seeds = job
    ends = np.array([trained(replace(run, seed=seed)).path[-1] for seed in seeds])
    errors = ends.std(axis=0, ddof=1) / len(seeds) ** 0.5
    pooled = np.full(len(errors), np.sqrt(np.mean(errors**2)))
    return {"mean": measured(ends.mean(axis=0), pooled), "ends": ends}


def _others(job: tuple[Training, tuple[int, ...]], run: int) -> tuple[Training, tuple[int, ...]]:
    return job[0], tuple(seed + OTHER_SEEDS * run for seed in job[1])


def _run(task: Task, rate: float, seed: int) -> Training:
    steps = round(TIME / rate)
    recipe = Recipe("sgd", steps, BATCH, rate, DIMENSION, steady=True, every=steps)
    return Training(task, softmax, VALUES, recipe, seed, START)
