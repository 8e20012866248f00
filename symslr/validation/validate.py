"""Run validation files: each compares numbers of the theory with simulation, brute force or training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType

from symslr.cache.parts import Lacking, Shown, keeping
from symslr.cache.results import Cache, key_of, texts_version
from symslr.check.collect import CollectError, load_module
from symslr.extras import MissingExtra, remedy
from symslr.library.records import Record, read_record, record_file
from symslr.parallel.processes import each_done
from symslr.validation.validation import NamedComparison

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Validation:
    """One file of ``validation/`` and the comparisons it made.

    Attributes:
        name: of the file, without ending.
        comparisons: at least one unless it was skipped.
        skipped: why no comparison was made; empty where some were.
        title: the first line of the file's docstring; empty where it has none.
        recorded: where parts of what they compare were kept beside the file and not computed now, what made them.
    """

    name: str
    comparisons: tuple[NamedComparison, ...]
    skipped: str = ""
    title: str = ""
    recorded: Record | None = None

    @property
    def heading(self) -> str:
        """The title without its full stop, or the name."""
        return self.title.removesuffix(".") or self.name

    @property
    def agrees(self) -> bool:
        return all(item.agrees for item in self.comparisons)

    @property
    def summary(self) -> str:
        """One line, such as "12 of 12 agree" or "skipped, needs torch: ..."."""
        if self.skipped:
            return f"skipped, {self.skipped}"
        return f"{sum(item.agrees for item in self.comparisons)} of {len(self.comparisons)} agree"

    def as_json(self) -> dict[str, object]:
        """The comparisons with their verdicts."""
        rows = [{**asdict(item), "agrees": item.agrees} for item in self.comparisons]
        kept = None if self.recorded is None else {"seconds": round(self.recorded.seconds, 1)}
        return {"name": self.name, "title": self.title, "skipped": self.skipped, "comparisons": rows, "kept": kept}


def validate(
    files: Sequence[Path],
    progress: Progress = lambda done, total, name: None,
    kept: Cache | None = None,
    *,
    from_records: bool = False,
) -> list[Validation]:
    """Run ``validate()`` of every file, in order; a file whose optional package is missing is skipped with the reason.

    Args:
        files: as ``files_of`` finds them.
        progress: called before each file, for the parts of a file that works in parts, and once at the end.
        kept: where comparisons are found that the same file made before by the same code, and where new ones are
            written as soon as a file is done, parts as soon as they are. A skipped file is tried again.
        from_records: whether the slow parts that are kept beside a file are taken from there. A file that asks for other
            parts than are kept counts as skipped.

    Raises:
        CollectError: when a file fails to load, has no ``validate`` or compares nothing.
        ValueError: in one line, for a record that cannot be read.
    """
    results = []
    store = kept or Cache()
    if from_records:  # what is left of each file is quick, and several run at once
        found = {}
        for file, made in each_done(partial(_kept, kept=store, from_records=True), {file: file for file in files}):
            found[file] = made
            progress(len(found), len(files), file.stem)
        return [found[file] for file in files]
    for done, file in enumerate(files):
        progress(done, len(files), file.stem)

        def part(ready: int, parts: int, done: int = done, stem: str = file.stem) -> None:
            progress(done, len(files), f"{stem} {ready}/{parts}")

        results.append(_kept(file, store, part))
    progress(len(files), len(files), "done")
    return results


def _title(module: ModuleType) -> str:
    return (module.__doc__ or "").strip().partition("\n")[0]


def _kept(
    file: Path,
    kept: Cache,
    part: Callable[[int, int], None] = lambda ready, parts: None,
    from_records: bool = False,
) -> Validation:
    found = read_record(record_file(file, file.stem)) if from_records else None
    key = key_of("validate", texts_version(file), repr(found))
    made = kept.get(key)
    if not isinstance(made, Validation):
        with keeping(kept, part, Shown(found) if found else None):
            made = _run(file)
        if not made.skipped:
            kept.put(key, made)
    return replace(made, recorded=found)


def comparing(module: ModuleType, file: Path) -> Callable[[], Iterable[NamedComparison] | None]:
    """The function of a validation file.

    Raises:
        CollectError: where it has none.
    """
    function = getattr(module, "validate", None)
    if not callable(function):
        raise CollectError(f"{file}: found no function validate(); expected one that returns named comparisons")
    return function


def _run(file: Path) -> Validation:
    module = load_module(file)
    function = comparing(module, file)
    title = _title(module)
    try:
        made = tuple(function() or ())
    except ModuleNotFoundError as missing:
        return Validation(file.stem, (), f"needs {missing.name}: {remedy(missing.name or '')}", title)
    except MissingExtra as missing:
        return Validation(file.stem, (), str(missing), title)
    except Lacking as lacking:
        return Validation(file.stem, (), str(lacking), title)
    if not made:
        # Nothing compared would read as everything agrees.
        raise CollectError(f"{file}: validate() returned no comparisons; expected at least one NamedComparison")
    return Validation(file.stem, made, title=title)
