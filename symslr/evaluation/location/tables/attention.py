"""Moments of an attention with one normaliser, or none, among independent tokens, and among those of one correlation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sympy import S

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.attend import Attend, Place
from symslr.evaluation.location.setting import Setting, common_part
from symslr.evaluation.location.tables import laplace
from symslr.evaluation.location.tables.rules import Rule, has_grid, key_step
from symslr.evaluation.location.tables.tokens import Nodes, around_zero, nodes, reach_of
from symslr.model.attention import Attention
from symslr.model.location.covariance import Equicorrelated
from symslr.model.location.where import Independent, OnePosition

GENTLE, STEEP, ANY = 0.5, 0.6, 0.62
"""Steps of what all keys share, in its standard deviations.

The last is one that every attention allows, times sqrt(1 + L d^2), d the deviation of what is shared in a key's own: seen from
there a mean over L keys grows by no more than e^{L d^2 t^2/2} at a distance t from the real axis, so that errors fall as
exp(-2 pi^2/step^2). A gentle attention allows more: the first, and the second over the scale and d, as for an exponential kernel,
whose poles are pi over the scale away, errors fall as exp(-2 pi^2/step).
"""
SHARED_REACH = 8.6
"""Standard deviations of what all keys share: beyond lies less than 1e-17 of its mass."""
LEAST_PART = 1e-18
"""Of a mean square, at the least keys beside a pole: the terms beyond fall at a rate of some percent and more."""
MOST_VALUES = 2**24
"""Nodes of a token times different biases, of an attention without a normaliser."""


def is_tabled(attend: Attend, setting: Setting) -> bool:
    """Whether one-token tables give the moments in a setting with independent keys."""
    base, alike = attend.attention.base, attend.bias is None
    is_quick = attend.attention.heads == 1 or has_grid(setting)
    if not ((attend.has_one_kernel or attend.is_elementwise) and is_quick) or not isinstance(base, Attention):
        return False
    if not (setting.are_values_independent or _has_common_values(attend, setting)):
        return False
    return not base.is_normalised or isinstance(setting.task.location, OnePosition) or (setting.is_uniform and alike)


def _has_common_values(attend: Attend, setting: Setting) -> bool:
    """Whether values have one correlation, and attentions sum to 1 as the read-out does."""
    covariance, base = setting.task.value_covariance, attend.attention.base
    sums = isinstance(base, Attention) and base.is_normalised and base.offset == 0
    common = covariance is not None and isinstance(covariance.structure, Equicorrelated)
    return common and sums and not isinstance(setting.task.location, Independent)


def given_common_part(setting: Setting) -> tuple[Setting, float, float] | None:
    """The setting given the part that all keys share, in units of a key's own deviation, that, and the part's in it.

    None where keys are not of one positive correlation.
    """
    found = common_part(setting.task.key_covariance)
    if found is None or setting.directions > 1:
        return None
    common, own = (float(part) for part in found)
    return setting.of_independent_keys(found[1]), own**0.5, (common / own) ** 0.5


def given_no_others(attend: Attend, setting: Setting) -> tuple[Setting, float] | None:
    """The setting with independent keys, in units of a key's deviation, and that, where weights have no normaliser.

    Then keys count one by one, whatever they share. None where they have one, or where their variances differ.
    """
    covariance, base = setting.task.key_covariance, attend.attention.base
    variance = S.One if covariance is None else covariance.variance
    if variance is None or not isinstance(base, Attention) or base.is_normalised:
        return None
    return setting.of_independent_keys(variance), float(variance) ** 0.5


def shared_row(attend: Attend, place: Place, parts: tuple[Setting, float, float], rule: Rule) -> Any:
    """Means over the part that all keys share, which shifts them.

    Args:
        parts: what ``given_common_part`` finds.
    """
    setting, unit, deviation = parts
    inner = replace(place, scales=unit * place.scales)
    gentle = min(GENTLE, STEEP / max(deviation * inner.slope, 1e-300))
    step = rule.key * max(gentle, ANY / np.sqrt(1 + setting.length * deviation**2))
    half = int(SHARED_REACH / step)
    at = step * np.arange(-half, half + 1)
    mass = np.exp(-(at**2) / 2) / np.sum(np.exp(-(at**2) / 2))
    return sum(m * tabled_row(attend, setting, inner, rule, deviation * part) for m, part in zip(mass, at))


def tabled_row(attend: Attend, setting: Setting, place: Place, rule: Rule, shift: float = 0.0) -> Any:
    """The row of moments with independent keys, all of which are shifted before the attention."""
    base, (line, place) = attend.attention.base, _as_seen(setting, place)
    assert isinstance(base, Attention)
    if not base.is_normalised:
        reach = far_enough(attend, line, place, shift)
        is_split = attend.breaks_at_zero and line.directions == 1 and attend.bias is None and place.bias == shift == 0
        if is_split:
            found = around_zero(line, key_step(line, rule, place.slope) / 2, reach)
            return _elementwise(setting, found, None, lambda _: _fallen(found, attend.elements(found.keys, place, 0.0)))
        found = nodes(line, key_step(line, rule, place.slope), 0.0, reach)
        return _elementwise(setting, found, attend.bias, lambda b: attend.elements(found.keys + shift, place, b))

    def of(keys: Any) -> Any:
        return attend.log_kernel(keys + shift, place)

    if line.directions == 1:
        found, log_kernel = rule.panels.on(line, of, place.slope)
    else:
        found = nodes(line, key_step(line, rule, place.slope), rule.least)
        log_kernel = of(found.keys)
    offset = float(base.offset)
    if isinstance(setting.task.location, OnePosition):
        positions = laplace.positions(setting, attend.bias)
        hit, norm, _ = laplace.one_position(found, log_kernel, positions, offset, rule)
    else:
        hit, norm = laplace.exchangeable(found, log_kernel, setting, offset, rule)
    return _common(setting, row(setting, hit, norm))


def far_enough(attend: Attend, line: Setting, place: Place, shift: float = 0.0) -> float:
    """Standard deviations of a key within which weights without a normaliser have their mean squares, at every bias.

    Raises:
        CannotEvaluate: where they overflow before, or have none.
    """
    biases = (0.0,) if attend.bias is None else (float(np.min(attend.bias)), float(np.max(attend.bias)))

    def found(bias: float) -> float:
        return reach_of(line, lambda keys: np.linalg.norm(attend.elements(keys + shift, place, bias), axis=1))

    return max(map(found, biases))


def _as_seen(setting: Setting, place: Place) -> tuple[Setting, Place]:
    """Keys along the direction in which a single head looks: tokens count by their scores alone, which are Gaussian again."""
    if setting.directions == 1 or len(place.scales) > 1:
        return setting, place
    slope = float(np.linalg.norm(place.scales))
    direction = place.scales[0] / slope if slope else np.eye(setting.directions)[0]
    line = replace(setting, values=(setting.values @ direction)[:, None])
    return line, replace(place, scales=np.array([[slope]]))


def _common(setting: Setting, plain: Any) -> Any:
    """The row, or the same with values of one correlation, where all that is common is known."""
    covariance = setting.task.value_covariance
    if covariance is None:
        return plain
    found = covariance.structure
    assert isinstance(found, Equicorrelated)
    variance, rho = float(found.variance), float(found.correlation)
    return variance * ((1 - rho) * plain + rho)


def _elementwise(setting: Setting, found: Nodes, bias: Any, values: Callable[[float], Any]) -> Any:
    """The row without a normaliser: sums over positions, those of the same bias together, of values (n, H)."""
    hit, norm, size = 0.0, 0.0, max(setting.size, 1)
    relevant, others = setting.expected, setting.length - setting.expected
    for lean, ours, theirs in _grouped(setting, bias, relevant, others, MOST_VALUES // len(found.keys)):
        seen = values(lean)
        hit = hit + ours * (found.relevant @ seen) / size
        norm = norm + (seen.T * (ours * found.relevant + theirs * found.others)) @ seen
    return row(setting, hit, norm)


def _fallen(found: Nodes, seen: Any) -> Any:
    """Weights at nodes around 0, where their squares have a mean.

    Raises:
        CannotEvaluate: where the least keys still count.
    """
    with np.errstate(over="ignore"):
        parts = np.sum(seen**2, axis=1) * (found.others + found.relevant)
    least = np.argsort(np.abs(found.keys[:, 0]))[:2]
    if not np.sum(parts[least]) < LEAST_PART * np.sum(parts):
        raise CannotEvaluate(
            "attention: the mean square of the weight has no value seen in float64: a pole is too strong"
        )
    return seen


def _grouped(
    setting: Setting, bias: Any, relevant: float, others: float, most: int
) -> Iterator[tuple[float, float, float]]:
    """Every different bias, and how many relevant and other tokens have it on average."""
    if bias is None:
        yield 0.0, relevant, others
        return
    leans, which = np.unique(bias, return_inverse=True)
    if len(leans) > most:
        raise CannotEvaluate(f"bias: found {len(leans)} different ones; expected at most {most}")
    odds = np.broadcast_to(setting.log_odds, (setting.length,))
    counts = (np.bincount(which.ravel(), 1 / (1 + np.exp(sign * odds))) for sign in (-1, 1))
    yield from zip(leans.tolist(), *(count.tolist() for count in counts))


def row(setting: Setting, hit: Any, norm: Any) -> Any:
    """All products of (r, sigma_1, ...) with independent values: E |r|^2, E r^T sigma_h (H,), E sigma_h^T sigma_k (H, H)."""
    own, hit = np.atleast_2d(setting.expected / max(setting.size, 1) ** 2), np.atleast_2d(hit)
    return np.block([[own, hit], [hit.T, np.atleast_2d(norm)]]).ravel()
