"""A short run of recall: a layer trained on fresh sequences, and its errors beside those predicted from its scores alone."""

from dataclasses import asdict

from symslr.cache.parts import computed_once
from symslr.model.retrieval import ScoreLaw
from symslr.simulate.recipe import Recipe
from symslr.simulate.retrieval import ATTENTIONS, Recall
from symslr.validation.validation import NamedComparison, states

RECALL = Recall(length=128, keys=16)
RECIPE = Recipe("adam", steps=400, batch=16, rate=0.01, dimension=32)
BLUR, SEED, TESTS = 1.0, 7, 256
CLOSE = {"wrong answers": 0.1, "largest weight elsewhere": 0.06, "risk of reading a value": 0.08}
"""Distances within which Gaussian scores are a description; they are not Gaussian, and the errors of the counts are smaller."""
DESCRIBED = ("softmax", "softmax1", "sigmoid", "linear")


Run = dict[str, dict[str, float]]
"""The moments of the scores under "law", and (mean, standard error) of each error that was measured."""


def trained(kind: str) -> Run:
    """One layer, with noise in what keys and queries see."""
    from symslr.simulate.retrieval import train_recall

    found = train_recall(kind, RECALL, BLUR, RECIPE, SEED, test=TESTS).found
    errors = {"wrong": found.wrong, "elsewhere": found.elsewhere, "read_error": found.read_error}
    measured = {name: {"mean": one.mean, "standard_error": one.standard_error} for name, one in errors.items()}
    return {"law": asdict(found.law), **measured}


def validate() -> list[NamedComparison]:
    """Four attentions near their predictions; the feature map's scores are no Gaussians, and its ranking is missed."""
    from symslr.evaluation.retrieval import elsewhere

    runs = dict(zip(ATTENTIONS, computed_once(trained, list(ATTENTIONS))))
    found = [row for kind in DESCRIBED for row in _compared(kind, runs[kind])]
    missed = runs["feature map"]
    gap = elsewhere(ScoreLaw(**missed["law"])) - missed["elsewhere"]["mean"]
    note = f"predicted - measured = {gap:.3f}: the logarithms of its weights are no Gaussians"
    found.append(
        states("feature map: the largest weight is more often right than Gaussian scores say", gap > 0.1, note)
    )
    ranked = [runs[kind]["elsewhere"]["mean"] for kind in ("softmax", "linear")]
    answers = [runs[kind]["wrong"]["mean"] for kind in ("softmax", "linear")]
    note = f"largest weight elsewhere {ranked[0]:.3f} and {ranked[1]:.3f}; wrong answers {answers[0]:.3f} and {answers[1]:.3f}"
    holds = abs(ranked[0] - ranked[1]) < 0.05 and answers[1] > 2 * answers[0]
    return [*found, states("linear attention ranks positions as well as softmax and answers worse", holds, note)]


def _compared(kind: str, run: Run) -> list[NamedComparison]:
    from symslr.evaluation.retrieval import elsewhere, read_error, wrong

    law = ScoreLaw(**run["law"])  # type: ignore[arg-type]
    predicted = {
        "wrong answers": (float(wrong(kind, law, RECALL.value_tokens)), run["wrong"]),
        "largest weight elsewhere": (elsewhere(law), run["elsewhere"]),
        "risk of reading a value": (float(read_error(kind, law)), run["read_error"]),
    }
    note = f"nu = {law.strength:.2f}, correlation {law.correlation:.3f}, prior {law.keys}/{law.positions}, seed {SEED}"
    return [
        NamedComparison(
            f"{kind}, {name}",
            expected,
            found["mean"],
            CLOSE[name],
            f"{note}; standard error {found['standard_error']:.2g}",
        )
        for name, (expected, found) in predicted.items()
    ]
