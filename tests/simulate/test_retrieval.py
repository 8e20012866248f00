"""Recall: no key is overwritten, the layer is attention entry by entry, and the moments are those of its scores."""

import math

import numpy as np
import pytest

from symslr.simulate.recipe import Recipe
from symslr.simulate.retrieval import ATTENTIONS, Layer, Recall, measured, train_recall

SMALL = Recall(length=24, keys=4, key_tokens=8, value_tokens=5, filler_tokens=6)
torch_needed = pytest.mark.needs("torch")


def test_every_query_has_one_answer() -> None:
    batch = SMALL.draw(300, np.random.default_rng(0))
    for tokens, places, relevant, answers in zip(batch.tokens, batch.places, batch.relevant, batch.answers):
        keys = np.flatnonzero(tokens < SMALL.key_tokens)
        assert sorted(keys) == sorted([0, 2, 4, 6, *places])
        assert len(set(tokens[[0, 2, 4, 6]])) == len(set(places)) == 4
        for place, position, answer in zip(places, relevant, answers):
            before = [at for at in range(8) if tokens[at] == tokens[place]]
            assert before == [position - 1]
            assert tokens[position] == SMALL.key_tokens + answer
    assert np.bincount(batch.answers.ravel(), minlength=5).min() > 180
    first, second = (SMALL.draw(3, np.random.default_rng(5)).tokens for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"length": 24, "keys": 1}, "keys: found 1; expected at least 2"),
        ({"length": 11, "keys": 4}, "length: found 11; expected at least"),
        ({"length": 24, "keys": 4, "key_tokens": 3}, "key_tokens: found 3"),
        ({"length": 24, "keys": 4, "value_tokens": 1}, "vocabulary: found 1 values"),
    ],
)
def test_tasks_that_are_none(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Recall(**arguments)


@torch_needed
@pytest.mark.parametrize("kind", ATTENTIONS)
def test_the_layer_by_loops(kind: str) -> None:
    layer = Layer(kind, SMALL, 6, 0.0, 3)
    batch = SMALL.draw(2, np.random.default_rng(1))
    scores, earlier = layer.scores(batch)
    weights = layer.weights(scores, earlier)
    logits = layer.logits(batch, weights).detach().numpy()
    table = layer._table().detach().numpy()
    query, before, own, value, readout = (
        part.detach().numpy() for part in (layer.query, layer.before, layer.own, layer.value, layer.readout)
    )
    shift = float(layer.shift.detach())
    for n in range(2):
        tokens = [*batch.tokens[n], -1]
        for k, place in enumerate(batch.places[n]):
            asked = query @ table[tokens[place]]
            keys = [before @ table[tokens[l - 1]] + own @ table[tokens[l]] for l in range(place)]
            s = np.array([asked @ key for key in keys]) / math.sqrt(6)
            if kind == "feature map":
                features = lambda u: np.where(u > 0, u + 1, np.exp(u)) + 1e-3  # noqa: E731
                found = np.array([features(asked) @ features(key) for key in keys])
                found = found / found.sum()
            elif kind == "linear":
                found = (s + shift) / math.sqrt(24)
            elif kind == "sigmoid":
                found = 1 / (1 + np.exp(-s - shift))
            else:
                found = np.exp(s) / (np.exp(s).sum() + (kind == "softmax1"))
            held = weights[n, k].detach().numpy()
            assert held[:place] == pytest.approx(found, rel=1e-4, abs=1e-7)
            assert not held[place:].any()
            read = sum(w * (value @ table[token]) for w, token in zip(found, tokens))
            assert logits[n, k] == pytest.approx(readout @ read, rel=1e-3, abs=1e-4)


@torch_needed
def test_moments_by_loops() -> None:
    layer = Layer("sigmoid", SMALL, 6, 0.5, 3)
    batches = [SMALL.draw(40, np.random.default_rng(seed)) for seed in (1, 2)]
    state = layer.generator.get_state()
    found = measured(layer, batches, 1)
    layer.generator.set_state(state)
    relevant, others, rest, centred, wrong = [], [], [], [], []
    for batch in batches:
        scores, earlier = layer.scores(batch)
        logits = layer.logits(batch, layer.weights(scores, earlier)).detach().numpy()
        wrong.append(logits.argmax(axis=2) != batch.answers)
        numbers = scores.detach().numpy()
        for n in range(40):
            for k in range(4):
                here, place = batch.relevant[n, k], batch.places[n, k]
                row = numbers[n, k]
                siblings = [row[l] for l in (1, 3, 5, 7) if l != here]
                relevant.append(row[here])
                others.append(np.mean(siblings))
                centred.append(np.var(siblings, ddof=1))
                rest.append(np.mean([row[l] for l in range(place) if l not in (1, 3, 5, 7)]))
    law = found.law
    assert law.relevant == pytest.approx(np.mean(relevant), rel=1e-5)
    assert law.relevant_spread == pytest.approx(np.std(relevant), rel=1e-5)
    assert law.others == pytest.approx(np.mean(others), rel=1e-5, abs=1e-6)
    assert law.others_spread == pytest.approx(np.sqrt(np.mean(centred)), rel=1e-5)
    assert law.rest == pytest.approx(np.mean(rest), rel=1e-5, abs=1e-6)
    assert law.shift_spread**2 == pytest.approx(max(0.0, np.var(others) - np.mean(centred) / 3), rel=1e-4)
    assert found.wrong.mean == pytest.approx(np.mean(wrong))
    assert (law.keys, found.wrong.size) == (4, 80)


@torch_needed
def test_training_learns_and_repeats() -> None:
    recipe = Recipe("adam", steps=150, batch=16, rate=0.02, dimension=16)
    run = train_recall("softmax", SMALL, 0.0, recipe, 2, test=64)
    assert run.found.wrong.mean < 0.1
    again = train_recall("softmax", SMALL, 0.0, recipe, 2, test=64)
    assert again == run
    learned = train_recall("linear", SMALL, 0.5, Recipe("adam", steps=3, batch=4, dimension=8), 1, learned=True, test=2)
    assert learned.learned


@torch_needed
def test_bad_requests() -> None:
    recipe = Recipe("adam", steps=1, batch=2, dimension=4)
    with pytest.raises(ValueError, match="attention: found 'relu'; expected one of softmax"):
        train_recall("relu", SMALL, 0.0, recipe, 1)
    with pytest.raises(ValueError, match="blur: found -1"):
        train_recall("softmax", SMALL, -1, recipe, 1)
    with pytest.raises(ValueError, match="optimiser: found 'sgd'"):
        train_recall("softmax", SMALL, 0.0, Recipe("sgd", dimension=4), 1)
    with pytest.raises(ValueError, match="test: found 1"):
        train_recall("softmax", SMALL, 0.0, recipe, 1, test=1)
