"""What is left of a token when the Gaussian that its score alone sees is integrated out.

    G(a, j) = E_rho[ (d/dy)^j kappa(y)^a e^(-t kappa(y)) ],   y = c + s rho,  rho ~ N(0, 1),

at centres c and Laplace nodes t. Stein's lemma turns each rho that multiplies F(c + s rho) into s d/dy, and
dG(a, j)/dc = G(a, j + 1), dG(a, j)/d(s^2) = G(a, j + 2)/2: no moment divides by s, and s = 0 is an ordinary point.
"""

from __future__ import annotations

from functools import cached_property
from math import factorial
from typing import final

import numpy as np

from symslr.evaluation.landscape.moments.kernel import ORDER, Array, Kernel
from symslr.evaluation.landscape.moments.mesh import USUAL, Window, few_normal_nodes, normal_nodes

SMALL = 0.2
"""Scale below which the kernel is differentiated instead of the Gaussian: s^-4 costs 3 digits above, 16 near zero."""

AVERAGED = 1.4
"""What a sum over rho leaves out oscillates in log t, over which it is averaged: 3e-10 at this factor, 1e-5 at 2."""

KINKED = 1e-4
"""Least scale of a kernel that cannot be differentiated: what is lost to s^-2 is 1e-8, what the risk moves by as much."""


def hermite(nodes: Array) -> list[Array]:
    """He_0 to He_ORDER."""
    found = [np.ones_like(nodes), nodes]
    for n in range(1, ORDER):
        found.append(nodes * found[n] - n * found[n - 1])
    return found


@final
class Smoothed:
    """G(a, j) for a <= 2 and j <= ``ORDER``, and its derivatives in the kernel's own parameters.

    Attributes:
        kappa: at every centre and node, shape (centres, nodes), divided by ``size``.
        mass: weights of the nodes.
        size: see ``Kernel.size``.
    """

    def __init__(
        self, kernel: Kernel, own: Array, centres: Array, squared_scale: float, refined: float, window: Window = USUAL
    ) -> None:
        self.kernel = kernel
        scale = float(np.sqrt(max(squared_scale, 0.0)))
        wider = AVERAGED if kernel.is_normalised else 1.0
        self.differentiates = kernel.is_smooth and scale * kernel.sharpness < SMALL
        if self.differentiates:
            self.scale = scale
            self.rho, self.mass = few_normal_nodes()
        else:
            self.scale = max(scale, KINKED)
            self.rho, self.mass = normal_nodes(
                0.0 if kernel.is_polynomial else self.scale * kernel.sharpness, refined, wider, window
            )
        scores = centres[:, None] + self.scale * self.rho
        if self.differentiates:
            jets = kernel.jets(scores, own)
            self.size = kernel.size(jets[0, 0])
            self._jets = jets / self.size
            self.kappa = self._jets[0, 0]
        else:
            parts = kernel.at(scores, own)
            self.size = kernel.size(parts[0])
            self.kappa, *self._in_parameters = parts / self.size
        self._scores = scores

    def on(self, t: Array) -> Smoothed:
        """Set the Laplace nodes; the object itself."""
        self.t = t
        self.decay = -self.kappa[:, :, None] * t  # (centres, rho, t)
        np.exp(self.decay, out=self.decay)
        return self

    def table(self, a: int, j: int) -> Array:
        """G(a, j), shape (centres, t)."""
        return self._tables[a][j]

    def moved(self, parameter: int, a: int, j: int) -> Array:
        """dG(a, j)/dc for the kernel's parameter of this number, shape (centres, t)."""
        raised, own = self._moved[parameter][a]
        return (a * raised[j] if a else 0.0) - self.t * own[j]

    @cached_property
    def _tables(self) -> list[list[Array]]:
        return self._averages([self._power(a) for a in range(3)])

    @cached_property
    def _moved(self) -> list[list[tuple[list[Array], list[Array]]]]:
        found = []
        for i in range(len(self.kernel.parameters)):
            if self.differentiates:
                rows = [_product(self._power(a), self._jets[1 + i]) for a in range(3)]
            else:
                rows = [self._power(a) * self._in_parameters[i] for a in range(3)]
            made = self._averages(rows)
            found.append([(made[a - 1] if a else [], made[a]) for a in range(3)])
        return found

    def _power(self, a: int) -> Array:
        """kappa^a, or its Taylor coefficients."""
        if not self.differentiates:
            return self.kappa**a
        jet = np.zeros_like(self._jets[0])
        jet[0] = 1.0
        for _ in range(a):
            jet = _product(jet, self._jets[0])
        return jet

    def _averages(self, rows: list[Array]) -> list[list[Array]]:
        """E (d/dy)^j [row e^(-t kappa)], j = 0 to ORDER, for each row."""
        if not self.differentiates:
            weights = [self.mass * he / self.scale**j for j, he in enumerate(hermite(self.rho))]
            made = np.stack([row * weight for row in rows for weight in weights], axis=1) @ self.decay
            return _split(made, len(rows))
        columns = np.stack([part * self.mass for row in rows for part in row], axis=1)
        made = [_split(columns @ falling, len(rows)) for falling in self._falling]
        return [
            [factorial(n) * sum(made[n - k][i][k] for k in range(n + 1)) for n in range(ORDER + 1)]
            for i in range(len(rows))
        ]

    @cached_property
    def _falling(self) -> list[Array]:
        """Taylor coefficients of e^(-t kappa): n F_n = -t sum_k k kappa_k F_(n-k)."""
        found = [self.decay]
        lowered = [-self._jets[0, k][:, :, None] * self.t for k in range(1, ORDER + 1)]
        for n in range(1, ORDER + 1):
            found.append(sum(k * lowered[k - 1] * found[n - k] for k in range(1, n + 1)) / n)
        return found


def _split(made: Array, rows: int) -> list[list[Array]]:
    """The middle axis, row by row."""
    return [[made[:, i * (ORDER + 1) + j] for j in range(ORDER + 1)] for i in range(rows)]


def _product(one: Array, two: Array) -> Array:
    """Taylor coefficients of a product."""
    return np.stack([sum(one[k] * two[n - k] for k in range(n + 1)) for n in range(len(one))])
