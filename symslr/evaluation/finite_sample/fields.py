"""Fields of the keys and of the values: samplers of (chi*, omega_chi) and labels, with the relevant token in the first row.

Attention treats tokens alike, so the hidden position may be numbered first. Each sampler holds fixed random points and maps order
parameters to fields, so that a fixed point is a smooth function of its parameters (common random numbers). Of the true keys h the
saddle-point equations need only E[h | omega] and E[xi | omega]/sqrt(q - m^2). Where these are known in closed form, as for a
shifted Gaussian, h is not drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sympy import Expr, expand_log, log

from symslr.evaluation.numbers.compiled import compile_float
from symslr.evaluation.sampling.sequences import Draws
from symslr.model.exponential import exponential_slope
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import x

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fields:
    """Fields omega = m h + sqrt(q - m^2) xi of the tokens, shape (L, n), the relevant token first.

    Attributes:
        omega: the field.
        hidden: E[h | omega, rest], h the true projection; or h itself where it is drawn.
        push: E[xi | omega, rest]/sqrt(q - m^2), the noise in the field; or xi/sqrt(q - m^2) where it is drawn.
        noiseless: m h, where h and xi are drawn; None elsewhere.
    """

    omega: Array
    hidden: Array
    push: Array
    noiseless: Array | None = None


@dataclass(frozen=True)
class KeySampler:
    """Random keys from fixed random points.

    Attributes:
        fields: (m, q) -> the fields of keys of overlap m and squared length q >= m^2.
        weights: importance weights of the samples, of mean 1; None where all are equal.
    """

    fields: Callable[[float, float], Fields]
    weights: Array | None = None


def shifted_fields(shift: float, normals: Array, m: float, q: float) -> Fields:
    """chi*_eps ~ N(shift, 1), the others N(0, 1) (spiked-SLR): omega is Gaussian, and so is h given omega."""
    centred = np.sqrt(q) * normals
    omega, hidden, push = centred.copy(), centred * (m / q), centred / q
    omega[0] += m * shift
    hidden[0] += shift
    return Fields(omega, hidden, push)


def scored_fields(hidden: Array, score: Array, normals: Array, m: float, q: float) -> Fields:
    """Gaussian keys under a smooth weight: h is drawn, and the noise xi integrated by parts (Stein's lemma).

    With the score s_l = d log g(eps, h)/dh_l, E[f xi]/sqrt(q - m^2) = E[f (omega - m s)/q] and
    E[f h] = E[f (m omega + (q - m^2) s)/q]: no factor 1/sqrt(q - m^2), which would scatter.
    """
    omega = m * hidden + np.sqrt(q - m * m) * normals
    return Fields(omega, (m * omega + (q - m * m) * score) / q, (omega - m * score) / q)


def drawn_fields(hidden: Array, normals: Array, m: float, q: float) -> Fields:
    """h and xi are drawn: omega = m h + sqrt(q - m^2) xi."""
    root, noiseless = np.sqrt(q - m * m), m * hidden
    return Fields(noiseless + root * normals, hidden, normals / root, noiseless)


def key_dimensions(law: SequenceLaw, length: int) -> int:
    """Number of standard normals per sample that ``key_sampler`` needs."""
    if gaussian_shift(law) is not None:
        return length
    return 2 * length if law.relevant_factor is not None else 2 * length + 1


def key_sampler(law: SequenceLaw, length: int, normals: Array) -> KeySampler:
    """The sampler of a task's keys; ``law`` has numbers for all its parameters.

    Args:
        normals: shape (``key_dimensions(law, length)``, n).
    """
    shift = gaussian_shift(law)
    if shift is not None:
        return KeySampler(partial(shifted_fields, shift, normals))
    draws, gaussian = Draws.of(law), law.base == STANDARD_NORMAL
    keys, posterior, importance = draws.sequences(ndtr(normals[:length]).T)
    keys, noise, relevant = keys.T, normals[length : 2 * length], law.relevant_factor
    if relevant is not None:
        if not gaussian:
            return KeySampler(partial(drawn_fields, keys, noise))
        score = np.vstack([_slope(relevant, keys[:1]), np.zeros_like(keys[1:])])
        return KeySampler(partial(scored_fields, keys, score, noise))
    chosen = (np.cumsum(posterior.T, axis=0)[:-1] < ndtr(normals[2 * length])).sum(axis=0)
    keys, posterior = (_relevant_first(rows, chosen) for rows in (keys, posterior.T))
    if gaussian and law.is_selection and not law.selects_largest:
        posterior[0] -= 1
        score = -posterior * _slope(law.posterior_kernel, keys)
        return KeySampler(partial(scored_fields, keys, score, noise))
    return KeySampler(partial(drawn_fields, keys, noise), importance / importance.mean())


def value_fields(normals: Array, m: float, q: float, noise: float) -> tuple[Fields, Array]:
    """(fields of the values, labels (n,)) from L + 1 rows of normals; jointly Gaussian, so the true z* need not be drawn.

    With omega = m z* + sqrt(q - m^2) xi and y = z*_eps + Delta noise, the label given its token's field is Gaussian,
    y = (m/q) omega_eps + c g, c^2 = 1 + Delta^2 - m^2/q, and the means of z* and xi given (omega, y) are linear.

    Args:
        noise: Delta, the label noise.
    """
    fields, label_normal = shifted_fields(0.0, normals[:-1], m, q), normals[-1]
    left = np.sqrt(max(1 + noise**2 - m * m / q, 1e-14))
    # given the label, the part g of it that the field does not explain is correlated with z* and xi of the relevant token
    fields.hidden[0] += (1 - m * m / q) / left * label_normal
    fields.push[0] -= m / (q * left) * label_normal
    return fields, (m / q) * fields.omega[0] + left * label_normal


def _relevant_first(rows: Array, chosen: Array) -> Array:
    """Rows (L, n) where in each column the chosen entry is exchanged with the first."""
    columns = np.arange(rows.shape[1])
    ordered = rows.copy()
    ordered[0], ordered[chosen, columns] = rows[chosen, columns], rows[0]
    return ordered


def _slope(kernel: Expr, keys: Array) -> Array:
    """d log kappa/dx at the keys."""
    slope = expand_log(log(kernel), force=True).diff(x)
    return np.broadcast_to(compile_float([x], [slope])(keys)[0], keys.shape)


@lru_cache(maxsize=64)
def gaussian_shift(law: SequenceLaw) -> float | None:
    """s where chi*_eps ~ N(s, 1) and the others are N(0, 1); None for any other law."""
    slope = exponential_slope(law) if law.base == STANDARD_NORMAL and law.relevant_factor is not None else None
    return None if slope is None else float(slope)
