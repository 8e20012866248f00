"""``symslr compute``: the numbers that take long, computed anew and stored, or computed again and compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from secrets import randbelow
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from symslr.cli import options
from symslr.cli.stopping import resumable
from symslr.library.figures import figure_functions
from symslr.library.folders import builtin_folder, files_of
from symslr.library.records import Record, read_record, record_file

if TYPE_CHECKING:
    from symslr.export.figures import Figure
    from symslr.validation.again import Place, Rerun

Item = TypeVar("Item")

DIFFERS = 1
"""Exit status where a number computed again differs from the kept one."""

ALL = "all"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(compute)


@dataclass(frozen=True)
class Computation:
    """A figure's table or a validation's comparisons; the file is loaded when it runs.

    Attributes:
        source: the file that computes them.
        is_figure: whether that is a file of figures.
    """

    name: str
    source: Path
    is_figure: bool

    @property
    def path(self) -> Path:
        """The file in which the slow parts are kept, if they are."""
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


def compute(
    names: list[str] = typer.Argument(
        None, help="Names of figures or validations, computed anew and stored; by default the list of what is kept."
    ),
    every: bool = typer.Option(False, "--all", help="All that are kept, computed anew and stored."),
    sample: int = typer.Option(
        None, "--sample", min=1, help="Compute about so many of the cheap kept points again, and compare."
    ),
    seed: int = typer.Option(None, "--seed", min=0, help="Which points --sample draws; the next seed draws others."),
    file: list[str] = typer.Option(
        None,
        "--file",
        help="Compute all kept points of a figure or validation again, and compare; 'all' for all files.",
    ),
    keep: Path = typer.Option(
        None,
        "--keep",
        help="Folder for finished parts: an interrupted run, started again with it, goes on from there.",
        parser=options.path,
    ),
    as_json: bool = options.JsonOption,
) -> None:
    """List the kept numbers of figures and validations, store them anew, or compute some again and compare.

    They stand in data/NAME.json beside the file that computes them, with what was asked, values with errors, seeds and
    versions; `symslr report` reads them. A number and its error that are computed again have to agree with the kept
    ones; one that is drawn is drawn with another seed and compared by its standard errors. Exit status 1 where any differs.
    """
    if sum(map(bool, (names, every, sample is not None, file))) > 1:
        raise ValueError("compute: found several of NAME, --all, --sample and --file; expected one of them")
    if seed is not None and sample is None:
        raise ValueError("--seed: found without --sample; expected both")
    known = {item.name: item for item in _computations()}
    if names or every:
        chosen = (
            [_named(name, known) for name in names]
            if names
            else [item for item in known.values() if item.path.is_file()]
        )
        with resumable(keep):
            _store(chosen, keep)
        known = {item.name: item for item in chosen}
    kept = {name: record for name, item in known.items() if (record := read_record(item.path)) is not None}
    if sample is not None:
        from symslr.validation.again import cheap, dealt

        seed = randbelow(10**6) if seed is None else seed
        points = cheap(kept.values())
        drawn = dealt(points, sample, seed)
        said = f"of {len(points)} points of up to 5 s, --sample {sample} --seed {seed} drew {len(drawn)}"
        _compare(drawn, known, kept, said, as_json)
    elif file:
        wanted = list(kept) if ALL in file else [_named(Path(name).stem, kept).name for name in file]
        _compare(_places(kept, wanted), known, kept, f"all points of {', '.join(wanted)}", as_json, wanted)
    else:
        _list(kept, as_json)


def _store(chosen: Sequence[Computation], keep: Path | None) -> None:
    """Compute and keep the parts of each."""
    from symslr.cache.results import Cache
    from symslr.cli.progress import stages

    with Cache(keep) as store, stages() as stage:
        from symslr.cache.parts import recomputed  # loads SymPy, when the place is known to be one

        show = stage("computing")
        for done, item in enumerate(chosen):

            def part(ready: int, parts: int, done: int = done, name: str = item.name) -> None:
                show(done, len(chosen), f"{name}, {ready} of {parts} parts")

            show(done, len(chosen), item.name)
            recomputed(item.name, item.seeds, item.run, store, part).write(item.path)
        show(len(chosen), len(chosen), "done")


def _places(kept: Mapping[str, Record], names: Sequence[str]) -> list[Place]:
    from symslr.validation.again import Place

    return [
        Place(name, part, index)
        for name in names
        for part, found in kept[name].parts.items()
        for index in range(len(found.points))
    ]


def _compare(
    places: Sequence[Place],
    known: Mapping[str, Computation],
    kept: Mapping[str, Record],
    said: str,
    as_json: bool,
    whole: Sequence[str] = (),
) -> None:
    """Compute these points again, and say how each differs from what is kept."""
    from symslr.cli.progress import stages
    from symslr.validation.again import again

    with stages() as stage:
        show = stage("computing again")
        found = list(
            again(
                {name: (record, known[name].run) for name, record in kept.items()},
                places,
                lambda done, total: show(done, total, "points"),
                whole,
            )
        )
    differing = sorted((item for item in found if item.differences), key=lambda item: str(item.place))
    seconds = sum(item.seconds for item in found)
    if as_json:
        rows = [_rerun_as_json(item) for item in differing]
        head = {"asked": said, "points": len(found), "seconds": round(seconds, 1), "agree": not differing}
        typer.echo(json.dumps({**head, "differing": rows}))
    else:
        for item in differing:
            typer.echo(f"DIFFERS {item.place.record}, {item.place.part} {json.dumps(item.asked)}")
            for difference in item.differences:
                typer.echo(f"  {difference}")
        told = f"{len(differing)} differ" if differing else "all agree"
        typer.echo(f"{said}: {told}, {seconds:.0f} s of processor time")
    if differing:
        raise typer.Exit(DIFFERS)


def _rerun_as_json(item: Rerun) -> dict[str, object]:
    place = item.place
    return {"name": place.record, "part": place.part, "asked": item.asked, "differences": list(item.differences)}


def _computations() -> list[Computation]:
    """All figures and validations; their names are read from the files without running them."""
    figures = files_of(builtin_folder("figures"), "figures")
    found = [Computation(name, file, True) for file in figures for name in figure_functions(file)]
    validations = files_of(builtin_folder("validation"), "validations")
    return found + [Computation(file.stem, file, False) for file in validations]


def _named(name: str, known: Mapping[str, Item]) -> Item:
    if name not in known:
        near = get_close_matches(name, known, 3, 0.4)
        hint = (
            f"expected one such as {', '.join(near or list(known)[:3])}; `symslr compute` lists those with kept numbers"
        )
        raise ValueError(f"compute: found no figure or validation {name!r}; {hint}")
    return known[name]


def _list(kept: Mapping[str, Record], as_json: bool) -> None:
    """What is kept, part by part, with its points, those too dear to be drawn apart."""
    from symslr.export.kept_numbers import duration
    from symslr.validation.again import CHEAP

    rows: list[dict[str, Any]] = []
    for record in kept.values():
        for name, part in record.parts.items():
            dear = [point.asked for point in part.points if point.seconds > CHEAP]
            rows.append(
                {
                    "name": record.name,
                    "part": name,
                    "points": len(part.points),
                    "seconds": round(sum(point.seconds for point in part.points), 1),
                    "drawn": part.drawn,
                    "dear": dear,
                    "version": record.versions.get("symslr", ""),
                }
            )
    if as_json:
        typer.echo(json.dumps(rows))
        return
    wide = max((len(f"{row['name']}: {row['part']}") for row in rows), default=0)
    for row in rows:
        told = f"{row['points']} points in {duration(row['seconds'])} of processor time"
        told += (
            ", at random" if row["drawn"] else f", {len(row['dear'])} of more than {CHEAP:g} s" if row["dear"] else ""
        )
        what = f"{row['name']}: {row['part']}"
        typer.echo(f"{what:{wide}}  {told}, by symslr {row['version']}")
