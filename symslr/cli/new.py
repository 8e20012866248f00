"""``symslr new``: a folder of derivations of your own, with a worked example; ``symslr cite``: what a paper with it cites."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from importlib.resources import files
from pathlib import Path

import typer

from symslr.cli import options
from symslr.cli.derivations import chosen_by
from symslr.model.request import TASK_NAMES, read_file

LEFT_BEHIND = ("__pycache__",)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(new)
    app.command()(cite)


def new(
    folder: Path = typer.Argument(..., help="The folder to make; it must not exist, or be empty.", parser=options.path),
) -> None:
    """Make a folder of derivations with a worked example; derive, check and report run on it."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"new: {folder} exists and is not empty; name a folder that does not exist yet")
    if not folder.absolute().parent.is_dir():
        raise ValueError(f"new: found no folder {folder.absolute().parent} to make {folder.name} in; make it first")
    try:
        _write(folder)
    except OSError as problem:  # which names the folder beside it
        raise OSError(problem.errno, problem.strerror, str(folder)) from None
    names = ", ".join(sorted(file.name for file in folder.iterdir()))
    typer.echo(f"made {folder}: {names}")
    typer.echo(f"next: symslr check {shlex.quote(str(folder))}")


def cite(
    what: list[str] = typer.Argument(
        None, help="Derivations by name, file or folder; spiked, max or a model file; by default both papers."
    ),
) -> None:
    """Print BibTeX of symslr and of the sources of what is named.

    Of a derivation they are those of its definition, its rules, its claims and what it cites; of a task that of its risks; of a
    sequence model those of its equations.
    """
    models = [name for name in what or () if name in TASK_NAMES or name.endswith(".toml")]
    others = [name for name in what or () if name not in models]
    results: list[object] = [*map(_model, models), *(chosen_by("cite", others) if others else ())]
    from symslr.face.sources import cite as entries

    typer.echo(entries(*results))


def _model(name: str) -> object:
    """The sequence model of a file, or the Bayes risk of a task."""
    if name not in TASK_NAMES and re.search(r"^\s*\[model\]", read_file(Path(name)), re.M):
        from symslr.face.sequence import SequenceModel

        return SequenceModel.load(name)
    task = options.OfTask(name, None, None, None).problem(symbolic=True).task
    from symslr.face.tasks import bayes_risk

    return bayes_risk(task)


def _write(folder: Path) -> None:
    """Whole or not at all: written beside, then renamed; an empty folder of that name is replaced."""
    with tempfile.TemporaryDirectory(dir=folder.absolute().parent, prefix=".symslr-new-") as made:
        written = Path(made) / "folder"
        written.mkdir()
        for source in sorted(files("symslr.cli").joinpath("starter").iterdir(), key=lambda file: file.name):
            if source.name not in LEFT_BEHIND:
                (written / source.name).write_bytes(source.read_bytes())
        os.replace(written, folder)
