"""Figures and validations whose numbers are kept: shown with what made them, computed again and compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from symslr.cache.results import Cache
from symslr.cli import main
from symslr.export import kept_numbers, standard
from symslr.export.figures import drawn, write_figure
from symslr.library import folders
from symslr.library.figures import figure_functions
from symslr.library.records import FOLDER, read_record, record_file
from symslr.validation.validate import validate

FIGURE = '''"""A line."""
from functools import partial
from symslr.cache.parts import computed_once, measured
from symslr.export.figures import Figure
from symslr.validation.validation import states
def figure_line():
    return Figure("figure-line", "A line.", partial(_table, 3), _draw, claims=_claims, seeds="seed 5")
def _table(size):
    return {"x": list(range(size)), "y": [y["value"] + START for y in computed_once(_risen, list(range(size)))]}
def _risen(x):
    return measured(float(SLOPE * x), 1e-6)
SLOPE = 2
START = 0
def _claims(table):
    return [states("it rises", table["y"][-1] > table["y"][0], "")]
def _draw(table):
    from matplotlib import pyplot as plt
    drawing, axes = plt.subplots()
    axes.plot(table["x"], table["y"])
    return drawing
'''
VALIDATION = '''"""One is one."""
from symslr.validation.validation import NamedComparison
from symslr.cache.parts import computed_once, measured
def validate():
    found = computed_once(_drawn, [1], again=lambda job, run: job + run)
    return [NamedComparison("one", 1.0, one["value"], 0.1, "seed 1") for one in found]
def _drawn(job):
    return measured(ONE, 0.1)
ONE = 1.0
'''


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A function that writes a folder of figures and one of validations, which stand for symslr's own."""
    for kind in ("figures", "validation"):
        (tmp_path / kind).mkdir()
    monkeypatch.setattr(folders, "PACKAGE", tmp_path / "symslr")

    def written(figure: str = FIGURE, validation: str = VALIDATION) -> Path:
        (tmp_path / "figures" / "line.py").write_text(figure)
        (tmp_path / "validation" / "one.py").write_text(validation)
        return tmp_path

    return written


def _compute(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["compute", *arguments])
    return int(str(ended.value.code))


@pytest.mark.needs("matplotlib")
def test_a_record_is_drawn_with_what_made_it(house: Callable[..., Path], tmp_path: Path) -> None:
    folder = house()
    assert _compute("figure-line", "one") == 0
    record = read_record(folder / "figures" / FOLDER / "figure-line.json")
    assert record is not None
    assert [point.found["value"] for point in record.parts["risen"].points] == [0.0, 2.0, 4.0]

    def shown() -> tuple[str, str]:
        (figure,) = standard.standard_figures(folder / "figures")
        item = drawn(figure, tmp_path)
        return kept_numbers.to_html(item.recorded), item.csv

    note, data = shown()
    assert "<code>symslr compute --file figure-line</code>" in note
    assert "seed 5" in note
    assert data == "x,y\n0,0.0\n1,2.0\n2,4.0\n"
    # what is quick is computed anew, what is kept is kept
    house(FIGURE.replace("START = 0", "START = 1").replace("SLOPE = 2", "SLOPE = 3"))
    assert shown()[1] == "x,y\n0,1.0\n1,3.0\n2,5.0\n"
    house(FIGURE.replace("_table, 3", "_table, 4"))
    (figure,) = standard.standard_figures(folder / "figures")
    assert "kept numbers lack 'risen' as its code asks" in drawn(figure, tmp_path).failure


@pytest.mark.needs("matplotlib")
def test_a_drawing_is_made_again_only_when_its_table_or_what_draws_it_changed(
    house: Callable[..., Path], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    logged = FIGURE.replace(
        "    drawing, axes =", f"    with open({str(log)!r}, 'a') as f: f.write('x')\n    drawing, axes ="
    )
    made = []

    def times(text: str) -> int:
        (figure,) = standard.standard_figures(house(text) / "figures")
        with Cache(tmp_path / "store") as store:
            made.append(write_figure(figure, tmp_path, store).svg.read_bytes())
        return len(log.read_text())

    assert [times(logged), times(logged)] == [1, 1]
    assert made[0] == made[1]
    assert times(logged.replace("subplots()", "subplots(figsize=(3, 2))")) == 2
    assert times(logged.replace("START = 0", "START = 1")) == 3
    assert len(set(made)) == 3


def test_a_kept_validation_is_not_run(house: Callable[..., Path]) -> None:
    file = house() / "validation" / "one.py"
    assert _compute("one") == 0
    house(validation=VALIDATION.replace("ONE = 1.0", "ONE = 3.0"))
    (kept,) = validate([file], from_records=True)
    assert (kept.agrees, kept.title) == (True, "One is one.")
    (anew,) = validate([file])
    assert (anew.agrees, anew.recorded) == (False, None)


def test_a_figure_has_the_name_of_its_function(house: Callable[..., Path]) -> None:
    folder = house(FIGURE.replace('"figure-line"', '"figure-curve"'))
    with pytest.raises(
        folders.CollectError, match=r"figure_line makes a figure called 'figure-curve'; expected 'figure-line'"
    ):
        standard.standard_figures(folder / "figures")


def test_the_names_of_figures_are_read_without_running_their_files(
    house: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Their files would end the program; what stands inside of a function, or is imported, is no figure."""
    inside = "def figure_one(n=1):\n    def figure_inner(): pass\n"
    text = f"raise SystemExit(9)\nfrom figures import figure3\n{inside}def figure2(): pass\n"
    folder = house(text, validation="raise SystemExit(9)")
    assert figure_functions(folder / "figures" / "line.py") == {"figure-one": "figure_one", "figure2": "figure2"}
    assert _compute("nothing") == 2
    assert "found no figure or validation 'nothing'; expected one such as" in capsys.readouterr().err


def test_the_names_that_are_read_are_those_of_the_figures() -> None:
    files = folders.files_of(folders.builtin_folder("figures"))
    assert [name for file in files for name in figure_functions(file)] == [
        item.name for item in standard.standard_figures()
    ]


def test_a_place_where_nothing_can_be_kept_is_refused_before_a_file_runs(
    house: Callable[..., Path], tmp_path: Path
) -> None:
    house("raise SystemExit(9)\ndef figure_one(): pass\n", validation="raise SystemExit(9)")
    (tmp_path / "text").write_text("this is no store of results\n")
    for place in ("text", "nowhere/kept", "figures"):
        assert _compute("figure-one", "--keep", str(tmp_path / place)) == 2


def test_the_list_and_unknown_names(house: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    house()
    assert _compute("nothing") == 2
    assert capsys.readouterr().err == (
        "symslr: compute: found no figure or validation 'nothing'; expected one such as one; `symslr compute` lists"
        " those with kept numbers\n"
    )
    assert _compute("one") == 0
    capsys.readouterr()
    assert _compute("--json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["name"], row["part"], row["points"], row["drawn"], row["dear"]) == ("one", "drawn", 1, True, [])
    assert _compute() == 0
    assert "one: drawn" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options", [("one", "--all"), ("--sample", "3", "--file", "one"), ("--seed", "1"), ("--sample", "0")]
)
def test_options_that_exclude_each_other(house: Callable[..., Path], options: tuple[str, ...]) -> None:
    house()
    assert _compute(*options) == 2


def test_numbers_are_computed_again_and_compared(
    house: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = house()
    assert _compute("figure-line", "one") == 0
    for asked in (("--sample", "2", "--seed", "4"), ("--file", "all"), ("--file", "one"), ("--sample", "9")):
        assert _compute(*asked) == 0
        assert "all agree" in capsys.readouterr().out
    house(FIGURE.replace("SLOPE = 2", "SLOPE = -2"), VALIDATION.replace("ONE = 1.0", "ONE = 3.0"))
    assert _compute("--sample", "9") == 1
    out = capsys.readouterr().out
    assert "DIFFERS figure-line, risen 1\n  : kept 2.0 +- 1e-06, now -2.0 +- 1e-06\n" in out.replace("  value", "  ")
    assert "risen 0" not in out  # 0 is the same
    assert _compute("--file", "figure-line", "--json") == 1
    assert [row["asked"] for row in json.loads(capsys.readouterr().out)["differing"]] == [1, 2]
    assert _compute("--file", "one") == 1
    assert "kept 1 +- 0.1, with other seeds 3 +- 0.05" in capsys.readouterr().out
    house(FIGURE.replace("_table, 3", "_table, 4"))
    assert _compute("--sample", "9") == 2
    assert "`symslr compute figure-line`" in capsys.readouterr().err
    path = folder / "figures" / FOLDER / "figure-line.json"
    path.write_text("{")
    assert _compute("--sample", "9") == 2


def test_every_file_that_keeps_numbers_has_its_records() -> None:
    figures = [
        record_file(item.file, item.name)
        for item in standard.standard_figures()
        if "computed_once(" in item.file.read_text()
    ]
    files = folders.files_of(folders.builtin_folder("validation"))
    kept = [record_file(file, file.stem) for file in files if "computed_once(" in file.read_text()]
    assert [path for path in (*figures, *kept) if read_record(path) is None] == []


def test_every_record_of_the_house_has_its_figure_or_validation() -> None:
    figures = {record_file(item.file, item.name): item for item in standard.standard_figures() if item.file is not None}
    files = folders.files_of(folders.builtin_folder("validation"))
    known = {*figures, *(record_file(file, file.stem) for file in files)}
    for kind in ("figures", "validation"):
        for path in (folders.builtin_folder(kind) / FOLDER).glob("*"):
            assert path in known
            record = read_record(path)
            assert record is not None
            assert record.seeds or (path in figures and not figures[path].seeds)
            assert record.command == f"symslr compute {record.name}"
            assert all(part.points for part in record.parts.values())
