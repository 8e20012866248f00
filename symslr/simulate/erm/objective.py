"""The regularised empirical risk and its gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from symslr.model.attention import Attention
from symslr.simulate.erm.data import TrainingSet
from symslr.simulate.erm.kernel import compiled_kernel, require_numba
from symslr.simulate.log_domain import Array
from symslr.simulate.values import Values, fixed


@dataclass(frozen=True)
class EmpiricalRisk:
    """sum_mu (y_mu - f(X_mu))^2/2 + r_k |k|^2/2 + r_v |v|^2/2 as a function of (k, v).

    f(X) = sum_l sigma_l(X k/sqrt(D)) (X v)_l/sqrt(D).

    Attributes:
        data: the training set; X is read once at each call, in its own precision.
        attention: any attention of the family.
        r_k, r_v: ridges, >= 0.
        values: numbers for the free parameters of the kernel.

    Raises:
        ValueError: for a negative ridge.

    Source: arXiv 2509.21936, section 5.
    """

    data: TrainingSet
    attention: Attention
    r_k: float
    r_v: float
    values: Values

    def __post_init__(self) -> None:
        for name, ridge in (("r_k", self.r_k), ("r_v", self.r_v)):
            if not (ridge >= 0 and math.isfinite(ridge)):
                raise ValueError(f"{name}: found {ridge:g}; expected a finite ridge >= 0")

    @cached_property
    def _kernel(self) -> Any:
        return compiled_kernel(self.attention, self.values)

    @cached_property
    def _offset(self) -> float:
        return float(fixed(self.attention.offset, self.values))

    def __call__(self, weights: Array) -> tuple[float, Array]:
        """(the risk, its gradient) at ``weights`` = (k, v) laid end to end, shape (2D,).

        Raises:
            ValueError: where the risk is not finite.
        """
        require_numba()
        from symslr.simulate.erm.sweep import block_rows, sweep

        data = self.data
        pair = np.reshape(weights, (2, data.dimension))
        root = math.sqrt(data.dimension)
        directions = (pair / root).astype(data.tokens.dtype)
        normalised = self.attention.is_normalised
        rows = block_rows(data.tokens)
        loss, gradient = sweep(
            data.tokens, data.offsets, data.y, directions, rows, self._kernel, normalised, self._offset
        )
        ridges = np.array([[self.r_k], [self.r_v]])
        loss += float(np.sum(ridges * pair**2)) / 2
        if not math.isfinite(loss):
            raise ValueError(
                f"empirical risk of {self.attention.name}: not finite at |k|/sqrt(D) = {_size(pair[0]):.3g},"
                f" |v|/sqrt(D) = {_size(pair[1]):.3g}; expected finite X and a kernel that stays finite (raise r_k)"
            )
        return loss, np.ravel(gradient / root + ridges * pair)


def _size(vector: Array) -> float:
    return float(np.sqrt(np.mean(vector**2)))
