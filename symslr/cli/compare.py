"""``symslr compare``: a formula, or a Monte Carlo, beside a risk."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from symslr.budget import end_after
from symslr.cli import options
from symslr.cli.derivations import FALSE, UNKNOWN, AllowUnknown
from symslr.cli.numbers import posed, show, titled


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(options.command(compare))


def compare(
    asked: options.OfAttention,
    formula: str = typer.Option(
        None, "--formula", help='Formula in the symbols of the risk, such as nu, L, Delta and a: "1 - 1/(1 + nu)".'
    ),
    mean: float = typer.Option(
        None, "--mean", parser=options.number, help="Mean that you measured; needs --standard-error."
    ),
    standard_error: float = typer.Option(None, "--standard-error", parser=options.positive, help="Its standard error."),
    samples: Path = typer.Option(
        None,
        "--samples",
        parser=options.path,
        help="Your samples, in place of --mean: .npz or .csv with scores (predictions) and y (labels), or losses; perhaps weights.",
    ),
    allow_unknown: bool = AllowUnknown,
    seconds: float = options.LongSecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """Compare a formula or a Monte Carlo of yours with a Bayes risk, or with --attention, --kernel or --scale that of an attention.

    --formula: what has no value stays a symbol. The referee compares both at points, as `symslr check` does; where SymPy proves
    them equal that is said. Exit status 0 where they agree, 1 where they differ, 3 where it is unknown.

    --mean or --samples: how many standard errors they lie above the number. Samples are independent, and of scores and labels
    the loss is (y - score)^2. The exit status is 0 whatever is found.
    """
    given = [name for name, own in (("formula", formula), ("mean", mean), ("samples", samples)) if own is not None]
    if len(given) != 1:
        raise ValueError(
            f"compare: found {' and '.join(given) or 'nothing'}; expected one of --formula, --mean and --samples"
        )
    if (mean is None) != (standard_error is None):
        raise ValueError("--standard-error: expected beside --mean, and nowhere else")
    if samples is not None and not samples.exists():
        raise ValueError(f"--samples: found no file {samples}; expected one that exists")
    title, chosen, place = "Bayes risk", None, None
    if asked.names_attention:
        problem, chosen, place, _ = posed(asked, [], seconds, symbolic=formula is not None)
        title, chosen = titled(chosen, asked.scale), chosen.at(problem.values)
    else:
        problem = asked.problem(symbolic=formula is not None)
        end_after(seconds, options.SIMPLER)
    from symslr.face.tasks import bayes_risk, least_risk, population_risk

    own = problem.task.at(problem.values)
    if chosen is None:
        risk = bayes_risk(own)
    else:
        risk = least_risk(own, chosen) if place is None else population_risk(own, chosen, place)
    if formula is None:
        from symslr.face.measured import measured

        own_value = measured(mean if samples is None else samples, standard_error)
        value = risk()
        z = f"{own_value.z_score(value):.2f}"
        show(title, problem, value, {"measured": own_value.as_json(), "z_score": z}, as_json)
        if not as_json:
            typer.echo(f"  measured {options.with_error(own_value)}, {own_value.method}")
            typer.echo(f"  z = {z} standard errors")
        return
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
