"""Moments of an attention with one normaliser, or none, for independent keys and for equally correlated ones, by quadrature."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sympy import S

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.attention_function import AttentionFunction, ParameterValues
from symslr.evaluation.location.setting import Setting, shared_and_own_variance
from symslr.evaluation.location.tables import laplace
from symslr.evaluation.location.tables.rules import Rule, has_grid, key_step
from symslr.evaluation.location.tables.tokens import Nodes, mean_square_reach, nodes, nodes_around_zero
from symslr.model.location.covariance import Equicorrelated
from symslr.model.location.where import Independent, OnePosition

GENTLE_STEP, STEEP_STEP, SAFE_STEP = 0.5, 0.6, 0.62
"""Steps of the trapezoid rule over the part z that all keys share, z ~ N(0, 1); d is its deviation in units of a key's own.

SAFE_STEP/sqrt(1 + L d^2) suits every attention: at imaginary distance t from the real axis a mean over L keys grows by at most
e^{L d^2 t^2/2}, so the error is exp(-2 pi^2/SAFE_STEP^2). A gentle attention allows min(GENTLE_STEP, STEEP_STEP/(a d)), a the
scale: an exponential kernel has its poles at the distance pi/(a d), and the error is exp(-2 pi^2/STEEP_STEP).
"""
SHARED_REACH = 8.6
"""Range of z, in standard deviations: beyond lies less than 1e-17 of its mass."""
LEAST_PART = 1e-18
"""Share of a mean square that the two keys nearest to a pole may hold: the terms nearer still fall by some per cent from one to the
next, or faster."""
MOST_VALUES = 2**24
"""Most nodes of a token times different biases, without a normaliser."""


def is_tabled(attend: AttentionFunction, setting: Setting) -> bool:
    """Whether one-token tables give the moments in a setting with independent keys."""
    attention = attend.attention
    is_quick = attention.heads == 1 or has_grid(setting)
    if not ((attend.has_one_kernel or attend.is_elementwise) and is_quick) or attention.is_selection:
        return False
    if not (setting.are_values_independent or _has_common_values(attend, setting)):
        return False
    alike = isinstance(setting.task.location, OnePosition) or (setting.is_uniform and attend.bias is None)
    return not attention.is_normalised or alike


def _has_common_values(attend: AttentionFunction, setting: Setting) -> bool:
    """Whether values have one correlation, and attentions sum to 1 as the read-out does."""
    covariance, attention = setting.task.value_covariance, attend.attention
    sums = not attention.is_selection and attention.is_normalised and attention.offset == 0
    common = covariance is not None and isinstance(covariance.structure, Equicorrelated)
    return common and sums and not isinstance(setting.task.location, Independent)


def given_common_part(setting: Setting) -> tuple[Setting, float, float] | None:
    """(setting with independent keys, d, c/d), for keys d (xi_l + (c/d) zeta), in units of d; None unless all pairs have one
    positive correlation and there is one direction.

    zeta is the part that all keys share. The setting is that of the keys given zeta, measured in units of d.
    """
    found = shared_and_own_variance(setting.task.key_covariance)
    if found is None or setting.directions > 1:
        return None
    common, own = (float(part) for part in found)
    return setting.with_independent_keys(found[1]), own**0.5, (common / own) ** 0.5


def as_independent_keys(attend: AttentionFunction, setting: Setting) -> tuple[Setting, float] | None:
    """(setting with independent keys in units of their deviation, that deviation), for weights without a normaliser.

    Their moments depend on the law of single keys only, whatever the correlations. None with a normaliser, or unequal variances.
    """
    covariance = setting.task.key_covariance
    variance = S.One if covariance is None else covariance.variance
    if variance is None or attend.attention.is_normalised:
        return None
    return setting.with_independent_keys(variance), float(variance) ** 0.5


def shared_row(
    attend: AttentionFunction, place: ParameterValues, parts: tuple[Setting, float, float], rule: Rule
) -> Any:
    """The row of moments for equally correlated keys: the mean of ``tabled_row`` over the part that shifts all keys.

    Args:
        parts: the result of ``given_common_part``.
    """
    setting, unit, deviation = parts
    inner = replace(place, scales=unit * place.scales)
    gentle = min(GENTLE_STEP, STEEP_STEP / max(deviation * inner.slope, 1e-300))
    step = rule.key * max(gentle, SAFE_STEP / np.sqrt(1 + setting.length * deviation**2))
    half = int(SHARED_REACH / step)
    at = step * np.arange(-half, half + 1)
    mass = np.exp(-(at**2) / 2) / np.sum(np.exp(-(at**2) / 2))
    return sum(m * tabled_row(attend, setting, inner, rule, deviation * part) for m, part in zip(mass, at))


def tabled_row(
    attend: AttentionFunction, setting: Setting, place: ParameterValues, rule: Rule, shift: float = 0.0
) -> Any:
    """The row of moments for independent keys; the attention sees every key plus ``shift``."""
    attention, (line, place) = attend.attention, _along_head(setting, place)
    if not attention.is_normalised:
        reach = attention_reach(attend, line, place, shift)
        is_split = attend.breaks_at_zero and line.directions == 1 and attend.bias is None and place.bias == shift == 0
        if is_split:
            found = nodes_around_zero(line, key_step(line, rule, place.slope) / 2, reach)
            return _elementwise(
                setting,
                found,
                None,
                lambda _: _checked_at_zero(found, attend.unnormalised_kernels(found.keys, place, 0.0)),
            )
        found = nodes(line, key_step(line, rule, place.slope), 0.0, reach)
        return _elementwise(
            setting, found, attend.bias, lambda b: attend.unnormalised_kernels(found.keys + shift, place, b)
        )

    def of(keys: Any) -> Any:
        return attend.log_kernel(keys + shift, place)

    if line.directions == 1:
        found, log_kernel = rule.panels.nodes_for(line, of, place.slope)
    else:
        found = nodes(line, key_step(line, rule, place.slope), rule.least)
        log_kernel = of(found.keys)
    offset = float(attention.offset)
    if isinstance(setting.task.location, OnePosition):
        positions = laplace.positions(setting, attend.bias)
        hit, norm, _ = laplace.one_position(found, log_kernel, positions, offset, rule)
    else:
        hit, norm = laplace.exchangeable(found, log_kernel, setting, offset, rule)
    return _with_common_values(setting, row(setting, hit, norm))


def attention_reach(attend: AttentionFunction, line: Setting, place: ParameterValues, shift: float = 0.0) -> float:
    """Range of a key, in standard deviations, that holds the mean square of weights without a normaliser, at every bias.

    Raises:
        CannotEvaluate: where the weights overflow, or grow as fast as the density of a key falls.
    """
    biases = (0.0,) if attend.bias is None else (float(np.min(attend.bias)), float(np.max(attend.bias)))

    def found(bias: float) -> float:
        return mean_square_reach(
            line, lambda keys: np.linalg.norm(attend.unnormalised_kernels(keys + shift, place, bias), axis=1)
        )

    return max(map(found, biases))


def _along_head(setting: Setting, place: ParameterValues) -> tuple[Setting, ParameterValues]:
    """The setting and scales projected on the direction of a single head: it sees keys along that direction only."""
    if setting.directions == 1 or len(place.scales) > 1:
        return setting, place
    slope = float(np.linalg.norm(place.scales))
    direction = place.scales[0] / slope if slope else np.eye(setting.directions)[0]
    line = replace(setting, values=(setting.values @ direction)[:, None])
    return line, replace(place, scales=np.array([[slope]]))


def _with_common_values(setting: Setting, plain: Any) -> Any:
    """The row for equally correlated values from that for independent ones: weights and read-out sum to 1, so the common part is
    1."""
    covariance = setting.task.value_covariance
    if covariance is None:
        return plain
    found = covariance.structure
    assert isinstance(found, Equicorrelated)
    variance, rho = float(found.variance), float(found.correlation)
    return variance * ((1 - rho) * plain + rho)


def _elementwise(setting: Setting, found: Nodes, bias: Any, values: Callable[[float], Any]) -> Any:
    """The row without a normaliser: sums over positions, grouped by bias.

    Args:
        values: from a bias to the weights at the nodes, (n, H).
    """
    hit, norm, size = 0.0, 0.0, max(setting.size, 1)
    relevant, others = setting.expected, setting.length - setting.expected
    for lean, ours, theirs in _tokens_by_bias(setting, bias, relevant, others, MOST_VALUES // len(found.keys)):
        seen = values(lean)
        hit = hit + ours * (found.relevant @ seen) / size
        norm = norm + (seen.T * (ours * found.relevant + theirs * found.others)) @ seen
    return row(setting, hit, norm)


def _checked_at_zero(found: Nodes, seen: Any) -> Any:
    """The weights at nodes around 0, after a check that their mean square converges there.

    Raises:
        CannotEvaluate: where the two nodes nearest to 0 hold more than ``LEAST_PART`` of it.
    """
    with np.errstate(over="ignore"):
        parts = np.sum(seen**2, axis=1) * (found.others + found.relevant)
    least = np.argsort(np.abs(found.keys[:, 0]))[:2]
    if not np.sum(parts[least]) < LEAST_PART * np.sum(parts):
        raise CannotEvaluate(
            "attention: the mean square of the weight has no value seen in float64: a pole is too strong"
        )
    return seen


def _tokens_by_bias(
    setting: Setting, bias: Any, relevant: float, others: float, most: int
) -> Iterator[tuple[float, float, float]]:
    """(bias, expected number of relevant tokens, of others) for every different bias."""
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
