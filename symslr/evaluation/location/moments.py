"""Second moments of an attention and of the read-out: the risk at the best value vectors is a least-squares residual.

With C = C_v, risk - Delta^2 = E r^T C r - b^T G^{-1} b, b_h = E[r^T C sigma_h], G_hk = E[sigma_h^T C sigma_k]. The moments form
one row, the flattened Gram matrix of (r, sigma_1, ...). For a random length they are the mixture of those of each length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.attention_function import AttentionFunction, ParameterValues
from symslr.evaluation.location.bayes import bayes_excess
from symslr.evaluation.location.chains import attention as along_chain
from symslr.evaluation.location.means import (
    Estimate,
    Means,
    by_two_rules,
    least_squares_residual,
    mixture,
    sum_of_estimates,
)
from symslr.evaluation.location.posterior import posterior
from symslr.evaluation.location.samples.attention import LargestKeys, SampledMoments
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.attention import (
    as_independent_keys,
    given_common_part,
    is_tabled,
    shared_row,
    tabled_row,
)
from symslr.evaluation.location.tables.rules import SEARCH, Rule
from symslr.evaluation.location.tables.selection import is_short, selected_row
from symslr.evaluation.routes import Need, Route, tried
from symslr.model.attention import Attention
from symslr.model.length_law import LengthLaw
from symslr.model.task import Task

CONVERGED = 1e-12
"""Relative difference of two rules that have converged. The error falls exponentially, so the finer rule is far better."""
SLOW_FACTOR = 10.0
"""Error over difference of two rules that have not converged: at a kink errors fall as a power of the step, and rules whose steps
differ by a fifth may differ by a third of the error."""
MOST_REFINEMENT = 16
"""Steps of a key are halved until they are this many times finer, at most."""
CHAIN_ROUNDING = 2.3e-16
"""Relative rounding error of one position along a chain; errors of all positions add."""


@dataclass(frozen=True)
class QuadratureMoments:
    """Moments by quadrature: a fine and a coarse rule for a value, a cheaper one for a search.

    Attributes:
        row: (parameters, rule) -> the row of moments.
        rounding: see ``Means``.
        is_random: whether a search draws random points, others for every seed; False here.
    """

    row: Callable[[ParameterValues, Rule], Any]
    method: str
    rounding: float = 1e-15
    is_random: bool = False

    def search(self, place: ParameterValues, seed: int = 0, rule: Rule = SEARCH) -> Any:
        """The row by one rule: quick, and smooth in the parameters."""
        return self.row(place, rule)

    def means(self, place: ParameterValues) -> Means:
        """The rows by the fine and the coarse rule, both refined until they agree, or refinement no longer halves their
        difference."""
        found = by_two_rules(partial(self.row, place), self.method, self.rounding)
        factor = 1
        while (apart := _relative_difference(found)) > CONVERGED:
            factor *= 2
            try:
                closer = by_two_rules(partial(self.row, place), self.method, self.rounding, factor)
            except CannotEvaluate:
                break
            if factor > MOST_REFINEMENT or _relative_difference(closer) > apart / 2:
                break
            found = closer
        return found if apart <= CONVERGED else replace(found, inflation=SLOW_FACTOR)


class Moments(Protocol):
    """What gives the row of moments of an attention.

    Attributes:
        is_random: whether a search draws random points, others for every seed.
    """

    @property
    def is_random(self) -> bool: ...

    def search(self, place: ParameterValues, seed: int = 0, rule: Rule = SEARCH) -> Any:
        """The row for a search, up to a constant in E r^T C r: quick, and smooth in the parameters."""
        ...

    def means(self, place: ParameterValues) -> Means:
        """The row with its error."""
        ...


def _alone(attend: AttentionFunction) -> tuple[Setting, float] | None:
    """(setting with independent keys, their deviation) in which the moments are the same."""
    return (attend.setting, 1.0) if attend.setting.are_keys_independent else as_independent_keys(attend, attend.setting)


def _tabled(attend: AttentionFunction, seconds: float) -> Moments:
    plain, unit = _alone(attend)  # type: ignore[misc]
    return QuadratureMoments(
        lambda place, rule: tabled_row(attend, plain, replace(place, scales=unit * place.scales), rule),
        "one-token tables in float64",
    )


def _along_chain(attend: AttentionFunction, seconds: float) -> Moments:
    row, rounding = partial(along_chain.moments_along_chain, attend), 1e-15 + CHAIN_ROUNDING * attend.setting.length
    return QuadratureMoments(row, "transfer operator along the chain in float64", rounding)


def _given_common(attend: AttentionFunction, seconds: float) -> Moments:
    parts = given_common_part(attend.setting)
    assert parts is not None
    return QuadratureMoments(
        lambda place, rule: shared_row(attend, place, parts, rule),
        "one-token tables given what keys share in float64",
    )


def _tables_apply(attend: AttentionFunction, found: tuple[Any, ...] | None) -> bool:
    return found is not None and is_tabled(attend, found[0])


MOMENTS = (
    Route(
        (
            Need("independent keys, or no normaliser", lambda own: _alone(own) is not None),
            Need(
                "one kernel, of one relevant position or positions alike", lambda own: _tables_apply(own, _alone(own))
            ),
        ),
        "one-token tables in float64",
        "10 to 13",
        _tabled,
    ),
    Route(
        (
            Need("one kernel and one normaliser, or none", lambda own: own.has_one_kernel),
            Need(
                "keys along a chain, values along a chain or of one correlation, up to six relevant or coins",
                lambda own: along_chain.applies_to(own.setting, own.bias is None),
            ),
        ),
        "transfer operator along the chain in float64",
        "11 to 14",
        _along_chain,
    ),
    Route(
        (
            Need("keys of one positive correlation", lambda own: given_common_part(own.setting) is not None),
            Need("one kernel", lambda own: _tables_apply(own, given_common_part(own.setting))),
        ),
        "one-token tables given what keys share in float64",
        "12 to 14",
        _given_common,
    ),
    Route(
        (
            Need(
                "a selection among up to three independent keys (top-k: four) along one direction, all alike", is_short
            ),
        ),
        "rules over the least score that gets weight and those above it",
        "12 to 15",
        lambda own, _: QuadratureMoments(
            partial(selected_row, own), "rules over the least score that gets weight and those above it"
        ),
    ),
    Route(
        (
            Need(
                "a selection among more than 256 independent keys, all alike",
                lambda own: LargestKeys(own, 0.0).is_possible,
            ),
        ),
        "the largest keys, drawn as such; standard error",
        "3 to 5",
        LargestKeys,
    ),
    Route((), "rules or randomised points over all keys, beside the posterior", "3 to 13", SampledMoments),
)
"""Routes to the moments of an attention, in the order in which they are tried."""


def route(attend: AttentionFunction, seconds: float) -> Moments:
    """The most accurate method that gives the moments of an attention.

    Args:
        seconds: processor time of one value that is sampled.
    """
    found: Moments = tried(MOMENTS, attend, seconds)
    return found


def _relative_difference(found: Means) -> float:
    """The largest difference of two rules, relative to the largest moment."""
    fine, coarse = found.rows
    return float(np.max(np.abs(fine - coarse)) / np.max(np.abs(fine)))


@dataclass(frozen=True)
class Risk:
    """The risk above Delta^2 of an attention at its best value vectors, which are the same at every length.

    Attributes:
        attend: the attention at one of the lengths.
        parts: (probability of a length, method for the moments there).
        bayes_risks: (probability of a length, function that gives the Bayes risk there), for each length at which the moments are
            those of the posterior mean in place of r: these give the risk above the Bayes risk.
    """

    attend: AttentionFunction
    parts: tuple[tuple[float, Moments], ...]
    bayes_risks: tuple[tuple[float, Callable[[], Estimate]], ...]

    @classmethod
    def of(cls, attention: Attention, task: Task, seconds: float) -> Risk:
        """The risk for a task whose symbols all have values.

        Args:
            seconds: processor time of one value that is sampled.

        Raises:
            CannotEvaluate: where samples are needed and the posterior mean is out of reach.
        """
        law = tuple(task.length) if isinstance(task.length, LengthLaw) else ((task.length, 1),)
        parts: list[tuple[float, Moments]] = []
        bayes_risks: list[tuple[float, Callable[[], Estimate]]] = []
        for length, share in law:
            here = replace(task, length=length, noise=0).at({})
            setting = Setting.of(here)
            attend = AttentionFunction.of(attention, setting)
            found = route(attend, seconds / len(law))
            if isinstance(found, SampledMoments):  # the posterior mean stands for the read-out
                posterior(setting)
                bayes_risks.append((float(share), partial(bayes_excess, here, None, None, seconds / len(law))))
            parts.append((float(share), found))
        return cls(attend, tuple(parts), tuple(bayes_risks))

    @property
    def place_error(self) -> float:
        """Accuracy of a minimiser that a search found, relative to 1 + its size."""
        return 0.03 if self.is_random else 1e-4

    @property
    def is_random(self) -> bool:
        """Whether a search draws random points, others for every seed."""
        return any(found.is_random for _, found in self.parts)

    def search(self, place: ParameterValues, seed: int = 0, rule: Rule = SEARCH) -> float:
        """The risk for a search, up to a constant: quick, and smooth in the parameters. Sampled moments have one rule only."""
        return least_squares_residual(sum(share * found.search(place, seed, rule) for share, found in self.parts))

    def moment(self, place: ParameterValues, column: int) -> Estimate:
        """One entry of the row of moments; the first is up to a constant."""
        return mixture([(share, found.means(place)) for share, found in self.parts]).estimate(
            lambda row: float(row[column])
        )

    def value(self, place: ParameterValues, of_row: Callable[[Any], float] = least_squares_residual) -> Estimate:
        """The risk, or another function of the row of moments, with its error."""
        excess = mixture([(share, found.means(place)) for share, found in self.parts]).estimate(of_row)
        if not self.bayes_risks:
            return excess
        method = f"Bayes risk by {self._bayes.method}; excess by {excess.method}"
        return replace(sum_of_estimates([excess, self._bayes]), method=method)

    @cached_property
    def _bayes(self) -> Estimate:
        """The Bayes risk to which the excess is added; it does not depend on the parameters of the attention."""
        found = sum_of_estimates([bayes_risk().scaled(share) for share, bayes_risk in self.bayes_risks])
        return replace(found, value=float(found.value), error=float(found.error))
