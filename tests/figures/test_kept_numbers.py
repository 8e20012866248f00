"""Figures and validations whose numbers are kept: shown with what made them, and stale when their code has changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from symslr.cache.code import code_version
from symslr.cache.records import FOLDER, read_record, record_file
from symslr.cache.results import Cache
from symslr.cli import main
from symslr.export import kept_numbers, standard
from symslr.export.figures import drawn, write_figure
from symslr.library import folders
from symslr.library.figures import figure_functions
from symslr.validation.validate import validate

FIGURE = '''"""A line."""
from functools import partial
from symslr.cache.parts import computed_once
from symslr.export.figures import Figure
from symslr.validation.validation import states
def figure_line():
    return Figure("figure-line", "A line.", partial(_table, 3), _draw, claims=_claims, seeds="seed 5")
def _table(size):
    return {"x": list(range(size)), "y": [y + START for y in computed_once(_risen, list(range(size)))]}
def _risen(x):
    return SLOPE * x
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
from symslr.cache.parts import computed_once
def validate():
    return [NamedComparison("one", 1.0, one * TIMES, 0.1, "seed 1") for one in computed_once(_drawn, [1])]
def _drawn(job):
    return ONE
ONE = 1.0
TIMES = 1
'''
PARTS = "from symslr.cache.parts import computed_once\n"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A function that writes a folder of figures and one of validations, which stand for symslr's own."""
    for kind in ("figures", "validation"):
        (tmp_path / kind).mkdir()
    monkeypatch.setattr(folders, "PACKAGE", tmp_path / "symslr")

    def written(figure: str = FIGURE, validation: str = VALIDATION) -> Path:
        (tmp_path / "figures" / "line.py").write_text(figure)
        (tmp_path / "validation" / "one.py").write_text(validation)
        code_version.cache_clear()
        return tmp_path

    return written


def _compute(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["compute", *arguments])
    return int(str(ended.value.code))


@pytest.mark.needs("matplotlib")
def test_a_record_is_drawn_and_shown_stale_after_its_code_changed(house: Callable[..., Path], tmp_path: Path) -> None:
    folder = house()
    assert _compute("figure-line", "one") == 0
    path = folder / "figures" / FOLDER / "figure-line.json"
    record = read_record(path)
    assert record is not None
    assert (record.seeds, record.command) == ("seed 5", "symslr compute figure-line")
    assert record.parts["risen"].results == (0, 2, 4)

    def shown() -> tuple[str, str, bool]:
        (figure,) = standard.standard_figures(folder / "figures")
        item = drawn(figure, tmp_path)
        assert item.recorded is not None
        return kept_numbers.to_html(item.recorded), item.csv, item.recorded.stale

    said, data, stale = shown()
    assert not stale
    assert "<code>symslr compute figure-line</code>" in said
    assert record.parts["risen"].fingerprint[:12] in said
    assert "stale" not in said
    # the drawing may change; what computes the numbers may not
    house(FIGURE.replace("subplots()", "subplots(figsize=(3, 2))"))
    assert not shown()[2]
    # and what is quick is computed anew
    house(FIGURE.replace("START = 0", "START = 1"))
    assert shown()[1:] == ("x,y\n0,1\n1,3\n2,5\n", False)
    house(FIGURE.replace("SLOPE = 2", "SLOPE = 3"))
    said, again, stale = shown()
    assert stale
    assert "stale" in said
    assert again == data == "x,y\n0,0\n1,2\n2,4\n"
    assert _compute("--stale") == 0
    assert shown()[1:] == ("x,y\n0,0\n1,3\n2,6\n", False)


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
    assert times(logged.replace("axes.plot(", "axes.plot( # words\n        ")) == 1
    assert times(logged.replace("subplots()", "subplots(figsize=(3, 2))")) == 2
    assert times(logged.replace("START = 0", "START = 1")) == 3
    assert len(set(made)) == 3


def test_a_kept_validation_is_not_run_and_stale_is_said(house: Callable[..., Path]) -> None:
    file = house() / "validation" / "one.py"
    assert _compute("one") == 0
    house(validation=VALIDATION.replace("TIMES = 1", "TIMES = 3"))
    (kept,) = validate([file], from_records=True)
    assert (kept.stale, kept.agrees) == (False, False)
    house(validation=VALIDATION.replace("ONE = 1.0", "ONE = 3.0"))
    (kept,) = validate([file], from_records=True)
    assert (kept.stale, kept.agrees, kept.title) == (True, True, "One is one.")
    assert "earlier version of the code" in kept.summary
    (anew,) = validate([file])
    assert (anew.stale, anew.agrees, anew.recorded) == (False, False, None)


def test_stale_parts_that_do_not_fit_the_code_say_so(house: Callable[..., Path], tmp_path: Path) -> None:
    folder = house()
    assert _compute("figure-line") == 0
    house(FIGURE.replace("return SLOPE * x", "return {'rise': SLOPE * x}").replace("[y + START", "[y['rise'] + START"))
    (figure,) = standard.standard_figures(folder / "figures")
    assert "kept numbers (risen) do not fit the code that is there" in drawn(figure, tmp_path).failure
    house(FIGURE.replace("_table, 3", "_table, 4"))
    (figure,) = standard.standard_figures(folder / "figures")
    assert (
        "kept numbers lack part 'risen' for its 4 jobs; `symslr compute figure-line`" in drawn(figure, tmp_path).failure
    )


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
    for place in ("text", "nowhere/kept.sqlite", "figures"):
        assert _compute("figure-one", "--keep", str(tmp_path / place)) == 2
        assert _compute("--stale", "--keep", str(tmp_path / place)) == 2


def test_the_list_and_unknown_names(house: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    house()
    assert _compute("nothing") == 2
    assert capsys.readouterr().err == (
        "symslr: compute: found no figure or validation 'nothing'; expected one such as one; `symslr compute` lists"
        " those with kept numbers\n"
    )
    assert _compute("one") == 0
    house(validation=VALIDATION.replace("ONE = 1.0", "ONE = 2.0"))
    capsys.readouterr()
    assert _compute("--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["name"], row["stale"], row["aged"]) for row in rows] == [
        ("one", True, ["drawn"]),
        ("figure-line", True, []),
    ]
    assert _compute() == 0
    assert "one: drawn" in capsys.readouterr().out


@pytest.mark.needs("matplotlib")
def test_what_was_never_computed_is_listed_and_computed_with_what_is_stale(
    house: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is asked of a file without slow parts, which every report computes."""
    folder = house(validation=VALIDATION.replace("computed_once(_drawn, [1])", "map(_drawn, [1])").replace(PARTS, ""))
    capsys.readouterr()
    assert _compute() == 0
    assert capsys.readouterr().out.split() == ["figure-line", "missing"]
    assert _compute("--json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["name"], row["stale"], row["parts"]) == ("figure-line", True, {})
    assert _compute("--stale") == 0
    assert "figure-line: risen" in capsys.readouterr().out
    assert (folder / "figures" / FOLDER / "figure-line.json").is_file()
    assert _compute("--stale") == 0
    assert capsys.readouterr().out == ""


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
            assert all(len(part.results) == len(part.jobs) for part in record.parts.values())
