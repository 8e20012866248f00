"""``symslr compute``: the numbers that take long, computed anew and kept beside the code that computes them."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from symslr.cli import options
from symslr.library.folders import builtin_folder, files_of

LEAVING = 10.0
"""Seconds after which a child that does not end is not waited for."""

if TYPE_CHECKING:
    from symslr.cache.records import Columns
    from symslr.cache.results import Cache
    from symslr.export.figures import Figure

    Part = Callable[[int, int], None]
    """Called with the parts that are done, and their number."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(compute)


@dataclass(frozen=True)
class _Computation:
    """A figure's table or a validation's comparisons: where they are kept, and the fingerprint of what computes them."""

    name: str
    path: Path
    mark: str
    seeds: str
    table: Callable[[Cache, Part], Columns]

    def kept(self, store: Cache, show: Part) -> None:
        """Compute the table and keep it; the time of an earlier run that was interrupted counts."""
        from symslr.cache.records import made
        from symslr.cache.results import key_of

        key = key_of("seconds", self.name, self.mark)
        before = store.get(key)
        spent, began = before if isinstance(before, float) else 0.0, _processor_time()

        def part(ready: int, parts: int) -> None:
            store.put(key, f"seconds of {self.name}", spent + _processor_time() - began)
            show(ready, parts)

        table = self.table(store, part)
        seconds = spent + _processor_time() - began
        made(self.name, f"symslr compute {self.name}", self.mark, self.seeds, seconds, table).write(self.path)


def compute(
    names: list[str] = typer.Argument(None, help="Figures or validations; without any, the list of what is kept."),
    every: bool = typer.Option(False, "--all", help="All whose numbers are kept."),
    stale: bool = typer.Option(False, "--stale", help="Those of them whose code has changed since."),
    keep: Path = typer.Option(
        None, "--keep", help="File in which finished parts are kept: an interrupted run goes on from there."
    ),
    as_json: bool = options.JsonOption,
) -> None:
    """Compute the kept numbers of figures and validations anew; they are what `symslr report` shows.

    The numbers go to data/NAME.json beside the file that computes them, with seeds, versions and the fingerprint of the
    code. A figure or validation without such a file is computed by every report.
    """
    known = _computations()
    kept = [item for item in known if item.path.is_file()]
    if not (names or every or stale):
        _list(kept, as_json)
        return
    chosen = _named(names, known) if names else [item for item in kept if every or _is_stale(item)]
    from symslr.cache.results import Cache as Store
    from symslr.cli.progress import stages

    with stages() as stage, Store(keep) as store:
        show = stage("computing")
        for done, item in enumerate(chosen):

            def part(ready: int, parts: int, done: int = done, name: str = item.name) -> None:
                show(done, len(chosen), f"{name}, {ready} of {parts} parts")

            show(done, len(chosen), item.name)
            item.kept(store, part)
        show(len(chosen), len(chosen), "done")
    _list(chosen, as_json)


def _computations() -> list[_Computation]:
    from symslr.cache.code import file_version
    from symslr.cache.records import fingerprint, record_file
    from symslr.export.standard import standard_figures

    found = []
    for figure in standard_figures():
        assert figure.file is not None
        path, mark = record_file(figure.file, figure.name), fingerprint(figure.data)
        found.append(_Computation(figure.name, path, mark, figure.seeds, partial(_table, figure)))
    for file in files_of(builtin_folder("validation"), "validations"):
        path, seeds = record_file(file, file.stem), "in the note of each comparison"
        found.append(_Computation(file.stem, path, file_version(file), seeds, partial(_compared, file)))
    return found


def _table(figure: Figure, store: Cache, part: Part) -> Columns:
    from symslr.export.figures import computed

    return computed(figure, store, part)


def _compared(file: Path, store: Cache, part: Part) -> Columns:
    """The comparisons of a validation; progress is told where the file works in parts."""
    from symslr.validation.validate import validate

    (made,) = validate([file], lambda done, total, name: part(done, total), store)
    if made.skipped:
        raise ValueError(f"{made.name}: {made.skipped}")
    return made.table


def _processor_time() -> float:
    """Of this process and of its children that have ended; those that are ending are waited for."""
    for child in multiprocessing.active_children():
        child.join(LEAVING)
    return sum(os.times()[:4])


def _named(names: Sequence[str], known: Sequence[_Computation]) -> list[_Computation]:
    found = {item.name: item for item in known}
    if unknown := [name for name in names if name not in found]:
        raise ValueError(f"compute: found {', '.join(unknown)}; expected names among {', '.join(found)}")
    return [found[name] for name in names]


def _is_stale(item: _Computation) -> bool:
    from symslr.cache.records import recorded

    found = recorded(item.path, item.mark)
    return found is not None and found.stale


def _list(items: Sequence[_Computation], as_json: bool) -> None:
    from symslr.cache.records import recorded

    found = [kept for item in items if (kept := recorded(item.path, item.mark)) is not None]
    if as_json:
        rows = [(kept.record, kept.stale) for kept in found]
        typer.echo(
            json.dumps(
                [
                    {"name": record.name, "seconds": record.seconds, "stale": stale, "fingerprint": record.fingerprint}
                    for record, stale in rows
                ]
            )
        )
        return
    wide = max((len(kept.record.name) for kept in found), default=0)
    for kept in found:
        state = "by an earlier version of the code" if kept.stale else "by the code that is there"
        typer.echo(f"{kept.record.name:{wide}}  {kept.record.duration:>7} of processor time, {state}")
