"""Attentions as functions of many sequences of keys at once, in float64."""

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
from symslr.evaluation.location.setting import Setting, over_positions, times_keys, written_out
from symslr.evaluation.numbers.logarithm import signed_log
from symslr.model.attention import Attention
from symslr.model.breakpoints import breakpoint_equations
from symslr.model.location.attention import LocatedAttention, Selection
from symslr.model.location.covariance import Covariance
from symslr.model.symbols import x

LARGEST = 345.0
"""log of the largest weight without a normaliser: sums of squares of such are float64."""
USUAL = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Keys along a head's direction."""
SAME = 1e-12
"""Relative difference below which biases are one number."""
NEAR = 0.1
"""Distance of scales, relative to 1 + their size, below which differences of heads stand for the heads."""
LARGEST_BIAS = 1e12
"""A bias beyond which nothing is left of a key beside it."""


@dataclass(frozen=True)
class Place:
    """Where in its parameters an attention stands.

    Attributes:
        scales: a_h, (H, p).
        weights: log c_h, (H,), of heads that share a normaliser; 0 for the first.
        bias: the free constant.
        own: the kernel's own parameters.
    """

    scales: Any
    weights: Any
    bias: float
    own: tuple[float, ...]

    @property
    def slope(self) -> float:
        """The largest scale, of either sign."""
        return float(np.max(np.abs(self.scales)))


@dataclass(frozen=True)
class Attend:
    """An attention on the sequences of a setting.

    Attributes:
        attention, setting: these.
        written: the attention as it is for all lengths, where a bias of this one is in its kernel.
    """

    attention: LocatedAttention
    setting: Setting
    written: LocatedAttention | None = None

    @classmethod
    def of(cls, attention: LocatedAttention, setting: Setting) -> Attend:
        """With a bias that turns out the same at every position in the kernel, or in the offset."""
        bias = cls(attention, setting).bias
        if bias is None or np.ptp(bias) > SAME * np.max(np.abs(bias)):
            return cls(attention, setting)
        return cls(replace(attention, bias=Rational(float(bias[0]))).with_constant_inside(), setting, attention)

    @property
    def is_selection(self) -> bool:
        return isinstance(self.attention.base, Selection)

    @cached_property
    def has_one_kernel(self) -> bool:
        """Whether the weights are kernels of single keys, under one normaliser or none."""
        alone = self.attention.heads == 1 or self.attention.is_joint
        return alone and not self.is_selection and self.filter is None

    @cached_property
    def is_elementwise(self) -> bool:
        """Whether the weights of every head are kernels of single keys, which nothing normalises."""
        base = self.attention.base
        return isinstance(base, Attention) and not base.is_normalised and self.filter is None

    @cached_property
    def own(self) -> tuple[Expr, ...]:
        """The kernel's own parameters."""
        base = self.attention.base
        return () if isinstance(base, Selection) else tuple(sorted(base.parameters, key=str))

    @cached_property
    def breaks_at_zero(self) -> bool:
        """Whether the kernel is not smooth at 0, as seen from its form."""
        base = self.attention.base
        return not isinstance(base, Selection) and any(e.subs(x, 0) == 0 for e in breakpoint_equations(base.kernel, x))

    @cached_property
    def signed_log_kernel(self) -> Callable[..., tuple[Any, Any]]:
        """(sign of kappa(x, *own), log of its absolute value) on arrays, of what leaves the range of float64 too."""
        base = self.attention.base
        assert isinstance(base, Attention)
        function = signed_log(base.kernel, (x, *self.own))

        def of(points: Any, *own: float) -> tuple[Any, Any]:
            with np.errstate(all="ignore"):
                sign, log = function(points, *own)
            return sign, np.broadcast_to(np.asarray(log, dtype=float), points.shape)

        return of

    @cached_property
    def bias(self) -> Any:
        """b_l, (L,), or (1,) where all positions are alike; None where it is nothing or the free constant alone.

        Raises:
            CannotEvaluate: where every position is relevant, of which an attention without a normaliser has no best bias.
            ValueError: where it is infinite, or not real, at a position.
        """
        bias, setting = self.attention.bias, self.setting
        if bias is None or bias == "free":
            return None
        if bias != "matched":
            found = over_positions(bias, setting.length)
            bad = np.flatnonzero(~(np.abs(found) <= LARGEST_BIAS))
            if len(bad):
                raise ValueError(
                    f"bias {bias}: found {found[bad[0]]:g} at l={bad[0] + 1}; expected a number of at most {LARGEST_BIAS:g} in "
                    "size at every position"
                )
            return found
        base = self.attention.base
        alone = isinstance(base, Attention) and not base.is_normalised
        own = setting.log_odds if alone or not setting.size else setting.log_prior
        if not np.all(np.isfinite(own)):
            raise CannotEvaluate("bias matched: every position is relevant; expected fewer than there are, or no bias")
        return own - setting.strength / 2 * float(setting.shares @ setting.norms) * setting.precision_diagonal

    @cached_property
    def filter(self) -> Any:
        """F, (L, L), or None."""
        chosen = self.attention.filter
        if chosen is None:
            return None
        if isinstance(chosen, Covariance):
            return written_out(chosen, self.setting.length)
        return None if self.setting.are_keys_independent else self.setting.precision

    def filtered(self, keys: Any) -> Any:
        """F chi, (n, L, p)."""
        return keys if self.filter is None else times_keys(self.filter, keys)

    def weights(self, scores: Any, place: Place) -> Any:
        """sigma of every head that has a value vector of its own, (n, L, heads), from filtered keys.

        Raises:
            CannotEvaluate: where a kernel overflows.
        """
        seen = scores @ place.scales.T
        if isinstance(self.attention.base, Selection):
            leaning = seen if self.bias is None else seen + self.bias[:, None]
            found = np.stack([_selected(self.attention.base, s) for s in np.moveaxis(leaning, 2, 0)], axis=-1)
        elif not self.attention.base.is_normalised:
            constant = place.bias if self.bias is None else place.bias + self.bias[:, None]
            found = self._alone(seen + constant, place)
        else:
            found = self._normalised(seen, place)
        if not np.all(np.isfinite(found)):
            raise CannotEvaluate(
                f"attention {self.attention.name}: overflows in float64 at this scale; expected a smaller one"
            )
        return found

    def _normalised(self, seen: Any, place: Place) -> Any:
        base = self.attention.base
        assert isinstance(base, Attention)
        offset = float(base.offset)
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

    def log_kernel(self, keys: Any, place: Place) -> Any:
        """log sum_h c_h kappa(a_h.x) of single tokens, (n,), from keys (n, p); -oo where all of them vanish.

        Raises:
            CannotEvaluate: where the kernel is negative or no number.
        """
        sign, logs = self.signed_log_kernel(keys @ place.scales.T, *place.own)
        if np.any(np.asarray(sign) < 0) or np.any(np.isnan(logs)) or np.any(logs == np.inf):
            raise CannotEvaluate("kernel: negative or no number at a token that counts")
        return np.logaddexp.reduce(logs + place.weights + place.bias, axis=1)

    def elements(self, keys: Any, place: Place, bias: float) -> Any:
        """kappa(a_h.x + b) of single tokens, or what spans these, (n, H), where nothing normalises.

        Raises:
            CannotEvaluate: where its square overflows.
        """
        return spanning(self._alone(keys @ place.scales.T + (place.bias + bias), place), place.scales)

    def _alone(self, scores: Any, place: Place) -> Any:
        """kappa at scores over what it is at most at usual keys, where nothing normalises: value vectors take up any factor."""
        sign, logs = self.signed_log_kernel(scores, *place.own)
        logs = logs - self._usual_log(place)
        if not np.max(logs) < LARGEST:
            raise CannotEvaluate(f"attention {self.attention.name}: its mean square overflows in float64 at this scale")
        return sign * np.exp(logs)

    @cached_property
    def _as_written(self) -> Attend:
        return self if self.written is None else Attend(self.written, self.setting)

    def _usual_log(self, place: Place) -> float:
        """The largest log|kappa| at some keys of usual size, one for all lengths and positions; 0 where there is none."""
        scores = np.outer(USUAL, np.linalg.norm(place.scales, axis=1)) + place.bias
        _, logs = self._as_written.signed_log_kernel(scores, *place.own)
        finite = logs[np.isfinite(logs)]
        return float(np.max(finite)) if len(finite) else 0.0


def spanning(weights: Any, scales: Any) -> Any:
    """What spans the weights (..., H) of separate heads, of the same shape; of one head its weights.

    Newton's divided differences of heads whose scales (H, p) are near each other: the matrix of their mean products has an
    inverse where that of the heads themselves has lost the square of how near they are.
    """
    heads, size = weights.shape[-1], 1 + float(np.max(np.abs(scales)))
    if heads == 1:
        return weights
    order = np.lexsort(scales.T[::-1])
    scales, parts = scales[order], [weights[..., head] for head in order]
    for step in range(1, heads):
        for head in range(heads - 1, step - 1, -1):
            gaps = np.linalg.norm(np.diff(scales[head - step : head + 1], axis=0), axis=1)
            if np.max(gaps) < NEAR * size:
                apart = float(np.linalg.norm(scales[head] - scales[head - step]))
                parts[head] = (parts[head] - parts[head - 1]) / apart
    return np.stack(parts, axis=-1)


def _selected(selection: Selection, scores: Any) -> Any:
    """Weights of one head from its scores (n, L)."""
    if selection.kind == "top":
        if selection.size < scores.shape[1]:
            least = -np.partition(-scores, selection.size - 1, axis=1)[:, selection.size - 1 : selection.size]
            scores = np.where(scores >= least, scores, -np.inf)
        parts = np.exp(scores - scores.max(axis=1, keepdims=True))
        return parts / parts.sum(axis=1, keepdims=True)
    return _sparsemax(scores) if selection.kind == "sparsemax" else _entmax(scores)


def _sparsemax(scores: Any) -> Any:
    """The projection on the simplex. Source: arXiv 1602.02068, algorithm 1."""
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


TOGETHER = 1e-4
"""Two separate heads are never nearer than this, relative to 1 + the size of their scales: their difference is rounded by the
inverse of it, and that of H which all come together by the power 1 - H."""

MOST_LOG = 700.0
"""Beyond it an exponential is no number of float64."""


@dataclass(frozen=True)
class Parameters:
    """What the least risk of an attention is searched over.

    Attributes:
        heads, directions: of the scales a_h in R^p.
        joint: weights log c_h that are free, of the heads behind the first.
        has_bias: whether one constant bias is free.
        own: names of the kernel's own parameters.
        spacing: the least distance of separate heads, relative to 1 + the size of their scales.
    """

    heads: int
    directions: int
    joint: int
    has_bias: bool
    own: tuple[str, ...]
    spacing: float

    @classmethod
    def of(cls, attend: Attend) -> Parameters:
        attention = attend.attention
        joint = attention.heads - 1 if attention.is_joint else 0
        own = tuple(str(symbol) for symbol in attend.own)
        is_alone = attention.heads == 1 or attention.is_joint
        spacing = 0.0 if is_alone else TOGETHER ** (2 / attention.heads)
        return cls(attention.heads, attend.setting.directions, joint, attention.bias == "free", own, spacing)

    @property
    def count(self) -> int:
        return self._scales + self.joint + self.has_bias + len(self.own)

    @property
    def _scales(self) -> int:
        return self.heads * self.directions

    def placed(self, vector: Any) -> Place:
        """The place that a vector (count,) stands for; separate heads stand a least distance apart."""
        scales, rest = self._apart(vector), vector[self._scales :]
        weights = np.concatenate([[0.0], rest[: self.joint]]) if self.joint else np.zeros(self.heads)
        bias = float(rest[self.joint]) if self.has_bias else 0.0
        own = tuple(float(number) for number in rest[self.joint + self.has_bias :])
        return Place(scales, weights, bias, own)

    def together(self, vector: Any) -> tuple[int, int] | None:
        """Two heads, counted from 1, that a vector (count,) has nearer than they may be; None where there are none."""
        scales, least = self._split(vector)
        pairs = combinations(range(self.heads), 2)
        return next(((j + 1, k + 1) for j, k in pairs if np.linalg.norm(scales[j] - scales[k]) < least), None)

    def _split(self, vector: Any) -> tuple[Any, float]:
        """The scales (H, p) of a vector (count,), and the least distance of separate heads."""
        scales = vector[: self._scales].reshape(self.heads, self.directions)
        return scales, self.spacing * (1 + float(np.max(np.abs(scales))))

    def _apart(self, vector: Any) -> Any:
        """The scales (H, p) of a vector (count,), where two separate heads at a distance d stand (d^2 + least^2)^(1/2) apart.

        Of an even function of d this is a smooth one.
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

    def printed(self, vector: Any, extents: Any, unit: float) -> dict[str, tuple[float, float, float]]:
        """Every parameter by the name it prints with: where it stands, and the ends between which it may lie.

        Args:
            vector: (count,), where the parameters stand.
            extents: (2, count), how far below and above that they may lie.
            unit: what scales are divided by.
        """
        found, spaced = {}, self._apart(vector).ravel()
        moved = np.zeros(self.count)
        moved[: self._scales] = np.abs(spaced - vector[: self._scales])
        extents, vector = extents + moved, np.concatenate([spaced, vector[self._scales :]])
        for k, name in enumerate(self._names()):
            at, low, high = float(vector[k]), float(vector[k] - extents[0, k]), float(vector[k] + extents[1, k])
            if k < self._scales:
                at, low, high = at / unit, low / unit, high / unit
            elif k < self._scales + self.joint:
                at, low, high = exp(at), exp(low), exp(min(high, MOST_LOG))
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
