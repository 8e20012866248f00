"""Every optional module of pyproject.toml is known by its extra, and a missing one is named with it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from symslr.extras import BRINGS, MissingExtra, need, remedy

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def test_the_table_is_that_of_pyproject() -> None:
    extras = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    listed = {extra: tuple(sorted(re.split(r"[<>=]", item)[0] for item in extras[extra])) for extra in BRINGS}
    assert listed == {extra: tuple(sorted(modules)) for extra, modules in BRINGS.items()}


def test_a_module_that_is_there_is_imported() -> None:
    assert need("json.decoder", "this").JSONDecoder


def test_a_missing_module_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("symslr.extras.import_module", absent)
    with pytest.raises(
        MissingExtra, match=r"^training needs torch, which is not installed: pip install 'symslr\[train\]'$"
    ):
        need("torch", "training")


def test_a_submodule_belongs_to_the_extra_of_its_package() -> None:
    assert remedy("matplotlib.pyplot") == "pip install 'symslr[figures]'"
    assert remedy("nowhere.at_all") == "pip install nowhere"
