"""Multi-query associative recall: pairs of a key and a value, then queries of every key once, among tokens that mean nothing.

The keys of a sequence are drawn without replacement and filler tokens are never keys, so that no key stands before two
values: a sampler that fills gaps with tokens of the whole vocabulary overwrites keys, and part of its answers are wrong.

Source: arXiv 2312.04927, section 4 and appendix E (the task); the vocabularies are separate here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int64]


@dataclass(frozen=True)
class RecallBatch:
    """Sequences k_1 v_1 ... k_K v_K and then the K keys again, in random order and at random places.

    Attributes:
        tokens: shape (n, T); keys come first in the vocabulary, then values, then fillers.
        places: where each key is asked for, shape (n, K).
        relevant: where the value stands that answers it, shape (n, K).
        answers: that value, counted from 0, shape (n, K).
    """

    tokens: Tokens
    places: Tokens
    relevant: Tokens
    answers: Tokens


@dataclass(frozen=True)
class Recall:
    """The law of the sequences.

    Attributes:
        length: T, tokens in a sequence.
        keys: K, pairs in a sequence, and queries.
        key_tokens, value_tokens, filler_tokens: sizes of the three vocabularies.

    Raises:
        ValueError: where the pairs and the queries do not fit the length, or the keys are fewer than those asked for.
    """

    length: int
    keys: int
    key_tokens: int = 128
    value_tokens: int = 64
    filler_tokens: int = 64

    def __post_init__(self) -> None:
        if self.keys < 2:
            raise ValueError(
                f"keys: found {self.keys}; expected at least 2, so that there is another one to confuse with"
            )
        if self.length < 3 * self.keys:
            raise ValueError(f"length: found {self.length}; expected at least 3 * keys = {3 * self.keys}")
        if self.key_tokens < self.keys:
            raise ValueError(f"key_tokens: found {self.key_tokens}; expected at least keys = {self.keys}")
        if min(self.value_tokens, self.filler_tokens) < 2:
            raise ValueError(
                f"vocabulary: found {self.value_tokens} values and {self.filler_tokens} fillers; expected at least 2 of each"
            )

    @property
    def vocabulary(self) -> int:
        """Number of tokens."""
        return self.key_tokens + self.value_tokens + self.filler_tokens

    def draw(self, size: int, rng: np.random.Generator) -> RecallBatch:
        """``size`` independent sequences; values are independent and uniform, so two keys may share one."""
        pairs = np.arange(self.keys)
        keys = _without_replacement(self.key_tokens, self.keys, size, rng)
        answers = rng.integers(self.value_tokens, size=(size, self.keys))
        first_filler = self.key_tokens + self.value_tokens
        tokens = rng.integers(first_filler, self.vocabulary, size=(size, self.length))
        tokens[:, 2 * pairs] = keys
        tokens[:, 2 * pairs + 1] = self.key_tokens + answers
        places = 2 * self.keys + _without_replacement(self.length - 2 * self.keys, self.keys, size, rng)
        np.put_along_axis(tokens, places, keys, axis=1)
        relevant = np.broadcast_to(2 * pairs + 1, places.shape)
        return RecallBatch(tokens, places, relevant, answers)


def _without_replacement(among: int, count: int, size: int, rng: np.random.Generator) -> Tokens:
    """``count`` different numbers below ``among``, in random order, for each of ``size`` sequences."""
    return np.argsort(rng.random((size, among)), axis=1)[:, :count]
