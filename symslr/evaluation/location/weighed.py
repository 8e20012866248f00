"""Selections among the tokens of a task with a weight: the risk at a scale and the least one, from samples beside the posterior.

Given the tokens the relevant one is l with probability p_l, so the risk above the Bayes risk is E |p - c sigma|^2 at the best c.
Where the weight selects a token, tokens are drawn from the base law; where it reweights the relevant one, that from its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy
from sympy import Expr, S

from symslr.evaluation.engine import evaluate
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.attend import Attend, Place
from symslr.evaluation.location.bayes import SECONDS, handed_out
from symslr.evaluation.location.means import Means, Part, residual
from symslr.evaluation.location.moments import Risk
from symslr.evaluation.location.risk import Found, found_least
from symslr.evaluation.location.samples.points import PRECISE, REPLICATIONS, refined, uniforms
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.location.tables.rules import SEARCH, Rule
from symslr.evaluation.numbers.logarithm import signed_log
from symslr.expression.value import Kind, Value
from symslr.model.breakpoints import breakpoint_equations, solved
from symslr.model.exact import exact
from symslr.evaluation.minima.least import all_on_the_largest
from symslr.evaluation.numbers.compiled import compile_float
from symslr.model.length_law import LengthLaw
from symslr.model.location.attention import LocatedAttention, Selection
from symslr.model.location.task import LocationTask
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.symbols import Delta, L, x
from symslr.model.task import Task
from symslr.parallel.blas import on_one_blas_thread
from symslr.theory.bayes import bayes_risk

SEARCHED, KEPT = 2**12, 2**17
"""Sequences of a search at most, and keys of all of them."""
NODES, FARTHEST, GAUSS = 2**13, 30.0, 5
"""Of a table of a law's quantiles, in the variable of which a token is sinh, exp or tanh, how far that goes, and nodes between two."""
MASS = 1e-10
"""How near to 1 the mass of a law comes in such a table."""

Tokens = Callable[[Any], Any]
"""Uniform numbers (n, L) to tokens of the same shape."""


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
        task: with a weight that selects a token, or one of the relevant token alone.
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
    """Moments of a selection beside the posterior, from samples.

    Attributes:
        relevant, others: the laws from which the first token and all others are drawn.
        log_weight: log of what p_l is proportional to; None where the largest token is the relevant one.
        seconds: processor time of one value.
        fixed: points of a search by seed, the same for all its places.
    """

    attend: Attend
    relevant: Tokens
    others: Tokens
    log_weight: Callable[[Any], Any] | None
    seconds: float
    is_random: bool = True
    fixed: dict[int, list[tuple[Any, Any]]] = field(default_factory=dict)

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

    def _drawn(self, size: int, seed: int) -> Iterator[tuple[Any, Any]]:
        """Tokens (n, L), and p (n, L)."""
        for uniform in uniforms(self.attend.setting.length, size, seed):
            tokens = np.concatenate([self.relevant(uniform[:, :1]), self.others(uniform[:, 1:])], axis=1)
            if self.log_weight is None:
                yield tokens, (tokens == tokens.max(axis=1, keepdims=True)).astype(float)
            else:
                logs = self.log_weight(tokens)
                yield tokens, np.exp(logs - scipy.special.logsumexp(logs, axis=1, keepdims=True))

    def _row(self, place: Place, points: Any) -> Any:
        total, count = np.zeros(4), 0
        for tokens, posterior in points:
            weights = self.attend.weights(tokens[..., None], place)[..., 0]
            every = np.stack([posterior, weights]).reshape(2, -1)
            total, count = total + (every @ every.T).ravel(), count + len(tokens)
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
    law = task.law
    relevant, kernel = law.relevant_factor, law.posterior_kernel
    if not law.selects_largest and (kernel is None or not (law.is_selection or relevant is not None)):
        raise CannotEvaluate(
            f"attention {selection.name}: tokens of the weight {task.weight} are not drawn; expected a weight of the relevant "
            "token alone, or one that adds up to the length over all tokens"
        )
    others = _quantiles(task.base)
    first = others if relevant is None else _quantiles(ScalarLaw(task.base.density * relevant, *task.base.support))
    log_weight = None
    if not law.selects_largest:
        log_kernel = signed_log(kernel, (x,))

        def log_weight(tokens: Any) -> Any:
            with np.errstate(all="ignore"):
                return np.broadcast_to(np.asarray(log_kernel(tokens)[1], dtype=float), tokens.shape)

    lengths = tuple(task.length) if isinstance(task.length, LengthLaw) else ((task.length, S.One),)
    parts, beside = [], []
    for length, share in lengths:
        # of a setting an attend asks for nothing but its length where neither a bias nor a filter stands
        attend = Attend.of(LocatedAttention(selection), Setting.of(LocationTask(length=length, strength=S.One, noise=S.Zero)))
        parts.append((float(share), Weighed(attend, first, others, log_weight, seconds / len(lengths))))
        beside.append((float(share), _bayes(replace(task, length=length, noise=S.Zero))))
    return Risk(attend, tuple(parts), tuple(beside))


def _bayes(task: Task) -> Callable[[], Part]:
    def part() -> Part:
        found = evaluate(bayes_risk(task), {})
        return Part(found.value, found.error, found.kind, found.method)

    return part


def _quantiles(law: ScalarLaw) -> Tokens:
    """Quantiles of a law: cubic interpolants of them in the log of the mass on either side.

    Raises:
        CannotEvaluate: where the table does not hold all of the law.
    """
    if law == STANDARD_NORMAL:
        return scipy.special.ndtri
    at, slope, back = _mapped(float(law.lower), float(law.upper))
    kinks = [solved(equation, x) for equation in breakpoint_equations(law.density, x)]
    inside = [float(kink) for kink in kinks if kink is not None and law.lower < kink < law.upper]
    nodes = np.unique([*np.linspace(-FARTHEST, FARTHEST, NODES), *back(np.array(inside))])
    points, weights = np.polynomial.legendre.leggauss(GAUSS)
    widths = np.diff(nodes)
    places = nodes[:-1, None] + widths[:, None] * (1 + points) / 2
    with np.errstate(all="ignore"):
        (density,) = compile_float((x,), (law.density,))(at(places))
        heights = np.nan_to_num(np.broadcast_to(density, places.shape) * slope(places), nan=0.0, posinf=0.0)
    steps = widths / 2 * (heights @ weights)
    below, above = np.cumsum(steps), np.cumsum(steps[::-1])[::-1]
    if not abs(below[-1] - 1.0) < MASS:
        raise CannotEvaluate(f"token density {law.density}: its mass is {below[-1]:.6g} in a table; expected 1")
    sides = [_inverse(below, nodes[1:]), _inverse(above[::-1], nodes[:-1][::-1])]

    def tokens(uniform: Any) -> Any:
        return at(np.where(uniform < 0.5, sides[0](np.log(uniform)), sides[1](np.log1p(-uniform))))

    return tokens


def _inverse(mass: Any, nodes: Any) -> Callable[[Any], Any]:
    """Where so much of the log of a mass is reached."""
    rises = np.flatnonzero(np.diff(mass, prepend=0.0) > 1e-14 * mass)
    return scipy.interpolate.PchipInterpolator(np.log(mass[rises]), nodes[rises])


def _mapped(lower: float, upper: float) -> tuple[Tokens, Tokens, Tokens]:
    """A map of the line to an interval, its slope, and its inverse."""
    if np.isfinite(lower) and np.isfinite(upper):
        half = (upper - lower) / 2

        def back(place: Any) -> Any:
            return np.arctanh((place - lower) / half - 1)

        return lambda u: lower + half * (1 + np.tanh(u)), lambda u: half / np.cosh(u) ** 2, back
    if np.isfinite(lower) or np.isfinite(upper):
        end, side = (lower, 1.0) if np.isfinite(lower) else (upper, -1.0)
        return lambda u: end + side * np.exp(u), np.exp, lambda place: np.log(side * (place - end))
    return np.sinh, np.cosh, np.arcsinh
