"""Results are found again by what was asked and by the code that answers it."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from sympy import Function, Rational, Symbol, symbols

from symslr.cache import results
from symslr.cache.content import NoContent, content
from symslr.cache.parts import keeping, mapped
from symslr.cache.results import MISSING, Cache, key_of
from symslr.check import check
from symslr.check.collect import collect
from symslr.library.folders import files_of
from symslr.library.records import versions
from symslr.model.catalogue import SpikedSLR, linear, softmax
from symslr.validation.validate import validate

CHAPTER = """
from symslr import Derivation, SpikedSLR, rules
from symslr.expression.expectation import SequenceExpectation
from symslr.model.symbols import chi, epsilon

mean = Derivation(SequenceExpectation({body}, SpikedSLR().law), name="{name}").apply(rules.CameronMartin())
"""
VALIDATION = """
from pathlib import Path
from symslr.validation.validation import states

def validate():
    with open({log!r}, "a") as stream:
        stream.write("x")
    return [states("one", True, "")]
"""


def double(job: int, log: str = "") -> int:
    if log:
        Path(log, str(job)).touch()
    return 2 * job


def test_results_outlive_the_process(tmp_path: Path) -> None:
    with Cache(tmp_path / "kept") as kept:
        kept.put("a", {"x": 1.5})
        kept.put("b", None)
    with Cache(tmp_path / "kept") as kept:
        assert kept.get("b") is None
        assert kept.get("c") is MISSING
        assert kept.computed("a", lambda: pytest.fail("computed again")) == {"x": 1.5}


@pytest.mark.parametrize("text", ["x", "not a database, but long enough to be mistaken for one " * 4])
def test_what_is_not_ours_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "text").write_text(text)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text(text)
    for place in ("text", "folder", "nowhere/kept"):
        with pytest.raises(ValueError, match="cannot keep results there"):
            Cache(tmp_path / place)
    assert (tmp_path / "text").read_text() == (tmp_path / "folder" / "mine.txt").read_text() == text
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["mine.txt"]


def test_a_damaged_store_is_refused_in_one_line(tmp_path: Path) -> None:
    with Cache(tmp_path / "kept") as kept:
        kept.put("a", 1)
    (tmp_path / "kept" / "cache.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(ValueError, match="expected a new folder or one of kept results") as problem:
        Cache(tmp_path / "kept")
    assert "\n" not in str(problem.value)


def test_a_result_that_cannot_be_read_is_computed_again(tmp_path: Path) -> None:
    with Cache(tmp_path / "kept") as kept:
        kept._store["a"] = b"no pickle"
        assert kept.computed("a", lambda: 3) == 3


def test_another_source_of_symslr_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of("question")
    monkeypatch.setattr(results, "source_version", lambda: "other")
    assert key_of("question") != before


def test_content_tells_apart_what_differs() -> None:
    x, real = Symbol("x"), Symbol("x", real=True)
    values = [
        x,
        real,
        x + real,
        Rational(1, 2),
        0.5,
        Function("f")(x),
        Function("g")(x),
        softmax,
        linear,
        SpikedSLR(1),
        SpikedSLR(2),
        partial(double, 1),
        partial(double, 2),
        double,
        "1",
        1,
        (1,),
        {"a": 1},
        {"a": 2},
        None,
        True,
    ]
    assert len(set(map(content, values))) == len(values)


def test_content_is_the_same_in_every_process() -> None:
    program = (
        "from symslr.cache.content import content; from symslr import SpikedSLR, bayes_risk, softmax;"
        "print(content((bayes_risk(SpikedSLR()).doit(), softmax, {1, 2} and 3)))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_what_has_no_name_has_no_content() -> None:
    with pytest.raises(NoContent, match="by name"):
        content(lambda: 1)
    with pytest.raises(NoContent, match="found a object"):
        content(object())


def test_keys_know_the_libraries() -> None:
    assert versions()["sympy"] != "not installed"
    assert key_of("a", "b") != key_of("ab") != key_of("a")
    assert list(symbols("a b"))


def test_an_interrupted_figure_keeps_its_finished_parts(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    seen: list[tuple[int, int]] = []
    with Cache(tmp_path / "kept") as kept:
        with keeping(kept):
            assert mapped(partial(double, log=""), [1, 2]) == [2, 4]
        with keeping(kept, lambda done, total: seen.append((done, total))):
            assert mapped(partial(double, log=""), [1, 2, 3]) == [2, 4, 6]
    assert seen == [(2, 3), (3, 3)]
    for folder in (first, second):
        folder.mkdir()
        with Cache(tmp_path / "kept") as kept, keeping(kept):
            mapped(partial(double, log=str(first)), [4, 5])
    assert {path.name for path in first.iterdir()} == {"4", "5"}
    assert not list(second.iterdir())


def test_without_a_store_everything_is_computed() -> None:
    assert mapped(double, [3, 1, 2]) == [6, 2, 4]
    assert mapped(lambda job: -job, [3]) == [-3]


def test_a_changed_chapter_is_checked_again_and_no_other(tmp_path: Path) -> None:
    chapters = tmp_path / "chapters"
    chapters.mkdir()
    (chapters / "a.py").write_text(CHAPTER.format(body="chi[epsilon]**2", name="one"))
    (chapters / "b.py").write_text(CHAPTER.format(body="chi[epsilon]", name="two"))
    checked: list[tuple[int, str]] = []

    def run() -> list[tuple[int, str]]:
        checked.clear()
        with Cache(tmp_path / "kept") as kept:
            report = check(
                collect(chapters), jobs=1, kept=kept, progress=lambda done, name: checked.append((done, name))
            )
        assert report.counts()["steps"]["true"] == 2
        return list(checked)

    assert run() == [(1, "one"), (2, "two")]
    assert run() == [(2, "known before")]
    text = (chapters / "b.py").read_text()
    (chapters / "b.py").write_text(f"# words that change nothing\n{text}")
    assert run() == [(2, "known before")]
    (chapters / "b.py").write_text(text.replace("chi[epsilon]", "chi[epsilon]**3"))
    assert run() == [(1, "known before"), (2, "two")]


def test_a_validation_runs_again_when_its_file_changes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    file = tmp_path / "claims.py"
    file.write_text(VALIDATION.format(log=str(log)))
    with Cache(tmp_path / "kept") as kept:
        for _ in range(2):
            assert validate(files_of(file, "validations"), kept=kept)[0].agrees
        assert log.read_text() == "x"
        file.write_text(file.read_text() + "CHANGED = 1\n")
        validate(files_of(file, "validations"), kept=kept)
    assert log.read_text() == "xx"


def test_a_validation_that_broke_off_keeps_its_parts(tmp_path: Path) -> None:
    file, marker = tmp_path / "claim.py", tmp_path / "repaired"
    file.write_text(
        f"""
from pathlib import Path
from symslr.cache.parts import mapped
from symslr.model.exact import exact
from symslr.validation.validation import states

def validate():
    parts = mapped(exact, [1, 2, 3])
    if not Path({str(marker)!r}).exists():
        raise ValueError("broken off")
    return [states("sum", sum(parts) == 6, "")]
"""
    )
    said: list[str] = []
    with Cache(tmp_path / "kept") as kept, pytest.raises(ValueError, match="broken off"):
        validate([file], lambda done, total, what: said.append(what), kept)
    assert (said[1], said[-1]) == ("claim 0/3", "claim 3/3")
    marker.touch()
    said.clear()
    with Cache(tmp_path / "kept") as kept:
        (result,) = validate([file], lambda done, total, what: said.append(what), kept)
    assert said == ["claim", "claim 3/3", "done"]
    assert result.agrees
    with pytest.raises(ValueError, match="found no folder"):
        Cache(tmp_path / "none" / "kept")
