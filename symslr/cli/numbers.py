"""``symslr bayes`` and ``symslr risk``: one number, its error, and how it was made."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from symslr.budget import end_after
from symslr.cli import grids, options
from symslr.model.request import read_heads, read_value, searched_names

if TYPE_CHECKING:
    from sympy import Expr

    from symslr.expression.value import Value
    from symslr.model.attention import Attention
    from symslr.model.written import Problem
    from symslr.theory.symbolic import Formula

FOR_SAMPLES = 0.2
"""Of the budget so much goes to one number that is sampled; the rest is left for the search of its best place."""

IN_THE_LIMIT = "as a goes to "
"""So begins what is said of a place that is only approached."""


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(options.command(bayes))
    app.command()(options.command(risk))


def bayes(
    asked: options.OfTask,
    digits: int | None = options.BayesDigitsOption,
    certified: bool = options.CertifiedOption,
    symbolic: bool = options.SymbolicOption,
    csv: Path = grids.CsvOption,
    plot: Path = grids.PlotOption,
    seconds: float = options.SecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """The Bayes risk of a task: the least risk of any predictor.

    --nu and --length take several numbers, as LOW:HIGH:COUNT or with commas: then a table is printed.
    """
    _refuse_beside_formula(symbolic, certified, digits)
    if symbolic:
        problem = asked.problem(symbolic=True)
        from symslr.theory.symbolic import bayes_formula

        _show_formula("Bayes risk", problem, bayes_formula(problem.task), {}, as_json)
        return

    def at(point: Mapping[str, str]) -> Answer:
        problem = asked.at(point).problem()
        from symslr.face.tasks import bayes_risk

        how: dict[str, Any] = {"digits": digits, "certified": certified, "seconds": FOR_SAMPLES * seconds}
        return "Bayes risk", problem, bayes_risk(problem.task)(problem.values, **how), {}

    end_after(seconds, options.SIMPLER)
    _answer(at, {"length": asked.length, "nu": asked.nu}, "Bayes risk", csv, plot, as_json)


Answer = tuple[str, "Problem", "Value", dict[str, Any]]
"""(what was asked, of which task, the value, what is said beside it)."""


def _answer(
    at: Callable[[Mapping[str, str]], Answer],
    texts: Mapping[str, str | None],
    title: str,
    csv: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Print the answer, or a table of answers where an option names several numbers, or a file is to be written."""
    grid = grids.axes(texts)
    if grid or csv or plot:
        grids.show(title, lambda point: at(point)[2], grids.every(texts), csv, plot, as_json)
        return
    show(*at({}), as_json)


def _refuse_beside_formula(symbolic: bool, certified: bool, digits: int | None, bounds: Sequence[str] = ()) -> None:
    """A formula is exact, for every value of its letters and with the scale sought on the whole line.

    Raises:
        ValueError: where it is asked for together with what it would not heed.
    """
    if symbolic and certified:
        raise ValueError("--certified: found together with --symbolic; a formula has no error to prove, leave one out")
    if symbolic and digits is not None:
        raise ValueError("--digits: found together with --symbolic; a formula has no digits, leave one out")
    if symbolic and bounds:
        raise ValueError(
            "--bounds: found together with --symbolic; the formula is that of the least risk over all scales, leave one out"
        )


def risk(
    asked: options.OfAttention,
    bounds: list[str] = typer.Option(
        [],
        "--bounds",
        help="Interval NAME:LOW:HIGH in which the best scale a (or the shift c of erf) is sought, such as a:0:10; "
        "may be repeated.",
    ),
    digits: int | None = options.RiskDigitsOption,
    certified: bool = options.CertifiedOption,
    symbolic: bool = options.SymbolicOption,
    csv: Path = grids.CsvOption,
    plot: Path = grids.PlotOption,
    seconds: float = options.SecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """The population risk of an attention at its best value vector, and at its best key scale unless --scale is given.

    The best scale is printed below the risk; it is inf where the least risk is only approached as the scale grows. --nu,
    --length and --scale take several numbers, as LOW:HIGH:COUNT or with commas: then a table is printed.
    """
    if asked.scale is not None and bounds:
        raise ValueError("--bounds: found together with --scale; a scale that is given is not searched")
    _refuse_beside_formula(symbolic, certified, digits, bounds)
    if symbolic and (csv or plot):
        raise ValueError("--symbolic: found together with --csv or --plot; a formula has no table, leave one out")
    if symbolic:
        problem, chosen, place, _ = posed(asked, [], seconds, symbolic=True)
        from symslr.theory.symbolic import least_formula, risk_formula

        made = least_formula(problem.task, chosen) if place is None else risk_formula(problem.task, chosen, place)
        _show_formula(titled(chosen, asked.scale), problem, made, {"attention": chosen.title}, as_json)
        return

    def at(point: Mapping[str, str]) -> Answer:
        here = asked.at(point)
        problem, chosen, place, limits = posed(here, bounds, seconds)
        from symslr.face.tasks import least_risk, population_risk

        model = problem.task, chosen
        quantity = least_risk(*model, limits) if place is None else population_risk(*model, place)
        how: dict[str, Any] = {"digits": digits, "certified": certified, "seconds": FOR_SAMPLES * seconds}
        value = quantity(problem.values, **how)
        return titled(chosen, here.scale), problem, value, {"attention": chosen.title}

    texts = {"length": asked.length, "nu": asked.nu, "scale": asked.scale}
    _answer(at, texts, "Least risk" if asked.scale is None else "Risk", csv, plot, as_json)


def posed(
    asked: options.OfAttention, bounds: list[str], seconds: float, *, symbolic: bool = False
) -> tuple[Problem, Attention, Expr | None, options.Intervals]:
    """The task, the attention, the scale if one is given, and the intervals that are searched; begins to count ``seconds``.

    Args:
        symbolic: whether a formula is wanted; the scale may then be the letter a.

    Raises:
        ValueError: in one line, for what is no task or no attention.
    """
    is_open = symbolic and asked.scale == "a"
    place = None if asked.scale is None or is_open else read_value(asked.scale, what="--scale", length=asked.length)
    wanted = asked.read_both(symbolic=symbolic)
    searched = options.read_intervals(bounds, ("a", *searched_names(*wanted)))
    wanted_heads = read_heads(asked.heads, asked.separate, asked.bias, asked.filter_, dash="--")
    end_after(seconds, options.SIMPLER)
    from symslr.model.symbols import a
    from symslr.model.text import exactly
    from symslr.model.written import with_heads

    problem, base = options.made(*wanted, symbolic=symbolic)
    if asked.offset == "free":
        base = replace(base, offset="free")
    chosen = with_heads(base, wanted_heads, problem.values)
    free = sorted(str(symbol) for symbol in chosen.parameters - set(problem.values))
    if place is not None and free and not symbolic:
        raise ValueError(
            f"--scale: found with a kernel whose {free[0]} has no value; expected one under [values] of a model file, or no "
            f"--scale, and {free[0]} is searched with the scale"
        )
    scale = a if is_open else None if place is None else exactly(place)
    return problem, chosen, scale, searched


def titled(chosen: Attention, at: str | None) -> str:
    """What is asked of an attention, in words."""
    return f"{'Least risk' if at is None else 'Risk'} of {chosen.title} attention" + (f" at scale {at}" if at else "")


def _show_formula(title: str, problem: Problem, formula: Formula, extra: dict[str, object], as_json: bool) -> None:
    """The formula as text and as LaTeX, with its hypotheses and the rules that made it."""
    from sympy import Add, cancel, factor_terms

    from symslr.export import house_latex
    from symslr.export.terminal import formula_to_terminal, letters
    from symslr.expression.expectation import LengthExpectation, rewrite_expectations

    def given(expr: Expr) -> Expr:
        """With numbers for the letters that are given, and for moments of a length whose law is given."""
        found = expr.subs(problem.values)
        known = rewrite_expectations(found, _as_number, LengthExpectation)
        return known if known == found else Add(*(factor_terms(cancel(term)) for term in Add.make_args(known)))

    expr, place = given(formula.expr), None if formula.place is None else given(formula.place)
    said: dict[str, object] = {
        "task": problem.task.name,
        **extra,
        "formula": formula_to_terminal(expr),
        "latex": house_latex(expr),
        "letters": {
            letter: {"formula": formula_to_terminal(meant), "latex": house_latex(meant)}
            for letter, meant in letters(expr).items()
        },
        **({} if place is None else {"scale": formula_to_terminal(place), "scale_latex": house_latex(place)}),
        "rules": [step.rule.name for step in formula.chain.steps],
        "hypotheses": [hypothesis.text for hypothesis in formula.chain.hypotheses],
    }
    if as_json:
        typer.echo(json.dumps(said))
        return
    from symslr.export.typed import text_to_terminal

    typer.echo(f"{title}, {problem.task.name} task")
    typer.echo(f"  {said['formula']}")
    typer.echo(f"  LaTeX: {said['latex']}")
    for letter, meant in letters(expr).items():
        typer.echo(f"  with {letter} = {formula_to_terminal(meant)}")
    if place is not None:
        typer.echo(f"  at a = {said['scale']}")
    for hypothesis in formula.chain.hypotheses:
        typer.echo(f"  for {text_to_terminal(hypothesis.text)}")
    typer.echo(f"  by {formula.rules}")


def _as_number(mean: Expr) -> Expr:
    """The mean of a polynomial in the length, where its law is known; any other as it stands: a sum of integrals says less."""
    found = mean.doit() if mean.args[0].is_polynomial() else mean
    return found if found.is_number else mean


def show(title: str, problem: Problem, value: Value, extra: dict[str, Any], as_json: bool) -> None:
    """Print a number with its error, how it was made, and where it is attained."""
    shown = {name: place.as_json() for name, place in value.at.items()}
    best = {name: {key: place[key] for key in ("value", "error")} for name, place in shown.items()}
    if as_json:
        said = {
            **problem.as_json(),
            **extra,
            **({} if value.exact is None else {"exact": value.exact}),
            **value.as_json(),
        }
        typer.echo(json.dumps({**said, **({"best": best} if best else {})}))
        return
    numbers = value.as_json()
    typer.echo(f"{title}, {problem.task.name} task at {options.where(problem.as_json())}")
    if value.exact is not None:
        typer.echo(f"  = {value.exact}")
    typer.echo(f"  {numbers['value']}")
    typer.echo(f"  error {numbers['error']} ({value.kind}), {value.method}, {value.seconds:.3f} s")
    for name, place in best.items():
        method = str(shown[name]["method"])
        if method.startswith(IN_THE_LIMIT):
            typer.echo(f"  {method}")
        elif place["error"] == "+inf":
            typer.echo(f"  at {method}")
        else:
            typer.echo(f"  at {name} = {place['value']}, error {place['error']}")
