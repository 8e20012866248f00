"""Options that name several numbers, ``--nu 0.25:12:16`` or ``--length 2,3,10``: a table, a CSV file, a picture."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from symslr.cli import options
from symslr.model.text_numbers import in_short, read_number, split_outside

if TYPE_CHECKING:
    from symslr.expression.value import Value
    from symslr.face.curve import Curve

Number = TypeVar("Number", int, float)

MOST = 10_000
"""Numbers of one axis."""

CsvOption = typer.Option(None, "--csv", help="Write the table to this file, with errors.")
PlotOption = typer.Option(None, "--plot", help="Draw the curve to this file: .pdf, .svg or .png.")


def axes(texts: Mapping[str, str | None]) -> dict[str, list[str]]:
    """The options that name several numbers: a list with commas, or LOW:HIGH:COUNT, evenly spaced.

    A length with colons is a law of the length.

    Raises:
        ValueError: in one line, for ends or a count that are none.
    """
    found = {}
    for name, text in texts.items():
        if text is None:
            continue
        if ":" in text and name != "length":
            expected = "expected LOW:HIGH:COUNT, such as 0.25:12:16"
            found[name] = list(map(in_short, spaced(text, f"--{name}", expected, MOST)))
        elif ":" not in text and len(parts := split_outside(text, ",")) > 1:
            found[name] = [part.strip() for part in parts]
    return found


def every(texts: Mapping[str, str | None]) -> dict[str, list[str]]:
    """The options that name one number or several, with all of them."""
    return {name: [text] for name, text in texts.items() if text is not None} | axes(texts)


def numbers(name: str, text: str, read: Callable[[str], Number]) -> list[Number]:
    """The numbers that an option names, one or several, each as ``read`` takes it.

    Raises:
        ValueError: in one line, as ``axes`` and ``read``.
    """
    try:
        return [read(part) for part in axes({name: text}).get(name, [text])]
    except typer.BadParameter as problem:
        raise ValueError(f"--{name}: {problem.message}") from None


def spaced(text: str, what: str, expected: str, most: int) -> list[Fraction]:
    """LOW:HIGH:COUNT as so many numbers, evenly spaced.

    Raises:
        ValueError: in one line that ends with ``expected``, for another text, or a count outside 2..``most``.
    """
    parts = text.split(":")
    if len(parts) != 3 or not parts[2].strip().isdecimal() or not 2 <= int(parts[2]) <= most:
        raise ValueError(f"{what}: found {options.shown(text)}; {expected}")
    low, high = (Fraction(read_number(part, what=what)) for part in parts[:2])
    steps = int(parts[2]) - 1
    return [(low * (steps - n) + high * n) / steps for n in range(steps + 1)]


def check_files(csv: Path | None, plot: Path | None) -> None:
    """Refuse a picture of an unknown kind, and a file in a folder that does not exist, before anything is computed."""
    if plot is not None and plot.suffix not in (".pdf", ".svg", ".png"):
        raise ValueError(f"--plot: found {plot.name}; expected a name that ends in .pdf, .svg or .png")
    for option, path in (("--csv", csv), ("--plot", plot)):
        if path is not None and not path.absolute().parent.is_dir():
            raise ValueError(f"{option}: found no folder {path.absolute().parent}; expected one that exists")


def write(curve: Curve, title: str, csv: Path | None, plot: Path | None) -> None:
    """Write a curve where files are named."""
    if csv is not None:
        curve.to_csv(csv)
    if plot is not None:
        curve.plot(plot, title)


def show(
    title: str,
    value: Callable[[dict[str, Any]], Value],
    grid: Mapping[str, Sequence[Any]],
    csv: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Print the values over a grid, and write them where files are named."""
    from symslr.face.curve import Curve

    check_files(csv, plot)
    curve = Curve.over(value, grid)
    write(curve, title, csv, plot)
    rows = curve.rows()
    if as_json:
        typer.echo(json.dumps(rows))
        return
    typer.echo(title)
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in ("digits", "reason")]
    table = [names, *([str(row.get(name, "")) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table)]
    for line, row in zip(table, [None, *rows]):
        reason = row and row["reason"]
        typer.echo(
            "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths)) + (f"  {reason}" if reason else "")
        )
