"""Recall of values by their keys, by one trained layer: accuracy of five attentions, and what theory makes of their scores.

Source: arXiv 2509.21936, Figure 1, shows retrieval by large models; this is the smallest experiment of its kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from symslr.cache.parts import OTHER_SEEDS, computed_once, measured
from symslr.export.figures import NAMES, TEXT_WIDTH, Figure, Table, colour
from symslr.library.records import read_record, record_file
from symslr.model.retrieval import ScoreLaw
from symslr.simulate.recipe import Recipe
from symslr.simulate.retrieval import ATTENTIONS, Recall
from symslr.validation.validation import NamedComparison, states

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from symslr.simulate.retrieval import RetrievalRun

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
CLOSE = 1e-9
"""Error of a probability that is a sum over a fine grid."""
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
        rf" {len(SEEDS)} seeds, {TESTS} fresh sequences each. Without noise softmax, softmax-1 and the sigmoid"
        r" make next to no mistakes, so that their curves coincide; with it softmax-1 lies on softmax."
    )
    alt = "Wrong answers of five attentions against the number of keys and the length, without and with noise."
    seeds = f"start, training and test: {SEEDS[0]} to {SEEDS[-1]}"
    return Figure("figure-retrieval", caption, _table, _draw, alt, seeds=seeds)


def figure_retrieval_theory() -> Figure:
    """Errors that single-location regression predicts from the moments of the scores, against those measured."""
    caption = (
        r"What theory makes of the scores. For each trained layer the means and spreads of its scores, for the relevant position,"
        r" the other keys and the rest, make a task of single-location regression; nothing is fitted to an error. Measured"
        r" against predicted: wrong answers (left; the predicted ones are drawn from that law), how often another position has"
        r" the largest weight (middle, $1-\mathbb{E}\prod\Phi$), the risk"
        r" $1-(\mathbb{E}\sigma_\epsilon)^2/\mathbb{E}\|\sigma\|^2$ of reading a value"
        r" (right, derived). Filled: with noise; open: without; crosses: with noise and learned embeddings. $T=256$,"
        r" seed 1. With noise the law of the scores is close to Gaussian, and so are the predictions to what is measured;"
        r" without it the layer"
        r" learns where its fixed tokens lie, and far fewer scores than a Gaussian's reach the relevant one."
    )
    alt = "Measured against predicted errors of trained layers, near the diagonal with noise."
    return Figure("figure-retrieval-theory", caption, _compared, _draw_theory, alt, _claims, seeds="none of its own")


PREDICTED_AT = 256
"""Length of the sequences whose errors are predicted."""
PREDICTED = ("wrong", "elsewhere", "read_error")


def _runs() -> Table:
    """The kept numbers of the other figure, or those made now."""
    record = read_record(record_file(Path(__file__), "figure-retrieval"))
    return _table() if record is None else _columns([point.found for point in record.parts["run"].points])  # type: ignore[misc]


def _compared() -> Table:
    """One row for each run of one seed at one length: predictions beside what was measured."""
    runs = _runs()
    places = enumerate(zip(runs["seed"], runs["length"], strict=True))
    chosen = [index for index, place in places if place == (SEEDS[0], PREDICTED_AT)]
    rows = [{name: column[index] for name, column in runs.items()} for index in chosen]
    found = computed_once(_predictions, [tuple(row.items()) for row in rows])
    columns: dict[str, list[object]] = {name: [row[name] for row in rows] for name in LABELS}
    for name in PREDICTED:
        columns[name], columns[f"{name}_se"] = [row[name] for row in rows], [row[f"{name}_se"] for row in rows]
        columns[f"{name}_predicted"] = [prediction[name]["value"] for prediction in found]
    laws = [_law(row) for row in rows]
    columns["nu"], columns["correlation"] = [law.strength for law in laws], [law.correlation for law in laws]
    columns["prior"] = [law.keys / law.positions for law in laws]
    return columns


LABELS = ("attention", "length", "keys", "blur", "learned")


def _law(row: Mapping[str, object]) -> ScoreLaw:
    return ScoreLaw(**{name: row[name] for name in (*MOMENTS, "keys")})  # type: ignore[arg-type]


def _predictions(cells: tuple[tuple[str, object], ...]) -> dict[str, dict[str, object]]:
    from symslr.evaluation.retrieval import elsewhere, read_error, wrong

    row = dict(cells)
    law, kind = _law(row), str(row["attention"])
    values = Recall(int(str(row["length"])), law.keys).value_tokens
    return {
        "wrong": measured(wrong(kind, law, values)),
        "elsewhere": measured(elsewhere(law), CLOSE),
        "read_error": measured(read_error(kind, law)),
    }


def _claims(table: Table) -> list[NamedComparison]:
    """Where Gaussian scores are a description, and where they are not."""
    data = {name: np.asarray(column) for name, column in table.items()}
    gap = {name: data[f"{name}_predicted"] - data[name] for name in PREDICTED}
    linear, features = data["attention"] == "linear", data["attention"] == "feature map"
    noisy = (data["blur"] > 0) & ~features
    found = []
    for said, name, here, close in (
        ("linear attention: risk of reading a value", "read_error", linear, 0.01),
        ("with noise, feature map apart: largest weight elsewhere", "elsewhere", noisy, 0.06),
        ("with noise, feature map apart: risk of reading a value", "read_error", noisy, 0.07),
    ):
        farthest = float(gap[name][here][np.argmax(np.abs(gap[name][here]))])
        note = f"predicted less measured, farthest of {int(here.sum())} layers"
        found.append(NamedComparison(said, 0.0, farthest, close, note))
    clean = (data["blur"] == 0) & (data["attention"] == "softmax")
    most, least = data["wrong"][clean].max(), data["wrong_predicted"][clean].min()
    note = f"softmax is wrong in at most {most:.2g}, predicted {least:.2g} or more"
    holds = bool((gap["wrong"][clean] > 0.005).all())
    found.append(states("without noise scores are no Gaussians: errors are predicted that do not occur", holds, note))
    return found


def _draw_theory(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    data = {name: np.asarray(column) for name, column in table.items()}
    drawing, panels = plt.subplots(1, len(PREDICTED), figsize=(TEXT_WIDTH, 2.5), sharey=True)
    titles = ("wrong answers", "largest weight elsewhere", "risk of reading a value")
    for axes, name, title in zip(panels, PREDICTED, titles, strict=True):
        axes.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
        for position, kind in enumerate(ATTENTIONS):
            tint = colour(kind, position)
            for learned, blurred in ((False, True), (False, False), (True, True)):
                here = (data["attention"] == kind) & (data["learned"] == learned) & ((data["blur"] > 0) == blurred)
                marker = "x" if learned else MARKERS[kind]
                label = NAMES.get(kind, kind) if blurred and not learned else None
                face = tint if blurred else "none"
                axes.plot(
                    data[f"{name}_predicted"][here], data[name][here], marker, color=tint, markerfacecolor=face,
                    markersize=4, markeredgewidth=0.8, label=label,
                )  # fmt: skip
        axes.set(title=title, xlabel="predicted", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    panels[0].set_ylabel("measured")
    panels[0].legend(fontsize=7)
    return drawing


def _table() -> Table:
    return _columns(computed_once(_run, jobs(), again=lambda job, run: (*job[:-1], job[-1] + OTHER_SEEDS * run)))


def _run(job: Job) -> dict[str, object]:
    """A layer that was trained, as a row."""
    from symslr.simulate.retrieval import train_recall

    kind, length, keys, blur, learned, seed = job
    return row_of(train_recall(kind, Recall(length, keys), blur, RECIPE, seed, learned=learned, test=TESTS))


def row_of(run: RetrievalRun) -> dict[str, object]:
    """What was trained, what came out with standard errors, and the moments of its scores."""
    recall, found = run.recall, run.found
    row = {"attention": run.kind, "length": recall.length, "keys": recall.keys, "blur": run.blur}
    row |= {"learned": run.learned, "seed": run.seed, "loss": run.loss}
    for name in ("wrong", "elsewhere", "read_error", "gaussian"):
        estimate = getattr(found, name)
        row |= {name: measured(estimate.mean, estimate.standard_error)}
    return row | {name: getattr(found.law, name) for name in MOMENTS}


def _columns(rows: Sequence[Mapping[str, object]]) -> Table:
    """A column for each cell of the rows, and one of standard errors, named by _se, where it was measured."""
    columns: dict[str, list[object]] = {}
    for name, first in rows[0].items():
        if isinstance(first, dict):
            columns[name], columns[f"{name}_se"] = ([row[name][key] for row in rows] for key in ("value", "error"))  # type: ignore[index]
        else:
            columns[name] = [row[name] for row in rows]
    return columns


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
                axes.plot(
                    places,
                    mean,
                    MARKERS[kind] + "-",
                    color=colour(kind, position),
                    label=NAMES.get(kind, kind),
                    markersize=4,
                )
                axes.fill_between(places, *ends, color=colour(kind, position), alpha=0.2, linewidth=0)
            axes.set(xscale="log", title=rf"noise {blur:g}, ${'T' if at == 'length' else 'K'}={fixed}$")
            axes.set_xticks(places, [str(place) for place in places])
            axes.minorticks_off()
        row[0].set(ylabel="wrong answers")
    panels[-1, 0].set_xlabel(r"keys $K$")
    panels[-1, 1].set_xlabel(r"length $T$")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return drawing


MARKERS = dict(zip(ATTENTIONS, "os^Dv", strict=True))
