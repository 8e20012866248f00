"""Tables where one Gaussian a token is left: the relevant token shifted by s m_kk, scores of scale sqrt(q_kk)."""

from __future__ import annotations

from functools import cache
from typing import final

import numpy as np

from symslr.evaluation.landscape.dual import Array, Dual
from symslr.evaluation.landscape.kernel import Kernel
from symslr.evaluation.landscape.mesh import inverse_power, kernel_range, laplace_nodes, normal_nodes
from symslr.evaluation.landscape.moments import Monomial


@final
class SingleTables:
    """Scores shift + scale x for the relevant token and scale x for another, x ~ N(0, 1).

    Slopes are in (shift, scale) and the kernel's own parameters.
    """

    def __init__(self, kernel: Kernel, own: Array, shift: float, scale: float, length: int, refined: float) -> None:
        self.x, self.w = normal_nodes(0.0 if kernel.is_polynomial else scale, refined)
        self.kernel = kernel
        noise, moved = (kernel.at(start + scale * self.x, own) for start in (0.0, shift))
        self.offset = kernel.offset / kernel.scaled(noise, moved)
        if kernel.is_normalised:
            low, high = kernel_range(noise[0], self.w, length - 1, self.offset) if length > 1 else (np.inf, -np.inf)
            own_low, own_high = kernel_range(moved[0], self.w, 1, self.offset)
            low = own_low if length == 1 else low
            self.u, self.du = laplace_nodes(low, max(high, own_high), refined)
        else:
            self.u, self.du = np.zeros(1), np.ones(1)
        self._roles = {"relevant": _Role(self, moved, True), "other": _Role(self, noise, False)}

    def relevant(self, a: int, f: Monomial) -> Dual:
        return self._roles["relevant"].table(a, f[1])

    def other(self, a: int, f: Monomial) -> Dual:
        return self._roles["other"].table(a, f[1])

    def weights(self, power: int) -> Array:
        if not self.kernel.is_normalised:
            return self.du
        return inverse_power(self.u, self.du, power, self.offset)


class _Role:
    """The tables of one role, each made once."""

    def __init__(self, parent: SingleTables, kernel: list[Array], shifted: bool) -> None:
        self.kappa, slope, *in_parameters = kernel
        self.x, self.u = parent.x, parent.u
        self.decay = np.exp(-np.outer(parent.u, self.kappa)) * parent.w
        self.moves = [slope * float(shifted), slope * parent.x, *in_parameters]
        self.table = cache(self._table)

    def _table(self, a: int, j: int) -> Dual:
        """E[kappa^a x^j e^(-u kappa)]; its slope is that of kappa^a e^(-u kappa) in kappa."""
        own = self.kappa**a * self.x**j
        below = a * self.kappa ** (a - 1) * self.x**j if a > 0 else np.zeros_like(self.x)
        columns = [own]
        for move in self.moves:
            columns += [below * move, own * move]
        made = self.decay @ np.stack(columns, axis=1)
        slopes = [made[:, i] - self.u * made[:, i + 1] for i in range(1, made.shape[1], 2)]
        return Dual(made[:, 0], np.stack(slopes))
