"""Run validation files: each compares numbers of the theory with simulation, brute force or training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from symslr.check.collect import CollectError, load_module
from symslr.extras import MissingExtra, remedy
from symslr.kept.code import file_version
from symslr.kept.processes import keeping
from symslr.kept.results import Kept, key_of
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
    """

    name: str
    comparisons: tuple[NamedComparison, ...]
    skipped: str = ""
    title: str = ""

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
        return {"name": self.name, "title": self.title, "skipped": self.skipped, "comparisons": rows}


def validate(
    files: Sequence[Path], progress: Progress = lambda done, total, name: None, kept: Kept | None = None
) -> list[Validation]:
    """Run ``validate()`` of every file, in order; a file whose optional package is missing is skipped with the reason.

    Args:
        files: as ``files_of`` finds them.
        progress: called before each file, for the parts of a file that works in parts, and once at the end.
        kept: where comparisons are found that the same file made before by the same code, and where new ones are
            written as soon as a file is done, parts as soon as they are. A skipped file is tried again.

    Raises:
        CollectError: when a file fails to load, has no ``validate`` or compares nothing.
    """
    results = []
    store = kept or Kept()
    for done, file in enumerate(files):
        progress(done, len(files), file.stem)

        def part(ready: int, parts: int, done: int = done, stem: str = file.stem) -> None:
            progress(done, len(files), f"{stem} {ready}/{parts}")

        with keeping(store, file.stem, part):
            results.append(_kept(file, store))
    progress(len(files), len(files), "done")
    return results


def _kept(file: Path, kept: Kept) -> Validation:
    key = key_of("validate", file.name, file_version(file))
    found = kept.get(key)
    if isinstance(found, Validation):
        return found
    made = _run(file)
    if not made.skipped:
        kept.put(key, f"validate {made.name}", made)
    return made


def _run(file: Path) -> Validation:
    module = load_module(file)
    function = getattr(module, "validate", None)
    if not callable(function):
        raise CollectError(f"{file}: found no function validate(); expected one that returns named comparisons")
    title = (module.__doc__ or "").strip().partition("\n")[0]
    try:
        made = tuple(function() or ())
    except ModuleNotFoundError as missing:
        return Validation(file.stem, (), f"needs {missing.name}: {remedy(missing.name or '')}", title)
    except MissingExtra as missing:
        return Validation(file.stem, (), str(missing), title)
    if not made:
        # Nothing compared would read as everything agrees.
        raise CollectError(f"{file}: validate() returned no comparisons; expected at least one NamedComparison")
    return Validation(file.stem, made, title=title)
