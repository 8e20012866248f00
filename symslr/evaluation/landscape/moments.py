"""Seven moments of an attention, and their derivatives by reverse-mode differentiation written out by hand.

The score of a token is m chi + s rho. With P = sum_l sigma_l chi_l and Q = sum_l sigma_l rho_l, by Stein's lemma the moments

    h = E sigma_eps,  n = E sum_l sigma_l^2,  p = E P^2,
    d1 = (E[rho_eps Q] - h)/s^2,  e1 = E[rho_eps P]/s,  d2 = (E Q^2 - n)/s^2,  e2 = E[P Q]/s

can be computed without division by s. With 1/N^k = int u^(k-1)/Gamma(k) e^(-u N) du each is a sum over Laplace nodes of products of
one-token tables: S for the relevant token, N for another,

    S_aj^p = sum_chi relevant chi^p G(a, j),   N_aj^p = sum_chi other chi^p G(a, j),   phi = N_00.

Where the weight shifts a Gaussian, chi is 1 for the relevant token and 0 for others, and m is the shift.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import factorial, perm
from typing import final

import numpy as np

from symslr.evaluation.landscape.kernel import ORDER, Array, Kernel
from symslr.evaluation.landscape.mesh import (
    BOUNDED_WINDOW,
    HERMITE_NODES,
    LEAST_SCALE,
    Window,
    gauss_hermite_nodes,
    normal_nodes,
)

LARGEST_TAYLOR_SCALE = 0.2
"""Scale s, in units of the length on which a kernel varies, below which derivatives of the kernel are used instead of derivatives
of the
Gaussian: these have a factor s^-4, which costs 3 digits at this scale and 16 near s = 0."""

AVERAGED_FACTOR = 1.4
"""Factor on the step of the sum over rho: its error oscillates in log t and averages out over t, to 3e-10 at this factor and 1e-5
at 2."""

LEAST_KINK_SCALE = 1e-4
"""Least scale s for a kernel that is not smooth: the factor s^-2 then costs 1e-8, and so does the change of the risk."""


@final
class Smoothed:
    """One token with the part rho of its score integrated out.

        G(a, j) = E_rho[ (d/dy)^j kappa(y)^a e^(-t kappa(y)) ],   y = c + s rho,  rho ~ N(0, 1),

    for a <= 2 and j <= ``ORDER``, at centres c and Laplace nodes t, and its derivatives in the kernel's own parameters. By Stein's
    lemma each factor rho of F(c + s rho) becomes s d/dy, and dG(a, j)/dc = G(a, j + 1), dG(a, j)/d(s^2) = G(a, j + 2)/2: no moment
    divides by s, and s = 0 is not singular.

    Args:
        own: the kernel's own parameters.
        centres: c, shape (centres,).
        roots: square roots of the weights of the centres: a weight might underflow next to the square of a kernel. G includes them.
        squared_scale: s^2.
        refined: number of mesh points relative to the usual one.
        window: range of rho.

    Attributes:
        kappa: kernel divided by ``size``, at every centre and node of rho, shape (centres, nodes).
        mass: weights of the same shape.
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
        window: Window = BOUNDED_WINDOW,
    ) -> None:
        self.kernel = kernel
        self.scale = float(np.sqrt(max(squared_scale, 0.0)))
        rho, along = gauss_hermite_nodes(round(HERMITE_NODES * refined))
        scores = centres[:, None] + self.scale * rho
        # Taylor coefficients in the score of kappa and its derivatives in the parameters, or their values alone
        is_short = kernel.is_smooth and self.scale * kernel.sharpness < LARGEST_TAYLOR_SCALE
        jets = kernel.jets(scores, own) if is_short else kernel.at(scores, own)[:, None]
        self.differentiates = (
            is_short and _relative_scale(jets[0], self.scale, kernel.is_normalised) < LARGEST_TAYLOR_SCALE
        )
        if not self.differentiates:
            self.scale = max(self.scale, LEAST_KINK_SCALE)
            # a kernel without a length scale, such as x^2: the step does not widen for short keys
            varies = 0.0 if kernel.is_polynomial else max(self.scale, LEAST_SCALE) * kernel.sharpness
            rho, along = normal_nodes(varies, refined, AVERAGED_FACTOR if kernel.is_normalised else 1.0, window)
            jets = kernel.at(centres[:, None] + self.scale * rho, own)[:, None]
        self.size = kernel.size(jets[0, 0])
        self._jets = jets / self.size
        self.kappa = self._jets[0, 0]
        self._roots = np.outer(roots, along)
        self.mass = self._roots**2
        self._hermite = np.polynomial.hermite_e.hermevander(rho, ORDER).T

    def with_nodes(self, t: Array) -> Smoothed:
        """Set the Laplace nodes t; returns the object itself."""
        self.t = t
        self.decay = -self.kappa[:, :, None] * t  # (centres, rho, t)
        np.exp(self.decay, out=self.decay)
        return self

    def table(self, a: int, j: int) -> Array:
        """G(a, j), shape (centres, t)."""
        return self._tables[a][j]

    def parameter_derivative(self, parameter: int, a: int, j: int) -> Array:
        """dG(a, j)/dc for the kernel's parameter c with this index, shape (centres, t)."""
        raised, own = self._parameter_tables[parameter][a]
        return (a * raised[j] if a else 0.0) - self.t * own[j]

    @cached_property
    def _tables(self) -> list[list[Array]]:
        return self._averages([self.power(a) for a in range(3)])

    @cached_property
    def _parameter_tables(self) -> list[list[tuple[list[Array], list[Array]]]]:
        found = []
        for moved in self._jets[1:]:
            made = self._averages([_product(self.power(a), moved) for a in range(3)])
            found.append([(made[a - 1] if a else [], made[a]) for a in range(3)])
        return found

    def power(self, a: int) -> Array:
        """kappa^a and its Taylor coefficients in the score, times the weight of every node."""
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


def _relative_scale(jet: Array, scale: float, normalised: bool) -> float:
    """``scale`` in units of the length on which a kernel varies, the smallest at any score; for exp(x) that length is 1.

    It is read from the Taylor coefficients relative to kappa under a normaliser; without one, from those of order 3 and more
    relative to the largest kappa.
    """
    sizes = np.abs(jet) * scale ** np.arange(len(jet))[:, None, None]
    whole, first = (sizes[0], 1) if normalised else (np.max(sizes, axis=0), 3)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = [np.where(sizes[n] == 0, 0.0, sizes[n] / whole) ** (1 / n) for n in range(first, len(jet))]
    return float(np.max(np.nan_to_num(ratios, nan=np.inf)))


def _split(made: Array, rows: int) -> list[list[Array]]:
    """The middle axis, of length rows * (ORDER + 1), as nested lists."""
    return [[made[:, i * (ORDER + 1) + j] for j in range(ORDER + 1)] for i in range(rows)]


def _product(one: Array, two: Array) -> Array:
    """Taylor coefficients of a product."""
    return np.stack([sum(one[k] * two[n - k] for k in range(n + 1)) for n in range(len(one))])


MOMENTS = ("h", "n", "d1", "e1", "d2", "e2", "p")


@dataclass(frozen=True)
class Roles:
    """A quadrature over chi* with the weights of the relevant token and of another one.

    Attributes:
        chi: nodes, shape (n,).
        relevant, other: weights, shape (k, n), for each of the k Laplace nodes of the weight's normaliser (k = 1 without one).
        du: quadrature weights of these nodes, shape (k,).
    """

    chi: Array
    relevant: Array
    other: Array
    du: Array


@final
class Moments:
    """The seven moments: ``values`` in the order of ``MOMENTS``, and ``slopes`` of any linear combination of them.

    Args:
        smoothed: the one-token averages.
        roles: the quadrature over chi*.
        dt: weights of the Laplace nodes; a single node t = 0 without a normaliser.
        offset: of the normaliser, divided by ``smoothed.size``.
        lengths: (L, weight of this length).
    """

    def __init__(
        self, smoothed: Smoothed, roles: Roles, dt: Array, offset: float, lengths: Sequence[tuple[int, float]]
    ) -> None:
        self.smoothed, self.roles, self.lengths = smoothed, roles, lengths
        self.chi = roles.chi[:, None]
        # 1/S^k = int t^(k-1)/Gamma(k) e^(-t S) dt, with the offset's factor e^(-t o); Gamma(1) = Gamma(2) = 1
        once = dt * np.exp(-smoothed.t * offset)
        twice = once * smoothed.t if smoothed.kernel.is_normalised else once
        self.w1, self.w2 = (np.outer(roles.du, weights) for weights in (once, twice))
        at_zero, at_one, slope, value = (
            smoothed.table(0, 0),
            smoothed.table(0, 1),
            smoothed.table(1, 1),
            self.chi * smoothed.table(1, 0),
        )
        self.s0, self.s01, self.s11, self.s10 = (roles.relevant @ part for part in (at_zero, at_one, slope, value))
        self.phi, self.n11, self.n10 = (roles.other @ part for part in (at_zero, slope, value))
        if not smoothed.kernel.is_normalised and len(roles.du) == 1:
            # without normalisers phi = 1 exactly: its rounding error, raised to the power L, would be 2e-10 at L = 10^6
            self.phi = np.ones_like(self.phi)
        # phi^(L-1), (L-1) phi^(L-2), (L-1)(L-2) phi^(L-3), (L-1)(L-2)(L-3) phi^(L-4)
        self.f1, self.f2, self.f3, self.f4 = (self._falling(n) for n in range(4))
        self.v1 = roles.relevant.T @ (self.w1 * self.f1)
        self.v2 = roles.relevant.T @ (self.w2 * self.f1) + roles.other.T @ (self.w2 * self.f2 * self.s0)
        self.values = self._moment_values()

    def slopes(self, by_moment: Array) -> Array:
        """Derivatives of by_moment @ values in m, s^2 and the kernel's own parameters."""
        pulled = self._adjoints(by_moment)
        table, chi = self.smoothed.table, self.chi

        def paired(moved: Callable[[int, int], Array]) -> float:
            first, second = self._direct_terms(by_moment, moved)
            parts = (moved(0, 0), moved(0, 1), moved(1, 1), chi * moved(1, 0), first, second)
            return float(sum(np.vdot(pull, part) for pull, part in zip(pulled, parts, strict=True)))

        own = range(len(self.smoothed.kernel.parameters))
        return np.array(
            [
                paired(lambda a, j: chi * table(a, j + 1)),
                paired(lambda a, j: table(a, j + 2) / 2),
                *(paired(lambda a, j, i=i: self.smoothed.parameter_derivative(i, a, j)) for i in own),  # type: ignore[misc]
            ]
        )

    def _moment_values(self) -> Array:
        table, chi = self.smoothed.table, self.chi
        one, two = self.w1 * self.f2, self.w2 * self.f2
        three = self.w2 * self.f3 * self.s0
        by_two = chi * self.v2
        return np.array(
            [
                np.vdot(self.v1, table(1, 0)),
                np.vdot(self.v2, table(2, 0)),
                np.vdot(self.v1, table(1, 2)) + np.vdot(one * self.s01, self.n11),
                np.vdot(chi * self.v1, table(1, 1)) + np.vdot(one * self.s01, self.n10),
                np.vdot(self.v2, table(2, 2)) + np.vdot(2 * two * self.s11 + three * self.n11, self.n11),
                np.vdot(by_two, table(2, 1))
                + np.vdot(two, self.s10 * self.n11 + self.s11 * self.n10)
                + np.vdot(three * self.n10, self.n11),
                np.vdot(chi * by_two, table(2, 0)) + np.vdot(2 * two * self.s10 + three * self.n10, self.n10),
            ]
        )

    def _direct_terms(self, by_moment: Array, moved: Callable[[int, int], Array]) -> tuple[Array, Array]:
        """The parts of the combination that are linear in tables of sigma (first) and of sigma^2 (second)."""
        h, n, d1, e1, d2, e2, p = by_moment
        chi = self.chi
        first = h * moved(1, 0) + d1 * moved(1, 2) + e1 * chi * moved(1, 1)
        second = (n + p * chi**2) * moved(2, 0) + d2 * moved(2, 2) + e2 * chi * moved(2, 1)
        return first, second

    def _adjoints(self, by_moment: Array) -> tuple[Array, ...]:
        """Adjoints: derivatives of the combination in G(0,0), G(0,1), G(1,1), chi G(1,0), and the factors of ``_direct_terms``."""
        _, _, d1, e1, d2, e2, p = by_moment
        first, second = self._direct_terms(by_moment, self.smoothed.table)
        one, two, three = self.roles.relevant @ first, self.roles.relevant @ second, self.roles.other @ second
        w1, w2, n11, n10, s01, s11, s10 = self.w1, self.w2, self.n11, self.n10, self.s01, self.s11, self.s10
        ahead = d1 * n11 + e1 * n10
        to_n11, to_n10 = 2 * d2 * n11 + e2 * n10, 2 * p * n10 + e2 * n11
        both = (to_n11 * n11 + to_n10 * n10) / 2
        crossed = s11 * to_n11 + s10 * to_n10
        on_s0 = w2 * (self.f2 * three + self.f3 * both)
        weighted = w2 * self.f3 * self.s0
        on_phi = (
            self.f2 * (w1 * one + w2 * two)
            + self.f3 * (w2 * self.s0 * three + w1 * s01 * ahead + w2 * crossed)
            + self.f4 * w2 * self.s0 * both
        )
        back = self.roles.relevant.T, self.roles.other.T
        single = self.w2 * self.f2
        return (
            back[0] @ on_s0 + back[1] @ on_phi,
            back[0] @ (w1 * self.f2 * ahead),
            back[0] @ (single * to_n11)
            + back[1] @ (w1 * self.f2 * s01 * d1 + single * (2 * d2 * s11 + e2 * s10) + weighted * to_n11),
            back[0] @ (single * to_n10)
            + back[1] @ (w1 * self.f2 * s01 * e1 + single * (2 * p * s10 + e2 * s11) + weighted * to_n10),
            self.v1,
            self.v2,
        )

    def _falling(self, n: int) -> Array:
        """The mean over lengths of (L-1)...(L-n) phi^(L-1-n), the n-th derivative of phi^(L-1); 0 where L <= n."""
        return sum(
            (
                share * perm(length - 1, n) * self.phi ** (length - 1 - n)
                for length, share in self.lengths
                if length > n
            ),
            np.zeros_like(self.phi),
        )
