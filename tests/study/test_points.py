"""Each kind of point against the library's own call; exports against the store."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from symslr.cli import main
from symslr.simulate.erm import erm_replicates
from symslr.study.document import read_study
from symslr.study.executors import Place
from symslr.study.point import Point
from symslr.study.registry import kind_named
from symslr.study.run import run_study
from symslr.study.store import Row, Store
from symslr.study.table import as_xarray, table_of, write_csv, write_parquet, write_xarray
from symslr.study.work import answers_as_json, compute_point

SWEEPS = """
[common]
length = 3
[[sweep]]
kind = "bayes"
nu = [2, 1]
task = ["spiked", "max"]
[[sweep]]
kind = "risk"
attention = "linear"
nu = 1
[[sweep]]
kind = "risk"
kernel = "exp(x)"
nu = 2
[[sweep]]
kind = "separation"
n = 256
d = 66
t = 4
m = 52
a0 = 0.05
a1 = 1.1
b = 0.1
c = 0.9
[[sweep]]
kind = "erm"
nu = 2
alpha = 5
dimension = 40
r_k = 0.1
r_v = 0.3
seeds = "0..1"
fresh = 10000
[[sweep]]
kind = "message_passing"
nu = 2
noise = 0.3
alpha = 2
dimension = 150
[[sweep]]
kind = "bayes_optimal"
nu = 2
noise = 0.3
alpha = 2
[[sweep]]
kind = "finite"
attention = "linear"
nu = 2
alpha = 4
r_k = 0.5
r_v = 0.5
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    from concurrent.futures import ThreadPoolExecutor

    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(SWEEPS)
    with Store(folder / "s.sqlite") as store:
        # One thread: SymPy's caches are not made for several.
        progress = run_study(read_study(folder / "study.toml"), store, Place(lambda: ThreadPoolExecutor(1), 1))
        assert progress.done == progress.total == 11
        return store.rows()


def answers(row: Row) -> dict[str, dict[str, str]]:
    return json.loads(row.answers or "{}")


def test_kinds_give_what_the_library_gives(rows: list[Row]) -> None:
    assert answers(rows[0])["risk"]["value"].startswith("0.35242326888416")  # THEORY.md section 4, two routes
    assert float(answers(rows[4])["risk"]["value"]) == pytest.approx(6 / 11, rel=1e-14)
    bayes, softmax = answers(rows[0])["risk"], answers(rows[5])["risk"]
    assert float(bayes["value"]) == pytest.approx(float(softmax["value"]), rel=1e-13)
    assert 1 - float(answers(rows[6])["fixed_row"]["value"]) < 1e-6
    assert answers(rows[6])["fixed_row_failure"]["kind"] in ("certified", "estimated")
    from symslr import SpikedSLR, simulate_fit, softmax

    values = {"nu": 2, "Delta": 0, "L": 3}
    fits = simulate_fit(SpikedSLR(), softmax, dimension=40, ridge=(0.1, 0.3), seeds=[0, 1], fresh=10_000)(
        values, alpha=5
    )
    assert answers(rows[7])["risk"] == json.loads(answers_as_json({"risk": fits}))["risk"]
    how = {"alpha": 5, "dimension": 40, "r_k": 0.1, "r_v": 0.3, "seeds": [0, 1], "fresh": 10_000}
    runs = erm_replicates(SpikedSLR(), softmax, values, **how)
    assert (float(fits.value), float(fits.error)) == (runs.risk, runs.standard_error)


@pytest.mark.parametrize(
    ("length", "scale", "more"),
    [("2:1/2,5:1/2", None, {}), ("3", "1/2", {}), ("3", None, {"noise": "1/2", "digits": "4"})],
    ids=["least", "at a scale", "few digits"],
)
def test_a_risk_is_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], length: str, scale: str | None, more: dict[str, str]
) -> None:
    asked = {"attention": "softplus", "length": length, "nu": "2", **({"scale": scale} if scale else {}), **more}
    with pytest.raises(SystemExit, match="0"):
        main(["risk", "--json", *(f"--{name}={value}" for name, value in asked.items())])
    said = json.loads(capsys.readouterr().out)
    kind = kind_named("risk")
    point = Point("risk", tuple((own.name, asked.get(own.name, own.default or "")) for own in kind.parameters))
    found = json.loads(compute_point(kind, point).answers or "{}")
    risks = {"risk": said, **said.get("best", {})}
    assert found.keys() == risks.keys()
    assert found["risk"]["method"] == said["method"]
    for name, answer in found.items():
        assert answer["error"] == risks[name]["error"]
        assert answer["value"].startswith(risks[name]["value"][:-1])


def test_samples_meet_the_theory_of_finite_samples(rows: list[Row]) -> None:
    passed, optimal, finite = (answers(row) for row in rows[8:])
    for name in ("q_k", "q_v"):
        gap = float(passed[name]["value"]) - float(optimal[name]["value"])
        assert abs(gap) < 4.5 * np.hypot(float(passed[name]["error"]), float(optimal[name]["error"]))
    from symslr import SpikedSLR, linear
    from symslr.evaluation.finite_sample import finite_sample

    direct = finite_sample(SpikedSLR(), linear, {"nu": 2, "Delta": 0, "L": 3}, alpha=4, ridge=(0.5, 0.5))
    assert float(finite["risk"]["value"]) == pytest.approx(float(direct.risk), rel=1e-4)  # four digits are stored
    assert set(direct.order_parameters) < set(finite)


def number(cell: str | None) -> Fraction | str:
    """A cell of a table; ratios among the parameters are decimals in a CSV file."""
    try:
        return Fraction(cell or "")
    except ValueError:
        return cell or ""


def test_exports_hold_what_the_store_holds(rows: list[Row], tmp_path: Path) -> None:
    pyarrow, xarray = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("xarray")
    table = table_of(rows)
    write_csv(rows, tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        assert [list(map(number, line)) for line in csv.reader(file)][1:] == [
            list(map(number, own)) for own in table.lines
        ]
    write_parquet(rows, tmp_path / "t.parquet")
    read = pyarrow.read_table(tmp_path / "t.parquet")
    assert read.column("value").to_pylist() == [line[table.columns.index("value")] for line in table.lines]
    assert read.column("value_float").to_pylist()[0] == pytest.approx(0.352423268884167)
    bayes = [row for row in rows if row.point.kind == "bayes"]
    grid = as_xarray(bayes)
    assert grid["risk"].dims == ("task", "nu")
    assert list(grid.nu.values) == [1.0, 2.0]
    assert float(grid["risk"].sel(task="spiked", nu=2.0)) == pytest.approx(0.352423268884167)
    write_xarray(bayes, tmp_path / "t.nc")
    with xarray.open_dataset(tmp_path / "t.nc", engine="scipy") as again:
        assert float(again["risk"].sel(nu=2.0)[0]) == pytest.approx(0.352423268884167)
        assert again.attrs["length"] == "3"
    mixed = as_xarray(rows)
    assert mixed["bayes.risk"].dims == ("point",)
    assert int(mixed["bayes.risk"].notnull().sum()) == 4


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def test_the_command_runs_shows_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, store, out = (str(tmp_path / name) for name in ("study.toml", "s.sqlite", "t.csv"))
    Path(file).write_text(
        '[[sweep]]\nkind = "bayes"\nlength = 3\nnu = [1, 2]\n'
        '[[sweep]]\nkind = "risk"\nlength = 3\nnu = 1\nkernel = "1+x**2"\nscale = 2\n'
    )
    status, printed, _ = run(capsys, "study", "run", file, "--store", store, "--workers", "1", "--json")
    assert (status, json.loads(printed)) == (0, {"points": 3, "done": 3, "failed": 0})
    status, printed, _ = run(capsys, "study", "show", store)
    assert status == 0
    assert "0.3524232688841" in printed
    assert run(capsys, "study", "show", store, "--csv", out)[:2] == (0, f"wrote {out}\n")
    assert len(json.loads(run(capsys, "study", "show", store, "--json")[1])) == 3
    Path(file).write_text("[[sweep]]\nkind = 'bayes'\nmu = 2\n")
    status, _, error = run(capsys, "study", "run", file, "--store", store)
    assert status == 2
    assert error.count("\n") == 1
    assert "found 'mu' for the kind bayes" in error
    assert run(capsys, "study", "show", str(tmp_path / "none.sqlite"))[0] == 2
    assert run(capsys, "study", "run", str(tmp_path / "none.toml"), "--store", store)[0] == 2
