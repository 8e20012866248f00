"""``symslr finite``: the test risk of a fit of N = alpha D samples, at given ridges or at the best ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from symslr.budget import end_after
from symslr.cli import grids, options
from symslr.model.ranges import (
    LONGEST_FITTED,
    USUAL_PRECISION,
    check_alphas,
    check_length,
    check_noise,
    check_precision,
)
from symslr.model.request import AttentionRequest, TaskRequest, searched_names

if TYPE_CHECKING:
    from symslr.evaluation.finite_sample import CurvePoint, Tuned
    from symslr.evaluation.sequence.bayes_optimal import BayesOptimal
    from symslr.expression.value import Value
    from symslr.model.written import Problem

WHAT = {
    "m_k": "overlap of the key with k*",
    "q_k": "squared length of the key",
    "V_k": "response of the key",
    "m_v": "overlap of the value with v*",
    "q_v": "squared length of the value",
    "V_v": "response of the value",
}


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(options.command(finite))


BRANCHES = ("lowest", "informed", "uninformed")


def _branch(text: str) -> str:
    if text not in BRANCHES:
        raise typer.BadParameter(f"found {text!r}; expected lowest, informed or uninformed")
    return text


def finite(
    asked: options.OfKernel,
    alpha: str = typer.Option(
        ..., "--alpha", help="Samples per dimension, alpha = N/D > 0: 2, a list 1,2,4, or LOW:HIGH:COUNT."
    ),
    rk: float = typer.Option(
        None, "--rk", parser=options.positive, help="Ridge of the key, r_k > 0; the fit pays r_k |k|^2 / 2."
    ),
    rv: float = typer.Option(
        None, "--rv", parser=options.positive, help="Ridge of the value, r_v > 0; the fit pays r_v |v|^2 / 2."
    ),
    tuned: bool = typer.Option(False, "--tuned", help="In place of --rk and --rv: find the ridges of least test risk."),
    optimal: bool = typer.Option(
        False,
        "--bayes-optimal",
        help="The least test risk of any estimator that sees the samples, in place of a fit's.",
    ),
    branch: str = typer.Option(
        None,
        "--branch",
        parser=_branch,
        help="Solution reached from an informed or an uninformed start, or lowest: that of lowest energy, the default.",
    ),
    shift: float = typer.Option(
        None, "--shift", parser=options.number, help="The shift c of the kernel of erf attention; 0 by default."
    ),
    precision: float = typer.Option(
        None,
        "--precision",
        parser=options.number,
        help=f"Relative standard error of the risk to aim at; {USUAL_PRECISION} by default.",
    ),
    seed: int = options.SeedOption,
    csv: Path = grids.CsvOption,
    plot: Path = grids.PlotOption,
    seconds: float = options.LongSecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """Test risk of an attention fitted to N = alpha D samples with ridges, as D grows: the replica-symmetric prediction.

    Along several --alpha each branch is followed. --nu and --length take several numbers too, as LOW:HIGH:COUNT or with
    commas: then, and with --csv, --plot or --bayes-optimal, a table of the risks of --branch is printed.
    """
    texts = {"length": asked.length, "nu": asked.nu, "alpha": alpha}
    grid = grids.axes(texts)
    alphas = grids.numbers("alpha", alpha, options.positive)
    if optimal:
        of_a_fit: dict[str, object] = {"--tuned": tuned, "--attention": asked.attention, "--kernel": asked.kernel}
        of_a_fit |= {"--rk": rk, "--rv": rv, "--branch": branch, "--shift": shift, "--precision": precision}
        if found := next((name for name, given in of_a_fit.items() if given is not None and given is not False), None):
            raise ValueError(f"{found}: found with --bayes-optimal, where nothing is fitted; expected it without")
    ridge = None if optimal else _ridge(rk, rv, tuned)
    check_alphas(alphas)
    precision = USUAL_PRECISION if precision is None else precision
    check_precision(precision)

    def requests(point: Mapping[str, str]) -> tuple[TaskRequest, AttentionRequest]:
        found = asked.at(point).read_both()
        _check_task(found[0])
        return found

    first = requests({name: each[0] for name, each in grid.items()})
    own = dict.fromkeys(searched_names(*first), shift or 0.0)
    if shift is not None and not (own and isfinite(shift)):
        raise ValueError(
            f"--shift: found {shift:g}; expected a finite number beside erf attention, which alone has a shift"
        )
    is_table = bool(csv or plot or grid.keys() - {"alpha"} or (optimal and grid))
    if grid and not is_table and branch is not None:
        raise ValueError("--branch: found with several --alpha, which show every branch; expected one, or --csv")
    least = "ask for a smaller alpha or a shorter length" if optimal else "ask for a larger --precision"
    less = "ask for one --alpha" if grid else "give ridges (--rk, --rv)" if tuned else least
    end_after(seconds, "ask for fewer points" if is_table else less)
    how: dict[str, Any] = {"ridge": ridge or "tuned", "precision": precision, "seed": seed}

    def at(point: Mapping[str, Any]) -> Value:
        problem, chosen = options.made(*requests(point))
        from symslr.face.samples import bayes_optimal, fitted

        if optimal:
            return bayes_optimal(problem.task, seed=seed)(problem.values, alpha=point["alpha"])
        fit = fitted(problem.task, chosen, branch=branch or BRANCHES[0], **how)
        return fit({**problem.values, **own}, alpha=point["alpha"])

    if is_table:
        grids.show("Bayes-optimal risk" if optimal else "Test risk", at, grids.every(texts), csv, plot, as_json)
        return
    problem, chosen = options.made(*first)
    if grid:
        from symslr.face.samples import fitted_branches

        points = fitted_branches(problem.task, chosen, {**problem.values, **own}, alpha=alphas, **how)
        _show_branches(problem, chosen.name, points, as_json)
    elif optimal:
        _show_best(problem, alphas[0], at({"alpha": alphas[0]}), as_json)
    else:
        _show_fit(problem, chosen.name, at({"alpha": alphas[0]}), precision, as_json)


def _check_task(wanted: TaskRequest) -> None:
    """Refuse lengths and a noise at which nothing is fitted; those of a model file are looked at when it is made a task."""
    pairs = ((wanted.length, 1),) if isinstance(wanted.length, int) else wanted.length or ()
    for length, _ in pairs:
        check_length(length, LONGEST_FITTED, "at finite alpha")
    if wanted.noise is not None:
        check_noise(float(wanted.noise))


def _show_fit(problem: Problem, attention: str, value: Value, precision: float, as_json: bool) -> None:
    """Print the fit at one alpha."""
    point: CurvePoint = value.result
    found, tuned = point.fit, point.tuned
    if as_json:
        about = {**problem.as_json(), "attention": attention, "alpha": repr(point.alpha)}
        about |= {**_ridges_as_json(tuned), "branch": found.branch, "stable": found.stable}
        about |= {name: f"{getattr(found, name):.3g}" for name in ("replicon", "jumps", "spread")}
        about |= {name: getattr(found, name).as_json() for name in ("risk", "training_loss", "energy")}
        order = {name: own.as_json() for name, own in value.at.items()}
        typer.echo(json.dumps({**about, "order_parameters": order, "change": f"{found.change:.3g}"}))
        return
    where = f"{options.where(problem.as_json())}, alpha={point.alpha:g}"
    typer.echo(f"Test risk of {attention} attention, {problem.task.name} task at {where}")
    typer.echo(f"  {options.with_error(value)}  at r_k={tuned.r_k:.4g}, r_v={tuned.r_v:.4g}{_remarks(tuned)}")
    typer.echo(f"  training loss {options.with_error(found.training_loss)}, energy {options.with_error(found.energy)}")
    for name, meaning in WHAT.items():
        typer.echo(f"  {name} = {options.with_error(value.at[name])}  {meaning}")
    typer.echo(f"  one more step moves no coordinate by more than {found.change:.1e}; branch: {found.branch}")
    measured = f"replicon {found.replicon:.3g}, jumps {found.jumps:.2%}, spread {found.spread:.2g}"
    typer.echo(f"  {measured}: {found.symmetry}")
    if value.error > precision * abs(value.value):
        typer.echo(f"  precision {precision:g} is out of reach: no more than {found.count} samples are drawn")
    typer.echo(f"  {found.risk.method}, {value.seconds:.2f} s")


def _ridge(rk: float | None, rv: float | None, tuned: bool) -> tuple[float, float] | None:
    if tuned:
        if rk is not None or rv is not None:
            raise ValueError("--tuned: found together with --rk or --rv; expected one or the other")
        return None
    if rk is None or rv is None:
        given = " and ".join(name for name, ridge in (("--rk", rk), ("--rv", rv)) if ridge is not None) or "neither"
        raise ValueError(f"--rk and --rv: found {given}; expected both, or --tuned")
    return rk, rv


def _ridges_as_json(tuned: Tuned) -> dict[str, object]:
    limits = {name: "0" if limit == 0 else "inf" for name, limit in tuned.approached.items()}
    return {"r_k": f"{tuned.r_k:.6g}", "r_v": f"{tuned.r_v:.6g}", "limits": limits, "confined": tuned.confined}


def _remarks(tuned: Tuned) -> str:
    return "".join(f", {remark}" for remark in tuned.remarks)


def _show_branches(problem: Problem, attention: str, points: list[CurvePoint], as_json: bool) -> None:
    """One line per alpha and branch, the branch of lowest energy first."""
    if as_json:
        about = {**problem.as_json(), "attention": attention}
        rows = [
            {
                "alpha": repr(point.alpha),
                **_ridges_as_json(point.tuned),
                "branch": fit.branch,
                "risk": fit.risk.as_json(),
                "energy": fit.energy.as_json(),
                "stable": fit.stable,
            }
            for point in points
            for fit in point.fits
        ]
        typer.echo(json.dumps({**about, "points": rows}))
        return
    typer.echo(f"Test risk of {attention} attention, {problem.task.name} task at {options.where(problem.as_json())}")
    shown = [f"{point.alpha:g}" for point in points]
    if len(set(shown)) < len(shown):  # as they were told apart
        shown = [repr(point.alpha) for point in points]
    wide = max(8, *map(len, shown))
    typer.echo(f"  {'alpha':>{wide}}  {'risk':<20} {'energy':<20} {'r_k':>8} {'r_v':>8}  branch")
    for alpha, point in zip(shown, points, strict=True):
        for fit in point.fits:
            mark = "" if fit.stable else ", replica symmetry broken"
            typer.echo(
                f"  {alpha:>{wide}}  {options.with_error(fit.risk):<20} {options.with_error(fit.energy):<20}"
                f" {point.tuned.r_k:8.4g} {point.tuned.r_v:8.4g}  {fit.branch}{_remarks(point.tuned)}{mark}"
            )


def _show_best(problem: Problem, alpha: float, value: Value, as_json: bool) -> None:
    """Print the Bayes-optimal risk at one alpha."""
    found: BayesOptimal = value.result
    assert found.uninformed_risk is not None
    if as_json:
        about = {**problem.as_json(), "alpha": repr(alpha), "branch": found.branch, "hard": found.hard}
        numbers = {"risk": value, **value.at, "uninformed_risk": found.uninformed_risk}
        about |= {name: own.as_json() for name, own in numbers.items()}
        gap = None if found.free_entropy_gap is None else found.free_entropy_gap.as_json()
        typer.echo(json.dumps({**about, "free_entropy_gap": gap, "change": f"{found.change:.3g}"}))
        return
    typer.echo(f"Bayes-optimal risk, {problem.task.name} task at {options.where(problem.as_json())}, alpha={alpha:g}")
    typer.echo(f"  {options.with_error(value)}")
    for name, own in value.at.items():
        typer.echo(f"  {name} = {options.with_error(own)}  overlap with {name[-1]}*")
    if found.hard:
        typer.echo(f"  hard phase: from an uninformed start {options.with_error(found.uninformed_risk)}")
    typer.echo(f"  {value.method}, {value.seconds:.2f} s")
