"""Moments of an attention with one normaliser, or none, among independent tokens, and among those of one correlation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.attend import Attend, Place
from symslr.evaluation.location.setting import Setting, common_part
from symslr.evaluation.location.tables import laplace
from symslr.evaluation.location.tables.rules import Rule, has_grid, rules
from symslr.evaluation.location.tables.tokens import Nodes, nodes
from symslr.model.attention import Attention
from symslr.model.location.covariance import Equicorrelated
from symslr.model.location.where import Independent, OnePosition

SHARED = ((0.5, 0.6), (0.57, 0.68), (0.8, 1.2))
"""Steps of what all keys share, in its standard deviations and times the slope of log kappa: of two rules, and of a search.

Errors fall as exp(-2 pi^2/step), as a kernel's poles are pi over its slope away.
"""
SHARED_REACH = 8.6
MOST_VALUES = 2**24
"""Nodes of a token times different biases, of an attention without a normaliser."""


def is_tabled(attend: Attend, setting: Setting) -> bool:
    """Whether one-token tables give the moments in a setting with independent keys."""
    base, alike = attend.attention.base, attend.bias is None
    if not (attend.has_one_kernel and has_grid(setting)) or not isinstance(base, Attention):
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
    covariance = setting.task.key_covariance
    assert covariance is not None
    assert isinstance(covariance.structure, Equicorrelated)
    own = covariance.structure.own_variance
    plain = Setting.of(replace(setting.task, key_covariance=None, strength=setting.task.strength / own))
    return plain, found[1] ** 0.5, (found[0] / found[1]) ** 0.5


def shared_row(attend: Attend, place: Place, parts: tuple[Setting, float, float], which: int) -> Any:
    """Means over the part that all keys share, which shifts them.

    Args:
        parts: what ``given_common_part`` finds.
        which: 0 for the fine rule, 1 for the coarse one, 2 for that of a search.
    """
    setting, unit, deviation = parts
    inner, rule, (widest, steep) = replace(place, scales=unit * place.scales), rules(setting)[which], SHARED[which]
    step = min(widest, steep / max(deviation * inner.slope, 1e-300))
    half = int(SHARED_REACH / step)
    at = step * np.arange(-half, half + 1)
    mass = np.exp(-(at**2) / 2) / np.sum(np.exp(-(at**2) / 2))
    return sum(m * tabled_row(attend, setting, inner, rule, deviation * part) for m, part in zip(mass, at))


def tabled_row(attend: Attend, setting: Setting, place: Place, rule: Rule, shift: float = 0.0) -> Any:
    """The row of moments with independent keys, all of which are shifted before the attention."""
    found = nodes(setting, rule.step(place.slope), rule.least)
    base = attend.attention.base
    assert isinstance(base, Attention)
    if not base.is_normalised:
        return _elementwise(setting, found, attend.bias, lambda b: attend.elements(found.keys + shift, place, b))
    log_kernel = attend.log_kernel(found.keys + shift, place)
    offset = float(base.offset)
    if isinstance(setting.task.location, OnePosition):
        positions = laplace.positions(setting, attend.bias)
        moments = laplace.one_position(found, log_kernel, positions, offset, rule.load, rule.least)
        return _common(setting, 1.0, moments)
    moments = laplace.exchangeable(found, log_kernel, setting, offset, rule.load, rule.least)
    if isinstance(setting.task.location, Independent):
        return row(setting.length * float(setting.coins[0]), moments.hit, moments.norm)
    return _common(setting, 1 / setting.size, moments)


def _common(setting: Setting, own: float, moments: laplace.Moments) -> Any:
    """The row, or the same with values of one correlation, where all that is common is known."""
    plain, covariance = row(own, moments.hit, moments.norm), setting.task.value_covariance
    if covariance is None:
        return plain
    found = covariance.structure
    assert isinstance(found, Equicorrelated)
    variance, rho = float(found.variance), float(found.correlation)
    return variance * ((1 - rho) * plain + rho)


def _elementwise(setting: Setting, found: Nodes, bias: Any, values: Callable[[float], Any]) -> Any:
    """The row without a normaliser: sums over positions, those of the same bias together."""
    hit, norm, size = 0.0, 0.0, max(setting.size, 1)
    relevant, others = setting.expected, setting.length - setting.expected
    for lean, ours, theirs in _grouped(setting, bias, relevant, others, MOST_VALUES // len(found.keys)):
        seen = values(lean)
        hit += ours * float(found.relevant @ seen) / size
        norm += ours * float(found.relevant @ seen**2) + theirs * float(found.others @ seen**2)
    return row(relevant / size**2, hit, norm)


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


def row(own: float, hit: float, norm: float) -> Any:
    """All products of (r, sigma): E r^T C r, E r^T C sigma twice, E sigma^T C sigma."""
    return np.array([own, hit, hit, norm])
