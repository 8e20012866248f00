"""``symslr finite``: the test risk of a fit of N = alpha D samples, at given ridges or at the best ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
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
from symslr.model.request import AttentionRequest, TaskRequest, read_attention, read_task, searched_names

if TYPE_CHECKING:
    from symslr.evaluation.finite_sample import Tuned
    from symslr.expression.value import Value
    from symslr.model.asked import Problem
    from symslr.model.attention import Attention

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
    app.command()(finite)


BRANCHES = ("lowest", "informed", "uninformed")


def _branch(text: str) -> str:
    if text not in BRANCHES:
        raise typer.BadParameter(f"found {text!r}; expected lowest, informed or uninformed")
    return text


def finite(
    task: str = options.TaskOption,
    length: str = options.LengthOption,
    nu: str = options.NuOption,
    noise: str = options.NoiseOption,
    attention: str = options.AttentionOption,
    kernel: str = options.KernelOption,
    normalise: str = options.NormaliseOption,
    offset: str = options.OffsetOption,
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
    seed: int = typer.Option(0, "--seed", parser=options.natural, help="Seed of the scrambled Sobol points."),
    csv: Path = grids.CsvOption,
    plot: Path = grids.PlotOption,
    seconds: float = options.LongSecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """Test risk of an attention fitted to N = alpha D samples with ridges, as D grows: the replica-symmetric prediction.

    Along several --alpha each branch is followed. --nu and --length take several numbers too, as LOW:HIGH:COUNT or with
    commas: then, and with --csv, --plot or --bayes-optimal, a table of the risks of --branch is printed.
    """
    texts = {"length": length, "nu": nu, "alpha": alpha}
    grid = grids.axes(texts)
    alphas = grids.numbers("alpha", alpha, options.positive)
    if optimal:
        of_a_fit = {"--tuned": tuned, "--attention": attention, "--kernel": kernel}
        of_a_fit |= {"--rk": rk, "--rv": rv, "--branch": branch, "--shift": shift, "--precision": precision}
        if found := next((name for name, given in of_a_fit.items() if given is not None and given is not False), None):
            raise ValueError(f"{found}: found with --bayes-optimal, where nothing is fitted; expected it without")
    ridge = None if optimal else _ridge(rk, rv, tuned)
    check_alphas(alphas)
    precision = USUAL_PRECISION if precision is None else precision
    check_precision(precision)
    asked_attention = read_attention(attention, kernel, normalise, offset, dash="--")

    def asked(point: Mapping[str, str | None]) -> TaskRequest:
        found = read_task(task, point.get("length"), point.get("nu"), noise, dash="--")
        _check_task(found)
        return found

    first = asked({**texts, **{name: each[0] for name, each in grid.items()}})
    own = dict.fromkeys(searched_names(asked_attention, first), shift or 0.0)
    if shift is not None and not (own and isfinite(shift)):
        raise ValueError(
            f"--shift: found {shift:g}; expected a finite number beside erf attention, which alone has a shift"
        )
    if csv or plot or grid.keys() - {"alpha"} or (optimal and grid):
        end_after(seconds, "ask for fewer points")

        def at(point: dict[str, Any]) -> Value:
            problem, chosen = options.made(asked(point), asked_attention)
            from symslr.face.samples import bayes_optimal, fitted

            if optimal:
                return bayes_optimal(problem.task, seed=seed)(problem.values, alpha=point["alpha"])
            how: dict[str, Any] = {"precision": precision, "branch": branch or BRANCHES[0], "seed": seed}
            fit = fitted(problem.task, chosen, ridge="tuned" if ridge is None else ridge, **how)
            return fit({**problem.values, **own}, alpha=point["alpha"])

        every = {name: [text] for name, text in texts.items() if text is not None} | grid
        grids.show("Bayes-optimal risk" if optimal else "Test risk", at, every, csv, plot, as_json)
        return
    if optimal:
        end_after(seconds, "ask for a smaller alpha or a shorter length")
        _bayes_optimal(first, alphas[0], seed, as_json)
        return
    if grid and branch is not None:
        raise ValueError("--branch: found with several --alpha, which show every branch; expected one, or --csv")
    end_after(seconds, "ask for one --alpha" if grid else "give ridges (--rk, --rv)" if ridge is None else LESS)
    _fit(first, asked_attention, alphas, Aim(ridge, precision, branch or BRANCHES[0], own, seed), as_json)


LESS = "ask for a larger --precision"


@dataclass(frozen=True)
class Aim:
    """How a fit is sought: its ridges (None: the best), the accuracy, the branch, the numbers of the kernel's own
    parameters, and the seed."""

    ridge: tuple[float, float] | None
    precision: float
    branch: str
    own: dict[str, float]
    seed: int


def _check_task(wanted: TaskRequest) -> None:
    """Refuse lengths and a noise at which nothing is fitted; those of a model file are looked at when it is made a task."""
    pairs = ((wanted.length, 1),) if isinstance(wanted.length, int) else wanted.length or ()
    for length, _ in pairs:
        check_length(length, LONGEST_FITTED, "at finite alpha")
    if wanted.noise is not None:
        check_noise(float(wanted.noise))


def _fit(task: TaskRequest, attention: AttentionRequest, alphas: list[float], aim: Aim, as_json: bool) -> None:
    """Print the fit at one alpha, or along several."""
    problem, chosen = options.made(task, attention)
    from symslr.evaluation.finite_sample import fit_at

    values: dict[Any, Any] = {**problem.values, **aim.own}
    if len(alphas) > 1:
        _curve(problem, chosen, values, alphas, aim, as_json)
        return
    (alpha,) = alphas
    how: dict[str, Any] = {"precision": aim.precision, "branch": aim.branch, "seed": aim.seed}
    found, tuned = fit_at(problem.task, chosen, values, alpha=alpha, ridge=aim.ridge, **how)
    about = {**problem.as_json(), "attention": chosen.name, "alpha": repr(alpha)}
    about |= {**_ridges_as_json(tuned), "branch": found.branch}
    numbers = {"risk": found.risk, "training_loss": found.training_loss, "energy": found.energy}
    if as_json:
        order = {name: value.as_json() for name, value in found.order_parameters.items()}
        shown = {name: value.as_json() for name, value in numbers.items()}
        about |= {"stable": found.stable, "replicon": f"{found.replicon:.3g}", "jumps": f"{found.jumps:.3g}"}
        about["spread"] = f"{found.spread:.3g}"
        typer.echo(json.dumps({**about, **shown, "order_parameters": order, "change": f"{found.change:.3g}"}))
        return
    typer.echo(
        f"Test risk of {chosen.name} attention, {problem.task.name} task at {options.where(problem.as_json())}, alpha={alpha:g}"
    )
    typer.echo(f"  {options.with_error(found.risk)}  at r_k={tuned.r_k:.4g}, r_v={tuned.r_v:.4g}{_remarks(tuned)}")
    typer.echo(f"  training loss {options.with_error(found.training_loss)}, energy {options.with_error(found.energy)}")
    for name, meaning in WHAT.items():
        typer.echo(f"  {name} = {options.with_error(found.order_parameters[name])}  {meaning}")
    typer.echo(f"  one more step moves no coordinate by more than {found.change:.1e}; branch: {found.branch}")
    measured = f"replicon {found.replicon:.3g}, jumps {found.jumps:.2%}, spread {found.spread:.2g}"
    typer.echo(f"  {measured}: {found.symmetry}")
    if found.risk.error > aim.precision * abs(found.risk.value):
        typer.echo(f"  precision {aim.precision:g} is out of reach: no more than {found.count} samples are drawn")
    typer.echo(f"  {found.risk.method}, {found.risk.seconds:.2f} s")


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


def _curve(
    problem: Problem,
    chosen: Attention,
    values: dict[Any, Any],
    alphas: list[float],
    aim: Aim,
    as_json: bool,
) -> None:
    """One line per alpha and branch, the branch of lowest energy first."""
    from symslr.evaluation.finite_sample import finite_sample_curve

    points = finite_sample_curve(
        problem.task, chosen, values, alphas=alphas, ridge=aim.ridge, precision=aim.precision, seed=aim.seed
    )
    if as_json:
        about = {**problem.as_json(), "attention": chosen.name}
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
    typer.echo(f"Test risk of {chosen.name} attention, {problem.task.name} task at {options.where(problem.as_json())}")
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


def _bayes_optimal(task: TaskRequest, alpha: float, seed: int, as_json: bool) -> None:
    """Print the Bayes-optimal risk at one alpha."""
    from symslr.model import asked

    problem = asked.problem(task, dash="--")
    from symslr.evaluation.finite_sample import bayes_optimal

    found = bayes_optimal(problem.task, problem.values, alpha=alpha, seed=seed)
    assert found.risk is not None
    assert found.uninformed_risk is not None
    q_k, q_v = found.overlaps["k"], found.overlaps["v"]
    numbers = {"risk": found.risk, "q_k": q_k, "q_v": q_v, "uninformed_risk": found.uninformed_risk}
    gap = found.free_entropy_gap
    if as_json:
        about = {**problem.as_json(), "alpha": repr(alpha), "branch": found.branch, "hard": found.hard}
        shown = {name: value.as_json() for name, value in numbers.items()}
        between = {"free_entropy_gap": None if gap is None else gap.as_json()}
        typer.echo(json.dumps({**about, **shown, **between, "change": f"{found.change:.3g}"}))
        return
    typer.echo(f"Bayes-optimal risk, {problem.task.name} task at {options.where(problem.as_json())}, alpha={alpha:g}")
    typer.echo(f"  {options.with_error(found.risk)}")
    typer.echo(f"  q_k = {options.with_error(q_k)}  overlap with k*")
    typer.echo(f"  q_v = {options.with_error(q_v)}  overlap with v*")
    if found.hard:
        typer.echo(f"  hard phase: from an uninformed start {options.with_error(found.uninformed_risk)}")
    typer.echo(f"  {found.risk.method}, {found.risk.seconds:.2f} s")
