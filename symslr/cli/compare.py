"""``symslr compare``: whether a formula is that of a risk."""

from __future__ import annotations

import json

import typer

from symslr.budget import end_after
from symslr.cli import options
from symslr.cli.derivations import FALSE, UNKNOWN, AllowUnknown
from symslr.cli.numbers import posed, titled


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(compare)


def compare(
    task: str = options.TaskOption,
    length: str = options.LengthOption,
    nu: str = options.NuOption,
    noise: str = options.NoiseOption,
    attention: str = options.AnyAttentionOption,
    kernel: str = options.KernelOption,
    normalise: str = options.NormaliseOption,
    offset: str = options.FreeOffsetOption,
    heads: int = options.HeadsOption,
    separate: bool = options.SeparateOption,
    bias: str = options.BiasOption,
    filter_: str = options.FilterOption,
    scale: str = options.ScaleOption,
    formula: str = typer.Option(
        ..., "--formula", help='Formula in the symbols of the risk, such as nu, L, Delta and a: "1 - 1/(1 + nu)".'
    ),
    allow_unknown: bool = AllowUnknown,
    seconds: float = options.LongSecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """Whether a formula of yours is the Bayes risk of a task, or with --attention, --kernel or --scale the risk of an attention.

    What has no value stays a symbol. The referee compares both at points, as `symslr check` does; where SymPy proves them equal
    that is said. Exit status 0 where they agree, 1 where they differ, 3 where it is unknown.
    """
    texts = {"length": length, "nu": nu, "scale": scale}
    title, chosen, place = "Bayes risk", None, None
    if attention or kernel or scale:
        kinds = (attention, kernel, normalise, offset), (heads, separate, bias, filter_)
        problem, chosen, place, _ = posed(texts, task, noise, *kinds, [], seconds, symbolic=True)
        title, chosen = titled(chosen, scale), chosen.at(problem.values)
    else:
        problem = options.problem(task, length, nu, noise, symbolic=True)
        end_after(seconds, options.SIMPLER)
    from symslr.face.tasks import bayes_risk, least_risk, population_risk

    own = problem.task.at(problem.values)
    if chosen is None:
        risk = bayes_risk(own)
    else:
        risk = least_risk(own, chosen) if place is None else population_risk(own, chosen, place)
    found = risk.compare_with(formula)
    if as_json:
        typer.echo(json.dumps({**problem.as_json(), "formula": formula, **found.as_json()}))
    else:
        typer.echo(f"{title}, {problem.task.name} task, and {formula}")
        typer.echo(f"  {found!r}".replace("\n", "\n  "))
    if found.answer == "differs":
        raise typer.Exit(FALSE)
    if found.answer == "unknown" and not allow_unknown:
        raise typer.Exit(UNKNOWN)
