"""What labels say of the fields: means over what was known of them, exact in the fields that a label takes linearly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from scipy.special import logsumexp
from sympy import Expr, Symbol, expand

from symslr.model.sequence.model import SequenceModel
from symslr.simulate.log_domain import Array
from symslr.simulate.sequence.nodes import Nodes

NUMBERS = 2_000_000
"""Fields drawn at once."""


@dataclass(frozen=True)
class Messages:
    """What samples say of the fields, given omega and V.

    Attributes:
        g: the score d log Z/d omega, shape (size, L, p).
        divergence: sum of d g_l/d omega_l, shape (p, p).
    """

    g: Array
    divergence: Array


@dataclass(frozen=True)
class Posterior:
    """Posterior means of the fields of a model: sums over hidden variables, nodes for the fields that are not linear."""

    model: SequenceModel

    @cached_property
    def linear(self) -> tuple[int, ...]:
        """Directions in which every label is linear given the others, and of which no weight knows."""
        found: tuple[int, ...] = ()
        for k in range(len(self.model.teachers)):
            if self._is_linear((*found, k)):
                found = (*found, k)
        return found

    @cached_property
    def drawn(self) -> tuple[int, ...]:
        """The other directions."""
        return tuple(k for k in range(len(self.model.teachers)) if k not in self.linear)

    @cached_property
    def slopes(self) -> tuple[tuple[Expr, ...], ...]:
        """Of the labels in their linear fields, outputs by tokens by directions, one row for each joint hidden value."""
        symbols = self._fields(self.linear)
        return tuple(tuple(expand(f.diff(s)) for f in labels for s in symbols) for labels in self.model.labels)

    def messages(self, y: Array, omega: Array, V: Array, over: Iterator[Nodes]) -> Messages:
        """g = V^-1 (E[z | y, omega] - omega) and V^-1 Cov(z | y, omega) V^-1 - V^-1.

        Args:
            y, omega: labels (size, outputs) and means of the fields (size, L, p).
            V: covariance of a token's fields, shape (p, p).
            over: nodes for the fields that are drawn, others for each part of the samples.

        Raises:
            ValueError: where the nodes are too coarse for what a label says.
        """
        inverse, size = np.linalg.inv(V), len(y)
        u = next(over)
        chunk = max(1, NUMBERS // (u.points.shape[0] * omega[0].size * len(self.model.configurations)))
        means, second = np.empty_like(omega), np.zeros_like(V)
        effective = 0.0
        for start in range(0, size, chunk):
            part = slice(start, start + chunk)
            logs, away, left = self._given(y[part], omega[part], V, u.points)
            logs += u.logs
            share = np.exp(logs - logsumexp(logs, axis=(0, 2), keepdims=True))
            effective += float((1 / (share.sum(axis=0) ** 2).sum(axis=1)).sum())
            means[part] = np.einsum("hnd,hndlk->nlk", share, away)
            second += np.einsum("hnd,hndlk,hndlj->kj", share, away, away, optimize=True)
            second[np.ix_(self.linear, self.linear)] += np.einsum("hnd,hndab->ab", share, left)
            u = next(over)
        spread = second - np.einsum("nlk,nlj->kj", means, means)
        divergence = inverse @ spread @ inverse - size * omega.shape[1] * inverse
        if effective < u.least * size:
            raise ValueError(
                f"draws: found nodes of which {effective / size:.2g} are near what a label says; expected {u.least} and more, "
                "so take more of them, or a noisier label"
            )
        return Messages(means @ inverse, divergence)

    def _given(self, y: Array, omega: Array, V: Array, u: Array) -> tuple[Array, Array, Array]:
        """Log weights (H, n, draws), means of z - omega (H, n, draws, L, p), and what is open of the linear fields.

        The last is a sum over tokens of covariances, (H, n, draws, a, a). Given the fields that are drawn, the label is normal,
        and so are the linear fields, which it moves by Kalman's gain.
        """
        model, (a, r) = self.model, (list(self.linear), list(self.drawn))
        n, length, p = omega.shape
        known = V[np.ix_(a, r)] @ np.linalg.inv(V[np.ix_(r, r)])
        S = V[np.ix_(a, a)] - known @ V[np.ix_(r, a)]
        away = np.zeros((n, len(u), length, p))
        away[..., r] = u @ np.linalg.cholesky(V[np.ix_(r, r)]).T if r else 0.0
        away[..., a] = away[..., r] @ known.T
        z = (omega[:, None] + away).reshape(-1, length, p)
        shape = (n, len(u))
        with np.errstate(divide="ignore"):
            logs = np.log(model.weights_at(z)).reshape(-1, *shape)
        found, left = [], []
        for h, clean in enumerate(model.labels_at(z)):
            slopes = model.evaluated(self.slopes[h], z) if a else np.zeros((0, len(z)))
            A = np.moveaxis(slopes.reshape(len(clean), length, len(a), *shape), (0, 1, 2), (2, 3, 4))
            residual = y[:, None, :] - np.moveaxis(clean.reshape(-1, *shape), 0, -1)
            AS = A @ S
            G = np.einsum("ndola,ndqla->ndoq", AS, A) + float(model.noise) ** 2 * np.eye(len(clean))
            flat = AS.reshape(*shape, len(clean), -1)
            solved, gain = _solved(G, residual[..., None])[..., 0], _solved(G, flat).reshape(AS.shape)
            logs[h] -= (np.linalg.slogdet(G)[1] + (residual * solved).sum(axis=-1)) / 2
            moved = away.copy()
            moved[..., a] += np.einsum("ndola,ndo->ndla", AS, solved)
            found.append(moved)
            left.append(length * S - np.einsum("ndola,ndolb->ndab", AS, gain))
        return logs, np.array(found), np.array(left)

    def _is_linear(self, columns: tuple[int, ...]) -> bool:
        symbols = self._fields(columns)
        if any(weight.has(*symbols) for weight in self.model.weights):
            return False
        pairs = list(combinations_with_replacement(symbols, 2))
        return all(expand(f.diff(s, t)) == 0 for labels in self.model.labels for f in labels for s, t in pairs)

    def _fields(self, columns: tuple[int, ...]) -> list[Symbol]:
        return [row[k] for row in self.model.fields for k in columns]


def _solved(G: Array, right: Array) -> Array:
    """G^-1 times columns; a division where there is one output."""
    return right / G if G.shape[-1] == 1 else np.asarray(np.linalg.solve(G, right), dtype=np.float64)
