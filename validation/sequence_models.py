"""Sequence models at large D: message passing against state evolution, a student's descent against its equations."""

from dataclasses import dataclass, replace

import numpy as np

from symslr.cache.parts import OTHER_SEEDS, computed_once, measured
from symslr.model.sequence.model import SequenceModel
from symslr.validation.validation import NamedComparison, by_z_score

ATTENTION = {"teachers": ["u", "v"], "length": 2, "label": "sum(softmax(u)[l]*v[l], l)", "noise": "1/2"}
SQUARE = {"teachers": ["u"], "length": 1, "label": "u[1]**2", "noise": "1/2"}
LAYERS = {
    "teachers": ["u", "v"],
    "length": 2,
    "label": "sum(softmax(u[l]*u[m], m)*v[m], m) + v[l]",
    "noise": "1/2",
    "invariant": "sign",
}
SPIKED = {
    "teachers": ["k", "v"],
    "length": 3,
    "label": "v[eps]",
    "noise": "1/2",
    "hidden": {"eps": "1..L"},
    "weight": "exp(sqrt(nu)*k[eps] - nu/2)",
    "values": {"nu": 2},
    "student": {"fields": ["k", "v"], "predictor": "sum(softmax(k)[l]*v[l], l)", "loss": "square"},
}
START = ((0.3, 0.1), (0.05, 0.2)), ((0.8, 0.1), (0.1, 0.6))


@dataclass(frozen=True)
class Passing:
    """Message passing on independent samples of a model at alpha = N/D."""

    model: str
    what: str
    alpha: float
    dimension: int
    seeds: int
    nodes: int
    first: int = 0


@dataclass(frozen=True)
class Descent:
    """One-pass descent of the student of spiked-SLR with independent streams, up to a time."""

    time: float
    gamma: float
    dimension: int
    seeds: int
    first: int = 0


MODELS = {"attention": ATTENTION, "square": SQUARE, "layers": LAYERS, "spiked": SPIKED}
PASSED = (
    Passing("attention", "one softmax attention", 3, 1000, 4, 144),
    Passing("square", "$y=u^2$ with noise", 1.5, 2000, 8, 256),
    Passing("layers", "two attention layers up to a sign", 1, 1000, 4, 144),
    Passing("spiked", r"spiked-SLR, $\nu=2$, $L=3$", 2, 400, 4, 1728),
)
DESCENTS = (Descent(2, 0.5, 1000, 8), Descent(2, 1.5, 1000, 8))


def passed(runs: Passing) -> dict[str, object]:
    """Overlaps where each run ends, of the means with the teachers and of the means with themselves, and how many converged."""
    from symslr.evaluation.sampling.scatter import standard_error
    from symslr.simulate.sequence.message_passing import estimate_teachers
    from symslr.simulate.sequence.samples import sample_sequence_model

    model, ends, converged = SequenceModel(**MODELS[runs.model]), [], 0
    for seed in range(runs.first, runs.first + runs.seeds):
        rng = np.random.default_rng([seed, runs.dimension])
        data = sample_sequence_model(model, round(runs.alpha * runs.dimension), runs.dimension, rng)
        run = estimate_teachers(data, model, rng, start=0.1, draws=runs.nodes)
        ends.append([*np.abs(np.diag(run.overlap)), *(1 - np.diag(run.V))])
        converged += run.converged
    each = np.array(ends)
    mean = measured(each.mean(axis=0), [standard_error(list(column)) for column in each.T])
    return {"mean": mean, "ends": each, "converged": converged}


def descended(runs: Descent) -> dict[str, object]:
    """M and Q where each stream ends, one row each."""
    from symslr.evaluation.sampling.scatter import standard_error
    from symslr.simulate.sequence.online import run_online

    model, ends = SequenceModel(**SPIKED), []
    start = tuple(np.array(part) for part in START)
    for seed in range(runs.first, runs.first + runs.seeds):
        rng = np.random.default_rng([seed, runs.dimension])
        run = run_online(model, start, (runs.time,), runs.dimension, rng, gamma=runs.gamma)
        ends.append([*run.M[-1].ravel(), *run.Q[-1][np.triu_indices(2)]])
    each = np.array(ends)
    mean = measured(each.mean(axis=0), [standard_error(list(column)) for column in each.T])
    return {"mean": mean, "ends": each}


def _others(runs: Passing | Descent, run: int) -> Passing | Descent:
    return replace(runs, first=runs.first + OTHER_SEEDS * run)


def validate() -> list[NamedComparison]:
    reached = computed_once(passed, PASSED, again=_others)
    ended = computed_once(descended, DESCENTS, again=_others)
    return [
        *(row for runs, found in zip(PASSED, reached, strict=True) for row in _overlaps(runs, found)),
        *(row for runs, found in zip(DESCENTS, ended, strict=True) for row in _flow(runs, found)),
    ]


def _overlaps(runs: Passing, found: dict[str, object]) -> list[NamedComparison]:
    from symslr.evaluation.sequence.bayes_optimal import bayes_optimal

    model = SequenceModel(**MODELS[runs.model])
    theory = bayes_optimal(model, runs.alpha)
    ends, rows = np.array(found["ends"]), []
    at = rf"{runs.what}, $\alpha={runs.alpha:g}$, $D={runs.dimension}$"
    for place, (name, what) in enumerate((name, what) for what in ("overlap", "length") for name in model.teachers):
        value = theory.uninformed[name]
        note = f"{runs.seeds} samples, {found['converged']} converged"
        rows.append(_row(f"{what} of ${name}$: {at}", float(value), float(value.error), ends[:, place], note))
    return rows


def _flow(runs: Descent, found: dict[str, object]) -> list[NamedComparison]:
    from symslr.evaluation.sequence.dynamics import dynamics

    model, (M, Q) = SequenceModel(**SPIKED), (np.array(part) for part in START)
    theory = dynamics(model, [0.0, runs.time], gamma=runs.gamma, M=M, Q=Q)
    upper = np.triu_indices(2)
    values = [*theory.M[-1].ravel(), *theory.Q[-1][upper]]
    errors = [*theory.M_error[-1].ravel(), *theory.Q_error[-1][upper]]
    names = [f"M_{{{a}{b}^\\star}}" for a in "kv" for b in "kv"] + ["Q_{kk}", "Q_{kv}", "Q_{vv}"]
    ends = np.array(found["ends"])
    at = rf"spiked-SLR, $\gamma={runs.gamma:g}$, $t={runs.time:g}$, $D={runs.dimension}$"
    return [
        _row(f"${name}$: {at}", float(value), float(error), ends[:, place], f"{runs.seeds} streams")
        for place, (name, value, error) in enumerate(zip(names, values, errors, strict=True))
    ]


def _row(name: str, expected: float, error: float, found: np.ndarray, note: str) -> NamedComparison:
    from symslr.evaluation.sampling.scatter import standard_error

    spread = standard_error(list(found))
    return by_z_score(name, expected, float(found.mean()), float(np.hypot(error, spread)), note)
