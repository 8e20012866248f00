"""Recall of values by their keys, by one trained layer: accuracy of five attentions, and what theory makes of their scores.

Source: arXiv 2509.21936, Figure 1, shows retrieval by large models; this is the smallest experiment of its kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from symslr.export.figures import TEXT_WIDTH, Figure, Table, colour
from symslr.kept.processes import mapped
from symslr.model.retrieval import ScoreLaw
from symslr.simulate.recipe import Recipe
from symslr.simulate.retrieval import ATTENTIONS, Recall, RetrievalRun, train_recall

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LAYOUTS = ((64, 16), (128, 16), (256, 4), (256, 16), (256, 64), (512, 16))
"""(length, keys)."""
BLURS = (0.0, 1.0)
SEEDS = (1, 2)
RECIPE = Recipe("adam", steps=400, batch=16, rate=0.01, dimension=32)
TESTS = 256
LEARNED = ((256, 16),)
"""Layouts at which embeddings are trained too, with the noise of the last blur."""
Job = tuple[str, int, int, float, bool, int]
"""(attention, length, keys, blur, embeddings learned, seed)."""
MOMENTS = tuple(field.name for field in fields(ScoreLaw) if field.name != "keys")


def jobs() -> list[Job]:
    """Every run of the figure."""
    grid = [(*layout, blur, False, seed) for layout in LAYOUTS for blur in BLURS for seed in SEEDS]
    learned = [(*layout, BLURS[-1], True, SEEDS[0]) for layout in LEARNED]
    return [(kind, *job) for job in (*grid, *learned) for kind in ATTENTIONS]


def figure_retrieval() -> Figure:
    """Error against length and number of keys, without and with noise in keys and queries."""
    caption = (
        r"Recall: $K$ pairs of a key and a value, then every key once at a random place; a layer of attention answers with the"
        r" value. Wrong answers against $K$ (left, at $T=256$ tokens) and against $T$ (right, at $K=16$), without noise (top) and"
        rf" with noise of standard deviation {BLURS[-1]:g} in what keys and queries see of every coordinate (bottom). Random"
        rf" embeddings in dimension {RECIPE.dimension}, {RECIPE.steps} steps of {RECIPE.batch} sequences, mean and range of"
        rf" {len(SEEDS)} seeds, {TESTS} fresh sequences each."
    )
    alt = "Wrong answers of five attentions against the number of keys and the length, without and with noise."
    seeds = f"start, training and test: {SEEDS[0]} to {SEEDS[-1]}"
    return Figure("figure-retrieval", caption, _table, _draw, alt, seeds=seeds)


def _table() -> Table:
    return tabled(mapped(_trained, jobs()))


def _trained(job: Job) -> RetrievalRun:
    kind, length, keys, blur, learned, seed = job
    return train_recall(kind, Recall(length, keys), blur, RECIPE, seed, learned=learned, test=TESTS)


def tabled(runs: Sequence[RetrievalRun]) -> Table:
    """One row a run: what was trained, what came out with standard errors, and the moments of its scores."""
    columns: dict[str, list[object]] = {
        "attention": [run.kind for run in runs],
        "length": [run.recall.length for run in runs],
        "keys": [run.recall.keys for run in runs],
        "blur": [run.blur for run in runs],
        "learned": [run.learned for run in runs],
        "seed": [run.seed for run in runs],
        "loss": [run.loss for run in runs],
    }
    for name in ("wrong", "elsewhere", "read_error"):
        columns[name] = [getattr(run.found, name).mean for run in runs]
        columns[f"{name}_se"] = [getattr(run.found, name).standard_error for run in runs]
    return columns | {name: [getattr(run.found.law, name) for run in runs] for name in MOMENTS}


def _draw(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    data = {name: np.asarray(column) for name, column in table.items()}
    drawing, panels = plt.subplots(len(BLURS), 2, figsize=(TEXT_WIDTH, 4.4), sharex="col", sharey="row")
    for row, blur in zip(panels, BLURS, strict=True):
        here = (data["blur"] == blur) & ~data["learned"]
        for axes, (against, at, fixed) in zip(row, (("keys", "length", 256), ("length", "keys", 16)), strict=True):
            for position, kind in enumerate(ATTENTIONS):
                chosen = here & (data["attention"] == kind) & (data[at] == fixed)
                places = np.unique(data[against][chosen])
                wrong = np.array([data["wrong"][chosen & (data[against] == place)] for place in places])
                mean, ends = wrong.mean(axis=1), (wrong.min(axis=1), wrong.max(axis=1))
                axes.plot(places, mean, MARKERS[kind] + "-", color=colour(kind, position), label=kind, markersize=4)
                axes.fill_between(places, *ends, color=colour(kind, position), alpha=0.2, linewidth=0)
            axes.set(xscale="log", title=rf"noise {blur:g}, ${'T' if at == 'length' else 'K'}={fixed}$")
            axes.set_xticks(places, [str(place) for place in places])
            axes.minorticks_off()
        row[0].set(ylabel="wrong answers")
    panels[-1, 0].set_xlabel(r"keys $K$")
    panels[-1, 1].set_xlabel(r"length $T$")
    panels[0, 0].legend()
    return drawing


MARKERS = dict(zip(ATTENTIONS, "os^Dv", strict=True))
