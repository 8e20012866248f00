"""The version of the code that matters for a kind of point: a hash of the source files it can reach by import."""

from __future__ import annotations

import ast
import hashlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path


@lru_cache(maxsize=64)
def code_version(module: str) -> str:
    """SHA-256 over the sources of ``module`` and of all it imports, directly or not, within its own package.

    Imports are read from the syntax tree, those inside functions included. The file of the top package is left out:
    it imports nothing but names that load when used.

    Raises:
        ValueError: when there is no such module.
    """
    package = module.partition(".")[0]
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found or name == package != module:
            continue
        path = _source(name)
        if path is None:
            if name == module:
                raise ValueError(f"module {module}: found no source; expected an importable module")
            continue
        found[name] = path
        waiting += _imported(path, name, package)
    total = hashlib.sha256()
    for name in sorted(found):
        total.update(name.encode() + b"\0" + found[name].read_bytes() + b"\0")
    return total.hexdigest()


def _source(name: str) -> Path | None:
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec is not None and spec.origin is not None and spec.has_location else None


def _imported(path: Path, name: str, package: str) -> list[str]:
    """Modules of the package that a file names in its import statements; ``from a import b`` may mean a.b."""
    found = [name.rpartition(".")[0]]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [module for module in found if module.startswith(f"{package}.")]
