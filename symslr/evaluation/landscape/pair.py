"""Tables where two Gaussians a token are left: chi*, on which the weight depends, and rho, what else the score has."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import final

import numpy as np

from symslr.evaluation.landscape.dual import Array, Dual
from symslr.evaluation.landscape.kernel import Kernel
from symslr.evaluation.landscape.mesh import inverse_power, kernel_range, laplace_nodes, normal_nodes
from symslr.evaluation.landscape.moments import Monomial

WIDEST = 0.8
"""exp(-(2 pi/(0.8 * 0.36))^2/(2 L)) is 5e-11 at L = 10, and smaller with what the strip adds."""

LogWeight = Callable[[Array], Array]
"""log w at key projections, for a weight w(chi_eps) or L w(chi_eps)/sum_l w(chi_l)."""


@final
class PairTables:
    """Scores m chi* + s rho with chi*, rho ~ N(0, 1) under E_0; the weight has a normaliser where ``selects``.

    Slopes are in (m, s) and the kernel's own parameters. A table is a matrix over the two Laplace variables, that of the
    weight's normaliser first: M @ B with B one over (chi*, that of the kernel's).
    """

    def __init__(
        self,
        kernel: Kernel,
        own: Array,
        m: float,
        s: float,
        log_weight: LogWeight,
        steepness: float,
        length: int,
        refined: float,
        *,
        selects: bool,
    ) -> None:
        self.kernel = kernel
        self.chi, w = normal_nodes(max(0.0 if kernel.is_polynomial else abs(m), steepness), refined)
        self.rho, self.w_rho = normal_nodes(0.0 if kernel.is_polynomial else s, refined)
        parts = kernel.at(m * self.chi[:, None] + s * self.rho, own)
        self.offset = kernel.offset / kernel.scaled(parts)
        self.kappa, self.slope, *self.in_parameters = parts
        if kernel.is_normalised:
            self.t, self.dt = laplace_nodes(
                *kernel_range(self.kappa, np.outer(w, self.w_rho), length, self.offset), refined
            )
        else:
            self.t, self.dt = np.zeros(1), np.ones(1)
        score = log_weight(self.chi)
        if selects:
            # A shift of chi* into the complex plane widens the strip of log u; N(0, 1) itself smooths over the steepness.
            wider = max(1.0, min(1 + steepness / max(abs(m), 1e-300), WIDEST * steepness))
            u, du = laplace_nodes(*kernel_range(np.exp(score), w, length, 0.0), refined, wider)
            y = np.log(u)[:, None] + score
            tail = np.exp(-np.exp(np.minimum(y, 700.0)))
            self.left = {"relevant": w * np.exp(y) * tail, "other": w * tail}
            self.du = length * du / u
        else:
            self.left = {"relevant": (w * np.exp(score))[None, :], "other": w[None, :]}
            self.du = np.ones(1)
        self.decay = np.exp(-self.t[:, None] * self.kappa[:, None, :]) * self.w_rho  # (chi, t, rho)
        self._right = cache(self._made_right)
        self._table = cache(self._made_table)

    def relevant(self, a: int, f: Monomial) -> Dual:
        return self._table("relevant", a, *f)

    def other(self, a: int, f: Monomial) -> Dual:
        return self._table("other", a, *f)

    def weights(self, power: int) -> Array:
        right = inverse_power(self.t, self.dt, power, self.offset) if self.kernel.is_normalised else self.dt
        return np.outer(self.du, right)

    def _made_table(self, role: str, a: int, p: int, q: int) -> Dual:
        left, chi = self.left[role], self.chi[:, None]
        value, by_score, *others = self._right(a, q)
        rows = [value * chi**p, by_score * chi ** (p + 1), self._right(a, q + 1)[1] * chi**p]
        rows += [other * chi**p for other in others]
        made = left @ np.concatenate(rows, axis=1)
        value, *slopes = np.split(made, len(rows), axis=1)
        return Dual(value, np.stack(slopes))

    def _made_right(self, a: int, q: int) -> list[Array]:
        """E_rho[kappa^a rho^q e^(-t kappa)] and its slopes in the score and in the parameters, shape (chi, t)."""
        own = self.kappa**a * self.rho**q
        below = a * self.kappa ** (a - 1) * self.rho**q if a > 0 else np.zeros_like(own)
        columns = [own]
        for move in (self.slope, *self.in_parameters):
            columns += [below * move, own * move]
        made = self.decay @ np.stack(columns, axis=2)
        return [made[:, :, 0], *(made[:, :, i] - self.t * made[:, :, i + 1] for i in range(1, made.shape[2], 2))]
