"""``symslr separation``: the exact law of the data sets that softmax tells apart and linear attention does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from symslr.budget import end_after
from symslr.cli import grids, options
from symslr.model.text_numbers import read_number
from symslr.model.text_tree import NameKind, read_tree

if TYPE_CHECKING:
    from symslr.evaluation.separation import SeparationReport
    from symslr.evaluation.separation.widths import SufficientWidths


FEW = 6
"""Digits that take little time."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(separation)


def separation(
    n: int = typer.Option(..., "--n", parser=options.integer, help="Rows of the data matrix A; n = (d-2) t."),
    d: int = typer.Option(
        ..., "--d", parser=options.integer, help="Columns of A: one for the mark, d-2 for the classes, one constant."
    ),
    t: int = typer.Option(..., "--t", parser=options.integer, help="Rows of each class."),
    a0: str = typer.Option(..., "--a0", help="Mark in data set D0, a number >= 0."),
    a1: str = typer.Option(..., "--a1", help="Mark in data set D1, a number >= 0."),
    b: str = typer.Option(..., "--b", help="Entry of the class columns, a number > 0."),
    c: str = typer.Option(..., "--c", help="Entry of the constant column, a number >= 0."),
    m: str = typer.Option(
        ..., "--m", help="Width of the network, its number of neurons: 52, a list 4,40,200, or LOW:HIGH:COUNT."
    ),
    margin: str = typer.Option(
        "1/10", "--margin", help="Sets the threshold of the neurons, tau = (c + margin) sqrt(log n)."
    ),
    beta: str = typer.Option("1", "--beta", help="Inverse temperature of the scores."),
    kernel: str = typer.Option("exp", "--kernel", help='exp, linear, or a kernel in x such as "x**5".'),
    rival: str = typer.Option("linear", "--rival", help="Kernel that should fail, in the form of --kernel."),
    keys: str = typer.Option(
        None, "--keys", help="Cross-attention: marks a,b,c of keys and values; --a0, --a1, --b, --c are the queries'."
    ),
    delta: str = typer.Option(
        None, "--delta", help="Also print the widths at which failure has at most this probability, in (0, 1)."
    ),
    digits: int = options.DigitsOption,
    csv: Path = grids.CsvOption,
    plot: Path = grids.PlotOption,
    seconds: float = options.LongSecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """Exact probability, over random weights, that the network with --kernel tells D1 from D0 and that with --rival does not.

    With one set of weights, the network with --kernel is above 0 on D1 and 0 on D0, and the one with --rival is 0 on both:
    that is what "does not" means here. Where it only means that the rival is not itself above 0 on D1 and 0 on D0 (it may
    be above 0 on both, or on D0 alone), the probability is at least the one that is printed.

    Data sets and network are those of arXiv 2310.11685. For several --m a table is printed, of one marked row.
    """
    widths_asked = grids.numbers("m", m, options.integer)
    is_table = bool(len(widths_asked) > 1 or csv or plot)
    if is_table and delta is not None:
        raise ValueError("--delta: found together with several --m, --csv or --plot; expected one --m alone")
    marks = {"a0": a0, "a1": a1, "b": b, "c": c, "margin": margin, "beta": beta}
    read = {name: read_number(text, what=f"--{name}") for name, text in marks.items()}
    for what, text in (("--kernel", kernel), ("--rival", rival)):
        if text not in NAMED_KERNELS:
            read_tree(text, {"x": NameKind.VALUE}, what=what)
    cross = None if keys is None else [read_number(text.strip(), what="--keys") for text in keys.split(",")]
    allowed = None if delta is None else read_number(delta, what="--delta")
    from symslr.evaluation.separation.widths import failure_allowed
    from symslr.face.separation import separation as quantity
    from symslr.model.text import exactly

    exact = {name: exactly(number) for name, number in read.items()}
    goal = None if allowed is None else failure_allowed(exactly(allowed))
    end_after(seconds, f"ask for fewer digits (--digits {FEW}) or fewer rows (--n)")
    made = quantity(kernel, rival, keys=None if cross is None else list(map(exactly, cross)), n=n, d=d, t=t, **exact)
    if is_table:
        title = "P(separates), one marked row"
        grids.show(title, lambda point: made(point, digits=digits), {"m": widths_asked}, csv, plot, as_json)
        return
    found: SeparationReport = made(m=widths_asked[0], digits=digits).result
    if not as_json:  # before the widths, which take longer
        shown = ", ".join(f"{name}={text}" for name, text in {"n": n, "d": d, "t": t, **marks, "m": m}.items())
        shown += "" if keys is None else f", keys and values {keys}"
        typer.echo(f"Separation by {kernel} against {rival} at {shown}")
        _show(found)
    widths = None
    try:
        widths = None if goal is None else found.widths(goal)
    finally:  # also where they are refused
        if as_json:
            typer.echo(json.dumps(found.as_json() | ({} if widths is None else {"widths": widths.as_json()})))
    if widths is not None and not as_json:
        typer.echo(f"  widths at which failure has probability at most {delta}, one marked row:")
        _show_widths(widths, widths_asked[0])


def _show(found: SeparationReport) -> None:
    lines = {
        "P(separates), one marked row": found.fixed_row,
        "1 - P": found.fixed_row_failure,
        "P(separates), every marked row": found.all_rows,
        "P(the rival separates instead)": found.rival_wins,
    }
    for name, value in lines.items():
        typer.echo(f"  {name}: {value!r}")
    typer.echo(f"  Hoeffding's bound: P >= 1 - {1 - found.hoeffding.success:.3g} for one marked row")
    typer.echo(f"  {found.reason}")
    if found.limit is not None:
        typer.echo(f"  as n grows with t = n^theta: {found.limit.reason}")


def _show_widths(widths: SufficientWidths, m: int) -> None:
    routes = {"exact law": widths.exact, "union bound": widths.union, "Hoeffding": widths.hoeffding}
    for name, route in routes.items():
        typer.echo(f"    {name}: {_interval(route)}")
    typer.echo(f"    classes n/t where attention spreads evenly, at m = {m}: {widths.classes:.6g} or more")


def _interval(widths: tuple[int, int | None] | None) -> str:
    if widths is None:
        return "none"
    from symslr.evaluation.separation.widths import as_text

    least, most = widths
    return f"m >= {as_text(least)}" if most is None else f"{as_text(least)} <= m <= {as_text(most)}"


NAMED_KERNELS = ("exp", "softmax", "linear")
