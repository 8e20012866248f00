"""The kind ``fast`` for the tests of this folder, in this process and in the workers it starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

HERE = str(Path(__file__).parent)

collect_ignore = ["fast_points.py", "kill_driver.py"]
"""Modules that workers and a driver process import by name."""


@pytest.fixture(autouse=True)
def fast_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    from symslr.study import registry

    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [HERE, os.environ.get("PYTHONPATH")])))
    monkeypatch.setitem(registry._KINDS, "fast", "fast_points")
    sys.modules.pop("fast_points", None)
