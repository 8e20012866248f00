"""A short run of recall: a layer trained on fresh sequences, and its errors beside those predicted from its scores alone."""

import math
from dataclasses import asdict

from symslr.cache.parts import OTHER_SEEDS, computed_once, measured
from symslr.model.retrieval import ScoreLaw
from symslr.simulate.recipe import Recipe
from symslr.simulate.retrieval import ATTENTIONS, Recall
from symslr.validation.validation import NamedComparison, by_z_score, states

RECALL = Recall(length=128, keys=16)
RECIPE = Recipe("adam", steps=400, batch=16, rate=0.01, dimension=32)
BLUR, SEED, TESTS = 1.0, 7, 256
CLOSE = {"wrong answers": 0.1, "largest weight elsewhere": 0.06, "risk of reading a value": 0.08}
"""Distances within which Gaussian scores are a description; they are not Gaussian, and the errors of the counts are smaller."""
DESCRIBED = ("softmax", "softmax1", "sigmoid", "linear")
FILLERS = Recall(length=256, keys=4)
"""Nearly all positions are fillers: here what is assumed of the read-out fails, and not what is assumed of the scores."""


Run = dict[str, dict[str, float]]
"""The moments of the scores under "law", and each error that was measured."""


def trained(job: tuple[str, Recall, int]) -> Run:
    """One layer, with noise in what keys and queries see."""
    from symslr.simulate.retrieval import train_recall

    kind, recall, seed = job
    found = train_recall(kind, recall, BLUR, RECIPE, seed, test=TESTS).found
    errors = {
        "wrong": found.wrong,
        "elsewhere": found.elsewhere,
        "read_error": found.read_error,
        "gaussian": found.gaussian,
    }
    numbers = {name: measured(one.mean, one.standard_error) for name, one in errors.items()}
    return {"law": asdict(found.law), **numbers}


def validate() -> list[NamedComparison]:
    """Four attentions near their predictions; the feature map's scores are no Gaussians, and its ranking is missed."""
    from symslr.evaluation.retrieval import elsewhere

    jobs = [*((kind, RECALL, SEED) for kind in ATTENTIONS), ("linear", FILLERS, SEED)]
    *found_runs, among_fillers = computed_once(
        trained, jobs, again=lambda job, run: (*job[:-1], job[-1] + OTHER_SEEDS * run)
    )
    runs = dict(zip(ATTENTIONS, found_runs, strict=True))
    found = [row for kind in DESCRIBED for row in _compared(kind, runs[kind])]
    missed = runs["feature map"]
    gap = elsewhere(ScoreLaw(**missed["law"])) - missed["elsewhere"]["value"]
    note = f"predicted - measured = {gap:.3f}: the logarithms of its weights are no Gaussians"
    found.append(
        states("feature map: the largest weight is more often right than Gaussian scores say", gap > 0.1, note)
    )
    ranked = [runs[kind]["elsewhere"]["value"] for kind in ("softmax", "linear")]
    answers = [runs[kind]["wrong"]["value"] for kind in ("softmax", "linear")]
    note = f"largest weight elsewhere {ranked[0]:.3f} and {ranked[1]:.3f}; wrong answers {answers[0]:.3f} and {answers[1]:.3f}"
    holds = abs(ranked[0] - ranked[1]) < 0.05 and answers[1] > 2 * answers[0]
    found.append(states("linear attention ranks positions as well as softmax and answers worse", holds, note))
    return [*found, *_among_fillers(among_fillers)]


def _among_fillers(run: Run) -> list[NamedComparison]:
    """Which assumption fails where nearly every position is a filler: Gaussian scores hold, an independent read-out does not."""
    from symslr.evaluation.retrieval import wrong

    predicted = float(wrong("linear", ScoreLaw(**run["law"]), FILLERS.value_tokens))  # type: ignore[arg-type]
    seen, gaussian = run["wrong"], run["gaussian"]
    error = math.hypot(seen["error"], gaussian["error"])
    size = f"K = {FILLERS.keys}, T = {FILLERS.length}"
    note = f"Gaussian scores of the measured moments, the layer's own read-out; {size}, seed {SEED}"
    title = "linear among fillers, wrong answers with the read-out as it is"
    name = "linear among fillers: a read-out that is independent from token to token predicts too many wrong answers"
    said = f"predicted {predicted:.3f}, with the layer's own read-out {gaussian['value']:.3f}, measured {seen['value']:.3f}"
    return [
        by_z_score(title, gaussian["value"], seen["value"], error, note),
        states(name, predicted - seen["value"] > 4 * error, f"{said}; {size}"),
    ]


def _compared(kind: str, run: Run) -> list[NamedComparison]:
    from symslr.evaluation.retrieval import elsewhere, read_error, wrong

    law = ScoreLaw(**run["law"])  # type: ignore[arg-type]
    predicted = {
        "wrong answers": (float(wrong(kind, law, RECALL.value_tokens)), run["wrong"]),
        "largest weight elsewhere": (elsewhere(law), run["elsewhere"]),
        "risk of reading a value": (float(read_error(kind, law)), run["read_error"]),
    }
    note = (
        rf"$\nu = {law.strength:.2f}$, correlation {law.correlation:.3f}, prior {law.keys}/{law.positions}, seed {SEED}"
    )
    return [
        NamedComparison(
            f"{kind}, {name}",
            expected,
            found["value"],
            CLOSE[name],
            f"{note}; " + (f"standard error {found['error']:.2g}" if found["error"] else "alike in every test"),
        )
        for name, (expected, found) in predicted.items()
    ]
