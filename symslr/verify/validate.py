"""Run validation files: each compares numbers of the theory with simulation, brute force or training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from symslr.verify.collect import CollectError, load_module
from symslr.verify.validation import NamedComparison

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Validation:
    """One file of ``validation/`` and the comparisons it made; ``skipped`` says why it made none."""

    name: str
    comparisons: tuple[NamedComparison, ...]
    skipped: str = ""

    @property
    def agrees(self) -> bool:
        return all(item.agrees for item in self.comparisons)

    def as_json(self) -> dict[str, object]:
        """The comparisons with their verdicts."""
        rows = [{**asdict(item), "agrees": item.agrees} for item in self.comparisons]
        return {"name": self.name, "skipped": self.skipped, "comparisons": rows}


def validation_files(paths: Iterable[Path]) -> list[Path]:
    """The files ``*.py`` of the given files and folders.

    Raises:
        CollectError: when a path does not exist or a folder has none.
    """
    found: list[Path] = []
    for path in paths:
        here = [path] if path.is_file() else sorted(f for f in path.glob("*.py") if not f.name.startswith("_"))
        if not here:
            raise CollectError(f"no validations in {path}: expected .py files that define validate()")
        found.extend(here)
    return found


def validate(files: Sequence[Path], progress: Progress = lambda done, total, name: None) -> list[Validation]:
    """Run ``validate()`` of every file, in order; a file whose optional package is missing is skipped with the reason.

    Raises:
        CollectError: when a file fails to load or has no ``validate``.
    """
    results = []
    for done, file in enumerate(files):
        progress(done, len(files), file.stem)
        results.append(_run(file))
    progress(len(files), len(files), "done")
    return results


def _run(file: Path) -> Validation:
    function = getattr(load_module(file), "validate", None)
    if not callable(function):
        raise CollectError(f"{file}: found no function validate(); expected one that returns named comparisons")
    try:
        return Validation(file.stem, tuple(function()))
    except ModuleNotFoundError as missing:
        return Validation(file.stem, (), f"needs {missing.name}: pip install 'symslr[train]'")
