"""Selections (top-k, sparsemax, entmax) in a task with a weight: the risk at a scale and the least one, from samples.

Given the tokens the relevant one is l with probability p_l, so the risk above the Bayes risk is E |p - c sigma|^2 at the best c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from mpmath import mpf
from sympy import Expr, S

from symslr.evaluation.engine import evaluate
from symslr.evaluation.location.attention_function import AttentionFunction, ParameterValues
from symslr.evaluation.location.means import Estimate, Means, least_squares_residual
from symslr.evaluation.location.minima.least import LeastRisk
from symslr.evaluation.location.moments import Moments, Risk
from symslr.evaluation.location.samples.points import RELATIVE_ERROR, REPLICATIONS, refined
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.rules import SEARCH, Rule
from symslr.evaluation.routes import Need, Route
from symslr.evaluation.sampling.points import uniforms
from symslr.evaluation.sampling.sequences import Draws
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.special import NormalCdf
from symslr.expression.value import Kind
from symslr.model.attention import Attention, Selection
from symslr.model.exact import exact
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import L, chi, epsilon, x
from symslr.model.task import Task
from symslr.theory.bayes import bayes_risk
from symslr.theory.definitions import over_length

SEARCH_SEQUENCES, SEARCH_KEYS = 2**12, 2**17
"""Most sequences drawn for a search, and most keys of all of them together (1 MiB)."""


def risk_of_largest(task: Task, selection: Attention, scale: object) -> Expr | None:
    """The risk of top(1) at a scale that is not 0, as a formula: Delta^2 + 1 - P^2, P = E g(x) Phi(+-x)^(L-1) of one N(0, 1) token.

    None for another selection, and where the posterior is not that of single tokens that are N(0, 1).
    """
    own = task.law.weight.subs(chi[epsilon], x)
    if selection.kernel != Selection("top", 1) or exact(scale, "scale") == 0 or own.has(chi, epsilon, L):
        return None
    if task.law.base != STANDARD_NORMAL:
        return None
    side = 1 if exact(scale, "scale") > 0 else -1
    hit = ScalarExpectation(own * NormalCdf(side * x) ** (L - 1), x, STANDARD_NORMAL)
    return (
        task.noise**2 + 1 - over_length(hit.subs(L, task.length) if task.length.is_Integer else hit, task.length) ** 2
    )


def least_of_largest(task: Task, selection: Attention, digits: int | None) -> LeastRisk | None:
    """The least risk of top(1), which is the same at every scale of one sign; None as ``risk_of_largest``."""
    exprs = {said: risk_of_largest(task, selection, sign) for said, sign in (("every a > 0", 1), ("every a < 0", -1))}
    if None in exprs.values():
        return None
    found = {said: evaluate(expr, {}, digits) for said, expr in exprs.items()}
    best = min(found, key=lambda said: float(found[said].value))
    place = replace(found[best], value=mpf(1 if ">" in best else -1), error=mpf("inf"), digits=0, method=best)
    return found[best], {"a": place}


@dataclass(frozen=True)
class SelectionMoments:
    """Moments of a selection from samples, with the posterior mean p in place of the label: p scatters less.

    Where sequences carry importance weights the label itself is used, and E |label|^2 = 1: the Bayes risk, which the other form
    needs, may take minutes by meshes there.

    Attributes:
        attend: the selection.
        draws: the sampler of sequences.
        seconds: processor time of one value.
        is_random: whether a search draws random points; True here.
        fixed: the points of each seed, reused at every scale of a search.
    """

    attend: AttentionFunction
    draws: Draws
    seconds: float
    is_random: bool = True
    fixed: dict[int, list[tuple[Any, Any, Any]]] = field(default_factory=dict)

    def search(self, place: ParameterValues, seed: int = 0, rule: Rule = SEARCH) -> Any:
        """The row of moments; every call with the same seed uses the same points."""
        if seed not in self.fixed:
            size = 1 << max(0, min(SEARCH_SEQUENCES, SEARCH_KEYS // self.attend.setting.length).bit_length() - 1)
            self.fixed[seed] = list(self._drawn(size, seed))
        return self._row(place, self.fixed[seed])

    def means(self, place: ParameterValues) -> Means:
        """The means of all products of (p, sigma), one row a replication; samples are quadrupled until the risk is precise."""

        def sample(size: int) -> Means:
            rows = np.array([self._row(place, self._drawn(size, seed)) for seed in range(REPLICATIONS)])
            return Means(rows, Kind.STATISTICAL, f"{REPLICATIONS} replications of {size} sequences")

        return refined(sample, least_squares_residual, RELATIVE_ERROR, self.seconds, self.attend.setting.length)

    def _drawn(self, size: int, seed: int) -> Iterator[tuple[Any, Any, Any]]:
        """Batches of tokens (n, L), posterior p (n, L) and importance weights (n,)."""
        return map(self.draws.sequences, uniforms(self.attend.setting.length, size, seed))

    def _row(self, place: ParameterValues, points: Any) -> Any:
        total, count = np.zeros(4), 0
        for tokens, posterior, importance in points:
            weights = self.attend.weights(tokens[..., None], place)[..., 0]
            every = np.stack([posterior, weights])
            products = (every * importance[:, None]).reshape(2, -1) @ every.reshape(2, -1).T
            if self.draws.has_importance:
                products[0, 0] = np.sum(importance)
            total, count = total + products.ravel(), count + len(tokens)
        return total / count


def weighed_risk(task: Task, selection: Attention, seconds: float) -> Risk:
    """The risk of a selection under a task whose symbols all have their values."""
    draws = Draws.of(task.law)
    lengths = tuple(task.length) if isinstance(task.length, LengthLaw) else ((task.length, S.One),)
    parts: list[tuple[float, Moments]] = []
    bayes_risks: list[tuple[float, Callable[[], Estimate]]] = []
    for length, share in lengths:
        # without bias and filter only the length of the setting is used
        attend = AttentionFunction.of(selection, Setting.of(Task(length=length, nu=S.One, noise=S.Zero)))
        parts.append((float(share), SelectionMoments(attend, draws, seconds / len(lengths))))
        if not draws.has_importance:
            bayes_risks.append((float(share), _bayes(replace(task, length=length, noise=S.Zero))))
    return Risk(attend, tuple(parts), tuple(bayes_risks))


WEIGHED = Route(
    (
        Need(
            "a selection, on a task by a weight that selects a token or is one of the relevant token alone",
            lambda t: not t.is_located,
        ),
    ),
    "sequences drawn through quantiles, beside the posterior; standard error",
    "4 to 7",
    weighed_risk,
)


def _bayes(task: Task) -> Callable[[], Estimate]:
    def estimate() -> Estimate:
        found = evaluate(bayes_risk(task), {})
        return Estimate(found.value, found.error, found.kind, found.method)

    return estimate
