"""``symslr thresholds`` and ``symslr bayes-optimal``: sequence models of the user's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from symslr.budget import end_after, reached
from symslr.cli import grids, options
from symslr.model.text_numbers import read_number

if TYPE_CHECKING:
    from symslr.evaluation.sequence.bayes_optimal import BayesOptimal
    from symslr.face.sequence import SequenceModel


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(thresholds)
    app.command(name="bayes-optimal")(bayes_optimal)


ModelArgument = typer.Argument(..., help="A model file with the table [model].", parser=options.path)
SeedOption = typer.Option(0, "--seed", parser=options.natural, help="Seed of the scrambled Sobol points.")


def thresholds(
    model: Path = ModelArgument,
    ladder: bool = typer.Option(
        False, "--ladder", help="Also the thresholds of the other directions, given what is learnt before them."
    ),
    seed: int = SeedOption,
    seconds: float = options.LongSecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """Weak recovery in a sequence model: the alpha = N/D from which on a direction of the teachers is learnt.

    0 means that any alpha will do, as the label has a part that is linear in the fields.
    """
    own = _model(model)
    end_after(seconds, "ask for it without --ladder" if ladder else "ask for a model with fewer inner fields")
    found = own.thresholds(ladder=ladder, seed=seed)
    if as_json:
        rows = [
            {
                **item.value.as_json(),
                "direction": ", ".join(item.names),
                "vectors": [[float(f"{entry:.6g}") for entry in row] for row in item.directions.tolist()],
                "after": list(item.after),
            }
            for item in found
        ]
        typer.echo(json.dumps({**_described(own), "thresholds": rows}))
        return
    typer.echo(f"Weak recovery in {own.name}")
    for item in found:
        given = f", given {', '.join(item.after)}" if item.after else ""
        typer.echo(f"  alpha = {options.with_error(item.value)}  {', '.join(item.names)}{given}")
        typer.echo(f"    {item.value.method}, {item.value.seconds:.2f} s")
    if not found:
        typer.echo("  no direction is learnt by linear response: at any finite alpha an uninformed start stays at 0")


def bayes_optimal(
    model: Path = ModelArgument,
    alpha: str = typer.Option(..., "--alpha", help="Samples per dimension: 0.5, a list 0.5,1,2, or LOW:HIGH:COUNT."),
    seed: int = SeedOption,
    csv: Path = grids.CsvOption,
    plot: Path = grids.PlotOption,
    seconds: float = options.LongSecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """Bayes-optimal learning of a sequence model: overlaps with the teachers and risk at N = alpha D samples.

    Along several alphas the solution of an uninformed start is followed; an informed start tells hard phases.
    """
    own = _model(model)
    alphas = [float(read_number(text, what="--alpha")) for text in grids.axes({"alpha": alpha}).get("alpha", [alpha])]
    grids.check_files(csv, plot)
    end_after(seconds, "ask for fewer points")
    from symslr.evaluation.sequence.bayes_optimal import curve
    from symslr.face.sequence import curve_of

    points = curve(own, alphas, seed=seed, progress=lambda n, of: reached(f"point {n} of {of}"))
    if csv is not None or plot is not None:
        drawn = curve_of(points)
        if csv is not None:
            drawn.to_csv(csv)
        if plot is not None:
            drawn.plot(plot, "overlap or risk")
    if as_json:
        rows = [_as_json(point) for point in points]
        typer.echo(json.dumps({**_described(own), **(rows[0] if len(rows) == 1 else {"points": rows})}))
        return
    typer.echo(f"Bayes-optimal learning of {own.name}")
    for point in points:
        typer.echo(f"  alpha = {point.alpha:g}{', ' + HARD if point.hard else ''}")
        for name, value in point.overlaps.items():
            typer.echo(f"    Q[{name}] = {options.with_error(value)}" + _attained(point, name))
        if point.risk is not None:
            typer.echo(f"    risk {options.with_error(point.risk)}")
    typer.echo(f"  {next(iter(points[0].overlaps.values())).method}")


HARD = "hard: no polynomial-time algorithm is known that attains this"


def _attained(point: BayesOptimal, name: str) -> str:
    return f"; from an uninformed start {options.with_error(point.uninformed[name])}" if point.hard else ""


def _as_json(point: BayesOptimal) -> dict[str, Any]:
    return {
        "alpha": repr(point.alpha),
        "branch": point.branch,
        "hard": point.hard,
        "overlaps": {name: value.as_json() for name, value in point.overlaps.items()},
        "risk": None if point.risk is None else point.risk.as_json(),
        "uninformed": {name: value.as_json() for name, value in point.uninformed.items()},
        "free_entropy_gap": None if point.free_entropy_gap is None else point.free_entropy_gap.as_json(),
        "change": f"{point.change:.3g}",
    }


def _model(path: Path) -> SequenceModel:
    from symslr.face.sequence import SequenceModel

    return SequenceModel.load(path)


def _described(model: SequenceModel) -> dict[str, Any]:
    return {"model": model.name, "teachers": list(model.teachers), "length": model.length, "noise": str(model.noise)}
