"""The wheel stands on its own: built, unpacked elsewhere and run from another folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=800,
    )
    assert done.returncode == 0, f"{command} exited {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def pip(*arguments: str | Path, cwd: Path) -> None:
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("symslr-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's content and nothing of this checkout."""
    folder = tmp_path_factory.mktemp("installed")
    pip("install", "--no-deps", "--no-index", "--target", folder, wheel, cwd=folder)
    return folder


@pytest.mark.needs("hatchling")
def test_wheel_carries_derivations_validation_types_and_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder, kind in product(("derivations", "figures", "validation"), ("py", "json")):
        here = {f"symslr/_bundled/{path.relative_to(ROOT)}" for path in (ROOT / folder).rglob(f"*.{kind}")}
        assert here, f"{folder}/ holds no Python file"
        assert here <= names
    assert {"symslr/py.typed", "symslr/export/references.bib"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any("__pycache__" in name or name.startswith("tests/") for name in names)


@pytest.mark.needs("hatchling")
def test_installed_wheel_computes_a_bayes_risk(installed: Path, tmp_path: Path) -> None:
    command = ("-m", "symslr", "bayes", "--task", "spiked", "--length", "3", "--nu", "2", "--json")
    answer = json.loads(run(sys.executable, *command, cwd=tmp_path, PYTHONPATH=str(installed)))
    # The trapezoid rule over the three projections and the Laplace representation agree on these digits.
    assert answer["value"].startswith("0.352423268884")
    where = run(sys.executable, "-c", "import symslr; print(symslr.__file__)", cwd=tmp_path, PYTHONPATH=str(installed))
    assert Path(where.strip()).is_relative_to(installed)


@pytest.mark.needs("hatchling")
def test_installed_wheel_derives_from_the_bundled_folder(installed: Path, tmp_path: Path) -> None:
    assert run(sys.executable, "-m", "symslr", "derive", "bayes-risk", cwd=tmp_path, PYTHONPATH=str(installed)).strip()


def test_import_is_light() -> None:
    program = "import sys, symslr; print(sorted({'torch', 'matplotlib', 'dask', 'numba'} & set(sys.modules)))"
    assert run(sys.executable, "-c", program, cwd=ROOT).strip() == "[]"


def test_version_is_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {version} " in (ROOT / "CHANGELOG.md").read_text()
