"""Sources: found by key, refused when unknown, written as BibTeX."""

from __future__ import annotations

from pathlib import Path

import pytest

from symslr.export.bibliography import REFERENCES, Reference, UnknownReference, cited, key_of, read_references


@pytest.mark.parametrize(
    ("authors", "short"),
    [
        ("Stein, Charles M.", "Stein 1981"),
        ("Cameron, Robert H. and Martin, William T.", "Cameron and Martin 1981"),
        ("Olver, Frank W. J. and others", "Olver et al. 1981"),
        ("Deng, Yichuan and Song, Zhao and Zhou, Tianyi", "Deng et al. 1981"),
    ],
)
def test_running_text_names_the_authors_and_the_year(authors: str, short: str) -> None:
    assert Reference("stein1981", "misc", authors, "Title", 1981).short == short
    assert Reference("stein1981b", "misc", authors, "Title", 1981).short == f"{short}b"


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
    with pytest.raises(UnknownReference, match=r"nobody1999.*expected one of .*stein1981.*references\.toml"):
        cited(["nobody1999, Thm. 1"])


def test_names_place_and_link() -> None:
    item = REFERENCES["nishimori1981"]
    assert item.names == "Hidetoshi Nishimori"
    assert item.place == "Progress of Theoretical Physics 66(4), 1169–1181"
    assert item.link == "https://doi.org/10.1143/PTP.66.1169"
    assert REFERENCES["deng2023"].names == "Yichuan Deng, Zhao Song and Tianyi Zhou"
    assert REFERENCES["deng2023"].link == "https://arxiv.org/abs/2310.11685"


@pytest.mark.parametrize("key", REFERENCES)
def test_bibtex_is_balanced_and_carries_the_key(key: str) -> None:
    entry = REFERENCES[key].bibtex()
    assert entry.startswith(f"@{REFERENCES[key].kind}{{{key},\n")
    assert entry.count("{") == entry.count("}")
    assert str(REFERENCES[key].year) in entry


def test_own_references(tmp_path: Path) -> None:
    path = tmp_path / "references.toml"
    path.write_text(
        '[gauss1809]\nkind="book"\nauthors="Gauss, Carl F."\ntitle="Theoria motus"\nyear=1809\npublisher="P"\n'
    )
    assert read_references(path)["gauss1809"].place == "P"
    path.write_text('[gauss1809]\nkind="book"\nauthors="Gauss, Carl F."\nyear=1809\n')
    with pytest.raises(ValueError, match=r"references\.toml: found \[gauss1809\] without title"):
        read_references(path)
    path.write_text("[")
    with pytest.raises(ValueError, match="no valid TOML"):
        read_references(path)
