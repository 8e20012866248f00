"""Minimisers of the regularised empirical risk, each with its gradient norm and convergence."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from symslr.simulate.erm.objective import EmpiricalRisk
from symslr.simulate.erm.starts import Start, start_name, start_vector
from symslr.simulate.log_domain import Array
from symslr.simulate.overlaps import Overlaps

OPTIMISERS = {
    "L-BFGS-B": {"maxcor": 20, "ftol": 0.0, "maxls": 50},
    "CG": {},
    "TNC": {"ftol": 0.0, "xtol": 0.0},
}
"""SciPy's gradient methods that are used here, and their settings; the stopping rule is the gradient's alone."""

SAME_LOSS, SAME_WEIGHTS = 1e-5, 1e-2
"""Two fits are one minimum where the losses agree to 1e-5 and the weights to 1e-2, both relative."""


@dataclass(frozen=True)
class Fit:
    """A point (k, v) at which an optimiser stopped.

    Attributes:
        k, v: weights, shape (D,).
        loss: the regularised empirical risk there.
        gradient_norm: Euclidean norm of its gradient there: 0 at a stationary point.
        reduction: gradient_norm over the norm at the start.
        converged: whether every entry of the gradient is below the tolerance asked for.
        start, optimiser: where it began and by which method.
        iterations, evaluations, seconds: what it cost.
        message: the optimiser's own last word.
    """

    k: Array
    v: Array
    loss: float
    gradient_norm: float
    reduction: float
    converged: bool
    start: str
    optimiser: str
    iterations: int
    evaluations: int
    seconds: float
    message: str

    def overlaps(self, k_star: Array, v_star: Array) -> Overlaps:
        """The seven order parameters with respect to orthogonal k*, v* of norm sqrt(D)."""
        D = len(self.k)
        return Overlaps(
            m_kk=float(self.k @ k_star) / D,
            m_vv=float(self.v @ v_star) / D,
            m_kv=float(self.k @ v_star) / D,
            m_vk=float(self.v @ k_star) / D,
            q_kk=float(self.k @ self.k) / D,
            q_vv=float(self.v @ self.v) / D,
            q_kv=float(self.k @ self.v) / D,
        )

    def is_same_minimum(self, other: Fit) -> bool:
        """Whether two fits stopped at one minimum."""
        gap = np.sum((self.k - other.k) ** 2) + np.sum((self.v - other.v) ** 2)
        size = np.sum(self.k**2) + np.sum(self.v**2)
        same_loss = abs(self.loss - other.loss) <= SAME_LOSS * abs(self.loss)
        return bool(same_loss and gap <= SAME_WEIGHTS**2 * size)


def fit_attention(
    risk: EmpiricalRisk,
    *,
    start: Start = "informed",
    optimiser: str = "L-BFGS-B",
    tolerance: float | None = None,
    iterations: int = 2000,
    seed: int = 0,
) -> Fit:
    """Minimise the empirical risk from one start.

    Args:
        risk: what is minimised.
        start: ``"informed"`` (k*, v*), ``"random"`` (small, from the seed), or an array (2, D).
        optimiser: one of ``OPTIMISERS``.
        tolerance: on the largest entry of the gradient; by default 1e-6 of that of the root mean square gradient of
            one sample, sqrt(N/D), and 1e-3 of it in float32, whose loss carries no more digits.
        iterations: at most so many.
        seed: of a random start.

    Raises:
        ValueError: for an unknown start or optimiser, and as ``EmpiricalRisk``.
    """
    if optimiser not in OPTIMISERS:
        raise ValueError(f"optimiser: found {optimiser!r}; expected {', '.join(OPTIMISERS)}")
    if iterations < 1:
        raise ValueError(f"iterations: found {iterations}; expected a positive number")
    data = risk.data
    begin = start_vector(start, data, seed)
    if tolerance is None:
        digits = 1e-6 if data.tokens.dtype == np.float64 else 1e-3
        tolerance = digits * np.sqrt(data.size / data.dimension)
    clock = time.perf_counter()
    at_start = float(np.linalg.norm(risk(begin)[1]))
    limit = "maxfun" if optimiser == "TNC" else "maxiter"
    options = {**OPTIMISERS[optimiser], "gtol": tolerance, limit: iterations}
    if optimiser == "L-BFGS-B":
        options["maxfun"] = 10 * iterations
    found = minimize(risk, begin, jac=True, method=optimiser, options=options)
    gradient = risk(found.x)[1]
    k, v = np.reshape(found.x, (2, data.dimension))
    norm = float(np.linalg.norm(gradient))
    return Fit(
        k=k,
        v=v,
        loss=float(found.fun),
        gradient_norm=norm,
        reduction=norm / at_start if at_start else 0.0,
        converged=bool(np.max(np.abs(gradient)) <= tolerance),
        start=start_name(start),
        optimiser=optimiser,
        iterations=int(found.nit),
        evaluations=int(found.nfev),
        seconds=time.perf_counter() - clock,
        message=str(found.message),
    )


def lowest_fit(
    risk: EmpiricalRisk,
    *,
    starts: Sequence[Start],
    seeds: Sequence[int],
    optimiser: str = "L-BFGS-B",
    tolerance: float | None = None,
    iterations: int = 2000,
) -> Fit:
    """The fit of least loss; starts are tried in turn until the lowest minimum so far has been met twice.

    Where there is one minimum two starts are enough; where there are many, all of them are tried.

    Args:
        seeds: one for each start.
    """
    fits: list[Fit] = []
    for start, seed in zip(starts, seeds, strict=True):
        fits.append(
            fit_attention(risk, start=start, optimiser=optimiser, tolerance=tolerance, iterations=iterations, seed=seed)
        )
        lowest = min(fits, key=lambda fit: fit.loss)
        if sum(lowest.is_same_minimum(fit) for fit in fits) == 2:
            break
    return lowest


def find_minima(
    risk: EmpiricalRisk,
    *,
    starts: Sequence[Start] = ("informed", "random"),
    optimisers: Sequence[str] = ("L-BFGS-B",),
    tolerance: float | None = None,
    iterations: int = 2000,
    seed: int = 0,
) -> list[list[Fit]]:
    """Fit from every start with every optimiser: one list of fits for each minimum found, the lowest loss first.

    Nothing is thrown away: where starts or optimisers end in different minima all are returned.
    """
    fits = [
        fit_attention(risk, start=start, optimiser=name, tolerance=tolerance, iterations=iterations, seed=seed + i)
        for i, start in enumerate(starts)
        for name in optimisers
    ]
    minima: list[list[Fit]] = []
    for fit in sorted(fits, key=lambda fit: fit.loss):
        home = next((group for group in minima if group[0].is_same_minimum(fit)), None)
        if home is None:
            minima.append([fit])
        else:
            home.append(fit)
    return minima
