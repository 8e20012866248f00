"""Laws of location on the command line: their numbers, and ``symslr optimal``, the attention that they make optimal."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from symslr.budget import end_after
from symslr.cli import options
from symslr.model.request import AttentionRequest, HeadsRequest, Number, TaskRequest, is_located, read_task

if TYPE_CHECKING:
    from symslr.expression.value import Value
    from symslr.model.asked import Located, Problem
    from symslr.model.attention import Attention
    from symslr.model.location.task import LocationTask
    from symslr.theory.located_attention import OptimalAttention

FOR_SAMPLES = 0.2
"""Of the budget so much goes to one number that is sampled; the rest is left for the search of its best place."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(optimal)


def problem(wanted: TaskRequest) -> Located:
    """The law of location that was asked for."""
    from symslr.model import asked

    return asked.located(wanted, dash="--")


def attention(wanted: AttentionRequest, heads: HeadsRequest, law: Located) -> Attention:
    """The attention that was asked for on this law."""
    from symslr.model import asked

    return asked.with_heads(asked.attention(wanted, law.attention), heads, law.values)


def has_open_correlation(task: LocationTask) -> bool:
    """Whether the keys' covariance has parameters, whose signs a formula of them alone does not know: 1 - rho may be any."""
    return task.key_covariance is not None and bool(task.key_covariance.free_symbols)


def bayes(law: Located, digits: int | None, certified: bool, seconds: float) -> Value:
    """The Bayes risk."""
    from symslr.evaluation.location import bayes_value

    if certified:
        return bayes_value(law.task, law.values, digits or options.USUAL_DIGITS, "arb")
    return _with_digits(digits, lambda n: bayes_value(law.task, law.values, n, None, FOR_SAMPLES * seconds))


def weighed_bayes(asked: Problem, digits: int | None, backend: str | None) -> Value:
    """The Bayes risk of a task with a weight."""
    from symslr.evaluation import evaluate
    from symslr.evaluation.fewer import or_fewer
    from symslr.theory import bayes_risk

    expr = bayes_risk(asked.task)

    def compute(wanted: int | None) -> Value:
        if backend is not None:
            return evaluate(expr, asked.values, wanted, backend)
        return _with_digits(wanted, lambda n: evaluate(expr, asked.values, n))

    return or_fewer(digits, compute)


def _with_digits(digits: int | None, compute: Callable[[int | None], Value]) -> Value:
    """To so many digits; where nobody asked for any, to the usual number, or to those that the route to the number gives."""
    from symslr.evaluation import CannotEvaluate

    if digits is not None:
        return compute(digits)
    try:
        return compute(options.USUAL_DIGITS)
    except CannotEvaluate:
        return compute(None)  # the reason why there are none, if there are none, is that of the last route


def risk(
    law: Located, chosen: Attention, scale: Number | None, digits: int | None, seconds: float
) -> tuple[Value, dict[str, Value]]:
    """The risk at a scale, or the least over the parameters and where it is attained."""
    from symslr.evaluation.location import least_value, risk_value
    from symslr.model.text import exactly

    if scale is None:
        return least_value(law.task, chosen, law.values, digits, FOR_SAMPLES * seconds)
    at = exactly(_finite(scale))
    return risk_value(law.task, chosen, at, law.values, digits, FOR_SAMPLES * seconds), {}


def selected_risk(
    asked: Problem, selection: Attention, scale: Number | None, digits: int | None, seconds: float
) -> tuple[Value, dict[str, Value]]:
    """The risk of a selection of tokens under a task with a weight, or the least one over scales and where it is attained."""
    from symslr.evaluation.location import weighed
    from symslr.model.text import exactly

    samples = FOR_SAMPLES * seconds
    if scale is None:
        return weighed.least_selected_risk(asked.task, selection, asked.values, digits, samples)
    at = exactly(_finite(scale))
    return weighed.selected_risk(asked.task, selection, at, asked.values, digits, samples), {}


def _finite(at: Number) -> Number:
    """A scale that is a number.

    Raises:
        ValueError: for inf.
    """
    if isinstance(at, float):
        raise ValueError(
            "--scale: found inf, which is not available for this law of location and attention; expected a number, or the "
            "largest score alone, --attention 'top(1)'"
        )
    return at


def _optimal(wanted: TaskRequest) -> tuple[Located | Problem, OptimalAttention, list[str]]:
    """A task whose values may be missing, its optimal attention, and what has no value."""
    from symslr.model import asked
    from symslr.model.symbols import Delta, L
    from symslr.theory.located_attention import located_attention, weighed_attention

    law: Located | Problem
    if is_law(wanted):
        law = located = asked.located(wanted, dash="--", symbolic=True)
        found, needed = located_attention(located.task), located.task.free_symbols
    else:
        law = weighed = asked.problem(wanted, dash="--", symbolic=True)
        found = weighed_attention(weighed.task)
        needed = weighed.task.law.free_symbols - {L} | ({L} if weighed.task.length == L else set())
    return law, found, sorted(str(symbol) for symbol in needed - set(law.values) - {Delta})


def _valued(wanted: TaskRequest) -> Located | Problem:
    """A task of which nothing is missing."""
    if is_law(wanted):
        return problem(wanted)
    from symslr.model import asked

    return asked.problem(wanted, dash="--")


def is_law(wanted: TaskRequest) -> bool:
    """Whether a task is a law of location; spiked-SLR is one."""
    return is_located(wanted) or wanted.task == "spiked"


def _least(law: Located | Problem, digits: int | None, seconds: float) -> Value:
    """The Bayes risk of a task at values."""
    from symslr.model.asked import Located

    if isinstance(law, Located):
        return bayes(law, digits, False, seconds)
    return weighed_bayes(law, digits, None)


def optimal(
    task: str = options.TaskOption,
    length: str = options.LengthOption,
    nu: str = options.NuOption,
    noise: str = options.NoiseOption,
    digits: int | None = options.BayesDigitsOption,
    seconds: float = options.SecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """The optimal attention of a task: its formula, its LaTeX, and its risk, which is the Bayes risk.

    The task may be a law of location or have any weight. The risk is printed where the length and every parameter have
    a value.
    """
    wanted = read_task(task, length, nu, noise, dash="--", symbolic=True)
    end_after(seconds, "leave out a value (--length, --nu), and the formula comes alone")
    law, found, missing = _optimal(wanted)
    from symslr.algebra.derivation import as_text

    if not as_json:  # before the number, which takes longer
        typer.echo(f"Optimal attention, {law.task.name} task: {found.reading}")
        typer.echo(f"  {found}")
        for line in found.where:
            typer.echo(f"  with {line}")
        typer.echo(f"  LaTeX: {found.latex}")
    value, none = None, f"needs a value of {', '.join(missing)}"
    if not missing:
        asked_for = read_task(task, length, nu, noise, dash="--")
        valued = _valued(asked_for)
        try:
            value = _least(valued, digits, seconds)
        except ValueError as reason:
            none = f"has no number: {reason}"
    if as_json:
        said = {
            **law.as_json(),
            "attention": found.reading,
            "formula": as_text(found.weight),
            "latex": found.latex,
            "where": list(found.where),
        }
        typer.echo(json.dumps({**said, **({"no_risk": none} if value is None else {"risk": value.as_json()})}))
        return
    if value is None:
        typer.echo(f"  its risk {none}")
        return
    numbers = value.as_json()
    described = law.as_json()
    at = ", ".join(f"{name}={text}" for name, text in {"L": described["length"], **described["values"]}.items())
    typer.echo(f"  Bayes risk {numbers['value']} at {at}")
    typer.echo(f"  error {numbers['error']} ({value.kind}), {value.method}, {value.seconds:.3f} s")
