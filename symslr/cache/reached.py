"""The definitions that a function can reach within its package, followed from name to name and from file to file."""

from __future__ import annotations

import builtins
import hashlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from symslr.cache.statements import Source, Statement, source_of
from symslr.cache.trees import Import

NAMESPACE = {"globals", "vars", "eval", "exec"}
"""Names by which code reads its own module without saying what."""

IMPORTERS = {"import_module", "__import__", "modules"}
"""Names by which code finds modules by strings."""

FAMILY = {"__subclasses__", "__init_subclass__"}
"""Names by which classes know of each other."""

DOCUMENTED = {"__doc__", "getdoc"}
"""Names by which code reads docstrings."""


class Reached:
    """The statements that have been reached so far; ``symslr.cache.code`` says what counts and why that is enough.

    Args:
        package: whose code counts.
        file: outside the package, from which it starts; files beside it count too. Its module is called by its file name.
        left_out: modules, and packages with a dot at the end, that do not count.
        source_of: reads a file.
    """

    def __init__(
        self,
        package: str,
        file: Path | None = None,
        left_out: tuple[str, ...] = (),
        source_of: Callable[[Path], Source] = source_of,
    ) -> None:
        self.package, self.file, self.left_out, self._source_of = package, file, left_out, source_of
        self._found: dict[str, dict[Statement | str, None]] = {}
        self._loaded: dict[str, Source] = {}
        self._paths: dict[str, Path | None] = {}
        self._asked: set[Import] = set()
        self._whole: set[str] = set()
        self._waiting: list[tuple[str, Statement]] = []
        self._strings: set[str] = set()
        self._mentioned: set[str] = set()

    def follow(self) -> None:
        """Reach all that what was asked for needs."""
        seen = -1
        while seen != sum(map(len, self._found.values())):
            seen = sum(map(len, self._found.values()))
            while self._waiting:
                self._read(*self._waiting.pop())
            if self._mentioned & IMPORTERS:
                for name in sorted(self._strings):
                    self.below(name.strip("."))
            if self._mentioned & FAMILY:
                for module, source in list(self._loaded.items()):
                    for statement in source.statements:
                        if statement.is_class:
                            self._reach(module, statement)

    @property
    def modules(self) -> dict[str, list[str]]:
        """The modules that count, and the names that they bind by what was reached in them."""
        return {
            module: sorted(
                name for name, bound in self._loaded[module].bindings.items() if any(item in found for item in bound)
            )
            for module, found in self._found.items()
        }

    def version(self, *, documented: bool = True) -> str:
        """SHA-256 of all that was reached; with docstrings where code that was reached reads any, unless told not to."""
        documented = documented and bool(self._mentioned & DOCUMENTED)
        total = hashlib.sha256()
        for module in sorted(self._found):
            total.update(module.encode() + b"\0")
            parts = [
                hashlib.sha256(item.encode()).digest() if isinstance(item, str) else item.digest(documented)
                for item in self._found[module]
            ]
            total.update(b"".join(sorted(parts)))
        return total.hexdigest()

    def binds(self, module: str, name: str) -> bool:
        """Whether a module that counts has this name."""
        source = self._load(module)
        return source is not None and source.binds(name)

    def ask(self, module: str, name: str) -> None:
        """Reach a name of a module, or all of it without a name; nothing where the module does not count."""
        source = self._load(module)
        if source is None or (module, name) in self._asked:
            return
        self._asked.add((module, name))
        if not name:
            self._take(module, source)
        elif source.binds(name):
            for statement in source.bindings.get(name, ()):
                self._reach(module, statement)
            for target in source.imported.get(name, ()):
                self._found.setdefault(module, {})[f"{name} = {'.'.join(target)}"] = None
                self.ask(*target)
        elif self._path(f"{module}.{name}") is not None:
            self.ask(f"{module}.{name}", "")
        elif name in source.offered and source.binds("__getattr__"):
            self.ask(module, "__getattr__")
            self.ask(*source.offered[name])
        else:  # bound by a star, by __getattr__ or from elsewhere
            self.ask(module, "")

    def _take(self, module: str, source: Source) -> None:
        for statement in source.statements:
            self._reach(module, statement)
        for name in source.imported:
            self.ask(module, name)

    def below(self, module: str) -> None:
        """Reach a module that is found by its name, with all that is in it if it is a package."""
        path = self._path(module)
        if path is not None:
            self.ask(module, "")
            if path.name == "__init__.py":
                for inner in sorted(path.parent.iterdir()):
                    if inner.suffix == ".py" or (inner / "__init__.py").is_file():
                        self.below(f"{module}.{inner.stem}")

    def _load(self, module: str) -> Source | None:
        """A module runs: reach what that does besides binding names, and load what it imports; None where it does not count."""
        if module in self._loaded:
            return self._loaded[module]
        path = self._path(module)
        if path is None:
            return None
        source = self._loaded[module] = self._source_of(path)
        if path != self.file and "." in module:
            self._load(module.rpartition(".")[0])
        for statement in source.statements:
            if statement.runs or any(self._matters(source, name) for name in statement.callers):
                self._reach(module, statement)
        for target in source.imports:
            self._run(target)
        return source

    def _run(self, target: Import) -> None:
        """Load what an import loads."""
        module, name = target
        self._load(module)
        if name == "*":
            self.ask(module, "")
        elif name and self._path(f"{module}.{name}") is not None:
            self._load(f"{module}.{name}")

    def _matters(self, source: Source, name: str) -> bool:
        """Whether to call what a module has under this name, or to decorate with it, may change what others read."""
        if name in source.bindings:
            return True
        homes = source.imported.get(name)
        if homes is None:
            return not hasattr(builtins, name)
        return any(self._path(module) is not None for module, _ in homes)

    def _reach(self, module: str, statement: Statement) -> None:
        own = self._found.setdefault(module, {})
        if statement not in own:
            own[statement] = None
            self._waiting.append((module, statement))

    def _read(self, module: str, statement: Statement) -> None:
        source, used = self._loaded[module], statement.used
        for name in used.names:
            if source.binds(name):
                self.ask(module, name)
        for name, part in used.parts:
            for target in self._read_part(module, source, name, part):
                self.ask(*target)
        for target in used.imports:
            self._run(target)
            self.ask(*target)
        if used.names & NAMESPACE:
            self.ask(module, "")
        self._mentioned |= used.names | used.attributes
        self._strings |= used.strings

    def _read_part(self, module: str, source: Source, name: str, part: str) -> Iterator[Import]:
        """``name.part``: of a module only that part, of anything else the name."""
        targets = source.imported.get(name, ())
        modules = [m for m in map(self._module, targets) if m]
        if source.bindings.get(name) or len(modules) < len(targets):
            if source.binds(name):
                yield module, name
            return
        for home in modules:
            yield home, part

    def _module(self, target: Import) -> str:
        """The module of ours that an import binds, or nothing."""
        module, name = target
        if not name:
            return module if self._path(module) is not None else ""
        source = self._load(module)
        bound = source is not None and (source.binds(name) or name in source.offered)
        return "" if bound or self._path(f"{module}.{name}") is None else f"{module}.{name}"

    def _path(self, module: str) -> Path | None:
        if module not in self._paths:
            self._paths[module] = self._find(module)
        return self._paths[module]

    def _find(self, module: str) -> Path | None:
        if f"{module}.".startswith(self.left_out):
            return None
        if self.file is not None and module == self.file.name:
            return self.file
        if module.partition(".")[0] == self.package:
            return _path_in(self.package, module)
        beside = None if self.file is None else self.file.parent / f"{module}.py"
        return beside if beside is not None and beside.is_file() else None


@lru_cache(maxsize=8192)
def _path_in(package: str, module: str) -> Path | None:
    """The file of a module of a package, found without running the packages around it."""
    folder = _folder(package)
    if folder is None:
        return None
    inside = folder.joinpath(*module.split(".")[1:])
    found = inside / "__init__.py"
    if not found.is_file():
        found = inside.with_suffix(".py") if inside != folder else found
    return found if found.is_file() else None


def _folder(package: str) -> Path | None:
    spec = find_spec(package)
    return Path(spec.origin).parent if spec is not None and spec.origin else None
