"""Message passing on real samples in thousands of dimensions against state evolution, for both tasks and both starts."""

from dataclasses import dataclass, replace

import numpy as np
from sympy import Rational, oo

from symslr.cache.parts import OTHER_SEEDS, computed_once, measured
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.task import Task
from symslr.validation.validation import NamedComparison, by_z_score, states

NOISE = Rational(3, 10)
SPIKED = SpikedSLR(2, length=3, noise=NOISE)
MAX = MaxSLR(2, length=3, noise=NOISE)
LARGEST = MaxSLR(oo, length=3, noise=NOISE)
JUMPS = SpikedSLR(2, length=3, noise=Rational(1, 100))
HARD = 1.2
"""alpha between the place where the informed fixed point overtakes and the one where the uninformed one ends."""


@dataclass(frozen=True)
class Runs:
    """Independent training sets of one task at alpha = N/D, X in float32."""

    task: Task
    what: str
    alpha: float
    dimension: int
    seeds: int
    start: str = "uninformed"
    first: int = 0

    @property
    def name(self) -> str:
        return rf"{self.what}, $\alpha={self.alpha:g}$, $D={self.dimension}$"


def ends(runs: Runs) -> dict[str, object]:
    """(q_k, q_v) where each run ends, their means, and how many of them converged."""
    from symslr.evaluation.sampling.scatter import standard_error
    from symslr.simulate.erm import sample_training_set
    from symslr.simulate.message_passing import message_passing

    found = []
    for seed in range(runs.first, runs.first + runs.seeds):
        rng = np.random.default_rng([seed, runs.dimension])
        size = round(runs.alpha * runs.dimension)
        data = sample_training_set(runs.task, {}, size, runs.dimension, rng, dtype=np.float32)
        found.append(message_passing(data, runs.task, {}, start=runs.start))
    each = np.array([run.overlaps[-1] for run in found])
    mean = measured(each.mean(axis=0), [standard_error(list(column)) for column in each.T])
    return {"mean": mean, "ends": each, "converged": sum(run.converged for run in found)}


def _others(runs: Runs, run: int) -> Runs:
    return replace(runs, first=runs.first + OTHER_SEEDS * run)


LARGE = (
    Runs(SPIKED, r"spiked-SLR, $\nu=2$, $L=3$, $\Delta=0.3$", 2, 3000, 6),
    Runs(MAX, r"max-SLR, $\nu=2$, $L=3$, $\Delta=0.3$", 2, 2000, 5),
    Runs(LARGEST, r"max-SLR, $\nu=\infty$, $L=3$, $\Delta=0.3$", 2, 2000, 5),
)
SMALL = (
    Runs(SPIKED, r"spiked-SLR, $\nu=2$, $L=3$, $\Delta=0.3$", 2, 400, 40),
    Runs(LARGEST, r"max-SLR, $\nu=\infty$, $L=3$, $\Delta=0.3$", 2, 400, 24),
)
"""The same points at few dimensions and many training sets: what of the gap is due to D would show here."""


HARD_RUNS = tuple(
    Runs(JUMPS, rf"spiked-SLR, $\nu=2$, $L=3$, $\Delta=0.01$, {start} start", HARD, 3000, 6, start)
    for start in ("informed", "uninformed")
)


def validate() -> list[NamedComparison]:
    every = (*LARGE, *SMALL, *HARD_RUNS)
    made = computed_once(ends, every, again=_others)
    found = {runs: (one["ends"], one["converged"]) for runs, one in zip(every, made, strict=True)}
    return [*(row for runs in (*LARGE, *SMALL) for row in _follows(runs, *found[runs])), *_hard_phase(found)]


def _follows(runs: Runs, found: list[list[float]], converged: int) -> list[NamedComparison]:
    from symslr.evaluation.finite_sample import bayes_optimal

    theory = bayes_optimal(runs.task, {}, alpha=runs.alpha)
    return [
        _row(name, runs, [float(value)], [end[place] for end in found], converged, float(value.error))
        for place, (name, value) in enumerate((f"q_{name}", theory.overlaps[name]) for name in ("k", "v"))
    ]


def _row(
    name: str, runs: Runs, theory: list[float], found: list[float], converged: int, error: float
) -> NamedComparison:
    from symslr.evaluation.sampling.scatter import standard_error

    mean, expected, spread = float(np.mean(found)), float(np.mean(theory)), standard_error(found)
    note = f"{runs.seeds} training sets, {converged} converged; times D the gap is {(mean - expected) * runs.dimension:.2g}"
    note += f" ± {spread * runs.dimension:.1g}"
    return by_z_score(f"overlap ${name}$: {runs.name}", expected, mean, float(np.hypot(error, spread)), note)


def _hard_phase(found: dict[Runs, tuple[list[list[float]], int]]) -> list[NamedComparison]:
    """Inside the hard phase each start ends at the fixed point of state evolution that it leads to."""
    from symslr.evaluation.finite_sample.bayes_optimal import sequence_models
    from symslr.evaluation.sampling.scatter import standard_error
    from symslr.evaluation.sequence.bayes_optimal import channels_of, draws, starts
    from symslr.evaluation.sequence.state_evolution import INFORMED, UNINFORMED, StateEvolution

    maps = [StateEvolution(own) for own in draws(channels_of(sequence_models(JUMPS, {})), None, 0, 8)[0]]
    begin = dict(zip((UNINFORMED, INFORMED), starts(2)))
    rows, means = [], {}
    for runs in HARD_RUNS:
        points = [item.solve(begin[runs.start], HARD) for item in maps]
        reached, converged = found[runs]
        for place, name in enumerate(("q_k", "q_v")):
            theory = [float(point.Q[place, place]) for point in points]
            rows.append(_row(name, runs, theory, [end[place] for end in reached], converged, standard_error(theory)))
        means[runs.start] = float(np.mean([end[1] for end in reached]))
    said = ", ".join(f"{start} start: q_v {mean:.4f}" for start, mean in means.items())
    apart = means["informed"] - means["uninformed"] > 0.1
    return [
        *rows,
        states(rf"the two starts end apart in the hard phase: $\alpha={HARD:g}$, $\Delta=0.01$", apart, said),
    ]
