"""Selections among the tokens of a task with a weight: the risk at a scale and the least one, from samples beside the posterior.

Given the tokens the relevant one is l with probability p_l, so the risk above the Bayes risk is E |p - c sigma|^2 at the best c.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sympy import Expr, S

from symslr.evaluation.engine import evaluate
from symslr.evaluation.location.attend import Attend, Place
from symslr.evaluation.location.bayes import SECONDS, handed_out
from symslr.evaluation.location.means import Means, Part, residual
from symslr.evaluation.location.minima.least import Found, found_least
from symslr.evaluation.location.moments import Risk, Route
from symslr.evaluation.location.samples.points import PRECISE, REPLICATIONS, refined
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.rules import SEARCH, Rule
from symslr.evaluation.minima.least import all_on_the_largest
from symslr.evaluation.sampling.points import uniforms
from symslr.evaluation.sampling.sequences import Draws
from symslr.expression.value import Kind, Value
from symslr.model.exact import exact
from symslr.model.length_law import LengthLaw
from symslr.model.location.attention import LocatedAttention, Selection
from symslr.model.location.task import LocationTask
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import Delta, L
from symslr.model.task import Task
from symslr.parallel.blas import on_one_blas_thread
from symslr.theory.bayes import bayes_risk

SEARCHED, KEPT = 2**12, 2**17
"""Sequences of a search at most, and keys of all of them."""


@on_one_blas_thread
def selected_risk(
    task: Task,
    selection: Selection,
    scale: object,
    values: Mapping[Any, object],
    digits: int | None = None,
    seconds: float = SECONDS,
) -> Value:
    """The risk of a selection at the scale a, and at its best value vector.

    Args:
        task: with any weight.
        values: a number for every free symbol.
        digits: significant digits wanted; by default those that the samples give.
        seconds: processor time of the samples.

    Raises:
        CannotEvaluate: where the digits are out of reach, or the posterior has no kernel.
        ValueError: for missing values.
    """
    began, here = time.perf_counter(), _valued(task, values)
    risks = _risk(here, selection, seconds)
    place = Place(np.array([[float(exact(scale, "scale"))]]), np.zeros(1), 0.0, ())
    return handed_out(risks.value(place), here.noise, digits, began)


@on_one_blas_thread
def least_selected_risk(
    task: Task,
    selection: Selection,
    values: Mapping[Any, object],
    digits: int | None = None,
    seconds: float = SECONDS,
) -> Found:
    """The least risk of a selection over its scales, and where it is attained; arguments as for ``selected_risk``.

    Where the largest token is the relevant one it is Delta^2: at large scales every selection gives all weight to that.

    Raises:
        CannotEvaluate, ValueError: as ``selected_risk``.
    """
    began, here = time.perf_counter(), _valued(task, values)
    if here.law.selects_largest:
        return all_on_the_largest(evaluate(here.noise**2, {}, digits))
    return found_least(_risk(here, selection, seconds), here.noise, digits, began)


@dataclass(frozen=True)
class Weighed:
    """Moments of a selection beside the posterior, from samples; beside the label itself where sequences have an importance.

    The Bayes risk of such a task may take minutes by meshes, and all that it is asked for here is to lessen the scatter.

    Attributes:
        draws: of the sequences.
        seconds: processor time of one value.
        fixed: points of a search by seed, the same for all its places.
    """

    attend: Attend
    draws: Draws
    seconds: float
    is_random: bool = True
    fixed: dict[int, list[tuple[Any, Any, Any]]] = field(default_factory=dict)

    def search(self, place: Place, seed: int = 0, rule: Rule = SEARCH) -> Any:
        """The row on always the same points of a seed."""
        if seed not in self.fixed:
            size = 1 << max(0, min(SEARCHED, KEPT // self.attend.setting.length).bit_length() - 1)
            self.fixed[seed] = list(self._drawn(size, seed))
        return self._row(place, self.fixed[seed])

    def means(self, place: Place) -> Means:
        """Rows of the means of all products of (p, sigma), with four times the samples until the risk is sharp."""

        def sample(size: int) -> Means:
            rows = np.array([self._row(place, self._drawn(size, seed)) for seed in range(REPLICATIONS)])
            return Means(rows, Kind.STATISTICAL, f"{REPLICATIONS} replications of {size} sequences")

        return refined(sample, residual, PRECISE, self.seconds, self.attend.setting.length)

    def _drawn(self, size: int, seed: int) -> Iterator[tuple[Any, Any, Any]]:
        """Tokens (n, L), p (n, L), and the importance of each sequence (n,)."""
        return map(self.draws.sequences, uniforms(self.attend.setting.length, size, seed))

    def _row(self, place: Place, points: Any) -> Any:
        total, count = np.zeros(4), 0
        for tokens, posterior, importance in points:
            weights = self.attend.weights(tokens[..., None], place)[..., 0]
            every = np.stack([posterior, weights])
            products = (every * importance[:, None]).reshape(2, -1) @ every.reshape(2, -1).T
            if self.draws.has_importance:
                products[0, 0] = np.sum(importance)
            total, count = total + products.ravel(), count + len(tokens)
        return total / count


def _valued(task: Task, values: Mapping[Any, object]) -> Task:
    """The task with numbers for its symbols.

    Raises:
        ValueError: naming those that are missing.
    """
    given = {str(key): exact(value) for key, value in values.items() if not isinstance(value, LengthLaw)}
    length = values.get(L, values.get("L", task.length)) if task.length == L else task.length

    def put_in(expr: Expr) -> Expr:
        return expr.subs({s: given[s.name] for s in expr.free_symbols if s.is_Symbol and s.name in given and s != L})

    base = ScalarLaw(*map(put_in, task.base.args))
    noise = put_in(task.noise)
    found = Task(put_in(task.weight), length, S.Zero if noise == Delta else noise, base, task.name)
    missing = ", ".join(sorted(map(str, (found.law.free_symbols - {L}) | ({L} if found.length == L else set()))))
    if missing:
        raise ValueError(f"task {task.name}: no value for {missing}; expected one for every symbol")
    return found


def _risk(task: Task, selection: Selection, seconds: float) -> Risk:
    """The risk of a selection under a task whose symbols all have their values."""
    draws = Draws.of(task.law)
    lengths = tuple(task.length) if isinstance(task.length, LengthLaw) else ((task.length, S.One),)
    parts: list[tuple[float, Route]] = []
    beside: list[tuple[float, Callable[[], Part]]] = []
    for length, share in lengths:
        # of a setting an attend asks for nothing but its length where neither a bias nor a filter stands
        attend = Attend.of(
            LocatedAttention(selection), Setting.of(LocationTask(length=length, strength=S.One, noise=S.Zero))
        )
        parts.append((float(share), Weighed(attend, draws, seconds / len(lengths))))
        if not draws.has_importance:
            beside.append((float(share), _bayes(replace(task, length=length, noise=S.Zero))))
    return Risk(attend, tuple(parts), tuple(beside))


def _bayes(task: Task) -> Callable[[], Part]:
    def part() -> Part:
        found = evaluate(bayes_risk(task), {})
        return Part(found.value, found.error, found.kind, found.method)

    return part
