"""``symslr bayes`` and ``symslr risk``: one number, its error, and how it was made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from symslr.budget import end_after
from symslr.cli import grids, location, options
from symslr.model.request import (
    Number,
    is_located,
    is_selection,
    read_attention,
    read_heads,
    read_task,
    read_value,
    searched_names,
)

if TYPE_CHECKING:
    from sympy import Expr

    from symslr.expression.value import Value
    from symslr.model.asked import Located, Problem
    from symslr.model.request import TaskRequest
    from symslr.theory.symbolic import Formula

IN_THE_LIMIT = "as a goes to "
"""So begins what is said of a place that is only approached."""


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(bayes)
    app.command()(risk)


def bayes(
    task: str = options.TaskOption,
    length: str = options.LengthOption,
    nu: str = options.NuOption,
    noise: str = options.NoiseOption,
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
        problem = options.problem(task, length, nu, noise, symbolic)
        from symslr.theory.symbolic import bayes_formula

        _show_formula("Bayes risk", problem, bayes_formula(problem.task), {}, as_json)
        return

    def at(length: str | None, nu: str | None) -> Answer:
        return _bayes(task, length, nu, noise, digits, certified, seconds)

    end_after(seconds, options.SIMPLER)
    grid = grids.axes({"length": length, "nu": nu})
    if grid or csv or plot:
        given = {name: [text] for name, text in (("length", length), ("nu", nu)) if text is not None} | grid
        grids.show("Bayes risk", lambda p: _placed(at(p.get("length"), p.get("nu"))), given, csv, plot, as_json)
        return
    show(*at(length, nu), as_json)


Answer = tuple[str, "Problem | Located", "Value", dict[str, Any], "Mapping[str, Value]"]
"""(what was asked, of which task, the value, what is said beside it, where it is attained)."""


def _placed(answer: Answer) -> Value:
    from dataclasses import replace

    return replace(answer[2], at=answer[4])


def _bayes(
    task: str,
    length: str | None,
    nu: str | None,
    noise: str | None,
    digits: int | None,
    certified: bool,
    seconds: float,
) -> Answer:
    wanted = read_task(task, length, nu, noise, dash="--")
    if is_located(wanted):
        law = location.problem(wanted)
        if law.task.reduced() is None or location.has_open_correlation(law.task):
            return "Bayes risk", law, location.bayes(law, digits, certified, seconds), {}, {}
    problem = options.problem(task, length, nu, noise)
    from symslr.model.asked import short
    from symslr.theory import bayes_risk
    from symslr.theory.symbolic import bayes_formula

    formula = bayes_formula(problem.task)
    number = formula.exact(problem.values)
    if number is not None:
        expr = bayes_risk(problem.task)
        proved = _of_closed_form(problem, formula, number, expr, digits or options.USUAL_DIGITS)
        return "Bayes risk", problem, proved, {"exact": short(number)}, {}
    return "Bayes risk", problem, location.weighed_bayes(problem, digits, "arb" if certified else None), {}, {}


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
    task: str = options.TaskOption,
    length: str = options.LengthOption,
    nu: str = options.NuOption,
    noise: str = options.NoiseOption,
    attention: str = options.AnyAttentionOption,
    kernel: str = options.KernelOption,
    normalise: str = options.NormaliseOption,
    offset: str = options.OffsetOption,
    heads: int = options.HeadsOption,
    separate: bool = options.SeparateOption,
    bias: str = options.BiasOption,
    filter_: str = options.FilterOption,
    scale: str = typer.Option(None, "--scale", help="Key scale a, a number or inf; by default the best one is sought."),
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
    if scale is not None and bounds:
        raise ValueError("--bounds: found together with --scale; a scale that is given is not searched")
    _refuse_beside_formula(symbolic, certified, digits, bounds)
    model = task, noise, attention, kernel, normalise, offset
    heading = heads, separate, bias, filter_
    grid = {} if symbolic else grids.axes({"length": length, "nu": nu, "scale": scale})
    if grid or csv or plot:
        if symbolic:
            raise ValueError("--symbolic: found together with --csv or --plot; a formula has no table, leave one out")
        end_after(seconds, options.SIMPLER)
        texts = (("length", length), ("nu", nu), ("scale", scale))
        given = {name: [text] for name, text in texts if text is not None} | grid

        def at_point(point: dict[str, Any]) -> Value:
            place = (point.get("length"), point.get("nu"), point.get("scale"))
            found = _risk(model, heading, *place, bounds, digits, certified, False, seconds, as_json)
            assert found is not None
            return _placed(found)

        grids.show(f"{'Least risk' if scale is None else 'Risk'}", at_point, given, csv, plot, as_json)
        return
    found = _risk(model, heading, length, nu, scale, bounds, digits, certified, symbolic, seconds, as_json)
    if found is not None:
        show(*found, as_json)


def _risk(
    model: tuple[str, str | None, str | None, str | None, str, str],
    heading: tuple[int, bool, str | None, str | None],
    length: str | None,
    nu: str | None,
    scale: str | None,
    bounds: list[str],
    digits: int | None,
    certified: bool,
    symbolic: bool,
    seconds: float,
    as_json: bool,
) -> Answer | None:
    """The risk that was asked for; None where a formula was printed."""
    task, noise, attention, kernel, normalise, offset = model
    heads, separate, bias, filter_ = heading
    at = None if scale is None else read_value(scale, what="--scale", length=length)
    asked_task = read_task(task, length, nu, noise, dash="--", symbolic=symbolic)
    asked_attention = read_attention(attention, kernel, normalise, offset, dash="--")
    searched = options.read_intervals(bounds, ("a", *searched_names(asked_attention, asked_task)))
    asked_heads = read_heads(heads, separate, bias, filter_, dash="--")
    end_after(seconds, options.SIMPLER)
    is_plain = asked_heads.is_plain and not is_selection(attention)
    refused = "--certified" if certified else "--symbolic" if symbolic else "--bounds" if bounds else None
    if asked_heads.is_plain and not is_plain and not location.is_law(asked_task):
        if refused is not None:
            raise ValueError(f"{refused}: not available for a selection of tokens; leave it out")
        assert attention is not None
        return _selected(asked_task, attention, at, digits, seconds)
    if not is_plain or is_located(asked_task):
        law = location.problem(asked_task)
        if not is_plain or law.task.reduced() is None or law.task.key_covariance is not None:
            if refused is not None:
                raise ValueError(f"{refused}: not available for this law of location and attention; leave it out")
            found = location.attention(asked_attention, asked_heads, law)
            value, places = location.risk(law, found, at, digits, seconds)
            title = f"{'Least risk' if scale is None else 'Risk'} of {found.title} attention"
            return title, law, value, {"attention": found.title}, places
    wanted = (task, length, nu, noise, attention, kernel, normalise, offset)
    problem, chosen = options.problem_and_attention(*wanted, symbolic=symbolic)
    from symslr.evaluation import evaluate
    from symslr.evaluation.fewer import or_fewer
    from symslr.evaluation.minima.at_scale import risk_as_asked
    from symslr.model.asked import short
    from symslr.model.text import exactly
    from symslr.theory import population_risk
    from symslr.theory.symbolic import infimum, least_formula, risk_formula

    free = sorted(str(symbol) for symbol in chosen.parameters - set(problem.values))
    if at is not None and free and not symbolic:
        raise ValueError(
            f"--scale: found with a kernel whose {free[0]} has no value; expected one under [values] of a model file, or no "
            f"--scale, and {free[0]} is searched with the scale"
        )
    where = f" at scale {scale}" if at is not None else ""
    title = f"{'Least risk' if at is None else 'Risk'} of {chosen.name} attention{where}"
    named: dict[str, object] = {"attention": chosen.name}

    def formula() -> Formula:
        return least_formula(problem.task, chosen) if at is None else risk_formula(problem.task, chosen, exactly(at))

    if symbolic:
        _show_formula(title, problem, formula(), named, as_json)
        return None
    # no expectation of a normalised attention has a closed form, nor a minimum over several variables, and looking for one takes
    # longer than the number
    if not (chosen.is_normalised or bounds or isinstance(at, float) or (at is None and free)):
        made = formula()
        number = made.exact(problem.values)
        place = made.exact_place(problem.values) if at is None else exactly(at)
        if number is not None and place is not None:
            n = digits or options.USUAL_DIGITS
            best: dict[str, Value] = {"a": evaluate(place, {}, digits=n, backend="arb")} if at is None else {}
            quantity = (
                infimum(problem.task, chosen, place) if at is None else population_risk(problem.task, chosen, place)
            )
            proved = _of_closed_form(problem, made, number, quantity, n)
            return title, problem, proved, {**named, "exact": short(number)}, best
    place, limits = None if at is None else exactly(at), options.intervals(searched, chosen)
    backend = "arb" if certified else None
    asked = partial(risk_as_asked, problem.task, chosen, place, problem.values, backend=backend, bounds=limits)
    value, places = or_fewer(digits, asked)
    return title, problem, value, named, places


def _selected(wanted: TaskRequest, name: str, scale: Number | None, digits: int | None, seconds: float) -> Answer:
    """The risk of sparsemax, entmax or top-k on a task with a weight."""
    from symslr.model import asked
    from symslr.model.catalogue import attention_of

    found = asked.problem(wanted, dash="--")
    value, places = location.selected_risk(found, attention_of(name), scale, digits, seconds)
    title = f"{'Least risk' if scale is None else 'Risk'} of {name} attention"
    return title, found, value, {"attention": name}, places


def _of_closed_form(problem: Problem, formula: Formula, number: Expr, quantity: Expr, digits: int) -> Value:
    """A number without integrals as a proved value of so many digits.

    What the rules made of a user's own task or attention is held against the number that the evaluators make of the
    quantity.

    Raises:
        CannotEvaluate: when the two differ.
    """
    from dataclasses import replace

    from symslr.evaluation import CannotEvaluate, evaluate
    from symslr.evaluation.admission.guard import is_new

    value = evaluate(number, {}, digits=digits, backend="arb")
    method = f"closed form, by {formula.rules}"
    if is_new(quantity):
        try:
            numeric = evaluate(quantity, problem.values)
        except CannotEvaluate as refusal:
            method = f"{method}; not held against an evaluation: {refusal}"
        else:
            if abs(value.value - numeric.value) > value.error + numeric.error:  # as floats they are an ulp off
                raise CannotEvaluate(f"the closed form gives {value} and its evaluation {numeric}: a fault of symslr")
    return replace(value, method=method)


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


def show(
    title: str,
    problem: Problem | Located,
    value: Value,
    extra: dict[str, Any],
    places: Mapping[str, Value],
    as_json: bool,
) -> None:
    """Print a number with its error, how it was made, and where it is attained."""
    shown = {name: place.as_json() for name, place in places.items()}
    best = {name: {key: place[key] for key in ("value", "error")} for name, place in shown.items()}
    if as_json:
        typer.echo(json.dumps({**problem.as_json(), **extra, **value.as_json(), **({"best": best} if best else {})}))
        return
    numbers = value.as_json()
    typer.echo(f"{title}, {problem.task.name} task at {options.where(problem.as_json())}")
    if "exact" in extra:
        typer.echo(f"  = {extra['exact']}")
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
