"""``symslr compute``: the numbers that take long, computed anew and kept beside the code that computes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from symslr.cli import options
from symslr.cli.stopping import resumable
from symslr.library.figures import figure_functions
from symslr.library.folders import builtin_folder, files_of

if TYPE_CHECKING:
    from symslr.cache.parts import Progress
    from symslr.cache.records import Record, Recorded
    from symslr.cache.results import Cache
    from symslr.export.figures import Figure


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(compute)


@dataclass
class _Computation:
    """A figure's table or a validation's comparisons, and where their slow parts are kept; the file is loaded when it runs.

    Attributes:
        source: the file that computes them.
        is_figure: whether that is a file of figures.
    """

    name: str
    source: Path
    is_figure: bool

    @property
    def path(self) -> Path:
        """The file in which the parts are kept, if they are."""
        from symslr.cache.records import record_file

        return record_file(self.source, self.name)

    @property
    def seeds(self) -> str:
        """Where chance enters, in words."""
        return self._figure.seeds if self.is_figure else "in the note of each comparison"

    @property
    def _figure(self) -> Figure:
        from symslr.check.collect import load_module
        from symslr.export.figures import figures_in

        return next(item for item in figures_in(self.source, load_module(self.source)) if item.name == self.name)

    def run(self) -> None:
        """Compute the table or the comparisons."""
        if self.is_figure:
            self._figure.data()
            return
        from symslr.check.collect import load_module
        from symslr.validation.validate import comparing

        list(comparing(load_module(self.source), self.source)() or ())

    @cached_property
    def keeps(self) -> bool:
        """Whether parts are kept, or the file that computes them asks for such parts and none are kept yet."""
        from symslr.cache.parts import computed_once
        from symslr.cache.statements import source_of

        asked = computed_once.__module__, computed_once.__name__
        return self.path.is_file() or asked in source_of(self.source).imports

    @property
    def stale(self) -> bool:
        """Whether parts are missing, or an earlier version of the code made them."""
        return self.keeps and (self.recorded is None or self.recorded.stale)

    @cached_property
    def recorded(self) -> Recorded | None:
        """What is kept, and which parts of it are stale."""
        from symslr.cache.beside import recorded

        return recorded(self.path, self.run)

    def computed(self, earlier: Record | None, store: Cache, show: Progress) -> _Computation:
        """Compute the slow parts, those of ``earlier`` that are still true apart, and keep them."""
        from symslr.cache.beside import Computing

        Computing(self.name, earlier, store, show).record(self.run, self.seeds).write(self.path)
        return _Computation(self.name, self.source, self.is_figure)


def compute(
    names: list[str] = typer.Argument(
        None, help="Names of figures or validations; by default the list of what is stored."
    ),
    every: bool = typer.Option(False, "--all", help="All figures and validations with slow parts."),
    stale: bool = typer.Option(
        False, "--stale", help="Those whose code has changed since, or of which nothing is stored yet."
    ),
    keep: Path = typer.Option(
        None,
        "--keep",
        help="SQLite file for finished parts: an interrupted run, started again with it, goes on from there.",
        parser=options.path,
    ),
    as_json: bool = options.JsonOption,
) -> None:
    """Compute the slow parts of figures and validations anew and store them; `symslr report` reads them.

    They go to data/NAME.json beside the file that computes them, with seeds, versions and the fingerprint of the code
    that they can reach. With --stale, parts and jobs whose code has not changed stay as they are. What is quick, or has
    no such file yet, is computed by every report.
    """
    if names and every:
        raise ValueError(f"--all: found together with the name {names[0]}; expected one of the two")
    known = _computations()
    chosen = _named(names, known) if names else known
    from symslr.cache.results import Cache as Store

    with resumable(keep), Store(keep) as store:  # which refuses a place where nothing can be kept
        slow = [item for item in chosen if names or item.keeps]
        if not (names or every or stale):
            _list(slow, as_json)
            return
        _list(_computed([item for item in slow if not stale or item.stale], store, stale), as_json)


def _computed(chosen: Sequence[_Computation], store: Cache, stale: bool) -> list[_Computation]:
    """Compute and keep the parts of each; with ``stale`` those that are still true stay."""
    from symslr.cli.progress import stages

    made = []
    with stages() as stage:
        show = stage("computing")
        for done, item in enumerate(chosen):

            def part(ready: int, parts: int, done: int = done, name: str = item.name) -> None:
                show(done, len(chosen), f"{name}, {ready} of {parts} parts")

            show(done, len(chosen), item.name)
            earlier = item.recorded.record if stale and item.recorded is not None else None
            made.append(item.computed(earlier, store, part))
        show(len(chosen), len(chosen), "done")
    return made


def _computations() -> list[_Computation]:
    """All figures and validations; their names are read from the files without running them."""
    figures = files_of(builtin_folder("figures"), "figures")
    found = [_Computation(name, file, True) for file in figures for name in figure_functions(file)]
    validations = files_of(builtin_folder("validation"), "validations")
    return found + [_Computation(file.stem, file, False) for file in validations]


def _named(names: Sequence[str], known: Sequence[_Computation]) -> list[_Computation]:
    found = {item.name: item for item in known}
    if unknown := [name for name in names if name not in found]:
        near = get_close_matches(unknown[0], found, 3, 0.4)
        hint = (
            f"expected one such as {', '.join(near or list(found)[:3])}; `symslr compute` lists those with kept numbers"
        )
        raise ValueError(f"compute: found no figure or validation {unknown[0]!r}; {hint}")
    return [found[name] for name in names]


def _list(items: Sequence[_Computation], as_json: bool) -> None:
    from symslr.cache.records import duration

    found = [item.recorded for item in items if item.recorded is not None]
    lacking = [item.name for item in items if item.recorded is None]
    if as_json:
        none = [{"name": name, "seconds": 0.0, "stale": True, "aged": [], "parts": {}} for name in lacking]
        typer.echo(json.dumps([*map(_as_json, found), *none]))
        return
    rows = [
        (f"{item.record.name}: {name.replace('_', ' ')}", duration(part.seconds), name in item.aged)
        for item in found
        for name, part in item.record.parts.items()
    ]
    rows += [
        (f"{item.record.name}: {name.replace('_', ' ')}", "", True)
        for item in found
        for name in item.aged
        if name not in item.record.parts
    ]
    rows += [(name, "", True) for name in lacking]
    wide = max((len(name) for name, _, _ in rows), default=0)
    for name, time, aged in rows:
        state = "by an earlier version of the code" if aged else "by the code that is there"
        said = f"{time:>7} of processor time, {state}" if time else "missing"
        typer.echo(f"{name:{wide}}  {said}")


def _as_json(item: Recorded) -> dict[str, object]:
    parts = {
        name: {"seconds": round(part.seconds, 1), "stale": name in item.aged, "fingerprint": part.fingerprint}
        for name, part in item.record.parts.items()
    }
    head: dict[str, object] = {"name": item.record.name, "seconds": round(item.record.seconds, 1), "stale": item.stale}
    return {**head, "aged": list(item.aged), "parts": parts}
