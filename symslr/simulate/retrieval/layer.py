"""One layer of attention over the tokens before a query, each seen beside the token before it; no theory inside.

The score of position l for the query at t is <W_q x_t, W_1 x_{l-1} + W_0 x_l> / sqrt(D), where x_l is the embedding of
token l, of length sqrt(D), plus fresh Gaussian noise of size ``blur`` in every coordinate. Embeddings are random and stay
as they were drawn, unless they are learned; their length is fixed, since longer ones would be rid of the noise. Values are
read from embeddings without noise. Logits of the values are U sum_l a_l W_v e_l.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from symslr.extras import need
from symslr.simulate.retrieval.recall import Recall, RecallBatch

if TYPE_CHECKING:
    from torch import Tensor

SMALLEST_FEATURE = 1e-3
"""Added to elu + 1, which underflows, so that the logarithm of a weight is a number."""


class Layer:
    """The layer and its parameters.

    Args:
        kind: one of ``ATTENTIONS``.
        recall: the task, for vocabulary and length.
        dimension: D, of embeddings, keys and values.
        blur: standard deviation of the noise through which keys and queries see every coordinate of a token.
        seed: of the start and of the noise.
        learned: whether the embeddings are trained too.

    Raises:
        MissingExtra: when torch is not installed.
        ValueError: for an unknown attention, or noise below 0.
    """

    def __init__(
        self, kind: str, recall: Recall, dimension: int, blur: float, seed: int, *, learned: bool = False
    ) -> None:
        torch = need("torch", "training")
        if kind not in ATTENTIONS:
            raise ValueError(f"attention: found {kind!r}; expected one of {', '.join(ATTENTIONS)}")
        if not blur >= 0:
            raise ValueError(f"blur: found {blur}; expected a standard deviation >= 0")
        self.kind, self.recall, self.blur = kind, recall, blur
        self.generator = torch.Generator().manual_seed(seed)

        def matrix(rows: int, columns: int) -> Tensor:
            drawn = torch.randn(rows, columns, generator=self.generator) / columns**0.5
            return drawn.requires_grad_()

        # one more token stands before the first
        self.embedding = torch.randn(recall.vocabulary + 1, dimension, generator=self.generator)
        self.embedding.requires_grad_(learned)
        self.query, self.before, self.own = (matrix(dimension, dimension) for _ in range(3))
        self.value, self.readout = matrix(dimension, dimension), matrix(recall.value_tokens, dimension)
        # sigmoid attention starts where its weights add up to about 1; source: arXiv 2409.04431
        start = -float(np.log(recall.length)) if kind == "sigmoid" else 1.0
        self.shift = torch.tensor(start, requires_grad=True)

    def parameters(self) -> list[Tensor]:
        """What is trained."""
        embedding = [self.embedding] if self.embedding.requires_grad else []
        return [
            *embedding, self.query, self.before, self.own, self.value, self.readout, self.shift
        ]  # fmt: skip

    def scores(self, batch: RecallBatch) -> tuple[Tensor, Tensor]:
        """Scores of all positions for every query, (n, K, T), and which of them stand before the query.

        For the feature map the score is the logarithm of the weight, so that its kernel is the exponential.
        """
        import torch

        tokens, places = torch.as_tensor(batch.tokens), torch.as_tensor(batch.places)
        table = self._table()
        seen = table[tokens] + self.blur * torch.randn(*tokens.shape, table.shape[1], generator=self.generator)
        first = table[-1].expand(len(seen), 1, -1)
        shifted = torch.cat([first, seen[:, :-1]], dim=1)
        keys = shifted @ self.before.T + seen @ self.own.T
        asked = torch.gather(seen, 1, places[:, :, None].expand(-1, -1, seen.shape[2])) @ self.query.T
        earlier = torch.arange(tokens.shape[1]) < places[:, :, None]
        if self.kind == "feature map":
            asked, keys = (torch.nn.functional.elu(part) + 1 + SMALLEST_FEATURE for part in (asked, keys))
            return (asked @ keys.transpose(1, 2)).log(), earlier
        return asked @ keys.transpose(1, 2) / keys.shape[2] ** 0.5, earlier

    def weights(self, scores: Tensor, earlier: Tensor) -> Tensor:
        """Attention a, (n, K, T), zero at the query and after it."""
        return ATTENTIONS[self.kind](scores, earlier, self.shift)

    def read(self) -> Tensor:
        """R = U W_v e: what the presence of every token at full weight gives to the logit of every value, (values, tokens)."""
        return self.readout @ self.value @ self._table()[:-1].T

    def _table(self) -> Tensor:
        """Embeddings of all tokens, of length sqrt(D)."""
        import torch

        return torch.nn.functional.normalize(self.embedding, dim=1) * self.embedding.shape[1] ** 0.5

    def logits(self, batch: RecallBatch, weights: Tensor) -> Tensor:
        """Of every value for every query, (n, K, values)."""
        import torch

        return weights @ self.read().T[torch.as_tensor(batch.tokens)]


def _softmax(scores: Tensor, earlier: Tensor, shift: Tensor) -> Tensor:
    import torch

    return torch.softmax(scores.masked_fill(~earlier, -torch.inf), dim=-1)


def _softmax1(scores: Tensor, earlier: Tensor, shift: Tensor) -> Tensor:
    """e^s / (1 + sum e^s), as a softmax over one more score, 0."""
    import torch

    padded = torch.cat([scores.masked_fill(~earlier, -torch.inf), torch.zeros_like(scores[..., :1])], dim=-1)
    return torch.softmax(padded, dim=-1)[..., :-1]


def _sigmoid(scores: Tensor, earlier: Tensor, shift: Tensor) -> Tensor:
    import torch

    return torch.sigmoid(scores + shift) * earlier


def _linear(scores: Tensor, earlier: Tensor, shift: Tensor) -> Tensor:
    """(c + s) / sqrt(T): the constant factor only sets the pace of the training."""
    return (scores + shift) * earlier / scores.shape[-1] ** 0.5


ATTENTIONS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "softmax": _softmax,
    "softmax1": _softmax1,
    "sigmoid": _sigmoid,
    "feature map": _softmax,
    "linear": _linear,
}
"""Weights from scores, the positions before the query, and one trained number. The feature map is elu + 1 (arXiv
2006.16236), normalised: softmax of the logarithms of its weights."""
