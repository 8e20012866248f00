"""Attention as a regression model: fit(X, y), predict(X), score(X, y)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symslr.model.attention import Attention
from symslr.model.catalogue import ATTENTIONS, softmax
from symslr.simulate.activation import activation
from symslr.simulate.erm.data import NUMBERS_PER_BATCH, TrainingSet
from symslr.simulate.erm.fit import Fit, fit_attention
from symslr.simulate.erm.objective import EmpiricalRisk
from symslr.simulate.erm.starts import Start
from symslr.simulate.log_domain import Array


class AttentionRegressor:
    """f(X) = sum_l sigma_l(X k/sqrt(D)) (X v)_l/sqrt(D), fitted by ridge-regularised least squares.

    Args:
        attention: an ``Attention``, or the name of one of the catalogue.
        r_k, r_v: ridges of sum (y - f)^2/2 + r_k |k|^2/2 + r_v |v|^2/2.
        start: ``"random"``, or an array (2, D) with the rows k and v.
        optimiser, tolerance, iterations: as in ``fit_attention``.
        seed: of the random start.
        values: numbers for free parameters of the kernel, such as {"c": 0.5} for erf.

    Attributes:
        k_, v_: fitted weights, shape (D,).
        result_: the ``Fit``, with the loss and the gradient norm at which the optimiser stopped.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 3, 5))
    >>> y = X[:, :, 0].mean(axis=1)
    >>> model = AttentionRegressor("softmax", r_k=1.0, r_v=1e-6).fit(X, y)
    >>> round(model.score(X, y), 3)
    1.0
    """

    _PARAMETERS = ("attention", "r_k", "r_v", "start", "optimiser", "tolerance", "iterations", "seed", "values")

    k_: Array
    v_: Array
    result_: Fit

    def __init__(
        self,
        attention: Attention | str = softmax,
        *,
        r_k: float = 0.1,
        r_v: float = 0.1,
        start: Start = "random",
        optimiser: str = "L-BFGS-B",
        tolerance: float | None = None,
        iterations: int = 2000,
        seed: int = 0,
        values: Mapping[object, object] | None = None,
    ) -> None:
        self.attention = attention
        self.r_k = r_k
        self.r_v = r_v
        self.start = start
        self.optimiser = optimiser
        self.tolerance = tolerance
        self.iterations = iterations
        self.seed = seed
        self.values = values

    def fit(self, X: NDArray, y: Array) -> AttentionRegressor:
        """Fit on X (N, L, D) and y (N,); a C-contiguous float32 or float64 X is used in place.

        Raises:
            ValueError: for shapes that do not fit, unknown options, and a loss that is not finite.
        """
        risk = EmpiricalRisk(TrainingSet.of(X, y), self._attention, self.r_k, self.r_v, self.values or {})
        self.result_ = fit_attention(
            risk,
            start=self.start,
            optimiser=self.optimiser,
            tolerance=self.tolerance,
            iterations=self.iterations,
            seed=self.seed,
        )
        self.k_, self.v_ = self.result_.k, self.result_.v
        return self

    def predict(self, X: NDArray) -> Array:
        """f(X) for X (N, L, D), shape (N,).

        Raises:
            ValueError: before ``fit``, or for tokens of another dimension.
        """
        if not hasattr(self, "result_"):
            raise ValueError("AttentionRegressor: found no fit; expected fit(X, y) first")
        X = np.asarray(X)
        if X.ndim != 3 or X.shape[2] != len(self.k_):
            raise ValueError(f"X: found shape {X.shape}; expected (N, L, {len(self.k_)})")
        sigma = activation(self._attention, self.values or {})
        directions = np.stack([self.k_, self.v_], axis=1) / np.sqrt(len(self.k_))
        batch = max(1, NUMBERS_PER_BATCH // max(1, X.shape[1] * X.shape[2]))
        found = np.empty(len(X))
        for start in range(0, len(X), batch):
            scores = X[start : start + batch] @ directions
            found[start : start + batch] = np.sum(sigma(scores[..., 0]) * scores[..., 1], axis=1)
        return found

    def score(self, X: NDArray, y: Array) -> float:
        """R^2 = 1 - sum (y - f)^2 / sum (y - mean y)^2."""
        y = np.asarray(y, dtype=float)
        return float(1 - np.sum((y - self.predict(X)) ** 2) / np.sum((y - y.mean()) ** 2))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments, by name; what grid searches ask for."""
        return {name: getattr(self, name) for name in self._PARAMETERS}

    def set_params(self, **parameters: Any) -> AttentionRegressor:
        """Set constructor arguments by name.

        Raises:
            ValueError: for a name that is none.
        """
        for name, value in parameters.items():
            if name not in self._PARAMETERS:
                raise ValueError(f"parameter: found {name!r}; expected {', '.join(self._PARAMETERS)}")
            setattr(self, name, value)
        return self

    @property
    def _attention(self) -> Attention:
        if isinstance(self.attention, Attention):
            return self.attention
        if self.attention not in ATTENTIONS:
            raise ValueError(
                f"attention: found {self.attention!r}; expected an Attention or one of {', '.join(ATTENTIONS)}"
            )
        return ATTENTIONS[self.attention]
