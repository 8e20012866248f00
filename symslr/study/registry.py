"""The kinds of points: a name, and the module that knows its parameters and computes it, loaded when first used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from symslr.cache.results import source_version, texts_version
from symslr.study.parameter import Parameter

if TYPE_CHECKING:
    from symslr.expression.value import Value

GROUP = "symslr.points"
"""Entry points of other packages: name = "package.module"."""

_KINDS = {
    "bayes": "symslr.study.points.bayes",
    "bayes_optimal": "symslr.study.points.bayes_optimal",
    "erm": "symslr.study.points.erm",
    "finite": "symslr.study.points.finite",
    "message_passing": "symslr.study.points.message_passing",
    "risk": "symslr.study.points.risk",
    "separation": "symslr.study.points.separation",
}


@dataclass(frozen=True)
class PointKind:
    """A kind of point, by the module that defines it.

    The module has ``PARAMETERS``, a tuple of ``Parameter``; ``compute(asked, files, seed)``, which takes the
    parameters' texts by name, the model files' texts by path and the point's seed, and returns the named ``Value``s;
    and ``check(asked, files)``, which raises ValueError where no computation could succeed.
    """

    name: str
    module: str

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What a point of this kind may be asked."""
        return tuple(import_module(self.module).PARAMETERS)

    @property
    def version(self) -> str:
        """Of the code that computes it: a hash of the source of symslr, and one of the package that the module is of."""
        root = self.module.partition(".")[0]
        spec = None if root == __name__.partition(".")[0] else find_spec(root)
        if spec is None or spec.origin is None:
            return source_version()
        own = [file for folder in spec.submodule_search_locations or () for file in sorted(Path(folder).rglob("*.py"))]
        return f"{source_version()} {texts_version(*(own or [Path(spec.origin)]))}"

    def check(self, asked: Mapping[str, str], files: Mapping[str, str]) -> None:
        """Refuse a point that no computation could answer.

        Raises:
            ValueError: in one line.
        """
        import_module(self.module).check(asked, files)

    def compute(self, asked: Mapping[str, str], files: Mapping[str, str], seed: int) -> dict[str, Value]:
        """The named values of one point."""
        return dict(import_module(self.module).compute(asked, files, seed))


def register(name: str, module: str) -> None:
    """Add a kind of point for this process; a package declares an entry point in the group ``symslr.points`` instead.

    Raises:
        ValueError: when the name stands for another module.
    """
    if _KINDS.setdefault(name, module) != module:
        raise ValueError(f"kind {name!r}: found it registered as {_KINDS[name]}; expected a new name")


def kind_named(name: str) -> PointKind:
    """The kind of this name.

    Raises:
        ValueError: where there is none.
    """
    module = _KINDS.get(name) or _installed().get(name)
    if module is None:
        known = ", ".join(kind_names())
        raise ValueError(f"kind: found {ascii(name)[:40]}; expected one of {known}")
    return PointKind(name, module)


def kind_names() -> list[str]:
    """The names of all kinds, in order."""
    return sorted({*_KINDS, *_installed()})


@lru_cache(maxsize=1)
def _installed() -> dict[str, str]:
    return {entry.name: entry.value for entry in entry_points(group=GROUP)}
