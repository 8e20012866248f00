"""The public calls: the fit at given ridges, and at the ridges of least test risk."""

from __future__ import annotations

from collections.abc import Mapping

from symslr.evaluation.finite_sample.order_parameters import STARTS
from symslr.evaluation.finite_sample.problem import numeric_problem, training
from symslr.evaluation.finite_sample.randomised import FiniteSample, branches, not_found, randomised
from symslr.evaluation.finite_sample.tuning import USUAL, Tuned, tune
from symslr.model.attention import Attention
from symslr.model.task import Task

PRECISION = 0.002
"""Relative standard error of a risk unless asked otherwise."""


def finite_sample(
    task: Task,
    attention: Attention,
    values: Mapping[object, object],
    *,
    alpha: float,
    ridge: tuple[float, float],
    precision: float = PRECISION,
    branch: str = "lowest",
    seed: int = 0,
) -> FiniteSample:
    """The fit of N = alpha D samples, D -> infinity, by the replica-symmetric saddle point.

    The fit minimises sum_mu (y - f)^2/2 + r_k |k|^2/2 + r_v |v|^2/2 over key and value, with
    f(X) = sigma(X k/sqrt(D))^T X v/sqrt(D).

    Args:
        values: symbol or name -> number: nu, Delta, L if the task has none, parameters of the kernel.
        ridge: (r_k, r_v), both positive.
        precision: relative standard error of the risk to aim at.
        branch: "informed" or "uninformed" start, or "lowest": both, and the one of lowest energy.
        seed: of the scramblings.

    Raises:
        ValueError: in one line, for a missing or inadmissible value, or where no iteration arrives.

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
    precision: float = PRECISION,
    seed: int = 0,
    start: tuple[float, float] = USUAL,
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


def check_precision(precision: float) -> None:
    """Refuse a relative standard error that is out of reach or says nothing."""
    if not 1e-5 <= precision <= 0.2:
        raise ValueError(f"precision: found {precision:g}; expected a relative standard error from 1e-5 to 0.2")
