"""``symslr study``: many points from one file, none of them lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from symslr.cli import options
from symslr.cli.stopping import resumable
from symslr.export.places import refuse_unwritable_file

if TYPE_CHECKING:
    from symslr.study.point import Point

study = typer.Typer(no_args_is_help=True, help="Compute many points from one file; show or export the results.")

FAILED = 1


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(study, name="study")


@study.command()
def run(
    file: Path = typer.Argument(
        ...,
        metavar="STUDY.toml",
        help=r"The points: tables \[common] and [\[sweep]]; a list of values is an axis.",
        parser=options.path,
    ),
    store: Path = typer.Option(
        ...,
        "--store",
        metavar="FILE.sqlite",
        help="File for every finished point; made where there is none.",
        parser=options.path,
    ),
    executor: str = typer.Option(
        "local", "--executor", help="Where points run: local (processes of this machine), or dask://HOST:PORT."
    ),
    workers: int = typer.Option(
        None, "--workers", parser=options.integer, help="Processes of this machine; one per processor by default."
    ),
    retry_failed: bool = typer.Option(False, "--retry-failed", help="Compute points again that failed."),
    seconds: float = typer.Option(
        None,
        "--seconds",
        parser=options.seconds,
        help="Processor time for each point, in seconds, in a process of this machine; one that uses it up has failed. "
        "3600 by default.",
    ),
    as_json: bool = options.JsonOption,
) -> None:
    """Compute the points that the store does not hold yet; kill it when you like and run it again."""
    refuse_unwritable_file(store)
    if seconds is not None and executor != "local":
        raise ValueError(
            f"--seconds: found together with --executor {executor}, whose threads nothing stops; leave it out"
        )
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    from symslr.study.from_file import run_study
    from symslr.study.remaining import in_words
    from symslr.study.run import Progress

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
    bar = Bar(*columns, console=Console(stderr=True))
    line = bar.add_task(file.name, total=None, left="")
    with resumable(store), ExitStack() as shown:

        def report(progress: Progress) -> None:
            if not bar.live.is_started:  # a file that is no study has no bar
                shown.enter_context(bar)
            left = in_words(progress.remaining) + (f", {progress.failed} failed" if progress.failed else "")
            bar.update(line, total=progress.total, completed=progress.done + progress.failed, left=left)

        found = run_study(
            file, store, executor=executor, workers=workers, retry_failed=retry_failed, seconds=seconds, report=report
        )
    count, done, failed = len(found.points), found.count("done"), found.count("failed")
    if as_json:
        typer.echo(json.dumps({"points": count, "done": done, "failed": failed}))
    else:
        typer.echo(f"{_points(count)}: {done} done, {failed} failed; symslr study show {store}")
    if found.others:
        apart = _apart(found.others[0], found.points)
        typer.echo(
            f"{store} also holds {_points(len(found.others))} that {file} does not ask for, such as {apart}", err=True
        )
    if failed:
        raise typer.Exit(FAILED)


def _points(number: int) -> str:
    return f"{number} point{'' if number == 1 else 's'}"


def _apart(other: Point, points: Sequence[Point]) -> str:
    """A point by what it differs in from the most similar of others."""
    mine = [set(point.parameters) for point in points if point.kind == other.kind]
    differ = min(
        ([own for own in other.parameters if own not in asked] for asked in mine), key=len, default=other.parameters
    )
    texts = [f"{name} = {value or 'unset'}" for name, value in differ] or ["another text of its model file"]
    return f"{other.kind} with {', '.join(texts)}"


@study.command()
def show(
    store: Path = typer.Argument(..., metavar="FILE.sqlite", help="The store of a study.", parser=options.path),
    csv: Path = typer.Option(None, "--csv", help="File to write the table to, as CSV.", parser=options.path),
    parquet: Path = typer.Option(
        None, "--parquet", help="File to write the table to, as Parquet.", parser=options.path
    ),
    xarray: Path = typer.Option(
        None,
        "--xarray",
        help="File to write the finished points to, as netCDF; each parameter is a dimension.",
        parser=options.path,
    ),
    every_version: bool = typer.Option(
        False, "--every-version", help="Show also the results of earlier versions of the code."
    ),
    as_json: bool = options.JsonOption,
) -> None:
    """What a store holds: value and error of every point, failures with their reason."""
    for path in filter(None, (csv, parquet, xarray)):
        refuse_unwritable_file(path)
    from symslr.study.store import Store
    from symslr.study.table import table_of, write_csv, write_parquet, write_xarray

    with Store(store, must_exist=True) as kept:
        rows = kept.rows(every_version=every_version)
    outputs = ((csv, write_csv), (parquet, write_parquet), (xarray, write_xarray))
    wanted = [(path, write) for path, write in outputs if path is not None]
    for path, write in wanted:
        write(rows, path)
    table = table_of(rows)
    if as_json:
        typer.echo(json.dumps([dict(zip(table.columns, line)) for line in table.lines]))
    elif wanted:
        typer.echo(f"wrote {', '.join(str(path) for path, _ in wanted)}")
    else:
        _print(table.columns, table.lines)
        count = Counter(row.state for row in rows)
        typer.echo(f"{_points(len(rows))}: {count['done']} done, {count['failed']} failed, {count['waiting']} waiting")


def _print(columns: tuple[str, ...], lines: tuple[tuple[str | None, ...], ...]) -> None:
    """Kind by kind, the columns that say something, aligned; constant columns, methods and keys are left out."""
    for kind in dict.fromkeys(line[0] for line in lines):
        mine = [line for line in lines if line[0] == kind]
        kept = [
            i
            for i, name in enumerate(columns)
            if name in ("kind", "quantity", "value", "error", "error_kind")
            or (name not in ("key", "method") and len({line[i] for line in mine}) > 1)
        ]
        cells = [[columns[i] for i in kept], *([line[i] or "" for i in kept] for line in mine)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        for row in cells:
            typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        typer.echo()
