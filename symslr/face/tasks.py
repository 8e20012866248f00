"""What is asked of a task and an attention, under one name for every kind of task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

import numpy as np
from sympy import Expr, Integer

from symslr.evaluation.finite_sample.bayes_optimal import bayes_optimal as bayes_optimal_at
from symslr.evaluation.finite_sample.fit import finite_sample, tuned_finite_sample
from symslr.evaluation.finite_sample.problem import ridge_pair
from symslr.evaluation.landscape.landscape import Landscape
from symslr.evaluation.location.bayes import bayes_value, with_values
from symslr.evaluation.location.posterior import posterior as posterior_at
from symslr.evaluation.location.risk import has_kernel_alone, least_value, moment_values, risk_value
from symslr.evaluation.location.setting import Setting
from symslr.evaluation.routes import WEIGHT, check
from symslr.evaluation.sampling.scatter import statistical
from symslr.evaluation.sampling.sequences import posterior_of
from symslr.evaluation.separation.report import separation_report
from symslr.expression.value import Value
from symslr.face.question import Question
from symslr.model.attention import Attention
from symslr.model.catalogue import attention_of, kernel_attention_of
from symslr.model.exact import check_is, exact
from symslr.model.length_law import LengthLaw
from symslr.model.ranges import USUAL_PRECISION, real_number
from symslr.model.separation import Separation
from symslr.model.symbols import NAMES, L, a
from symslr.model.task import Task, without_fixed
from symslr.simulate.erm import erm_replicates
from symslr.simulate.location.sampler import LocationSampler
from symslr.simulate.location.training import embedded
from symslr.simulate.sequences import SequenceSampler, orthogonal_frame
from symslr.simulate.values import fixed
from symslr.theory import bayes, population
from symslr.theory.configurations import location_bayes_risk

USUAL_DIGITS = 15

AnyAttention = Attention | str
"""An attention, or its name: one of the catalogue, or sparsemax, entmax, top(k)."""


def bayes_risk(task: Task) -> Any:
    """The Bayes risk of any task: a formula, called with values for its parameters, as in ``bayes_risk(task)(nu=2)``.

    Raises:
        TypeError: for what is no task.

    Source: arXiv 2509.21936, Prop. 4.1.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    if task.has_weight:
        return bayes.bayes_risk(task)

    def answer(values: dict[Any, Any], digits: int | None) -> Value:
        return bayes_value(task, values, digits)

    return Question(f"Bayes risk, {task.name}", answer, {}, location_bayes_risk(task), task=task)


def population_risk(task: Task, attention: AnyAttention, scale: Expr = a) -> Any:
    """The risk of an attention at a scale of its key, and at the best value vector; the scale is the parameter ``a``.

    Raises:
        TypeError, ValueError: in one line, for what is no task or no attention.

    Source: arXiv 2509.21936, section 4.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    chosen = attention_of(attention)
    if has_kernel_alone(task, chosen):
        return population.population_risk(task, chosen.having(filter=None), exact(scale, "scale"))

    def answer(values: dict[Any, Any], digits: int | None) -> Value:
        return risk_value(task, chosen, scale, values, digits)

    return Question(f"risk of {chosen.title}, {task.name}", answer, {}, task=task)


def least_risk(task: Task, attention: AnyAttention, bounds: Mapping[Any, tuple[float, float]] = {}) -> Question:
    """The least risk of an attention over its scale, and over other parameters that it leaves open.

    ``least_risk(task, "softmax")(nu=2).at["a"]`` is the best scale, which may be infinite.

    Args:
        bounds: the interval in which a parameter is searched, by symbol or name; the whole line otherwise.

    Raises:
        TypeError, ValueError: in one line, for what is no task or no attention.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    chosen = attention_of(attention)
    own = {symbol.name: symbol for symbol in (a, *chosen.bounds, *chosen.parameters)}
    searched = {own.get(NAMES.get(str(name), str(name)), name): ends for name, ends in bounds.items()}

    def answer(values: dict[Any, Any], digits: int | None) -> Value:
        value, places = least_value(task, chosen, values, digits, bounds=searched or None)
        return replace(value, at=places)

    alone = has_kernel_alone(task, chosen)
    expr = population.minimal_risk(task, chosen.having(filter=None)) if alone else None
    return Question(f"least risk of {chosen.title}, {task.name}", answer, {}, expr, task=task)


@dataclass(frozen=True)
class Moments:
    """The moments of which the risk of an attention at its best value vector is made, Delta^2 + E[r^T C_v r] - hit^2/square.

    Attributes:
        hit: E[r^T C_v sigma], of one relevant token the weight that it gets.
        square: E[sigma^T C_v sigma].
    """

    hit: Value
    square: Value


def moments(
    task: Task, attention: AnyAttention, scale: Expr = a, *, digits: int | None = None, **values: object
) -> Moments:
    """``hit`` = E[r^T C_v sigma] and ``square`` = E[sigma^T C_v sigma] of an attention on any task, r being the read-out.

    Its risk at the best value vector is Delta^2 + E[r^T C_v r] - hit^2/square. The scale of its key is the parameter ``a``.

    Raises:
        TypeError, ValueError: in one line, as ``population_risk``.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    given = without_fixed(_by_name(values), L=task.length, Delta=task.noise)
    given.pop("Delta", None)
    return Moments(*moment_values(task, attention_of(attention), scale, given, digits))


def posterior(task: Task, chi: Any, **values: object) -> np.ndarray:
    """P(position l is relevant | keys), shape (..., L), for every kind of task; of one relevant position they add up to 1.

    ``optimal_attention`` gives it as a formula, over s where s positions are relevant.

    Args:
        chi: keys, shape (..., L); (..., L, p) where they have p > 1 directions.
        values: numbers for the parameters of the task, by name.

    Raises:
        ValueError: in one line, for another shape, and for a value that is missing or unknown.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    keys, directions = np.asarray(chi, dtype=float), task.signal.directions if task.is_located else 1
    several = keys if directions > 1 else keys[..., None]
    length = several.shape[-2] if several.ndim > 1 else 0
    fixed = isinstance(task.length, Integer) and task.length != length
    if not length or several.shape[-1] != directions or fixed:
        expected = f"{task.length}, {directions}" if directions > 1 else f"{task.length}"
        raise ValueError(f"chi: found the shape {keys.shape}; expected (..., {expected})")
    given = without_fixed(_by_name(values), L=Integer(length), Delta=task.noise)
    given.pop("Delta", None)
    here = with_values(replace(task, length=length, noise=0), given)
    flat = several.reshape(-1, length, directions)
    if here.is_located:
        setting = Setting.of(here)
        found = posterior_at(setting)(flat)[0] * max(setting.size, 1)
    else:
        found = posterior_of(here.law.subs(L, length))[0](flat[..., 0])[0]
    return np.asarray(found.reshape(several.shape[:-1]))


def fitted(
    task: Task,
    attention: Attention | str,
    *,
    ridge: Any = "tuned",
    precision: float = USUAL_PRECISION,
    branch: str = "lowest",
    seed: int = 0,
    **given: object,
) -> Question:
    """The test risk of a fit to N = alpha D samples, D -> infinity, by the replica-symmetric theory.

    ``alpha`` is one of its parameters. Its errors are standard errors; ``at`` holds the order parameters of the fit, and
    ``method`` says whether replica symmetry holds: where it is broken fits of finite samples may have another risk.

    Args:
        ridge: of key and value, a pair; one number for both; or "tuned", the pair of least test risk.
        precision: relative standard error of the risk to aim at.
        branch: "lowest" in energy, or from an "informed" or "uninformed" start; at given ridges.
        seed: of the sampling.

    Source: arXiv 2509.21936, Result 5.1.
    """
    chosen = kernel_attention_of(attention)
    check_is(task, Task, "task", "SpikedSLR()")
    pair = ridge if isinstance(ridge, str) else ridge_pair(ridge)
    if isinstance(pair, str) and pair != "tuned":
        raise ValueError(f"ridge: found {ridge!r}; expected a pair of numbers, one number, or 'tuned'")

    def answer(values: dict[Any, Any], digits: int | None) -> Value:
        alpha = _alpha(values)
        if isinstance(pair, str):
            found, _ = tuned_finite_sample(task, chosen, values, alpha=alpha, precision=precision, seed=seed)
        else:
            how: dict[str, Any] = {"precision": precision, "branch": branch, "seed": seed}
            found = finite_sample(task, chosen, values, alpha=alpha, ridge=pair, **how)
        method = f"{found.risk.method}; {found.symmetry}"
        return replace(found.risk, at=found.order_parameters, method=method)

    return Question(f"test risk of {chosen.name} fitted to alpha D samples, {task.name}", answer, given, task=task)


def simulate_fit(
    task: Task,
    attention: Attention | str,
    *,
    dimension: int,
    ridge: Any,
    seeds: int = 6,
    seed: int = 0,
    fresh: int = 100_000,
    **given: object,
) -> Question:
    """The test risk of fits to drawn training sets of round(alpha D) samples: their mean and its standard error.

    ``alpha`` is one of its parameters. The optimiser starts at the hidden directions, as the informed branch of ``fitted``.

    Args:
        ridge: of key and value, a pair or one number for both.
        seeds: number of training sets.
        seed: of the first.
        fresh: number of fresh samples on which each fit is tested.
    """
    chosen = kernel_attention_of(attention)
    check_is(task, Task, "task", "SpikedSLR()")
    if seeds < 2:
        raise ValueError(f"seeds: found {seeds}; expected at least 2, as one fit has no standard error")
    r_k, r_v = ridge_pair(ridge)
    check(f"task {task.name} at finite alpha", task, WEIGHT)

    def answer(values: dict[Any, Any], digits: int | None) -> Value:
        found = erm_replicates(
            task,
            chosen,
            values,
            alpha=_alpha(values),
            dimension=dimension,
            r_k=r_k,
            r_v=r_v,
            seeds=range(seed, seed + seeds),
            fresh=fresh,
        )
        method = f"{seeds} fits of {found.size} samples in dimension {dimension}, seeds from {seed}"
        return statistical([found.risk], found.standard_error, method, 0.0)

    return Question(f"test risk of {chosen.name} fitted to drawn samples, {task.name}", answer, given, task=task)


def bayes_optimal(task: Task, *, seed: int = 0, **given: object) -> Question:
    """The least risk of any estimator that learns from N = alpha D samples; ``alpha`` is one of its parameters.

    Source: arXiv 2509.21936, section 5.
    """
    check_is(task, Task, "task", "SpikedSLR()")

    def answer(values: dict[Any, Any], digits: int | None) -> Value:
        alpha = _alpha(values)
        found = bayes_optimal_at(task, values, alpha=alpha, seed=seed)
        assert found.risk is not None
        return replace(found.risk, at={f"q_{name}": found.overlaps[name] for name in ("k", "v")})

    return Question(f"Bayes-optimal risk at alpha D samples, {task.name}", answer, given, task=task)


def landscape(task: Task, attention: Attention | str, **values: object) -> Landscape:
    """The risk and its gradient in the seven order parameters of key and value, as ``Landscape``.

    Raises:
        ValueError: as ``Landscape.of``.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    return Landscape.of(task, kernel_attention_of(attention), _by_name(values))


def separation(**given: object) -> Question:
    """P(the softmax network tells D1 from D0 and the linear one does not), exactly, for the construction of arXiv 2310.11685.

    Its parameters are those of ``symslr.model.separation.Separation``: n, d, t, a0, a1, b, c, m, margin, beta.
    """

    def answer(values: dict[Any, Any], digits: int | None) -> Value:
        names = {own.name: own.default is MISSING for own in fields(Separation)}
        unknown, missing = sorted(values.keys() - names), [own for own in names if names[own] and own not in values]
        if unknown or missing:
            found = f"found {unknown[0]}" if unknown else f"no value for {missing[0]}"
            raise ValueError(f"separation: {found}; expected {', '.join(names)}")
        return separation_report(Separation(**values), digits=digits or USUAL_DIGITS).fixed_row

    return Question("P(softmax separates, linear does not), one marked row", answer, given, source="deng2023")


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
    given = _by_name(values)
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


def _by_name(values: Mapping[str, Any]) -> dict[Any, Any]:
    return {NAMES.get(name, name): own for name, own in values.items()}


def _alpha(values: dict[Any, Any]) -> float:
    if "alpha" not in values:
        raise ValueError("no value for alpha; give one as alpha=4")
    return real_number(exact(values.pop("alpha"), "alpha"), "alpha")
