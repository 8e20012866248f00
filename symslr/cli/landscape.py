"""``symslr landscape``: the risk in all seven order parameters, its gradient, and both minima."""

from __future__ import annotations

import json
import math
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING, Any

import typer

from symslr.budget import end_after
from symslr.cli import options
from symslr.model.request import ORDER_PARAMETER_NAMES, searched_names
from symslr.model.text_numbers import read_number

if TYPE_CHECKING:
    from symslr.evaluation.landscape import Confirmed, Landscape, LocalMinimum


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(options.command(landscape))


def landscape(
    asked: options.OfKernel,
    at: str = typer.Option(
        None, "--at", help='Point, such as "m_kk=1,q_kk=2,q_vv=2"; what is not named is 0. By default both minima.'
    ),
    seconds: float = options.LongSecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """Risk over the seven order parameters of key k and value v: at a point with its gradient, or at its two minima.

    Overlaps m_kk, m_kv, m_vk, m_vv of k and v (first letter) with k* and v* (second letter); squared norms q_kk, q_vv
    and the inner product q_kv of k and v; each divided by D. At the matched minimum k leans on k* and v on v*, at
    the mismatched one k on v* and v on k*.
    """
    wanted = asked.read_both()
    given = None if at is None else _read(at, (*ORDER_PARAMETER_NAMES, *searched_names(*wanted)))
    end_after(seconds, "ask for one point (--at)" if at is None else "ask for a shorter length")
    problem, chosen = options.made(*wanted)
    from symslr.face.landscape import landscape as landscape_of

    here = landscape_of(problem.task, chosen, problem.values)
    said: dict[str, Any] = {**problem.as_json(), "attention": chosen.name}
    said |= {"minima": [_minimum(here, item) for item in here.minima()]} if given is None else _point(here, given)
    if as_json:
        typer.echo(json.dumps(said))
        return
    typer.echo(f"Landscape of {chosen.name} attention, {problem.task.name} task at {options.where(said)}")
    for sought, item in zip(("matched", "mismatched"), said["minima"] if given is None else [said]):
        if given is None:
            verdict = "strict minimum" if item["minimum"] else "no strict minimum"
            ended = "" if item["kind"] == sought else f", where the search for a {sought} one ended"
            typer.echo(f"  {item['kind']}{ended}: {verdict}, least curvature {item['curvature']}")
        typer.echo(f"  risk {item['value']} (error {item['error']}, {item['error_kind']})")
        for name, number in item.get("order", {}).items():
            typer.echo(f"    {name} = {number}" + (f" (error {item['order_error'][name]})" if item["minimum"] else ""))
        for name, number in item.get("gradient", {}).items():
            typer.echo(f"    dE/d{name} = {number} (error {item['gradient_error'][name]})")


def _point(here: Landscape, given: dict[str, float]) -> dict[str, Any]:
    place = here.point(given)
    found = here.confirmed(place)
    slopes = {name: _shown(*of) for name, *of in zip(here.names, found.gradient, found.gradient_errors)}
    return {
        "at": dict(zip(here.names, map(str, place.tolist()))),
        **_risk(found),
        "gradient": {name: text["value"] for name, text in slopes.items()},
        "gradient_error": {name: text["error"] for name, text in slopes.items()},
    }


def _shown(number: float, error: float) -> dict[str, str]:
    """As many digits as the error leaves, and one more, or 0 where the error hides the number; the error of what is printed."""
    digits = math.ceil(math.log10(abs(number) / error)) + 2 if number and error else 1
    text = "0" if abs(number) < error / 100 else f"{number + 0.0:.{min(max(digits, 1), 15)}g}"
    left_out = Decimal(error) + abs(Decimal(text) - Decimal(number))
    return {"value": text, "error": f"{Context(2, ROUND_CEILING).plus(left_out).normalize():g}"}


def _read(text: str, known: tuple[str, ...]) -> dict[str, float]:
    """The numbers of ``--at`` by name.

    Raises:
        ValueError: for what is not name=number, a name that is not ``known`` or stands twice, or a number that is none.
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        name, equals, number = (piece.strip() for piece in part.partition("="))
        if not equals or name in found:
            raise ValueError(
                f"--at: found {part.strip()!r}; expected name=number once for each name, such as m_kk=1,q_kk=2"
            )
        if name not in known:
            raise ValueError(f"--at: found {name!r}; expected name=number once for {', '.join(known)}")
        found[name] = float(read_number(number, what=f"--at {name}"))
    return found


def _minimum(here: Landscape, item: LocalMinimum) -> dict[str, Any]:
    import numpy as np

    from symslr.evaluation.landscape.order import order_of

    place = order_of(item.point)
    found = here.confirmed(place)
    said = {"kind": item.kind, "minimum": item.is_minimum, "curvature": f"{item.eigenvalues[0]:.4g}", **_risk(found)}
    if not item.is_minimum:  # where the search ended, to the digits that are read
        return {
            **said,
            "order": {name: f"{float(np.round(number, 9)) + 0.0:.9g}" for name, number in zip(here.names, place)},
        }
    shown = {name: _shown(*of) for name, *of in zip(here.names, place, item.order_errors(found))}
    return {
        **said,
        "order": {name: text["value"] for name, text in shown.items()},
        "order_error": {name: text["error"] for name, text in shown.items()},
    }


def _risk(found: Confirmed) -> dict[str, str]:
    return {**_shown(found.risk, found.error), "error_kind": "estimated"}
