"""Second moments of an attention and of the read-out: the risk at the best value vectors is a least-squares residual.

With C = C_v, risk - Delta^2 = E r^T C r - b^T G^{-1} b, b_h = E[r^T C sigma_h], G_hk = E[sigma_h^T C sigma_k]. Moments are
means, so that those of a law of the length are mixtures; they are kept as one row, the matrix of all products of (r, sigma_1, ...).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.attend import Attend, Place
from symslr.evaluation.location.bayes import bayes_excess
from symslr.evaluation.location.chains import attention as along_chain
from symslr.evaluation.location.means import Means, Part, added, by_two_rules, mixed, residual
from symslr.evaluation.location.posterior import posterior
from symslr.evaluation.location.samples.attention import LargestKeys, Sampled
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.attention import (
    given_common_part,
    given_no_others,
    is_tabled,
    shared_row,
    tabled_row,
)
from symslr.evaluation.location.tables.rules import SEARCH, Rule
from symslr.evaluation.location.tables.selection import is_short, selected_row
from symslr.model.length_law import LengthLaw
from symslr.model.location.attention import LocatedAttention
from symslr.model.location.task import LocationTask

SETTLED = 1e-12
"""Relative difference of two rules that have come to rest: they fall exponentially, and the finer is better by far."""
UNSETTLED = 10.0
"""Where they fall as a power of the step, as at a kink, steps that differ by a fifth may differ by a third of the error."""
FINEST = 16
"""Times as many nodes."""
ROUNDING = 2.3e-16
"""Of every position along a chain."""


@dataclass(frozen=True)
class ByRules:
    """Rows by a fine and a coarse rule, and by one for a search.

    Attributes:
        is_random: whether a search has points of its own for every seed.
    """

    row: Callable[[Place, Rule], Any]
    method: str
    rounding: float = 1e-15
    is_random: bool = False

    def search(self, place: Place, seed: int = 0, rule: Rule = SEARCH) -> Any:
        """The row by one rule, up to a constant beside the read-out's own product: quick, and smooth in the place."""
        return self.row(place, rule)

    def means(self, place: Place) -> Means:
        """The rows by the other two, which are made finer until they agree, or no longer come closer."""
        found = by_two_rules(partial(self.row, place), self.method, self.rounding)
        factor = 1
        while (apart := _apart(found)) > SETTLED:
            factor *= 2
            try:
                closer = by_two_rules(partial(self.row, place), self.method, self.rounding, factor)
            except CannotEvaluate:
                break
            if factor > FINEST or _apart(closer) > apart / 2:
                break
            found = closer
        return found if apart <= SETTLED else replace(found, unsettled=UNSETTLED)


class Route(Protocol):
    """Where the row of moments comes from.

    Attributes:
        is_random: whether a search has points of its own for every seed.
    """

    @property
    def is_random(self) -> bool: ...

    def search(self, place: Place, seed: int = 0, rule: Rule = SEARCH) -> Any:
        """The row for a search: quick, and smooth in the place."""
        ...

    def means(self, place: Place) -> Means:
        """The row with its error."""
        ...


def route(attend: Attend, seconds: float) -> Route:
    """The best route to the moments of an attention.

    Args:
        seconds: processor time of one value that is sampled.
    """
    setting = attend.setting
    alone = (setting, 1.0) if setting.are_keys_independent else given_no_others(attend, setting)
    if alone is not None and is_tabled(attend, alone[0]):
        plain, unit = alone
        return ByRules(
            lambda place, rule: tabled_row(attend, plain, replace(place, scales=unit * place.scales), rule),
            "one-token tables in float64",
        )
    if attend.has_one_kernel and along_chain.reaches(setting, attend.bias is None):
        return ByRules(
            partial(along_chain.row_along, attend),
            "transfer operator along the chain in float64",
            1e-15 + ROUNDING * setting.length,
        )
    parts = given_common_part(setting)
    if parts is not None and is_tabled(attend, parts[0]):
        return ByRules(
            lambda place, rule: shared_row(attend, place, parts, rule),
            "one-token tables given what keys share in float64",
        )
    if is_short(attend):
        return ByRules(partial(selected_row, attend), "rules over the least score that gets weight and those above it")
    largest = LargestKeys(attend, seconds)
    return largest if largest.is_possible else Sampled(attend, seconds)


def _apart(found: Means) -> float:
    """The relative difference of two rules."""
    fine, coarse = found.rows
    return float(np.max(np.abs(fine - coarse)) / np.max(np.abs(fine)))


@dataclass(frozen=True)
class Risk:
    """The risk above Delta^2 of an attention at its best value vectors, which are the same at every length.

    Attributes:
        attend: the attention at one of the lengths.
        parts: the probability of every length, and the route to the moments there.
        beside: where a route has the posterior mean for the read-out, the probability of its length, and the Bayes risk there.
    """

    attend: Attend
    parts: tuple[tuple[float, Route], ...]
    beside: tuple[tuple[float, Callable[[], Part]], ...]

    @classmethod
    def of(cls, attention: LocatedAttention, task: LocationTask, seconds: float) -> Risk:
        """For a task whose symbols all have their values.

        Args:
            seconds: processor time of one value that is sampled.

        Raises:
            CannotEvaluate: for a law that is to be sampled but has no posterior.
        """
        law = tuple(task.length) if isinstance(task.length, LengthLaw) else ((task.length, 1),)
        parts: list[tuple[float, Route]] = []
        beside: list[tuple[float, Callable[[], Part]]] = []
        for length, share in law:
            here = replace(task, length=length, noise=0).at({})
            setting = Setting.of(here)
            attend = Attend.of(attention, setting)
            found = route(attend, seconds / len(law))
            if isinstance(found, Sampled):  # the posterior mean stands for the read-out
                posterior(setting)
                beside.append((float(share), partial(bayes_excess, here, None, None, seconds / len(law))))
            parts.append((float(share), found))
        return cls(attend, tuple(parts), tuple(beside))

    @property
    def place_error(self) -> float:
        """How far, relative to 1 + its size, the place of a least risk may be off that a search found."""
        return 0.03 if self.is_random else 1e-4

    @property
    def is_random(self) -> bool:
        """Whether a search has random points, others for every seed."""
        return any(found.is_random for _, found in self.parts)

    def search(self, place: Place, seed: int = 0, rule: Rule = SEARCH) -> float:
        """The risk for a search, up to a constant: quick, and smooth in the place. Where keys are drawn there is but one rule."""
        return residual(sum(share * found.search(place, seed, rule) for share, found in self.parts))

    def value(self, place: Place, of_row: Callable[[Any], float] = residual) -> Part:
        """The risk, or what else is made of the matrix of all products, with its error."""
        excess = mixed([(share, found.means(place)) for share, found in self.parts]).part(of_row)
        if not self.beside:
            return excess
        method = f"Bayes risk by {self._bayes.method}; excess by {excess.method}"
        return replace(added([excess, self._bayes]), method=method)

    @cached_property
    def _bayes(self) -> Part:
        """What the excess stands beside, the same at all places."""
        found = added([bayes_risk().scaled(share) for share, bayes_risk in self.beside])
        return replace(found, value=float(found.value), error=float(found.error))
