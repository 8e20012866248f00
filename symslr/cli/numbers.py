"""``symslr bayes`` and ``symslr risk``: one number, its error, and how it was made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from symslr.cli import options
from symslr.model.text_numbers import read_number

if TYPE_CHECKING:
    from symslr.expression.value import Value
    from symslr.model.asked import Problem

WIDEST = 120


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(bayes)
    app.command()(risk)


def bayes(
    task: str = options.TaskOption,
    length: str = options.LengthOption,
    nu: str = options.NuOption,
    noise: str = options.NoiseOption,
    digits: int = options.DigitsOption,
    certified: bool = options.CertifiedOption,
    as_json: bool = options.JsonOption,
) -> None:
    """The Bayes risk of a task: the least risk of any predictor."""
    problem = options.problem(task, length, nu, noise)
    from symslr.evaluation import evaluate
    from symslr.theory import bayes_risk

    value = evaluate(bayes_risk(problem.task), problem.values, digits=digits, backend="arb" if certified else None)
    _show("Bayes risk", problem, value, {}, as_json)


def risk(
    task: str = options.TaskOption,
    length: str = options.LengthOption,
    nu: str = options.NuOption,
    noise: str = options.NoiseOption,
    attention: str = options.AttentionOption,
    kernel: str = options.KernelOption,
    normalise: str = options.NormaliseOption,
    offset: str = options.OffsetOption,
    scale: str = typer.Option(None, "--scale", help="Key scale a; by default the best one."),
    bounds: list[str] = typer.Option(
        [], "--bounds", help="Interval in which the best scale a (or the shift c of erf) is searched, such as a:0:10."
    ),
    digits: int = options.DigitsOption,
    certified: bool = options.CertifiedOption,
    as_json: bool = options.JsonOption,
) -> None:
    """The population risk of an attention at its best value vector, and at its best key unless --scale is given.

    The best scale is printed below the risk; it is infinite where the least risk is only approached as the scale grows.
    """
    if scale is not None and bounds:
        raise ValueError("--bounds: found together with --scale; a scale that is given is not searched")
    at = None if scale is None else read_number(scale, what="--scale")
    problem, chosen = options.problem_and_attention(task, length, nu, noise, attention, kernel, normalise, offset)
    from symslr.evaluation import evaluate, least_risk
    from symslr.model.text import exactly
    from symslr.theory import population_risk

    backend = "arb" if certified else None
    named: dict[str, object] = {"attention": chosen.name}
    if at is not None:
        expr = population_risk(problem.task, chosen, exactly(at))
        value = evaluate(expr, problem.values, digits=digits, backend=backend)
        _show(f"Risk of {chosen.name} attention at scale {scale}", problem, value, named, as_json)
        return
    limits = options.intervals(bounds, chosen)
    value, places = least_risk(problem.task, chosen, problem.values, digits, backend, limits)
    _show(f"Least risk of {chosen.name} attention", problem, value, named, as_json, places)


def _show(
    title: str,
    problem: Problem,
    value: Value,
    extra: dict[str, object],
    as_json: bool,
    places: Mapping[str, Value] | None = None,
) -> None:
    best = {name: {key: place.as_json()[key] for key in ("value", "error")} for name, place in (places or {}).items()}
    if as_json:
        typer.echo(json.dumps({**problem.as_json(), **extra, **value.as_json(), **({"best": best} if best else {})}))
        return
    described = problem.as_json()
    values = {"L": described["length"], **described["values"], "Delta": described["noise"]}
    at = ", ".join(f"{name}={text}" for name, text in values.items())
    numbers = value.as_json()
    typer.echo(f"{title}, {problem.task.name} task at {at}")
    typer.echo(f"  {numbers['value']}")
    typer.echo(f"  error {numbers['error']} ({value.kind}), {value.method}, {value.seconds:.3f} s")
    for name, place in best.items():
        typer.echo(f"  at {name} = {place['value']}, error {place['error']}")
