"""``symslr thresholds``, ``bayes-optimal``, ``fitted``, ``dynamics`` and ``equations``: sequence models of the user's own."""

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
    app.command()(fitted)
    app.command()(dynamics)
    app.command()(equations)


ModelArgument = typer.Argument(..., help="A model file with the table [model].", parser=options.path)


def thresholds(
    model: Path = ModelArgument,
    ladder: bool = typer.Option(
        False, "--ladder", help="Also the thresholds of the other directions, given what is learnt before them."
    ),
    seed: int = options.SeedOption,
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
    seed: int = options.SeedOption,
    csv: Path = grids.CsvOption,
    plot: Path = grids.PlotOption,
    seconds: float = options.LongSecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """Bayes-optimal learning of a sequence model: overlaps with the teachers and risk at N = alpha D samples.

    Along several alphas the solution of an uninformed start is followed; an informed start tells hard phases.
    """
    own = _model(model)
    alphas = grids.numbers("alpha", alpha, options.number)
    grids.check_files(csv, plot)
    end_after(seconds, "ask for fewer points")
    from symslr.evaluation.sequence.bayes_optimal import curve
    from symslr.face.sequence import curve_of

    points = curve(own, alphas, seed=seed, progress=lambda n, of: reached(f"point {n} of {of}"))
    if csv is not None or plot is not None:
        grids.write(curve_of(points), "overlap or risk", csv, plot)
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


def dynamics(
    model: Path = ModelArgument,
    times: str = typer.Option(..., "--times", help="Times t = gamma steps/D: a list 0,1,10, or LOW:HIGH:COUNT."),
    gamma: float = typer.Option(
        0.0, "--gamma", parser=options.number, help="Step gamma >= 0 of w = W/sqrt(D), as gamma/D; 0 is gradient flow."
    ),
    ridge: float = typer.Option(0.0, "--ridge", parser=options.number, help="Ridge lambda >= 0."),
    seed: int = options.SeedOption,
    seconds: float = options.LongSecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """One-pass SGD of the student of a sequence model as D grows: overlaps M with the teachers, lengths Q, and the loss.

    It begins at Q = 1 with overlaps of 0.01.
    """
    own = _model(model)
    at = grids.numbers("times", times, options.number)
    end_after(seconds, "ask for a shorter time")
    found = own.dynamics(at, gamma=gamma, ridge=ridge, seed=seed)
    rows: list[dict[str, Any]] = [
        {"time": repr(float(time)), "risk": risk.as_json()}
        | _overlaps(own, found.M[t], found.M_error[t])
        | _lengths(own, "Q", found.Q[t], found.Q_error[t])
        for t, (time, risk) in enumerate(zip(found.times, found.risk))
    ]
    if as_json:
        typer.echo(json.dumps({**_described(own), "gamma": repr(gamma), "ridge": repr(ridge), "points": rows}))
        return
    typer.echo(f"SGD on {own.name}, gamma = {gamma:g}, ridge = {ridge:g}")
    for row, risk in zip(rows, found.risk):
        shown = [f"{name} = {pair['value']} ± {pair['error']}" for name, pair in row.items() if "[" in name]
        typer.echo(f"  t = {float(row['time']):g}: loss {options.with_error(risk)}, {', '.join(shown)}")
    typer.echo(f"  {found.risk[0].method}, {found.risk[-1].seconds:.2f} s")


def fitted(
    model: Path = ModelArgument,
    alpha: str = typer.Option(..., "--alpha", help="Samples per dimension: 2, a list 1,2,4, or LOW:HIGH:COUNT."),
    ridge: str = typer.Option(
        ..., "--ridge", help="Ridge > 0 of every direction of the student, or a list with one for each: 1,10."
    ),
    seed: int = options.SeedOption,
    seconds: float = options.LongSecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """The student of a sequence model fitted to N = alpha D samples with ridges, as D grows: the replica-symmetric prediction.

    The fit pays the loss of every sample and lambda |w|^2 / 2 for every direction w.
    """
    own = _model(model)
    alphas = grids.numbers("alpha", alpha, options.number)
    ridges = [float(read_number(text, what="--ridge")) for text in ridge.split(",")]
    end_after(seconds, "ask for fewer points")
    points = []
    for n, at in enumerate(alphas):
        points.append(own.fitted(at, ridges[0] if len(ridges) == 1 else ridges, seed=seed))
        reached(f"point {n + 1} of {len(alphas)}")
    if as_json:
        rows = [
            {
                "alpha": repr(point.alpha),
                "branch": point.branch,
                **{name: getattr(point, name).as_json() for name in ("risk", "training_loss", "energy")},
                "stable": point.stable,
                "replicon": f"{point.replicon:.3g}",
                "jumps": f"{point.jumps:.3g}",
                "change": f"{point.change:.3g}",
                **_overlaps(own, point.M, point.M_error),
                **_lengths(own, "Q", point.Q, point.Q_error),
                **_lengths(own, "V", point.V, point.V_error),
            }
            for point in points
        ]
        typer.echo(
            json.dumps({**_described(own), "ridge": ridges, **(rows[0] if len(rows) == 1 else {"points": rows})})
        )
        return
    typer.echo(f"Fits of the student of {own.name}, ridge {ridge}")
    for point in points:
        typer.echo(f"  alpha = {point.alpha:g}: loss on a new sample {options.with_error(point.risk)}")
        typer.echo(
            f"    training loss {options.with_error(point.training_loss)}, energy {options.with_error(point.energy)}"
        )
        order = _overlaps(own, point.M, point.M_error) | _lengths(own, "Q", point.Q, point.Q_error)
        typer.echo("    " + ", ".join(f"{name} = {pair['value']} ± {pair['error']}" for name, pair in order.items()))
        stable = (
            "holds" if point.stable else "is broken: fits get stuck above this energy, and the loss need not be theirs"
        )
        typer.echo(f"    replicon {point.replicon:.3g}, jumps {point.jumps:.2%}: replica symmetry {stable}")
    typer.echo(f"  {points[0].risk.method}")


Pairs = dict[str, dict[str, str]]


def _overlaps(model: SequenceModel, M: Any, error: Any) -> Pairs:
    """M of every student's direction with every teacher's."""
    assert model.student is not None
    pairs = [(k, j) for k in range(len(M)) for j in range(len(M[0]))]
    names = model.student.names
    return {f"M[{names[k]},{model.teachers[j]}]": _pair(M[k, j], error[k, j]) for k, j in pairs}


def _lengths(model: SequenceModel, what: str, Q: Any, error: Any) -> Pairs:
    """A symmetric matrix of the student's directions."""
    assert model.student is not None
    names = model.student.names
    return {
        f"{what}[{names[k]},{names[j]}]": _pair(Q[k, j], error[k, j]) for k in range(len(Q)) for j in range(k, len(Q))
    }


def _pair(value: float, error: float) -> dict[str, str]:
    return {"value": f"{value:.6g}", "error": f"{error:.2g}"}


def equations(
    model: Path = ModelArgument,
    as_latex: bool = typer.Option(False, "--latex", help="Print an align* environment."),
    as_json: bool = options.JsonOption,
) -> None:
    """The equations of a sequence model in its own letters: state evolution, weak recovery, one-pass SGD of its student."""
    own = _model(model)
    from symslr.export.sequence_model import equations

    found = equations(own)
    if as_json:
        rows = [{"title": each.title, "latex": each.latex, "by": list(each.by)} for each in found]
        typer.echo(json.dumps({**_described(own), "equations": rows}))
    elif as_latex:
        lines = [each.latex.replace("=", "&=", 1) for each in found]
        typer.echo("\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}")
    else:
        for each in found:
            by = f" (by {', '.join(each.by)})" if each.by else ""
            typer.echo(f"{each.title}{by}: {each.latex}")


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
