"""Single-location regression as a sequence model: the Bayes-optimal risk at finite alpha, and its hard phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symslr.evaluation.finite_sample.problem import numeric_problem
from symslr.evaluation.sequence.bayes_optimal import BayesOptimal, Mixture
from symslr.evaluation.sequence.bayes_optimal import bayes_optimal as of_models
from symslr.evaluation.sequence.hard_phase import HardPhase
from symslr.evaluation.sequence.hard_phase import hard_phase as hard_phase_of
from symslr.model.catalogue import softmax
from symslr.model.sequence.single_location import single_location
from symslr.model.task import Task


def sequence_models(task: Task, values: Mapping[object, object]) -> Mixture:
    """The task as a sequence model of every length, with their probabilities.

    Args:
        values: nu, Delta, L or P_L if the task has none.

    Raises:
        ValueError: in one line, for a missing or inadmissible value, or tokens that are not normal before they are weighted.
    """
    problem = numeric_problem(task, softmax, values)
    return [(share.probability, single_location(share.law, problem.noise)) for share in problem.shares]


def bayes_optimal(
    task: Task, values: Mapping[object, object], *, alpha: float, seed: int = 0, count: int | None = None
) -> BayesOptimal:
    """The Bayes-optimal risk at N = alpha D samples; see ``evaluation.sequence.bayes_optimal`` and ``sequence_models``.

    Args:
        count: samples of each of the 8 randomisations, a power of two.

    Source: arXiv 2509.21936, section 5 and Figure 3.
    """
    return of_models(sequence_models(task, values), alpha, seed=seed, samples=count)


def hard_phase(task: Task, values: Mapping[object, object], **how: Any) -> HardPhase | None:
    """The hard phase between two values of alpha; see ``evaluation.sequence.hard_phase``."""
    return hard_phase_of(sequence_models(task, values), **how)
