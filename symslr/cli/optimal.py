"""``symslr optimal``: the attention that a task makes optimal, and its risk."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from symslr.budget import end_after
from symslr.cli import grids, options
from symslr.cli.numbers import FOR_SAMPLES, bayes


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(options.command(optimal))


def optimal(
    asked: options.OfTask,
    digits: int | None = options.BayesDigitsOption,
    csv: Path = grids.CsvOption,
    plot: Path = grids.PlotOption,
    seconds: float = options.SecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """The optimal attention of a task: its formula, its LaTeX, and its risk, which is the Bayes risk.

    The task may be a law of location or have any weight. The risk is printed where the length and every parameter have
    a value; --nu and --length take several numbers, as LOW:HIGH:COUNT or with commas: then as a table.
    """
    grid = grids.axes({"length": asked.length, "nu": asked.nu})
    wanted = asked.at(dict.fromkeys(grid)).read(symbolic=True)
    end_after(seconds, "leave out a value (--length, --nu), and the formula comes alone")
    from symslr.algebra.derivation import as_text
    from symslr.face.tasks import bayes_risk
    from symslr.model.symbols import Delta
    from symslr.model.written import problem
    from symslr.theory.located_attention import optimal_attention

    law = problem(wanted, dash="--", symbolic=True)
    found = optimal_attention(law.task)
    missing = sorted(str(symbol) for symbol in law.task.free_symbols - set(law.values) - {Delta})

    if not as_json:  # before the number, which takes longer
        typer.echo(f"Optimal attention, {law.task.name} task: {found.reading}")
        typer.echo(f"  {found}")
        for line in found.where:
            typer.echo(f"  with {line}")
        typer.echo(f"  LaTeX: {found.latex()}")
    if grid or csv or plot:
        bayes(asked, digits, False, False, csv, plot, seconds, as_json)
        return
    value, none = None, f"needs a value of {', '.join(missing)}"
    if not missing:
        valued = asked.problem()
        try:
            value = bayes_risk(valued.task)(valued.values, digits=digits, seconds=FOR_SAMPLES * seconds)
        except ValueError as reason:
            none = f"has no number: {reason}"
    if as_json:
        said = {
            **law.as_json(),
            "attention": found.reading,
            "formula": as_text(found.weight),
            "latex": found.latex(),
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
