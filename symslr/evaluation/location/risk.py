"""The risk of an attention under a law of location, at a given scale or at its best parameters."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from mpmath import mp, mpf, workdps
from sympy import Expr, N, S, Symbol, exp, sqrt

from symslr.evaluation.closed_form import closed_value
from symslr.evaluation.engine import as_asked, evaluate
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.fewer import or_fewer
from symslr.evaluation.location.attention_function import ParameterValues
from symslr.evaluation.location.bayes import GUARD_DIGITS, INTEGRALS_METHOD, risk_from_excess, with_values
from symslr.evaluation.location.means import Estimate
from symslr.evaluation.location.minima.least import LeastRisk, least_risk_and_place
from symslr.evaluation.location.minima.search import best_head
from symslr.evaluation.location.moments import Risk
from symslr.evaluation.location.samples.points import SECONDS
from symslr.evaluation.location.weighed import least_of_largest, risk_of_largest, weighed_risk
from symslr.evaluation.minima.at_scale import risk_as_asked
from symslr.evaluation.minima.least import all_on_the_largest
from symslr.evaluation.routes import Need, Route, tried
from symslr.expression.value import Value
from symslr.model.attention import Attention
from symslr.model.exact import exact
from symslr.model.location.covariance import Equicorrelated
from symslr.model.symbols import L, x
from symslr.model.task import Task
from symslr.parallel.blas import on_one_blas_thread
from symslr.theory.population import population_risk
from symslr.theory.symbolic import infimum, least_formula, risk_formula


def risk_value(
    task: Task,
    attention: Attention,
    scale: object,
    values: Mapping[Any, object] | None = None,
    digits: int | None = None,
    seconds: float = SECONDS,
    backend: str | None = None,
) -> Value:
    """The risk of an attention with one head along one direction at the scale a, and at its best value vector.

    Args:
        task, values, digits, backend, seconds: as for ``bayes_value``.
        attention: one head, without parameters of its own.
        scale: of the key, a number or a formula of the values; infinite where the tokens are exchangeable and the attention
            has a kernel.

    Raises:
        CannotEvaluate: where more than a scale is to be known, or the digits are out of reach.
        ValueError: for a scale with a symbol that has no value.
    """
    at, left = _scale_at(task, attention, exact(scale, "scale"), values or {})
    return _risk(Posed(task, attention, at, left, digits, backend, None), seconds)[0]


def _scale_at(
    task: Task, attention: Attention, scale: Expr, values: Mapping[Any, object]
) -> tuple[Expr, dict[Any, object]]:
    """The scale as a number, and the values that are not of its symbols alone."""
    if isinstance(task.length, Expr):
        scale = scale.subs(L, task.length)
    symbols = {symbol.name: symbol for symbol in scale.free_symbols}
    at = {symbols[str(key)]: exact(value, str(key)) for key, value in values.items() if str(key) in symbols}
    if missing := sorted(symbols.keys() - {symbol.name for symbol in at}):
        raise ValueError(f"scale: found {scale}, with no value for {missing[0]}; give one as {missing[0]}=2")
    alone = {symbol.name for symbol in at.keys() - task.free_symbols - attention.parameters}
    return scale.subs(at), {key: value for key, value in values.items() if str(key) not in alone}


def least_value(
    task: Task,
    attention: Attention,
    values: Mapping[Any, object] | None = None,
    digits: int | None = None,
    seconds: float = SECONDS,
    backend: str | None = None,
    bounds: Mapping[Symbol, tuple[float, float]] | None = None,
) -> LeastRisk:
    """The least risk of an attention over its scales, head weights and own parameters, and where it is attained.

    Where the tokens are exchangeable and one is relevant, as ``least_risk``. Elsewhere the value is the risk at the
    place that a search found, and its error that of the risk there, with what it may still fall around it or where a
    parameter grows without end; of several parameters there is then no best place. The error of a parameter reaches to
    where the risk is larger by more than its own, and is infinite where that is nowhere near.

    Args:
        task, values, digits, backend, seconds: as for ``bayes_value``.
        attention: with any heads, bias and filter. Of two separate heads that come together the method says so: their
            value vectors grow without bound, and the risk is that of the limit.
        bounds: as for ``least_risk``.

    Raises:
        CannotEvaluate: where the search fails or the digits are out of reach.
    """
    return _risk(Posed(task, attention, None, values or {}, digits, backend, bounds), seconds)


@dataclass(frozen=True)
class Posed:
    """What is asked: the risk at a scale, or without one the least, and where it is attained."""

    task: Task
    attention: Attention
    scale: Expr | None
    values: Mapping[Any, object]
    digits: int | None
    backend: str | None
    bounds: Mapping[Symbol, tuple[float, float]] | None

    @property
    def open(self) -> set[str]:
        """The parameters of the attention, beside its scale, that have no value."""
        return {symbol.name for symbol in self.attention.parameters} - set(map(str, self.values))


@on_one_blas_thread
def _risk(asked: Posed, seconds: float) -> LeastRisk:
    attention, scale, digits, backend = asked.attention, asked.scale, asked.digits, asked.backend
    of_weight: LeastRisk | None = tried(OF_A_WEIGHT, asked)
    if of_weight is not None:
        return of_weight
    if backend is not None or asked.bounds:
        raise CannotEvaluate(
            f"{as_asked(backend) if backend else 'bounds'}: not available for this task with {attention.title} attention, as "
            f"it needs {OF_A_WEIGHT[-1].lacks(asked)}; leave it out"
        )
    if scale is not None and scale.is_infinite:
        raise CannotEvaluate(
            f"scale: found {'inf' if scale > 0 else '-inf'}, which is not available for this task with {attention.title} "
            "attention; expected a number, or the largest score alone, top(1)"
        )
    began, here = time.perf_counter(), with_values(asked.task, asked.values)
    plain, chosen, unit = _prepared(here, attention)
    if has_kernel_alone(plain, chosen):
        value, places = _risk(Posed(plain, chosen, scale and scale * unit, {}, digits, None, None), seconds)
        return value, {name: _rescaled(found, unit) if name == "a" else found for name, found in places.items()}
    if plain.has_weight and chosen.is_selection and chosen.having(filter=None).is_plain:
        known = _known_of_selection(plain, chosen, scale, digits)
        if known is not None:
            return known
    risks = _of_moments(plain, chosen, seconds)
    if scale is None:
        value, places = least_risk_and_place(
            risks, here.noise, digits, began, float(unit), _one_head(chosen, plain, seconds)
        )
        return value, {
            **places,
            **({"o": _offset(chosen, places["b"])} if "b" in places and chosen.is_normalised else {}),
        }
    place = _place(risks, chosen, scale * unit)
    if scale == 0 and _is_silent(chosen):
        return risk_from_excess(_of_silence(plain, seconds), here.noise, digits, began), {}
    return risk_from_excess(risks.value(place), here.noise, digits, began), {}


def _of_moments(task: Task, attention: Attention, seconds: float) -> Risk:
    if task.is_located:
        return Risk.of(attention, task, seconds)
    if not (attention.is_selection and attention.is_plain):
        raise CannotEvaluate(
            f"attention {attention.title}: found heads, a bias or a filter on the task {task.name}, whose positions only its "
            "weight tells apart; expected a law of location beside it"
        )
    return weighed_risk(task, attention, seconds)


def _place(risks: Risk, attention: Attention, scale: Expr) -> ParameterValues:
    if attention.heads > 1 or risks.attend.setting.directions > 1 or risks.attend.own or attention.bias == "free":
        raise CannotEvaluate(
            "scale: given to an attention with more parameters than one scale; leave it out to find the best ones"
        )
    return ParameterValues(np.array([[float(scale)]]), np.zeros(1), 0.0, ())


def moment_values(
    task: Task,
    attention: Attention,
    scale: object,
    values: Mapping[Any, object] | None = None,
    digits: int | None = None,
    seconds: float = SECONDS,
) -> tuple[Value, Value]:
    """E[r^T C_v sigma] and E[sigma^T C_v sigma] of an attention at the scale a, of which the risk is made.

    Args:
        task, attention, scale, values, digits, seconds: as for ``risk_value``; the scale is finite, and a kernel may have
            parameters.

    Raises:
        CannotEvaluate, ValueError: as ``risk_value``.
    """
    at, left = _scale_at(task, attention, exact(scale, "scale"), values or {})
    if not at.is_finite:
        raise CannotEvaluate(f"scale: found {at}; expected a finite number")
    given = {str(key): value for key, value in left.items()}
    parameters = {symbol.name: symbol for symbol in attention.parameters - task.free_symbols}
    own = {parameters[name]: exact(given.pop(name), name) for name in parameters.keys() & given.keys()}
    if own:
        attention = replace(attention, kernel=attention.kernel.subs(own), bounds={})
    here = with_values(replace(task, noise=S.Zero), given)
    plain, chosen, unit = _prepared(here, attention)
    if has_kernel_alone(plain, chosen):
        risk = population_risk(plain, chosen.having(filter=None), at * unit)
        hit, square = (or_fewer(digits, partial(evaluate, own, {})) for own in (risk.hit, risk.square))
        return hit, square
    began, risks = time.perf_counter(), _of_moments(plain, chosen, seconds)
    place = _place(risks, chosen, at * unit)
    hit, square = (risk_from_excess(risks.moment(place, n), S.Zero, digits, began) for n in (1, 3))
    return hit, square


def has_kernel_alone(task: Task, attention: Attention) -> bool:
    """Whether tokens are exchangeable and independent, and one kernel of single keys weights them."""
    matched = attention.having(filter=None) if attention.filter == "matched" else attention
    return task.has_weight and matched.is_plain and not attention.is_selection


def _closed(asked: Posed) -> LeastRisk | None:
    """The risk by a formula without integrals."""
    task, alone, scale = asked.task, asked.attention.having(filter=None), asked.scale
    if scale is not None:
        formula, quantity = risk_formula(task, alone, scale), population_risk(task, alone, scale)
        return closed_value(formula, quantity, asked.values, asked.digits)
    formula = least_formula(task, alone)
    least = None if formula.place is None else infimum(task, alone, formula.place)
    return None if least is None else closed_value(formula, least, asked.values, asked.digits)


def _by_integrals(asked: Posed) -> LeastRisk:
    alone = asked.attention.having(filter=None)
    return or_fewer(
        asked.digits,
        lambda wanted: risk_as_asked(asked.task, alone, asked.scale, asked.values, wanted, asked.backend, asked.bounds),
    )


ALONE = Need(
    "one kernel of single keys, on exchangeable tokens of which one is relevant",
    lambda asked: has_kernel_alone(asked.task, asked.attention),
)
OF_A_WEIGHT = (
    Route(
        (
            ALONE,
            Need("no normaliser", lambda asked: not asked.attention.is_normalised),
            Need(
                "a finite scale, or the best one and no other parameter",
                lambda asked: not asked.bounds and not (asked.open if asked.scale is None else asked.scale.is_infinite),
            ),
            Need("no backend but arb", lambda asked: asked.backend in (None, "arb")),
        ),
        "closed form, by the rules that derive it",
        "any, with proof",
        _closed,
    ),
    Route((ALONE,), INTEGRALS_METHOD, "any, with proof where one is found", _by_integrals),
)
"""Routes to the risk of one kernel of single keys. Looking for a closed form takes longer than the number where none is found."""


def _known_of_selection(task: Task, selection: Attention, scale: Expr | None, digits: int | None) -> LeastRisk | None:
    """The risk of a selection that a formula gives, or its least, as far as one is known."""
    if scale is not None:
        formula = risk_of_largest(task, selection, scale)
        return None if formula is None else (evaluate(formula, {}, digits), {})
    if task.law.selects_largest:
        return all_on_the_largest(evaluate(task.noise**2, {}, digits))
    return least_of_largest(task, selection, digits)


def _offset(attention: Attention, bias: Value) -> Value:
    """The offset that a constant added to all scores amounts to, o e^{-b}."""
    offset = mpf(str(N(attention.offset, GUARD_DIGITS))) * mp.exp(-bias.value)
    return replace(bias, value=offset, error=offset * mp.expm1(bias.error), digits=0 if bias.error > 1 else bias.digits)


def _one_head(attention: Attention, task: Task, seconds: float) -> Any:
    """The best scale of one head, from which a search for several begins; None where there is one, or none is found."""
    if attention.heads > 1:
        with suppress(CannotEvaluate):
            return best_head(Risk.of(attention.having(heads=1, separate=False), task, seconds))
    return None


def _is_silent(attention: Attention) -> bool:
    """Whether all weights are 0 at the scale 0."""
    return not attention.is_normalised and attention.bias is None and attention.kernel.subs(x, 0) == 0


def _of_silence(task: Task, seconds: float) -> Estimate:
    """The risk above Delta^2 where all weights are 0: E r^T C_v r, read from the moments of a constant attention."""
    constant = Attention(exp(x), normaliser=None, name="constant")
    place = ParameterValues(np.zeros((1, 1)), np.zeros(1), 0.0, ())
    return Risk.of(constant, task, seconds).value(place, lambda row: float(row[0]))


def _prepared(task: Task, attention: Attention) -> tuple[Task, Attention, Expr]:
    """(task, attention, unit): the attention with constants in its kernel, and keys made independent where it ignores a common
    shift.

    Keys of variance v and correlation rho are a common shift plus independent keys of variance v (1 - rho), whatever is relevant;
    and C^-1 chi is chi/(v (1 - rho)) plus a common shift. Softmax and selections do not see the shift. ``unit`` is what a scale of
    the original task is multiplied by.
    """
    attention = attention.with_constant_inside()
    by_ratios = attention.is_selection or attention.kernel == exp(x)
    blind = by_ratios and attention.is_normalised and attention.offset == 0
    found = None if task.key_covariance is None else task.key_covariance.structure
    if not isinstance(found, Equicorrelated) or not blind or attention.filter not in (None, "matched"):
        return task, attention, S.One
    plain = replace(task, nu=task.nu / found.own_variance, key_covariance=None)
    unit = sqrt(found.own_variance)
    return plain, attention.having(filter=None), unit if attention.filter is None else 1 / unit


def _rescaled(value: Value, unit: Expr) -> Value:
    with workdps(value.digits + GUARD_DIGITS):
        factor = mpf(str(N(unit, value.digits + GUARD_DIGITS)))
        return replace(value, value=value.value / factor, error=value.error / factor)
