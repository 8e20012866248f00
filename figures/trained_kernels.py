"""What training reaches: kernels learned end to end beside the derived one, and k and v under each of five activations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import expand_log, log

from symslr.cache.parts import OTHER_SEEDS, computed_once, measured
from symslr.export.figures import NAMES, TEXT_WIDTH, Figure, Table, colour
from symslr.model.catalogue import ATTENTIONS, MaxSLR, SpikedSLR
from symslr.model.scalar_law import laplace
from symslr.model.symbols import x
from symslr.model.task import Task
from symslr.validation.validation import LARGEST_Z, NamedComparison, by_z_score, states

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LENGTH, SEEDS, STEPS, BATCH, DIMENSION = 5, (1, 2, 3), 1200, 512, 16
TITLES = {"spiked": r"spiked-SLR, $\nu=2$", "max": r"max-SLR, $\nu=2$", "laplace": "Laplace tokens, shift 2"}
RANGES = {"spiked": (-2.0, 4.0), "max": (-2.2, 2.8), "laplace": (-3.0, 5.0)}
POINTS = 49
TESTS = 30_000


def tasks() -> dict[str, Task]:
    """Gaussian shift, selection, and a token law that is not Gaussian."""
    return {
        "spiked": SpikedSLR(2, length=LENGTH, noise=0),
        "max": MaxSLR(2, length=LENGTH, noise=0),
        "laplace": Task.from_token_laws(laplace(2), laplace(), length=LENGTH, noise=0),
    }


def figure_trained_kernels(steps: int = STEPS) -> Figure:
    """log kappa that a small network learns, against the derived one, each less its mean under the token law."""
    caption = (
        rf"Kernels learned end to end with $k$ and $v$ by Adam on fresh samples ($L={LENGTH}$, $D={DIMENSION}$, {steps} steps"
        rf" of {BATCH}, {len(SEEDS)} seeds): $\log\kappa$ as a function of the key projection $\chi^\star$ (blue, one line a"
        r" seed), beside the logarithm of the derived likelihood ratio (black dashes). The normaliser leaves a constant"
        r" free, so each curve is drawn less its mean over tokens. Where tokens are rare nothing teaches the network."
    )
    alt = "Learned and derived log kernels nearly coincide on three tasks."
    return Figure(
        "figure-trained-kernels",
        caption,
        partial(_table, steps),
        _draw,
        alt,
        _claims,
        seeds=f"training: {SEEDS[0]} to {SEEDS[-1]}",
    )


def _table(steps: int) -> Table:
    jobs = [(name, seed) for name in TITLES for seed in SEEDS]
    learned = dict(zip(jobs, computed_once(partial(_learned, steps), jobs, again=_reseeded)))
    columns: dict[str, list[float]] = {}
    for name, task in tasks().items():
        grid = np.linspace(*RANGES[name], POINTS)
        columns[f"{name}_key"] = grid.tolist()
        columns[f"{name}_derived"] = _centred(task, derived(task)(grid), grid).tolist()
        for seed in SEEDS:
            curve, risk, error = learned[name, seed]["curve"]["value"], *_both(learned[name, seed]["risk"])
            columns[f"{name}_seed{seed}"] = _centred(task, np.array(curve), grid).tolist()
            columns[f"{name}_risk{seed}"], columns[f"{name}_error{seed}"] = [risk] * POINTS, [error] * POINTS
    return columns


def _claims(table: Table) -> list[NamedComparison]:
    """Risks of what was learned against the Bayes risk; no predictor is below it, and this one should be there."""
    from symslr.evaluation import evaluate
    from symslr.theory import bayes_risk

    found = []
    for name, task in tasks().items():
        expected = float(evaluate(bayes_risk(task), {}, digits=8))
        risks, errors = (
            np.array([float(str(table[f"{name}_{part}{seed}"][0])) for seed in SEEDS]) for part in ("risk", "error")
        )
        error = float(np.sqrt(np.sum(errors**2)) / len(SEEDS))
        note = f"Bayes risk; {len(SEEDS)} seeds, tested on {TESTS} fresh sequences each"
        found.append(by_z_score(f"kernel learned on {TITLES[name]}", expected, float(risks.mean()), error, note))
    return found


def derived(task: Task) -> Callable[[np.ndarray], np.ndarray]:
    """log kappa of the optimal attention."""
    from symslr.evaluation.numbers.compiled import compile_float
    from symslr.theory import optimal_attention

    function = compile_float((x,), [expand_log(log(optimal_attention(task).kernel), force=True)])
    return lambda keys: np.asarray(function(keys)[0], dtype=float)


def _reseeded(job: tuple[Any, ...], run: int) -> tuple[Any, ...]:
    return (*job[:-1], job[-1] + OTHER_SEEDS * run)


def _both(found: dict[str, float]) -> tuple[float, float]:
    return found["value"], found["error"]


def _learned(steps: int, job: tuple[str, int]) -> dict[str, object]:
    """log kappa(m_kk chi*) of one run on the grid of its task, as the network's argument is the score; its test risk."""
    from symslr.simulate.training import Recipe, train

    name, seed = job
    task = tasks()[name]
    recipe = Recipe("adam", steps=steps, batch=BATCH, rate=0.01, dimension=DIMENSION, start=0.5)
    run = train(task, None, {}, recipe, seed, test=TESTS)
    network, test = run.network, run.test
    assert network is not None
    assert test is not None
    grid = np.linspace(*RANGES[name], POINTS)
    curve = network(run.overlaps.m_kk * grid)
    return {"curve": measured(curve, np.full(POINTS, np.inf)), "risk": measured(test.mean, test.standard_error)}


def _centred(task: Task, values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Values on the grid less their mean over the tokens that carry no signal, within it."""
    from symslr.evaluation.numbers.compiled import compile_float

    density = np.broadcast_to(np.asarray(compile_float((x,), [task.base.density])(grid)[0], dtype=float), grid.shape)
    return np.asarray(values - (density @ values) / density.sum(), dtype=float)


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(1, len(TITLES), figsize=(TEXT_WIDTH, 2.3))
    for axes, (name, title) in zip(panels, TITLES.items(), strict=True):
        keys = np.asarray(table[f"{name}_key"], dtype=float)
        for seed in SEEDS:
            label = "learned" if seed == SEEDS[0] else None
            axes.plot(keys, np.asarray(table[f"{name}_seed{seed}"], float), color="#0072B2", linewidth=1, label=label)
        ratio = np.asarray(table[f"{name}_derived"], float)
        axes.plot(keys, ratio, color="#000000", linewidth=1.1, linestyle=(0, (4, 2)), label="derived")
        axes.set(title=title, xlabel=r"key projection $\chi^\star$")
    panels[0].set_ylabel(r"$\log\kappa$ less its mean")
    panels[0].legend(loc="upper left")
    return drawing


RATES = {"linear": 0.01, "softplus": 0.05}
"""Of Adam where it is not 0.02: linear attention is unbounded, softplus flat."""
TRAINED_ON = ("spiked", "max")


def figure_trained_activations() -> Figure:
    """Test risk of k and v trained under softmax, softmax-1, linear, erf and softplus attention, beside the least risk."""
    caption = (
        rf"Key and value trained by Adam on fresh samples under a given activation ($\nu=2$, $L={LENGTH}$, $D={DIMENSION}$,"
        rf" {STEPS} steps of {BATCH}; erf with its shift trained too): test risk of {len(SEEDS)} seeds (markers, with two"
        r" standard errors), beside the least risk that is derived (bars) and the Bayes risk (dashed)."
    )
    alt = "Markers of trained predictors on the bars of their least risks, for five activations and two tasks; softmax lowest."
    return Figure(
        "figure-trained-activations",
        caption,
        _risks_table,
        _draw_risks,
        alt,
        _risk_claims,
        seeds=f"training: {SEEDS[0]} to {SEEDS[-1]}",
    )


def _risks_table() -> Table:
    jobs = [(task, name, seed) for task in TRAINED_ON for name in ATTENTIONS for seed in SEEDS]
    risks = computed_once(trained_risk, jobs, again=_reseeded)
    rows = [(*job, *_both(risk)) for job, risk in zip(jobs, risks, strict=True)]
    least = {(task, name): _least(task, name) for task in TRAINED_ON for name in (*ATTENTIONS, "bayes")}
    columns = dict(zip(("task", "attention", "seed", "risk", "error"), map(list, zip(*rows, strict=True)), strict=True))
    columns["least"] = [least[task, name] for task, name, _ in jobs]
    columns["bayes"] = [least[task, "bayes"] for task, _, _ in jobs]
    return columns


def _least(task: str, name: str) -> float:
    from symslr.evaluation import evaluate, least_risk
    from symslr.theory import bayes_risk

    if name == "bayes":
        return float(evaluate(bayes_risk(tasks()[task]), {}, digits=8))
    return float(least_risk(tasks()[task], ATTENTIONS[name], {}, digits=6)[0])


def trained_risk(job: tuple[str, str, int]) -> dict[str, object]:
    """Test risk of one run and its standard error."""
    from symslr.simulate.training import Recipe, train

    task, name, seed = job
    recipe = Recipe("adam", steps=STEPS, batch=BATCH, rate=RATES.get(name, 0.02), dimension=DIMENSION, start=0.3)
    test = train(tasks()[task], ATTENTIONS[name], {}, recipe, seed, test=TESTS).test
    assert test is not None
    return measured(test.mean, test.standard_error)


def _risk_rows(table: Table) -> list[tuple[str, str, float, float, float, float]]:
    """(task, attention, mean risk of the seeds, its standard error, least risk, Bayes risk)."""
    data = {name: np.asarray(column) for name, column in table.items()}
    found = []
    for task in TRAINED_ON:
        for name in ATTENTIONS:
            here = (data["task"] == task) & (data["attention"] == name)
            risk, error, least, bayes = (data[key][here].astype(float) for key in ("risk", "error", "least", "bayes"))
            found.append((task, name, risk.mean(), np.sqrt((error**2).sum()) / len(error), least[0], bayes[0]))
    return found


def _risk_claims(table: Table) -> list[NamedComparison]:
    """No trained predictor is below the least risk, and every one within two hundredths of it."""
    found = []
    for task, name, mean, error, least, _ in _risk_rows(table):
        holds = -LARGEST_Z * error < mean - least < 0.02 + LARGEST_Z * error
        note = f"{mean:.4f} +- {error:.4f} trained, least {least:.4f}"
        found.append(states(f"{name} trained on {task}-SLR reaches its least risk", bool(holds), note))
    return found


def _draw_risks(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(1, len(TRAINED_ON), figsize=(TEXT_WIDTH, 2.3), sharey=True)
    rows = _risk_rows(table)
    for axes, task in zip(panels, TRAINED_ON, strict=True):
        mine = [row for row in rows if row[0] == task]
        for place, (_, name, mean, error, least, _) in enumerate(mine):
            axes.hlines(least, place - 0.32, place + 0.32, color=colour(name), linewidth=2)
            bars = {"fmt": "o", "markersize": 4, "capsize": 2, "markerfacecolor": "white"}
            axes.errorbar([place], [mean], [2 * error], color=colour(name), **bars)
        axes.axhline(mine[0][-1], color="#000000", linewidth=0.9, linestyle=(0, (4, 2)))
        axes.set_xticks(range(len(mine)), [NAMES.get(name, name) for _, name, *_ in mine])
        axes.set(title=TITLES[task])
        axes.grid(axis="x", visible=False)
    panels[0].set_ylabel("risk")
    return drawing
