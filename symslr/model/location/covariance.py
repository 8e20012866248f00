"""Covariances over positions: an expression in two positions i and j, and the structures in which more is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sympy import Abs, Eq, Expr, KroneckerDelta, Matrix, Piecewise, S, Symbol, lambdify, simplify

from symslr.model.exact import exact
from symslr.model.float64 import in_float64
from symslr.model.form import check_parameters
from symslr.model.put_in import put_in
from symslr.model.symbols import L, i, j

LARGEST_MATRIX = 4096
"""Positions up to which a covariance without structure is written out."""
TRIED = ((1, 2), (1, 3), (2, 5), (4, 7))


@dataclass(frozen=True)
class Equicorrelated:
    """C = v ((1 - rho) I + rho 1 1^T); rho = 0 for uncorrelated positions."""

    variance: Expr
    correlation: Expr

    @property
    def own_variance(self) -> Expr:
        """v (1 - rho), the variance that positions do not share."""
        return self.variance * (1 - self.correlation)


@dataclass(frozen=True)
class AutoRegressive:
    """C_ij = v rho^|i - j|, the stationary AR(1) chain."""

    variance: Expr
    correlation: Expr


Structure = Equicorrelated | AutoRegressive


@dataclass(frozen=True)
class Covariance:
    """C_ij as an expression in the positions ``i``, ``j``, the length ``L`` and parameters.

    Args:
        entry: the expression.
        what: what errors call it.

    Raises:
        ValueError: for an expression that is not symmetric in i and j.
    """

    entry: Expr
    what: str = "covariance"

    def __post_init__(self) -> None:
        object.__setattr__(self, "entry", exact(self.entry, self.what))
        check_parameters(self.entry, self.what, allowed={i, j})
        uneven = _uneven(self.entry)
        if uneven is not None:
            first, second, here, there = uneven
            raise ValueError(
                f"{self.what} {self.entry}: found {here} at i={first}, j={second} and {there} at i={second}, j={first}; "
                "expected a symmetric one, such as rho**abs(i-j)"
            )

    def at(self, first: object, second: object) -> Expr:
        """C_ij at two positions."""
        return _at(self.entry, first, second)

    @property
    def free_symbols(self) -> set[Expr]:
        return self.entry.free_symbols - {i, j}

    def subs(self, values: Mapping[Expr, Expr]) -> Covariance:
        """The covariance at values of its parameters."""
        return Covariance(self.entry.subs(values), self.what) if self.entry.free_symbols & set(values) else self

    @property
    def structure(self) -> Structure | None:
        """What is recognised in the expression; None for any other covariance."""
        return _structure(self.entry)

    @property
    def variance(self) -> Expr | None:
        """C_ii, where it is the same at all positions."""
        return _variance(self.entry)

    @property
    def is_identity(self) -> bool:
        return self.structure == Equicorrelated(S.One, S.Zero)

    def matrix(self, length: int) -> Matrix:
        """The symbolic matrix at a length."""
        return Matrix(length, length, lambda row, column: self.at(row + 1, column + 1).subs(L, length))

    def numbers(self, length: int) -> np.ndarray:
        """The matrix in float64, once every parameter has its value.

        Raises:
            ValueError: for a matrix that is too large to write out, or with an entry that is infinite or not real.
        """
        if length > LARGEST_MATRIX:
            raise ValueError(
                f"{self.what} {self.entry}: found length {length}; expected at most {LARGEST_MATRIX} positions, or "
                "rho**abs(i-j), or one correlation for all pairs"
            )
        # numpy knows no Kronecker delta of arrays
        entry = self.entry.subs(L, length).replace(KroneckerDelta, lambda a, b: Piecewise((1, Eq(a, b)), (0, True)))
        function = lambdify((i, j), in_float64(entry), "scipy")
        rows, columns = np.meshgrid(np.arange(1, length + 1), np.arange(1, length + 1), indexing="ij")
        with np.errstate(all="ignore"):
            found = np.broadcast_to(
                np.asarray(function(1.0 * rows, 1.0 * columns), dtype=float), (length, length)
            ).copy()
        bad = np.argwhere(~np.isfinite(found))
        if len(bad):
            row, column = bad[0] + 1
            raise ValueError(
                f"{self.what} {self.entry}: not a number at i={row}, j={column}; expected one at every pair of positions"
            )
        return found

    def check_positive(self, length: int) -> None:
        """Refuse a covariance that is not positive definite at this length, once every parameter has its value.

        Raises:
            ValueError: with the smallest eigenvalue, or the bound on the correlation.
        """
        found = self.structure
        if isinstance(found, AutoRegressive):
            good = found.variance > 0 and Abs(found.correlation) < 1
        elif isinstance(found, Equicorrelated):
            rho = found.correlation
            good = found.variance > 0 and rho < 1 and 1 + (length - 1) * rho > 0
        else:
            matrix = self.numbers(length)
            good = bool(np.linalg.eigvalsh(matrix)[0] > 1e-12 * np.max(np.abs(matrix)))
        if not good:
            raise ValueError(
                f"{self.what} {self.entry}: not positive definite at L={length}; expected a covariance that is"
            )


def _at(entry: Expr, first: object, second: object) -> Expr:
    return put_in(entry, {i: first, j: second})


@lru_cache(maxsize=256)
def _uneven(entry: Expr) -> tuple[int, int, Expr, Expr] | None:
    """Two positions at which an expression is not symmetric, with its values there."""
    for first, second in TRIED:
        here, there = _at(entry, first, second), _at(entry, second, first)
        if here != there and simplify(here - there) != 0:
            return first, second, here, there
    return None


@lru_cache(maxsize=256)
def _variance(entry: Expr) -> Expr | None:
    found = simplify(_at(entry, _PLACE, _PLACE))
    return None if _PLACE in found.free_symbols or found == 0 else found


_PLACE = Symbol("i", integer=True, positive=True)


@lru_cache(maxsize=256)
def _structure(entry: Expr) -> Structure | None:
    first, variance = _PLACE, _variance(entry)
    lag = Symbol("d", integer=True, positive=True)
    ahead = simplify(_at(entry, first, first + lag))
    behind = simplify(_at(entry, first + lag, first))
    if variance is None or first in ahead.free_symbols or simplify(ahead - behind) != 0:
        return None
    if lag not in ahead.free_symbols:
        return Equicorrelated(variance, simplify(ahead / variance))
    correlation = simplify(ahead.subs(lag, 1) / variance)
    if simplify(ahead - variance * correlation**lag) == 0:
        return AutoRegressive(variance, correlation)
    return None
