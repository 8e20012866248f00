"""What is asked of finite samples: fits and the best estimator at alpha = N/D, in theory and of drawn samples; and samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sympy import Expr

from symslr.evaluation.finite_sample.bayes_optimal import bayes_optimal as bayes_optimal_at
from symslr.evaluation.finite_sample.fit import CurvePoint, finite_sample_curve, fit_at
from symslr.evaluation.finite_sample.problem import ridge_pair
from symslr.evaluation.routes import WEIGHT, check
from symslr.evaluation.sampling.scatter import statistical
from symslr.expression.value import Value
from symslr.face.numbers import Wanted
from symslr.face.quantity import Answer, Quantity
from symslr.model.attention import Attention
from symslr.model.catalogue import kernel_attention_of
from symslr.model.exact import check_is, check_not_negative, exact
from symslr.model.length_law import LengthLaw
from symslr.model.ranges import USUAL_PRECISION, real_number
from symslr.model.symbols import L, by_name
from symslr.model.task import Task, without_fixed
from symslr.simulate.erm import erm_replicates, sample_training_set
from symslr.simulate.location.sampler import LocationSampler
from symslr.simulate.location.training import embedded
from symslr.simulate.message_passing import message_passing as pass_messages
from symslr.simulate.sequences import SequenceSampler, orthogonal_frame
from symslr.simulate.values import fixed


def fitted(
    task: Task,
    attention: Attention | str,
    *,
    ridge: Any = "tuned",
    precision: float = USUAL_PRECISION,
    branch: str = "lowest",
    seed: int = 0,
    **given: object,
) -> Quantity:
    """The test risk of a fit to N = alpha D samples, D -> infinity, by the replica-symmetric theory.

    ``alpha`` is one of its parameters. Its errors are standard errors; ``at`` holds the order parameters of the fit, ``result``
    the fit and its ridges, and ``method`` says whether replica symmetry holds: where it is broken fits of finite samples may have
    another risk.

    Args:
        ridge: of key and value, a pair; one number for both; or "tuned", the pair of least test risk.
        precision: relative standard error of the risk to aim at.
        branch: "lowest" in energy, or from an "informed" or "uninformed" start; at given ridges.
        seed: of the sampling.

    Source: arXiv 2509.21936, Result 5.1.
    """
    chosen = kernel_attention_of(attention)
    check_is(task, Task, "task", "SpikedSLR()")
    pair = _ridge(ridge)

    def answer(values: dict[Any, Any], wanted: Wanted) -> Value:
        size = _alpha(values)
        how: dict[str, Any] = {"precision": precision, "branch": branch, "seed": seed}
        found = fit_at(task, chosen, values, alpha=size, ridge=pair, **how)
        fit = found.fit
        return replace(fit.risk, at=fit.order_parameters, method=f"{fit.risk.method}; {fit.symmetry}", result=found)

    return _learnt(f"test risk of {chosen.name} fitted to alpha D samples", task, answer, given, *chosen.parameters)


def fitted_branches(
    task: Task,
    attention: Attention | str,
    values: Mapping[Any, object] = {},
    *,
    alpha: Sequence[float],
    ridge: Any = "tuned",
    precision: float = USUAL_PRECISION,
    seed: int = 0,
    **named: object,
) -> list[CurvePoint]:
    """Every branch of fits at several alpha = N/D: what is found at one is followed to all others; lowest energy first.

    Args:
        values, named: numbers for the parameters of task and attention, by symbol or name.
        ridge, precision, seed: as of ``fitted``; tuned ridges are sought from those of the next larger alpha.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    given: dict[Any, Any] = without_fixed(by_name({**values, **named}), L=task.length, Delta=task.noise)
    how: dict[str, Any] = {"alphas": alpha, "ridge": _ridge(ridge), "precision": precision, "seed": seed}
    return finite_sample_curve(task, kernel_attention_of(attention), given, **how)


def _ridge(ridge: Any) -> tuple[float, float] | None:
    """A pair, or None for that of least risk."""
    if isinstance(ridge, str) and ridge != "tuned":
        raise ValueError(f"ridge: found {ridge!r}; expected a pair of numbers, one number, or 'tuned'")
    return None if isinstance(ridge, str) else ridge_pair(ridge)


def simulate_fit(
    task: Task,
    attention: Attention | str,
    *,
    dimension: int,
    ridge: Any,
    seeds: int | Sequence[int] = 6,
    seed: int = 0,
    start: str = "informed",
    optimiser: str = "L-BFGS-B",
    dtype: str = "float64",
    fresh: int = 100_000,
    **given: object,
) -> Quantity:
    """The test risk of fits to drawn training sets of round(alpha D) samples: their mean and its standard error.

    ``alpha`` is one of its parameters; ``at`` holds m_kk, m_vv, q_kk and q_vv of the fits, ``result`` the fits.

    Args:
        ridge: of key and value, a pair or one number for both.
        seeds: number of training sets, or the seed of each.
        seed: of the first, where their number is given.
        start, optimiser: as of ``symslr.simulate.erm.fit_attention``; from the hidden directions, "informed", as a branch of
            ``fitted``, or "random".
        dtype: of the samples, "float64" or "float32".
        fresh: number of fresh samples on which each fit is tested.
    """
    chosen = kernel_attention_of(attention)
    check_is(task, Task, "task", "SpikedSLR()")
    own = _seeds(seeds, seed)
    r_k, r_v = ridge_pair(ridge)
    check(f"task {task.name} at finite alpha", task, WEIGHT)

    def answer(values: dict[Any, Any], wanted: Wanted) -> Value:
        found = erm_replicates(
            task,
            chosen,
            values,
            alpha=_alpha(values),
            dimension=dimension,
            r_k=r_k,
            r_v=r_v,
            seeds=own,
            starts=[start],
            optimiser=optimiser,
            dtype=dtype,
            fresh=fresh,
        )
        method = f"{len(own)} fits of {found.size} samples in dimension {dimension}, {_said(own)}, {optimiser} from {start} start"
        method += "" if found.converged else ", not all converged"
        order = {name: found.order_parameter(name) for name in ("m_kk", "m_vv", "q_kk", "q_vv")}
        at = {name: statistical([mean], error, method, 0.0) for name, (mean, error) in order.items()}
        return replace(statistical([found.risk], found.standard_error, method, 0.0), at=at, result=found)

    return _learnt(f"test risk of {chosen.name} fitted to drawn samples", task, answer, given, *chosen.parameters)


def bayes_optimal(task: Task, *, seed: int = 0, **given: object) -> Quantity:
    """The least risk of any estimator that learns from N = alpha D samples; ``alpha`` is one of its parameters.

    ``at`` holds the overlaps q_k and q_v with k* and v*, ``result`` both branches and whether the phase is hard.

    Source: arXiv 2509.21936, section 5.
    """
    check_is(task, Task, "task", "SpikedSLR()")

    def answer(values: dict[Any, Any], wanted: Wanted) -> Value:
        size = _alpha(values)
        found = bayes_optimal_at(task, values, alpha=size, seed=seed)
        assert found.risk is not None
        return replace(found.risk, at={f"q_{name}": found.overlaps[name] for name in ("k", "v")}, result=found)

    return _learnt("Bayes-optimal risk at alpha D samples", task, answer, given)


def _learnt(title: str, task: Task, answer: Answer, given: dict[str, Any], *parameters: Expr) -> Quantity:
    """A risk of what is learnt from alpha D samples."""
    names = frozenset(map(str, {*task.free_symbols, *parameters, "alpha"}))

    def to_its_precision(values: dict[Any, Any], wanted: Wanted) -> Value:
        if wanted.digits is not None:
            raise ValueError(f"digits: found for the {title}, whose error is statistical; leave it out")
        return answer(values, wanted)

    return Quantity(f"{title}, {task.name}", None, to_its_precision, names, given, task=task, has_proofs=False)


def message_passing(
    task: Task,
    *,
    dimension: int,
    seeds: int | Sequence[int] = 6,
    seed: int = 0,
    damping: float = 0.5,
    **given: object,
) -> Quantity:
    """The overlap q_k = k.k*/D that Bayes-optimal message passing reaches on drawn training sets of round(alpha D) samples.

    A mean with its standard error; ``at`` holds q_k and q_v = v.v*/D, to be compared with those of ``bayes_optimal``. ``alpha``
    is one of its parameters.

    Args:
        seeds, seed: as of ``simulate_fit``.
        damping: share of the old means and messages that is kept, in [0, 1).
    """
    check_is(task, Task, "task", "SpikedSLR()")
    own = _seeds(seeds, seed)
    check(f"task {task.name} at finite alpha", task, WEIGHT)

    def answer(values: dict[Any, Any], wanted: Wanted) -> Value:
        size = round(_alpha(values) * dimension)
        runs = []
        for each in own:
            data = sample_training_set(task, values, size, dimension, np.random.default_rng(each))
            runs.append(pass_messages(data, task, values, damping=damping))
        ends = np.array([run.overlaps[-1] for run in runs])
        errors = np.std(ends, axis=0, ddof=1) / np.sqrt(len(ends))
        method = f"message passing on {len(own)} training sets of {size} samples in dimension {dimension}, {_said(own)}"
        method += "" if all(run.converged for run in runs) else ", not all converged"
        at = {
            name: statistical(found, error, method, 0.0) for name, found, error in zip(("q_k", "q_v"), ends.T, errors)
        }
        return replace(at["q_k"], at=at, result=runs)

    return _learnt("overlap q_k by message passing", task, answer, given)


def _seeds(seeds: int | Sequence[int], first: int) -> Sequence[int]:
    """The seed of every training set."""
    own = range(first, first + seeds) if isinstance(seeds, int) else seeds
    if len(own) < 2:
        raise ValueError(f"training sets: found {len(own)}; expected at least 2, as one has no standard error")
    return own


def _said(seeds: Sequence[int]) -> str:
    return f"seeds from {seeds[0]}" if isinstance(seeds, range) else f"seeds {', '.join(map(str, seeds))}"


def sample(
    task: Task, size: int, *, dimension: int, seed: int, weighted: bool = False, **values: object
) -> tuple[np.ndarray, ...]:
    """(X, y, hidden): ``size`` sequences of a task with tokens in R^D, from its definition.

    X has the shape (size, L, D) and y the shape (size,). ``hidden`` is the relevant position of every sequence, from 0 on;
    where a law of location has no weight, a truth value for every position. The directions of keys and values are drawn from
    the same seed.

    Args:
        weighted: four results: the last are importance weights of mean 1, by which laws that cannot be drawn from are.
        values: numbers for the parameters that the task leaves open, by name.

    Raises:
        ValueError: for a length that is not fixed, a value that is missing, and importance weights that are not asked for.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    rng = np.random.default_rng(seed)
    given: dict[Any, Any] = {**without_fixed(by_name(values), L=task.length, Delta=task.noise)}
    check_not_negative(given)
    names = {symbol.name for symbol in task.free_symbols}
    unknown = sorted(str(name) for name in given.keys() - names)
    if unknown:
        raise ValueError(f"sample: found {unknown[0]}; expected {', '.join(sorted(names)) or 'no value'}")
    if task.has_weight:
        length = given.get("L") if task.length == L else task.length
        if length is None or isinstance(length, LengthLaw):
            raise ValueError(f"length: found {length or 'none'}; expected a fixed length, such as length=3")
        law = task.law.subs(L, exact(length, "length"))
        found = SequenceSampler.of(law, given, dimension, rng).draw(size, rng)
        X, hidden, weights = found.X, found.epsilon, found.weights
        y = found.label(float(fixed(task.noise, given)))
    else:
        drawn = LocationSampler.of(task, given).draw(size, rng)
        frame = orthogonal_frame(dimension, dimension, rng).T / np.sqrt(dimension)
        X, y, hidden, weights = embedded(drawn, frame, rng), drawn.y, drawn.relevant, np.ones(size)
    if weighted:
        return X, y, hidden, weights
    if not np.all(weights == 1.0):
        raise ValueError("sample: this law has importance weights; expected weighted=True, which returns them as well")
    return X, y, hidden


def _alpha(values: dict[Any, Any]) -> float:
    if "alpha" not in values:
        raise ValueError("no value for alpha; give one as alpha=4")
    return real_number(exact(values.pop("alpha"), "alpha"), "alpha")
