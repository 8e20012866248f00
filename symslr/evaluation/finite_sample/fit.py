"""The fit at given ridges, at the ridges of least test risk, and along a curve in alpha.

Along a curve every branch of fixed points that is found at one alpha is continued to all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from symslr.budget import reached
from symslr.evaluation.finite_sample.fixed_point import FixedPoint, SaddleMap, attempt, is_new
from symslr.evaluation.finite_sample.problem import (
    FitProblem,
    ReplicaState,
    Training,
    numeric_problem,
    ridge_pair,
    training,
)
from symslr.evaluation.finite_sample.randomised import COARSE, FiniteSample, branches, not_found, randomised
from symslr.evaluation.finite_sample.tuning import USUAL_RIDGES, Tuned, tune
from symslr.evaluation.sampling.points import sub_seed
from symslr.evaluation.sequence.state_evolution import STARTS
from symslr.model.attention import Attention
from symslr.model.ranges import USUAL_PRECISION, check_alphas, check_precision
from symslr.model.task import Task

MOST_BRANCHES = 4
"""Most branches at one alpha, those continued from its neighbours included: each costs a solution at every further alpha."""


def finite_sample(
    task: Task,
    attention: Attention,
    values: Mapping[object, object],
    *,
    alpha: float,
    ridge: tuple[float, float] | float,
    precision: float = USUAL_PRECISION,
    branch: str = "lowest",
    seed: int = 0,
) -> FiniteSample:
    """The fit of N = alpha D samples, D -> infinity, by the replica-symmetric saddle point.

    The fit minimises sum_mu (y - f)^2/2 + r_k |k|^2/2 + r_v |v|^2/2 over key and value, with
    f(X) = sigma(X k/sqrt(D))^T X v/sqrt(D).

    Args:
        values: symbol or name -> number: nu, Delta, L if the task has none, parameters of the kernel.
        ridge: (r_k, r_v), both positive, or one number for both.
        precision: relative standard error of the risk to aim at.
        branch: "informed" or "uninformed" start, or "lowest": both, and the one of lowest energy.
        seed: of the scrambled Sobol points.

    Raises:
        ValueError: for a missing or inadmissible value, or where no iteration converges.

    Source: arXiv 2509.21936, Result 5.1.
    """
    if branch not in (*STARTS, "lowest"):
        raise ValueError(f"branch: found {branch!r}; expected lowest, {' or '.join(STARTS)}")
    problem, fit = numeric_problem(task, attention, values), training(alpha, ridge)
    check_precision(precision)
    found = branches(problem, fit, seed, [branch] if branch in STARTS else STARTS)
    if not found:
        raise not_found(fit)
    name, coarse = next(iter(found.items()))
    return randomised(problem, fit, coarse.state, precision=precision, seed=seed, branch=name)


def tuned_finite_sample(
    task: Task,
    attention: Attention,
    values: Mapping[object, object],
    *,
    alpha: float,
    precision: float = USUAL_PRECISION,
    seed: int = 0,
    start: tuple[float, float] = USUAL_RIDGES,
) -> tuple[FiniteSample, Tuned]:
    """(the fit, the ridges) of least test risk, on the branch of lowest energy.

    Args:
        task, attention, values, alpha, precision, seed: as for ``finite_sample``.
        start: ridges from which the optimiser starts, such as those of a nearby alpha.
    """
    problem = numeric_problem(task, attention, values)
    fit = training(alpha, start)
    check_precision(precision)
    tuned, state = tune(problem, fit.alpha, seed=seed, start=start)
    found = randomised(problem, training(alpha, tuned.ridge), state, precision=precision, seed=seed, branch="tuned")
    return found, tuned


def fit_at(
    task: Task,
    attention: Attention,
    values: Mapping[object, object],
    *,
    alpha: float,
    ridge: tuple[float, float] | float | None,
    precision: float = USUAL_PRECISION,
    branch: str = "lowest",
    seed: int = 0,
) -> CurvePoint:
    """The fit at the ridges given, or where ``ridge`` is None at those of least test risk; otherwise as ``finite_sample``."""
    how: dict[str, Any] = {"alpha": alpha, "precision": precision, "seed": seed}
    if ridge is None:
        fit, tuned = tuned_finite_sample(task, attention, values, **how)
    else:
        tuned = Tuned(*ridge_pair(ridge))
        fit = finite_sample(task, attention, values, ridge=tuned.ridge, branch=branch, **how)
    return CurvePoint(float(alpha), tuned, (fit,))


@dataclass(frozen=True)
class CurvePoint:
    """The fit at one alpha: the branch that was asked for, or along a curve all known ones.

    Attributes:
        alpha: N/D.
        tuned: the ridges, and which of them represent a limit.
        fits: one per branch, the lowest energy first: that one is the minimum of the fit's objective; in the others a fit may get
            stuck.
    """

    alpha: float
    tuned: Tuned
    fits: tuple[FiniteSample, ...]

    @property
    def ridge(self) -> tuple[float, float]:
        """(r_k, r_v)."""
        return self.tuned.ridge

    @property
    def fit(self) -> FiniteSample:
        """The branch of lowest energy."""
        return self.fits[0]


def finite_sample_curve(
    task: Task,
    attention: Attention,
    values: Mapping[object, object],
    *,
    alphas: Sequence[float],
    ridge: tuple[float, float] | float | None = None,
    precision: float = USUAL_PRECISION,
    seed: int = 0,
) -> list[CurvePoint]:
    """The fit at several alpha = N/D, in the order given; arguments otherwise as for ``finite_sample``.

    At every alpha both starts are tried. Every branch found is continued down to the smallest and up to the largest alpha.

    Args:
        ridge: (r_k, r_v), or one number for both, at every alpha; None tunes them at each, starting from those of the next
            larger alpha.

    Raises:
        ValueError: for no alpha or the same one twice, and as ``finite_sample``.
    """
    check_alphas(alphas)
    problem = numeric_problem(task, attention, values)
    check_precision(precision)
    ordered = sorted(training(alpha, USUAL_RIDGES if ridge is None else ridge).alpha for alpha in alphas)
    given = None if ridge is None else [Tuned(*ridge_pair(ridge))] * len(ordered)
    ridges, states = _tuned(problem, ordered, seed) if given is None else (given, [])
    fits = [training(alpha, tuned.ridge) for alpha, tuned in zip(ordered, ridges, strict=True)]
    points = {}
    for fit, found, tuned in zip(fits, track(problem, fits, seed, states), ridges, strict=True):
        if not found:
            raise not_found(fit)
        reached(f"the final accuracy at alpha = {fit.alpha:g}")
        numbers = [
            randomised(problem, fit, point.state, precision=precision, seed=seed, branch=name)
            for name, point in found.items()
        ]
        lowest = tuple(sorted(numbers, key=lambda one: float(one.energy)))
        points[fit.alpha] = CurvePoint(fit.alpha, tuned, lowest)
    return [points[float(alpha)] for alpha in alphas]


def _tuned(problem: FitProblem, alphas: Sequence[float], seed: int) -> tuple[list[Tuned], list[ReplicaState]]:
    """Tuned ridges and order parameters at increasing alphas; computed from the largest downwards, where starts matter least."""
    found: list[tuple[Tuned, ReplicaState]] = []
    for alpha in reversed(alphas):
        reached(f"the best ridges at alpha = {alpha:g}")
        ridge, states = (found[-1][0].ridge, [found[-1][1]]) if found else (USUAL_RIDGES, [])
        found.append(tune(problem, alpha, seed=seed, start=ridge, states=states))
    return [tuned for tuned, _ in found[::-1]], [state for _, state in found[::-1]]


def track(
    problem: FitProblem, fits: Sequence[Training], seed: int, states: Sequence[ReplicaState] = ()
) -> list[dict[str, FixedPoint]]:
    """Distinct branches at each of ``fits``, by the start they come from, on one coarse randomisation.

    A branch reached only by continuation keeps its start's name with a number.

    Args:
        states: order parameters of a known branch at each of ``fits``: at tiny ridges no start may converge.
    """
    saddle = SaddleMap(problem, COARSE, sub_seed(seed, 0, COARSE))
    found = []
    for fit in fits:
        reached(f"the branches at alpha = {fit.alpha:g}")
        found.append(branches(problem, fit, seed))
    for fit, here, state in zip(fits, found, states):
        given = attempt(saddle, fit, state)
        if given is not None and is_new(given, here.values()):
            here["tuned"] = given
    for places in (range(len(fits))[::-1], range(len(fits))):
        for before, place in pairwise(places):
            here = found[place]
            for name, point in found[before].items():
                if len(here) == MOST_BRANCHES or not is_new(point, here.values()):
                    continue
                continued = attempt(saddle, fits[place], point.state)
                if continued is not None and is_new(continued, here.values()):
                    here[_unused(name, here)] = continued
    return found


def _unused(name: str, taken: Mapping[str, object]) -> str:
    start = name.split(" ", maxsplit=1)[0]
    return next(label for label in (start, *(f"{start} {n}" for n in range(2, 9))) if label not in taken)
