"""Study files: what they mean, and one line for what they cannot mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from symslr.study.document import read_study
from symslr.study.parameter import number
from symslr.study.point import Point

MODEL = '[task]\nweight = "exp(s*chi[eps] - s**2/2)"\nnoise = "0"\n[values]\ns = 2\n'


def points(tmp_path: Path, text: str) -> list[Point]:
    file = tmp_path / "study.toml"
    file.write_text(text)
    return read_study(file)


def test_axes_are_crossed_and_the_last_runs_fastest(tmp_path: Path) -> None:
    found = points(
        tmp_path,
        "[common]\nlength = 3\nalpha = 2\n[[sweep]]\nkind = 'bayes'\nnu = [1, 0.5]\ntask = ['spiked', 'max']\n",
    )
    asked = [dict(point.parameters) for point in found]
    assert [(each["nu"], each["task"]) for each in asked] == [
        ("1", "spiked"), ("1", "max"), ("1/2", "spiked"), ("1/2", "max")
    ]  # fmt: skip
    assert {each["length"] for each in asked} == {"3"}
    assert "alpha" not in asked[0]  # [common] may hold what only other kinds have


def test_equal_points_are_one_point_however_they_are_written(tmp_path: Path) -> None:
    found = points(
        tmp_path,
        "[[sweep]]\nkind='bayes'\nlength='1:1/2, 2:0.5'\nnu=0.5\n"
        "[[sweep]]\nlength='2:1/2,1:1/2'\nnu=['1/2', '2/4']\ntask='spiked'\nkind='bayes'\ndigits=15\n",
    )
    assert len(found) == 1
    assert found[0] == Point.from_json(found[0].as_json())
    assert found[0].key("one version") != found[0].key("another")


def test_what_the_command_line_takes_a_point_takes_too(tmp_path: Path) -> None:
    """Regression: 1e-60 became a fraction of 61 digits, more than its point reads, and the point failed."""
    text = "[[sweep]]\nkind='bayes'\nlength=['1e60', '2:1/2,1e60:1/2']\nnu=['1e-60', 2.5e-70, '1e-300']\n"
    asked = [dict(point.parameters) for point in points(tmp_path, text)]
    assert [each["nu"] for each in asked[:3]] == ["1/1e60", "1/4e69", "1/1e300"]
    assert {each["length"] for each in asked} == {"1e60", "2:1/2,1e60:1/2"}
    assert {number(each["nu"], "nu") for each in asked} == {each["nu"] for each in asked}
    with pytest.raises(ValueError, match=r"sweep 1: nu '1e600'.*: found 1e600; expected a power of ten up to 300"):
        points(tmp_path, "[[sweep]]\nkind='bayes'\nlength=2\nnu='1e300/1e-300'\n")


def test_spaced_axes(tmp_path: Path) -> None:
    found = points(
        tmp_path,
        "[[sweep]]\nkind='bayes'\nlength={from=2, to=4, count=3}\nnu={from=0.1, to=10, count=3, spacing='log'}\n",
    )
    asked = [dict(point.parameters) for point in found]
    assert [each["nu"] for each in asked[:3]] == ["1/10", "1", "10"]
    assert [each["length"] for each in asked[::3]] == ["2", "3", "4"]


def test_the_text_of_a_model_file_belongs_to_the_point(tmp_path: Path) -> None:
    (tmp_path / "model.toml").write_text(MODEL)
    text = "[[sweep]]\nkind='bayes'\ntask='model.toml'\nlength=2\n"
    (first,) = points(tmp_path, text)
    (tmp_path / "model.toml").write_text(MODEL.replace("s = 2", "s = 3"))
    (second,) = points(tmp_path, text)
    assert first.parameters == second.parameters
    assert first.content != second.content


def test_files_of_windows_editors_are_read_as_the_same_text(tmp_path: Path) -> None:
    text = "[[sweep]]\nkind='bayes'\ntask='model.toml'\nlength=2\n"
    (tmp_path / "model.toml").write_text(MODEL)
    (plain,) = points(tmp_path, text)
    windows = b"\xef\xbb\xbf" + MODEL.replace("\n", "\r\n").encode()
    (tmp_path / "model.toml").write_bytes(windows)
    assert points(tmp_path, "\ufeff" + text) == [plain]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[sweep", "not a TOML file"),
        ("", r"found no \[\[sweep\]\]"),
        ("sweep = 3", r"found no \[\[sweep\]\]"),
        ("[grid]\nnu = 1", "found 'grid'"),
        ("[[sweep]]\nnu = 1", "sweep 1: found no kind"),
        ("[[sweep]]\nkind = 'bay'", "kind: found 'bay'; expected one of bayes"),
        ("[[sweep]]\nkind = 'bayes'\nmu = 2", "found 'mu' for the kind bayes"),
        ("[[sweep]]\nkind = 'bayes'\nlength = 3\nnu = []", "nu: found an empty list"),
        ("[[sweep]]\nkind = 'bayes'\nlength = 3\nnu = [[1]]", "nu: found"),
        ("[[sweep]]\nkind = 'bayes'\nlength = 3\nnu = true", "nu: found true; expected a number"),
        ("[[sweep]]\nkind = 'bayes'\nlength = 3\nnu = 1e400", "nu"),
        ("[[sweep]]\nkind = 'bayes'\nlength = 3\nnu = nan", "nu"),
        ("[[sweep]]\nkind = 'bayes'\nlength = 3", "no value for nu"),
        ("[[sweep]]\nkind = 'bayes'\nlength = 0\nnu = 1", "length 0"),
        ("[[sweep]]\nkind = 'bayes'\nlength = 3\nnu = {from = 1}", "expected {from = 1"),
        ("[[sweep]]\nkind = 'bayes'\nlength = 3\nnu = {from = 0, to = 1, count = 3, spacing = 'log'}", "0 < from"),
        ("[[sweep]]\nkind = 'bayes'\ntask = 'none.toml'\nlength = 3", "cannot be read"),
        ("[[sweep]]\nkind = 'risk'\nlength = 3\nnu = 1\nkernel = '__import__(1)'", "kernel '__import__"),
        ("[[sweep]]\nkind = 'risk'\nlength = 3\nnu = 1\nattention = 'soft'", "attention: found 'soft'"),
        ("[[sweep]]\nkind = 'erm'\nlength = 3\nnu = 1", "found no alpha"),
        (
            "[[sweep]]\nkind = 'finite'\nlength = 3\nnu = 1\nalpha = -1\nr_k = 1\nr_v = 1",
            "alpha: found -1; expected a positive",
        ),
        ("[[sweep]]\nkind = 'finite'\nlength = 3\nnu = 1\nalpha = inf\nr_k = 1\nr_v = 1", "alpha: found inf"),
        ("[[sweep]]\nkind = 'separation'\nn = 256\nd = 66\nt = 5\nm = 5\na0 = 0\na1 = 1\nb = 1\nc = 1", "n"),
        ("[[sweep]]\nkind = 'bayes'\nlength = 3\nnu = {from = 1, to = 2, count = 9999999}", "nu: found"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as refused:
        points(tmp_path, text)
    assert "study.toml: " in str(refused.value)
    assert "\n" not in str(refused.value)
