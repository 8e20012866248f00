"""``symslr validate``: claims and figures against simulation, brute force and trained predictors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from symslr.cli import options
from symslr.cli.stopping import resumable
from symslr.library.folders import builtin_folder, files_of, tree_of

if TYPE_CHECKING:
    from symslr.validation.validate import Validation

DISAGREES = 1


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(validate)


def validate(
    folders: list[Path] = typer.Argument(
        None, help="Folders or files of validations; symslr's own by default.", parser=options.path
    ),
    keep: Path = typer.Option(
        None,
        "--keep",
        help="Folder for finished results: an interrupted run, started again with it, goes on from there.",
        parser=options.path,
    ),
    as_json: bool = options.JsonOption,
) -> None:
    """Compare claims with simulation, brute force and trained predictors; exit status 1 where any disagrees."""
    files = [file for folder in folders or [builtin_folder("validation")] for file in files_of(folder, "validations")]
    for file in files:
        tree_of(file)
    from symslr.cache.results import Cache

    with (
        resumable(keep),
        Cache(keep) as kept,
    ):  # which refuses a place where nothing can be kept, before anything is loaded
        from symslr.cli.progress import stages
        from symslr.validation.validate import validate as run

        with stages() as stage:
            results = run(files, stage("validating"), kept)
    if as_json:
        typer.echo(json.dumps([item.as_json() for item in results]))
    else:
        for item in results:
            typer.echo(_text(item))
    if not all(item.agrees for item in results):
        raise typer.Exit(DISAGREES)


def _text(item: Validation) -> str:
    from symslr.export.typed import text_to_terminal

    if item.skipped:
        return f"{item.name}: skipped, {item.skipped}"
    lines = [f"{item.name}:"]
    for row in item.comparisons:
        verdict = "agrees" if row.agrees else "DIFFERS"
        name, note = text_to_terminal(row.name), text_to_terminal(row.note)
        lines.append(f"  {verdict:8} {name}: theory {row.expected:.6g}, found {row.found:.6g}  [{note}]")
    return "\n".join(lines)
