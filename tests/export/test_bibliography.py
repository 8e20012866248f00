"""Sources: found by key, refused when unknown, written as BibTeX."""

from __future__ import annotations

from pathlib import Path

import pytest

from symslr.export import bibliography
from symslr.export.bibliography import REFERENCES, UnknownReference, cited, key_of, read_references


@pytest.mark.parametrize(
    ("authors", "short"),
    [
        ("Stein, Charles M.", "Stein 1981"),
        ("Cameron, Robert H. and Martin, William T.", "Cameron and Martin 1981"),
        ("Olver, Frank W. J. and others", "Olver et al. 1981"),
        ("Deng, Yichuan and Song, Zhao and Zhou, Tianyi", "Deng et al. 1981"),
    ],
)
def test_running_text_names_the_authors_and_the_year(tmp_path: Path, authors: str, short: str) -> None:
    path = tmp_path / "references.bib"
    fields = f"author = {{{authors}}}, title = {{Title}}, year = {{1981}}"
    path.write_text(f"@misc{{gauss1981, {fields}}}\n@misc{{gauss1981b, {fields}}}\n")
    found = read_references(path)
    assert found["gauss1981"].short == short
    assert found["gauss1981b"].short == f"{short}b"


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ("duranthon2025, Prop. 4.1", "duranthon2025"),
        ("stein1981", "stein1981"),
        ("arXiv 2310.11685, section 6", "deng2023"),
        ("arXiv:2509.21936", "duranthon2025"),
        ("arXiv 1234.56789", None),
        ("dlmf", "dlmf"),
        ("symslr, by Stein's lemma", None),
        ("", None),
        ("textbook algebra", None),
    ],
)
def test_key_of_a_source(source: str, key: str | None) -> None:
    assert key_of(source) == key


def test_cited_once_in_order_of_use() -> None:
    found = cited(["stein1981", "", "duranthon2025, Sec. 2", "stein1981, Lemma 1", "a name"])
    assert [item.key for item in found] == ["stein1981", "duranthon2025"]


def test_unknown_key_is_refused_with_the_way_out() -> None:
    with pytest.raises(UnknownReference, match=r"nobody1999.*expected one of .*stein1981.*references\.bib"):
        cited(["nobody1999, Thm. 1"])


def test_an_entry_is_shown_with_its_authors_place_and_link() -> None:
    shown = REFERENCES["nishimori1981"].shown("html")
    for part in ("Hidetoshi Nishimori", "66(4):1169–1181, 1981", 'href="https://doi.org/10.1143/PTP.66.1169"'):
        assert part in shown
    assert r"\href{https://arxiv.org/abs/2310.11685v1}" in REFERENCES["deng2023"].shown("latex")


def test_the_entries_of_cited_keys_are_written_as_the_file_has_them() -> None:
    written = "\n".join(reference.bibtex() for reference in REFERENCES.values())
    assert written == Path(bibliography.__file__).with_name("references.bib").read_text(encoding="utf-8")


def test_own_references(tmp_path: Path) -> None:
    path = tmp_path / "own.bib"
    path.write_text("@book{gauss1809, author={Gauss, Carl F.}, title={Theoria motus}, year=1809, publisher={P}}")
    assert read_references(path)["gauss1809"].shown("latex").endswith("\\newblock P, 1809.")
    assert read_references(path)["stein1981"] == REFERENCES["stein1981"]
    path.write_text("@book{gauss1809, author={Gauss, Carl F.}, year=1809}")
    with pytest.raises(ValueError, match=r"own\.bib: found gauss1809 without title"):
        read_references(path)
    path.write_text("@book{gauss, author={Gauss, Carl F.}, title={Theoria motus}, year=1809}")
    with pytest.raises(ValueError, match=r"found gauss without a year in its key"):
        read_references(path)
    for broken in ("@book{gauss1809, author=", "@misc{a1900, year=1}@misc{a1900, year=1}"):
        path.write_text(broken)
        with pytest.raises(ValueError, match=r"own\.bib: found no valid BibTeX .*; expected") as caught:
            read_references(path)
        assert str(caught.value).isprintable()
