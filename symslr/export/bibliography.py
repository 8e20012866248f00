"""Where statements come from: one record per source, found by the key that rules, derivations and claims carry."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

KEY = re.compile(r"[a-z]+[0-9]{4}[a-z]?")
ARXIV = re.compile(r"arXiv[: ](\d{4}\.\d{4,5})")


class UnknownReference(ValueError):
    """A key that no record answers to."""


@dataclass(frozen=True)
class Reference:
    """A source: ``authors`` as "Family, Given" joined by " and "; ``place`` is what stands between title and year."""

    key: str
    kind: str
    authors: str
    title: str
    year: int
    fields: tuple[tuple[str, str], ...] = ()
    arxiv: str = ""
    doi: str = ""

    @property
    def place(self) -> str:
        """Journal, volume and pages, or conference, or publisher, on one line."""
        found = dict(self.fields)
        volume = found.get("volume", "") + (f"({found['number']})" if "number" in found else "")
        pages = found.get("pages", "").replace("--", "–")
        venue = found.get("journal") or found.get("booktitle") or found.get("publisher") or ""
        return ", ".join(part for part in (f"{venue} {volume}".strip(), pages) if part)

    @property
    def link(self) -> str:
        """Where the source is found online; empty where it has neither DOI nor arXiv number."""
        if self.doi:
            return f"https://doi.org/{self.doi}"
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else dict(self.fields).get("url", "")

    @property
    def names(self) -> str:
        """The authors in reading order."""
        people = [" ".join(reversed(name.split(", ", 1))) for name in self.authors.split(" and ")]
        if people[-1] == "others":
            return f"{', '.join(people[:-1])} et al."
        return people[0] if len(people) == 1 else f"{', '.join(people[:-1])} and {people[-1]}"

    @property
    def short(self) -> str:
        """Family names and year, as running text has them: "Murdock and Szegő 1953", with the key's letter where it has one."""
        families = [name.split(", ", 1)[0] for name in self.authors.split(" and ")]
        several = len(families) > 2 or families[-1] == "others"
        named = f"{families[0]} et al." if several else " and ".join(families)
        letter = self.key[-1] if KEY.fullmatch(self.key) and self.key[-1].isalpha() else ""
        return f"{named} {self.year}{letter}"

    def bibtex(self) -> str:
        """The record as a BibTeX entry."""
        rows = [("author", self.authors), ("title", f"{{{self.title}}}"), *self.fields, ("year", str(self.year))]
        rows += [("eprint", self.arxiv), ("archivePrefix", "arXiv")] if self.arxiv else []
        rows += [("doi", self.doi)] if self.doi else []
        body = ",\n".join(f"  {name} = {{{value}}}" for name, value in rows)
        return f"@{self.kind}{{{self.key},\n{body}\n}}\n"


def _article(key: str, authors: str, title: str, *, year: int, where: tuple[str, str, str], doi: str) -> Reference:
    journal, volume, pages = where
    number = re.fullmatch(r"(\d+)\((.+)\)", volume)
    issue = (("volume", number[1]), ("number", number[2])) if number else (("volume", volume),)
    return Reference(key, "article", authors, title, year, (("journal", journal), *issue, ("pages", pages)), doi=doi)


REFERENCES: Mapping[str, Reference] = {
    item.key: item
    for item in (
        Reference(
            "duranthon2025",
            "inproceedings",
            "Duranthon, Odilon and Marion, Pierre and Boyer, Claire and Loureiro, Bruno and Zdeborová, Lenka",
            "Statistical Advantage of Softmax Attention: Insights from Single-Location Regression",
            2026,
            (("booktitle", "International Conference on Learning Representations"),),
            arxiv="2509.21936",
        ),
        Reference(
            "deng2023",
            "misc",
            "Deng, Yichuan and Song, Zhao and Zhou, Tianyi",
            "Superiority of Softmax: Unveiling the Performance Edge Over Linear Attention",
            2023,
            arxiv="2310.11685",
        ),
        Reference(
            "marion2025",
            "inproceedings",
            "Marion, Pierre and Berthier, Raphaël and Biau, Gérard and Boyer, Claire",
            "Attention layers provably solve single-location regression",
            2025,
            (("booktitle", "International Conference on Learning Representations"),),
            arxiv="2410.01537",
        ),
        _article(
            "stein1981",
            "Stein, Charles M.",
            "Estimation of the Mean of a Multivariate Normal Distribution",
            year=1981,
            where=("The Annals of Statistics", "9(6)", "1135--1151"),
            doi="10.1214/aos/1176345632",
        ),
        _article(
            "milgrom2002",
            "Milgrom, Paul and Segal, Ilya",
            "Envelope Theorems for Arbitrary Choice Sets",
            year=2002,
            where=("Econometrica", "70(2)", "583--601"),
            doi="10.1111/1468-0262.00296",
        ),
        _article(
            "donsker1983",
            "Donsker, Monroe D. and Varadhan, S. R. Srinivasa",
            "Asymptotic Evaluation of Certain Markov Process Expectations for Large Time, IV",
            year=1983,
            where=("Communications on Pure and Applied Mathematics", "36(2)", "183--212"),
            doi="10.1002/cpa.3160360204",
        ),
        _article(
            "cameron1944",
            "Cameron, Robert H. and Martin, William T.",
            "Transformations of Wiener Integrals Under Translations",
            year=1944,
            where=("Annals of Mathematics", "45(2)", "386--396"),
            doi="10.2307/1969276",
        ),
        _article(
            "sherman1950",
            "Sherman, Jack and Morrison, Winifred J.",
            "Adjustment of an Inverse Matrix Corresponding to a Change in One Element of a Given Matrix",
            year=1950,
            where=("The Annals of Mathematical Statistics", "21(1)", "124--127"),
            doi="10.1214/aoms/1177729893",
        ),
        _article(
            "kac1953",
            "Kac, Mark and Murdock, William L. and Szegő, Gábor",
            "On the Eigenvalues of Certain Hermitian Forms",
            year=1953,
            where=("Journal of Rational Mechanics and Analysis", "2(4)", "767--800"),
            doi="10.1512/iumj.1953.2.52034",
        ),
        _article(
            "isserlis1918",
            "Isserlis, Leon",
            "On a Formula for the Product-Moment Coefficient of Any Order of a Normal Frequency Distribution in Any"
            " Number of Variables",
            year=1918,
            where=("Biometrika", "12(1/2)", "134--139"),
            doi="10.1093/biomet/12.1-2.134",
        ),
        _article(
            "nishimori1981",
            "Nishimori, Hidetoshi",
            "Internal Energy, Specific Heat and Correlation Function of the Bond-Random Ising Model",
            year=1981,
            where=("Progress of Theoretical Physics", "66(4)", "1169--1181"),
            doi="10.1143/PTP.66.1169",
        ),
        _article(
            "owen1956",
            "Owen, Donald B.",
            "Tables for Computing Bivariate Normal Probabilities",
            year=1956,
            where=("The Annals of Mathematical Statistics", "27(4)", "1075--1090"),
            doi="10.1214/aoms/1177728074",
        ),
        _article(
            "derrida1981",
            "Derrida, Bernard",
            "Random-Energy Model: An Exactly Solvable Model of Disordered Systems",
            year=1981,
            where=("Physical Review B", "24(5)", "2613--2626"),
            doi="10.1103/PhysRevB.24.2613",
        ),
        Reference(
            "nakanishi2025",
            "misc",
            "Nakanishi, Ken M.",
            "Scalable-Softmax Is Superior for Attention",
            2025,
            arxiv="2501.19399",
        ),
        Reference(
            "giorlandino2025",
            "misc",
            "Giorlandino, Alessio and Goldt, Sebastian",
            "Two failure modes of deep transformers and how to avoid them: a unified theory of signal propagation at"
            " initialisation",
            2025,
            arxiv="2505.24333",
        ),
        Reference(
            "chen2026",
            "inproceedings",
            "Chen, Shi and Lin, Zhengjiang and Polyanskiy, Yury and Rigollet, Philippe",
            "Critical Attention Scaling in Long-Context Transformers",
            2026,
            (("booktitle", "International Conference on Learning Representations"),),
            arxiv="2510.05554",
        ),
        _article(
            "gallager1965",
            "Gallager, Robert G.",
            "A Simple Derivation of the Coding Theorem and Some Applications",
            year=1965,
            where=("IEEE Transactions on Information Theory", "11(1)", "3--18"),
            doi="10.1109/TIT.1965.1053730",
        ),
        _article(
            "jensen1906",
            "Jensen, Johan L. W. V.",
            "Sur les fonctions convexes et les inégalités entre les valeurs moyennes",
            year=1906,
            where=("Acta Mathematica", "30", "175--193"),
            doi="10.1007/BF02418571",
        ),
        _article(
            "hoeffding1963",
            "Hoeffding, Wassily",
            "Probability Inequalities for Sums of Bounded Random Variables",
            year=1963,
            where=("Journal of the American Statistical Association", "58(301)", "13--30"),
            doi="10.1080/01621459.1963.10500830",
        ),
        _article(
            "trefethen2014",
            "Trefethen, Lloyd N. and Weideman, J. A. C.",
            "The Exponentially Convergent Trapezoidal Rule",
            year=2014,
            where=("SIAM Review", "56(3)", "385--458"),
            doi="10.1137/130932132",
        ),
        _article(
            "johansson2017",
            "Johansson, Fredrik",
            "Arb: Efficient Arbitrary-Precision Midpoint-Radius Interval Arithmetic",
            year=2017,
            where=("IEEE Transactions on Computers", "66(8)", "1281--1292"),
            doi="10.1109/TC.2017.2690633",
        ),
        _article(
            "sherman1950",
            "Sherman, Jack and Morrison, Winifred J.",
            "Adjustment of an Inverse Matrix Corresponding to a Change in One Element of a Given Matrix",
            year=1950,
            where=("The Annals of Mathematical Statistics", "21(1)", "124--127"),
            doi="10.1214/aoms/1177729893",
        ),
        _article(
            "kac1953",
            "Kac, Mark and Murdock, William L. and Szegő, Gábor",
            "On the Eigenvalues of Certain Hermitian Forms",
            year=1953,
            where=("Journal of Rational Mechanics and Analysis", "2", "767--800"),
            doi="",
        ),
        Reference(
            "dlmf",
            "misc",
            "Olver, Frank W. J. and Olde Daalhuis, Adri B. and Lozier, Daniel W. and others",
            "NIST Digital Library of Mathematical Functions",
            2024,
            (("url", "https://dlmf.nist.gov"),),
        ),
        Reference(
            "gradshteyn2007",
            "book",
            "Gradshteyn, Izrail S. and Ryzhik, Iosif M.",
            "Table of Integrals, Series, and Products",
            2007,
            (("publisher", "Academic Press"), ("edition", "Seventh"), ("note", "3.981.3 and 3.982.1")),
        ),
        Reference(
            "mezard1987",
            "book",
            "Mézard, Marc and Parisi, Giorgio and Virasoro, Miguel Angel",
            "Spin Glass Theory and Beyond",
            1987,
            (("publisher", "World Scientific"),),
            doi="10.1142/0271",
        ),
    )
}


def key_of(source: str) -> str | None:
    """The bibliography key with which a source begins, as in "duranthon2025, Prop. 4.1"; None for a name.

    The arXiv number of a record does as well: "arXiv 2310.11685, section 6" is deng2023.
    """
    head = source.split(",", 1)[0].strip()
    if number := ARXIV.fullmatch(head):
        return next((item.key for item in REFERENCES.values() if item.arxiv == number[1]), None)
    return head if KEY.fullmatch(head) or head in REFERENCES else None


def place_in(source: str) -> str:
    """Where in the source: what follows its key."""
    return source.partition(",")[2].strip()


def cited(sources: Iterable[str], records: Mapping[str, Reference] = REFERENCES) -> list[Reference]:
    """The records of the keys among ``sources``, in the order in which they are first used.

    Raises:
        UnknownReference: for a key without record.
    """
    found: dict[str, Reference] = {}
    for source in sources:
        key = key_of(source)
        if key is None:
            continue
        if key not in records:
            known = ", ".join(sorted(records))
            raise UnknownReference(
                f"source {source!r}: found no record for {key}; expected one of {known}, or add it to references.toml"
            )
        found[key] = records[key]
    return list(found.values())


def read_references(path: Path) -> dict[str, Reference]:
    """The house's records and those of a ``references.toml`` of one's own: a table per key.

    Each table has ``kind``, ``authors``, ``title``, ``year``; any other entry becomes a BibTeX field, ``arxiv`` and
    ``doi`` become links.

    Raises:
        ValueError: when a table lacks one of these or the file is no TOML.
    """
    records = dict(REFERENCES)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path.name}: found no valid TOML ({error}); expected one table per reference") from None
    needed = ("kind", "authors", "title", "year")
    for key, table in tables.items():
        missing = [name for name in needed if not (isinstance(table, dict) and name in table)]
        if missing or not KEY.fullmatch(key):
            expected = f"a key such as stein1981 with {', '.join(needed)}"
            raise ValueError(
                f"{path.name}: found [{key}] without {', '.join(missing) or 'a year'}; expected {expected}"
            )
        rest = {name: str(value) for name, value in table.items() if name not in needed}
        arxiv, doi = rest.pop("arxiv", ""), rest.pop("doi", "")
        head = (str(table["kind"]), str(table["authors"]), str(table["title"]), int(table["year"]))
        records[key] = Reference(key, *head, tuple(rest.items()), arxiv, doi)
    return records
