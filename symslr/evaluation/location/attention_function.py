"""An attention evaluated on arrays of sequences in float64, and the parameters over which its least risk is searched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import exp
from typing import Any

import numpy as np
from sympy import Expr, Rational

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.setting import Setting, at_all_positions, covariance_matrix, matrix_times_keys
from symslr.evaluation.numbers.logarithm import signed_log
from symslr.model.attention import Attention, Selection
from symslr.model.breakpoints import breakpoint_equations
from symslr.model.location.covariance import Covariance
from symslr.model.symbols import x

LARGEST_LOG_WEIGHT = 345.0
"""log of the largest unnormalised weight that is accepted: exp(2 * 345) = 1e299, so a sum of squares stays in float64."""
TYPICAL_KEYS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Keys along a head's direction at which the size of an unnormalised kernel is measured; keys have standard deviation 1."""
SAME_BIAS = 1e-12
"""Biases whose relative difference is below this count as equal."""
NEAR_SCALES = 0.1
"""Heads whose scales are closer than this, relative to 1 + the largest scale, are replaced by divided differences."""
LARGEST_BIAS = 1e12
"""Largest bias that is accepted: added to a larger one a key of size 1 loses all but four of its digits in float64."""


@dataclass(frozen=True)
class ParameterValues:
    """Numbers for all parameters of an attention.

    Attributes:
        scales: a_h of each head, shape (H, p).
        weights: log c_h of heads that share a normaliser, shape (H,); 0 for the first.
        bias: the constant that is added to every score.
        own: the kernel's own parameters, in the order of their names.
    """

    scales: Any
    weights: Any
    bias: float
    own: tuple[float, ...]

    @property
    def slope(self) -> float:
        """The largest absolute value of a scale."""
        return float(np.max(np.abs(self.scales)))


@dataclass(frozen=True)
class AttentionFunction:
    """An attention as a function of the keys of a setting: its weights sigma, in float64.

    Attributes:
        attention: the attention; a bias that is the same at every position has been moved into its kernel or offset.
        setting: the law of the keys.
        written: the attention before that move; None where nothing was moved.
    """

    attention: Attention
    setting: Setting
    written: Attention | None = None

    @classmethod
    def of(cls, attention: Attention, setting: Setting) -> AttentionFunction:
        """The attention on a setting; a bias that is the same at every position is moved into the kernel or the offset."""
        bias = cls(attention, setting).bias
        if bias is None or np.ptp(bias) > SAME_BIAS * np.max(np.abs(bias)):
            return cls(attention, setting)
        return cls(replace(attention, bias=Rational(float(bias[0]))).with_constant_inside(), setting, attention)

    @property
    def is_selection(self) -> bool:
        return self.attention.is_selection

    @cached_property
    def has_one_kernel(self) -> bool:
        """Whether each weight is one kernel of one key, divided by one normaliser or by none."""
        alone = self.attention.heads == 1 or self.attention.is_joint
        return alone and not self.is_selection and self.filter is None

    @cached_property
    def is_elementwise(self) -> bool:
        """Whether each head's weight is a kernel of one key, without a normaliser."""
        return not self.attention.is_normalised and self.filter is None

    @cached_property
    def own(self) -> tuple[Expr, ...]:
        """The kernel's own parameters."""
        return tuple(sorted(self.attention.parameters, key=str))

    @cached_property
    def breaks_at_zero(self) -> bool:
        """Whether the formula of the kernel has a breakpoint (kink, jump or pole) at 0."""
        kernel = self.attention.kernel
        return not isinstance(kernel, Selection) and any(e.subs(x, 0) == 0 for e in breakpoint_equations(kernel, x))

    @cached_property
    def signed_log_kernel(self) -> Callable[..., tuple[Any, Any]]:
        """(sign of kappa(x, *own), log |kappa(x, *own)|) on arrays; the logarithm is finite where kappa itself overflows."""
        function = signed_log(self.attention.kernel, (x, *self.own))

        def of(points: Any, *own: float) -> tuple[Any, Any]:
            with np.errstate(all="ignore"):
                sign, log = function(points, *own)
            return sign, np.broadcast_to(np.asarray(log, dtype=float), points.shape)

        return of

    @cached_property
    def bias(self) -> Any:
        """b_l, shape (L,), or (1,) where all positions are alike; None without a bias and with a free constant alone.

        Raises:
            CannotEvaluate: for a matched bias where every position is relevant: the log odds are infinite.
            ValueError: where the bias is not real, or larger than ``LARGEST_BIAS``, at a position.
        """
        bias, setting = self.attention.bias, self.setting
        if bias is None or bias == "free":
            return None
        if bias != "matched":
            found = at_all_positions(bias, setting.length)
            bad = np.flatnonzero(~(np.abs(found) <= LARGEST_BIAS))
            if len(bad):
                raise ValueError(
                    f"bias {bias}: found {found[bad[0]]:g} at l={bad[0] + 1}; expected a number of at most {LARGEST_BIAS:g} in "
                    "size at every position"
                )
            return found
        own = setting.log_prior if self.attention.is_normalised and setting.size else setting.log_odds
        if not np.all(np.isfinite(own)):
            raise CannotEvaluate("bias matched: every position is relevant; expected fewer than there are, or no bias")
        return own - setting.strength / 2 * float(setting.shares @ setting.norms) * setting.precision_diagonal

    @cached_property
    def filter(self) -> Any:
        """The matrix F that multiplies the keys before scores are taken, shape (L, L); None for the identity."""
        chosen = self.attention.filter
        if chosen is None:
            return None
        if isinstance(chosen, Covariance):
            return covariance_matrix(chosen, self.setting.length)
        return None if self.setting.are_keys_independent else self.setting.precision

    def filtered(self, keys: Any) -> Any:
        """F chi, shape (n, L, p)."""
        return keys if self.filter is None else matrix_times_keys(self.filter, keys)

    def weights(self, scores: Any, place: ParameterValues) -> Any:
        """sigma of every head that has a value vector of its own, shape (n, L, heads).

        Args:
            scores: filtered keys F chi, shape (n, L, p).
            place: the parameters.

        Raises:
            CannotEvaluate: where a kernel overflows.
        """
        seen = scores @ place.scales.T
        kernel = self.attention.kernel
        if isinstance(kernel, Selection):
            leaning = seen if self.bias is None else seen + self.bias[:, None]
            found = np.stack([_selection_weights(kernel, s) for s in np.moveaxis(leaning, 2, 0)], axis=-1)
        elif not self.attention.is_normalised:
            constant = place.bias if self.bias is None else place.bias + self.bias[:, None]
            found = self._unnormalised(seen + constant, place)
        else:
            found = self._normalised(seen, place)
        if not np.all(np.isfinite(found)):
            raise CannotEvaluate(
                f"attention {self.attention.title}: overflows in float64 at this scale; expected a smaller one"
            )
        return found

    def _normalised(self, seen: Any, place: ParameterValues) -> Any:
        offset = float(self.attention.offset)
        sign, logs = self.signed_log_kernel(seen, *place.own)
        logs = logs + place.weights + place.bias
        logs = logs if self.bias is None else logs + self.bias[:, None]
        top = logs.max(axis=(1, 2) if self.attention.is_joint else (1,), keepdims=True)
        top = np.maximum(top, 0.0) if offset else top
        with np.errstate(invalid="ignore", under="ignore", over="ignore"):
            parts, offset = sign * np.exp(logs - top), offset * np.exp(-top)
        if self.attention.is_joint:
            parts = parts.sum(axis=2, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return parts / (offset + parts.sum(axis=1, keepdims=True))

    def log_kernel(self, keys: Any, place: ParameterValues) -> Any:
        """log sum_h c_h kappa(a_h.x) at keys x of shape (n, p): shape (n,), -inf where every kernel is 0.

        Raises:
            CannotEvaluate: where a kernel is negative, infinite or undefined.
        """
        sign, logs = self.signed_log_kernel(keys @ place.scales.T, *place.own)
        if np.any(np.asarray(sign) < 0) or np.any(np.isnan(logs)) or np.any(logs == np.inf):
            raise CannotEvaluate("kernel: negative or no number at a token that counts")
        return np.logaddexp.reduce(logs + place.weights + place.bias, axis=1)

    def unnormalised_kernels(self, keys: Any, place: ParameterValues, bias: float) -> Any:
        """kappa(a_h.x + b) at keys x of shape (n, p), without a normaliser: shape (n, H), heads as ``divided_differences`` has
        them.

        All values are divided by one constant, which the value vectors take up.

        Raises:
            CannotEvaluate: where the square overflows.
        """
        return divided_differences(self._unnormalised(keys @ place.scales.T + (place.bias + bias), place), place.scales)

    def _unnormalised(self, scores: Any, place: ParameterValues) -> Any:
        """kappa at scores divided by its largest value at ``TYPICAL_KEYS``; the value vectors take up that factor."""
        sign, logs = self.signed_log_kernel(scores, *place.own)
        logs = logs - self._log_unit(place)
        if not np.max(logs) < LARGEST_LOG_WEIGHT:
            raise CannotEvaluate(
                f"attention {self.attention.title}: its mean square overflows in float64 at this scale"
            )
        return sign * np.exp(logs)

    @cached_property
    def _as_written(self) -> AttentionFunction:
        return self if self.written is None else AttentionFunction(self.written, self.setting)

    def _log_unit(self, place: ParameterValues) -> float:
        """The largest log |kappa| at ``TYPICAL_KEYS``, the same for all lengths and positions; 0 where none is finite."""
        scores = np.outer(TYPICAL_KEYS, np.linalg.norm(place.scales, axis=1)) + place.bias
        _, logs = self._as_written.signed_log_kernel(scores, *place.own)
        finite = logs[np.isfinite(logs)]
        return float(np.max(finite)) if len(finite) else 0.0


def divided_differences(weights: Any, scales: Any) -> Any:
    """Newton's divided differences of the weights (..., H) of heads with nearby scales (H, p); same shape and same span.

    The Gram matrix of nearly equal heads is nearly singular, to the square of their distance; that of the differences is not.
    One head is returned as it is.
    """
    heads, size = weights.shape[-1], 1 + float(np.max(np.abs(scales)))
    if heads == 1:
        return weights
    order = np.lexsort(scales.T[::-1])
    scales, parts = scales[order], [weights[..., head] for head in order]
    for step in range(1, heads):
        for head in range(heads - 1, step - 1, -1):
            gaps = np.linalg.norm(np.diff(scales[head - step : head + 1], axis=0), axis=1)
            if np.max(gaps) < NEAR_SCALES * size:
                apart = float(np.linalg.norm(scales[head] - scales[head - step]))
                parts[head] = (parts[head] - parts[head - 1]) / apart
    return np.stack(parts, axis=-1)


def _selection_weights(selection: Selection, scores: Any) -> Any:
    """Weights (n, L) of one head from its scores (n, L): top-k softmax, sparsemax or entmax."""
    if selection.kind == "top":
        if selection.size < scores.shape[1]:
            least = -np.partition(-scores, selection.size - 1, axis=1)[:, selection.size - 1 : selection.size]
            scores = np.where(scores >= least, scores, -np.inf)
        parts = np.exp(scores - scores.max(axis=1, keepdims=True))
        return parts / parts.sum(axis=1, keepdims=True)
    return _sparsemax(scores) if selection.kind == "sparsemax" else _entmax(scores)


def _sparsemax(scores: Any) -> Any:
    """sparsemax: the Euclidean projection of scores (n, L) on the simplex. Source: arXiv 1602.02068, algorithm 1."""
    ordered = -np.sort(-scores, axis=1)
    counts = np.arange(1, scores.shape[1] + 1)
    sums = np.cumsum(ordered, axis=1) - 1
    support = np.count_nonzero(ordered * counts > sums, axis=1)[:, None]
    threshold = np.take_along_axis(sums, support - 1, axis=1) / support
    return np.maximum(scores - threshold, 0.0)


def _entmax(scores: Any) -> Any:
    """entmax at alpha = 3/2: (s/2 - tau)_+^2 with sum 1. Source: arXiv 1905.05702, algorithm 2."""
    half = scores / 2
    half = half - half.max(axis=1, keepdims=True)
    ordered = -np.sort(-half, axis=1)
    counts = np.arange(1, scores.shape[1] + 1)
    mean = np.cumsum(ordered, axis=1) / counts
    spread = np.cumsum(ordered**2, axis=1) - counts * mean**2
    threshold = mean - np.sqrt(np.maximum((1 - spread) / counts, 0.0))
    support = np.count_nonzero(threshold <= ordered, axis=1)[:, None]
    tau = np.take_along_axis(threshold, support - 1, axis=1)
    return np.maximum(half - tau, 0.0) ** 2


LEAST_SPACING = 1e-4
"""Least distance of the scales of two separate heads, relative to 1 + the largest scale.

Their divided difference loses the inverse of it to rounding; H heads that all come together lose its power 1 - H.
"""

LARGEST_EXPONENT = 700.0
"""Largest exponent used: exp(710) overflows in float64."""


@dataclass(frozen=True)
class ParameterSpace:
    """The free parameters of an attention, packed into one vector: scales, log head weights, bias, the kernel's own.

    Attributes:
        heads, directions: H and p of the scales a_h in R^p.
        joint: number of free log head weights log c_h (H - 1 under a common normaliser, else 0).
        has_bias: whether a constant bias is free.
        own: names of the kernel's own parameters.
        spacing: least distance of the scales of separate heads, relative to 1 + the largest scale.
    """

    heads: int
    directions: int
    joint: int
    has_bias: bool
    own: tuple[str, ...]
    spacing: float

    @classmethod
    def of(cls, attend: AttentionFunction) -> ParameterSpace:
        attention = attend.attention
        joint = attention.heads - 1 if attention.is_joint else 0
        own = tuple(str(symbol) for symbol in attend.own)
        is_alone = attention.heads == 1 or attention.is_joint
        spacing = 0.0 if is_alone else LEAST_SPACING ** (2 / attention.heads)
        return cls(attention.heads, attend.setting.directions, joint, attention.bias == "free", own, spacing)

    @property
    def count(self) -> int:
        return self._scales + self.joint + self.has_bias + len(self.own)

    @property
    def _scales(self) -> int:
        return self.heads * self.directions

    def unpacked(self, vector: Any) -> ParameterValues:
        """The parameters that a vector (count,) holds, with separate heads moved at least ``spacing`` apart."""
        scales, rest = self._separated(vector), vector[self._scales :]
        weights = np.concatenate([[0.0], rest[: self.joint]]) if self.joint else np.zeros(self.heads)
        bias = float(rest[self.joint]) if self.has_bias else 0.0
        own = tuple(float(number) for number in rest[self.joint + self.has_bias :])
        return ParameterValues(scales, weights, bias, own)

    def merged_heads(self, vector: Any) -> tuple[int, int] | None:
        """The first two heads, counted from 1, that are closer than ``spacing`` in a vector (count,); None where none are."""
        scales, least = self._split(vector)
        pairs = combinations(range(self.heads), 2)
        return next(((j + 1, k + 1) for j, k in pairs if np.linalg.norm(scales[j] - scales[k]) < least), None)

    def _split(self, vector: Any) -> tuple[Any, float]:
        """The scales (H, p) of a vector (count,), and the least distance of separate heads."""
        scales = vector[: self._scales].reshape(self.heads, self.directions)
        return scales, self.spacing * (1 + float(np.max(np.abs(scales))))

    def _separated(self, vector: Any) -> Any:
        """The scales (H, p) of a vector (count,), two separate heads at distance d moved to the distance (d^2 + least^2)^(1/2).

        The risk is even in d, and so remains a smooth function of the vector.
        """
        scales, least = self._split(vector)
        if not least:
            return scales
        scales = scales.copy()
        for j, k in combinations(range(self.heads), 2):
            middle, difference = (scales[j] + scales[k]) / 2, scales[k] - scales[j]
            distance = float(np.linalg.norm(difference))
            along = difference / distance if distance else np.eye(self.directions)[0]
            half = np.hypot(distance, least) / 2 * along
            scales[j], scales[k] = middle - half, middle + half
        return scales

    def by_name(self, vector: Any, extents: Any, unit: float) -> dict[str, tuple[float, float, float]]:
        """(value, lower end, upper end) of every parameter, by the name it is printed with.

        Args:
            vector: parameters, shape (count,).
            extents: how far below and above these the true ones may lie, shape (2, count).
            unit: scales are divided by it.
        """
        found, spaced = {}, self._separated(vector).ravel()
        moved = np.zeros(self.count)
        moved[: self._scales] = np.abs(spaced - vector[: self._scales])
        extents, vector = extents + moved, np.concatenate([spaced, vector[self._scales :]])
        for k, name in enumerate(self._names()):
            at, low, high = float(vector[k]), float(vector[k] - extents[0, k]), float(vector[k] + extents[1, k])
            if k < self._scales:
                at, low, high = at / unit, low / unit, high / unit
            elif k < self._scales + self.joint:
                at, low, high = exp(at), exp(low), exp(min(high, LARGEST_EXPONENT))
            found[name] = at, low, high
        return found

    def _names(self) -> list[str]:
        marks = [
            [str(h + 1)] * (self.heads > 1) + [str(d + 1)] * (self.directions > 1)
            for h in range(self.heads)
            for d in range(self.directions)
        ]
        names = ["_".join(["a", *mark]) for mark in marks]
        return [*names, *(f"c_{h + 2}" for h in range(self.joint)), *["b"] * self.has_bias, *self.own]
