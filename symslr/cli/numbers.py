"""``symslr bayes`` and ``symslr risk``: one number, its error, and how it was made."""

from __future__ import annotations

import json

import typer
from sympy import Expr

from symslr.cli import options
from symslr.cli.options import Problem
from symslr.evaluation.value import Value

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
    from symslr.evaluation import evaluate
    from symslr.theory import bayes_risk

    problem = options.problem(task, length, nu, noise)
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
    digits: int = options.DigitsOption,
    certified: bool = options.CertifiedOption,
    as_json: bool = options.JsonOption,
) -> None:
    """The population risk of an attention at its best value vector, and at its best key unless --scale is given."""
    from symslr.evaluation import evaluate
    from symslr.model.text import parse_number
    from symslr.theory import minimal_risk, population_risk

    problem = options.problem(task, length, nu, noise)
    chosen = options.attention(attention, kernel, normalise, offset, problem.attention)
    backend = "arb" if certified else None
    if scale is None:
        expr: Expr = minimal_risk(problem.task, chosen)
        title = f"Least risk of {chosen.name} attention"
    else:
        expr = population_risk(problem.task, chosen, parse_number(scale, what="--scale"))
        title = f"Risk of {chosen.name} attention at scale {scale}"
    value = evaluate(expr, problem.values, digits=digits, backend=backend)
    _show(title, problem, value, {"attention": chosen.name}, as_json)


def _show(title: str, problem: Problem, value: Value, extra: dict[str, object], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**problem.as_json(), **extra, **value.as_json()}))
        return
    described = problem.as_json()
    values = {"L": described["length"], **described["values"], "Delta": described["noise"]}
    at = ", ".join(f"{name}={text}" for name, text in values.items())
    numbers = value.as_json()
    typer.echo(f"{title}, {problem.task.name} task at {at}")
    typer.echo(f"  {numbers['value']}")
    typer.echo(f"  error {numbers['error']} ({value.kind}), {value.method}, {value.seconds:.3f} s")
