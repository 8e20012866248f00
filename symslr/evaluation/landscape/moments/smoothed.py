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
from symslr.evaluation.landscape.moments.mesh import FEW, GENTLE, USUAL, Window, few_normal_nodes, normal_nodes

SMALL = 0.2
"""Scale, in lengths on which a kernel varies, below which it is differentiated instead of the Gaussian: s^-4 costs 3 digits
above, 16 near zero."""

AVERAGED = 1.4
"""What a sum over rho leaves out oscillates in log t, over which it is averaged: 3e-10 at this factor, 1e-5 at 2."""

KINKED = 1e-4
"""Least scale of a kernel that cannot be differentiated: what is lost to s^-2 is 1e-8, what the risk moves by as much."""


@final
class Smoothed:
    """G(a, j) for a <= 2 and j <= ``ORDER``, and its derivatives in the kernel's own parameters.

    Args:
        roots: of what each centre counts, so that no weight underflows beside the square of a kernel; G holds the weight.

    Attributes:
        kappa: at every centre and node, shape (centres, nodes), divided by ``size``.
        mass: weights of the same.
        size: see ``Kernel.size``.
    """

    def __init__(
        self,
        kernel: Kernel,
        own: Array,
        centres: Array,
        roots: Array,
        squared_scale: float,
        refined: float,
        window: Window = USUAL,
    ) -> None:
        self.kernel = kernel
        self.scale = float(np.sqrt(max(squared_scale, 0.0)))
        rho, along = few_normal_nodes(round(FEW * refined))
        scores = centres[:, None] + self.scale * rho
        # Taylor coefficients in the score of kappa and its derivatives in the parameters, or their values alone
        is_short = kernel.is_smooth and self.scale * kernel.sharpness < SMALL
        jets = kernel.jets(scores, own) if is_short else kernel.at(scores, own)[:, None]
        self.differentiates = is_short and _change(jets[0], self.scale, kernel.is_normalised) < SMALL
        if not self.differentiates:
            self.scale = max(self.scale, KINKED)
            # of a kernel without a length, such as x^2, short keys take no wider steps than long ones
            varies = 0.0 if kernel.is_polynomial else max(self.scale, GENTLE) * kernel.sharpness
            rho, along = normal_nodes(varies, refined, AVERAGED if kernel.is_normalised else 1.0, window)
            jets = kernel.at(centres[:, None] + self.scale * rho, own)[:, None]
        self.size = kernel.size(jets[0, 0])
        self._jets = jets / self.size
        self.kappa = self._jets[0, 0]
        self._roots = np.outer(roots, along)
        self.mass = self._roots**2
        self._hermite = np.polynomial.hermite_e.hermevander(rho, ORDER).T

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
        return self._averages([self.power(a) for a in range(3)])

    @cached_property
    def _moved(self) -> list[list[tuple[list[Array], list[Array]]]]:
        found = []
        for moved in self._jets[1:]:
            made = self._averages([_product(self.power(a), moved) for a in range(3)])
            found.append([(made[a - 1] if a else [], made[a]) for a in range(3)])
        return found

    def power(self, a: int) -> Array:
        """kappa^a and its further Taylor coefficients, with the weight of every node."""
        power = np.zeros_like(self._jets[0])
        power[0] = self._roots ** (2 - a)
        for _ in range(a):
            power = _product(power, self._jets[0] * self._roots)
        return power

    def _averages(self, rows: list[Array]) -> list[list[Array]]:
        """E (d/dy)^j [row e^(-t kappa)], j = 0 to ORDER, for each row."""
        if not self.differentiates:
            weights = [he / self.scale**j for j, he in enumerate(self._hermite)]
            made = np.stack([row[0] * weight for row in rows for weight in weights], axis=1) @ self.decay
            return _split(made, len(rows))
        columns = np.stack([part for row in rows for part in row], axis=1)
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


def _change(jet: Array, scale: float, normalised: bool) -> float:
    """A scale in lengths on which a kernel varies, the least at any score: that of exp(x) is 1.

    Under a normaliser a kernel varies where it vanishes; without one, where its Taylor series is no polynomial of degree 2.
    """
    sizes = np.abs(jet) * scale ** np.arange(len(jet))[:, None, None]
    whole, first = (sizes[0], 1) if normalised else (np.max(sizes, axis=0), 3)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = [np.where(sizes[n] == 0, 0.0, sizes[n] / whole) ** (1 / n) for n in range(first, len(jet))]
    return float(np.max(np.nan_to_num(ratios, nan=np.inf)))


def _split(made: Array, rows: int) -> list[list[Array]]:
    """The middle axis, row by row."""
    return [[made[:, i * (ORDER + 1) + j] for j in range(ORDER + 1)] for i in range(rows)]


def _product(one: Array, two: Array) -> Array:
    """Taylor coefficients of a product."""
    return np.stack([sum(one[k] * two[n - k] for k in range(n + 1)) for n in range(len(one))])
