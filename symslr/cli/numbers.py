"""``symslr bayes`` and ``symslr risk``: one number, its error, and how it was made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import typer

from symslr.budget import end_after
from symslr.cli import location, options
from symslr.model.request import is_located, is_selection, read_attention, read_heads, read_task, searched_names
from symslr.model.text_numbers import read_number

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
    seconds: float = options.SecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """The Bayes risk of a task: the least risk of any predictor."""
    _refuse_beside_formula(symbolic, certified, digits)
    wanted = read_task(task, length, nu, noise, dash="--", symbolic=symbolic)
    end_after(seconds, options.SIMPLER)
    if is_located(wanted) and not symbolic:
        law = location.problem(wanted)
        if law.task.reduced() is None or location.has_open_correlation(law.task):
            value = location.bayes(law, digits, certified, seconds)
            show("Bayes risk", law, value, {}, as_json)
            return
    problem = options.problem(task, length, nu, noise, symbolic)
    from symslr.model.asked import short
    from symslr.theory import bayes_risk
    from symslr.theory.symbolic import bayes_formula

    backend = "arb" if certified else None
    expr = bayes_risk(problem.task)
    if symbolic:
        _show_formula("Bayes risk", problem, bayes_formula(problem.task), {}, as_json)
        return
    formula = bayes_formula(problem.task)
    number = formula.exact(problem.values)
    if number is not None:
        proved = _of_closed_form(problem, formula, number, expr, digits or options.USUAL_DIGITS)
        show("Bayes risk", problem, proved, {"exact": short(number)}, as_json)
        return
    value = location.weighed_bayes(problem, digits, backend)
    show("Bayes risk", problem, value, {}, as_json)


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
    seconds: float = options.SecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """The population risk of an attention at its best value vector, and at its best key scale unless --scale is given.

    The best scale is printed below the risk; it is inf where the least risk is only approached as the scale grows.
    """
    if scale is not None and bounds:
        raise ValueError("--bounds: found together with --scale; a scale that is given is not searched")
    _refuse_beside_formula(symbolic, certified, digits, bounds)
    at = None if scale is None else read_number(scale, what="--scale", allow_infinite=True)
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
        _show_selected(asked_task, attention, scale, digits, seconds, as_json)
        return
    if not is_plain or is_located(asked_task):
        law = location.problem(asked_task)
        if not is_plain or law.task.reduced() is None or law.task.key_covariance is not None:
            if refused is not None:
                raise ValueError(f"{refused}: not available for this law of location and attention; leave it out")
            found = location.attention(asked_attention, asked_heads, law)
            value, places = location.risk(law, found, scale, digits, seconds)
            title = f"{'Least risk' if scale is None else 'Risk'} of {found.name} attention"
            show(title, law, value, {"attention": found.name}, as_json, places)
            return
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
        return
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
            show(title, problem, proved, {**named, "exact": short(number)}, as_json, best)
            return
    place, limits = None if at is None else exactly(at), options.intervals(searched, chosen)
    backend = "arb" if certified else None
    asked = partial(risk_as_asked, problem.task, chosen, place, problem.values, backend=backend, bounds=limits)
    value, places = or_fewer(digits, asked)
    show(title, problem, value, named, as_json, places)


def _show_selected(
    wanted: TaskRequest, name: str, scale: str | None, digits: int | None, seconds: float, as_json: bool
) -> None:
    """The risk of sparsemax, entmax or top-k on a task with a weight."""
    from symslr.model import asked
    from symslr.model.location.attention import selection_from_text

    found = asked.problem(wanted, dash="--")
    value, places = location.selected_risk(found, selection_from_text(name), scale, digits, seconds)
    title = f"{'Least risk' if scale is None else 'Risk'} of {name} attention"
    show(title, found, value, {"attention": name}, as_json, places)


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
    extra: dict[str, object],
    as_json: bool,
    places: Mapping[str, Value] | None = None,
) -> None:
    """Print a number with its error, how it was made, and where it is attained."""
    shown = {name: place.as_json() for name, place in (places or {}).items()}
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
