"""Where statements come from: the entries of ``references.bib``, found by the key that rules, derivations and claims carry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pybtex.database import Entry
from pybtex.database.input.bibtex import Parser
from pybtex.exceptions import PybtexError
from pybtex.plugin import find_plugin

KEY = re.compile(r"[a-z]+[0-9]{4}[a-z]?")
ARXIV = re.compile(r"arXiv[: ](\d{4}\.\d{4,5})")


class UnknownReference(ValueError):
    """A key that no entry answers to."""


@dataclass(frozen=True)
class Reference:
    """A source: its key, and its BibTeX entry."""

    key: str
    entry: Entry

    def field(self, name: str) -> str:
        """A field of the entry without braces; empty where there is none."""
        return str(self.entry.fields.get(name, "")).translate({ord("{"): None, ord("}"): None})

    def shown(self, backend: str) -> str:
        """The entry as a list of references has it, by pybtex in the style unsrt: ``backend`` is "html" or "latex"."""
        (formatted,) = find_plugin("pybtex.style.formatting", "unsrt")().format_entries([self.entry])
        return str(formatted.text.render(find_plugin("pybtex.backends", backend)()))

    @property
    def short(self) -> str:
        """Family names and year, as running text has them: "Murdock and Szegő 1953", with the key's letter where it has one."""
        families = [" ".join(person.prelast_names + person.last_names) for person in self.entry.persons["author"]]
        several = len(families) > 2 or families[-1] == "others"
        named = f"{families[0]} et al." if several else " and ".join(families)
        letter = self.key[-1] if KEY.fullmatch(self.key) and self.key[-1].isalpha() else ""
        return f"{named} {self.field('year')}{letter}"

    def bibtex(self) -> str:
        """The BibTeX entry."""
        authors = " and ".join(map(str, self.entry.persons["author"]))
        body = ",\n".join(
            f"  {name} = {{{value}}}" for name, value in [("author", authors), *self.entry.fields.items()]
        )
        return f"@{self.entry.type}{{{self.key},\n{body}\n}}\n"


def _read(path: Path) -> dict[str, Reference]:
    try:
        entries = Parser().parse_string(path.read_text(encoding="utf-8")).entries
    except PybtexError as error:
        raise ValueError(f"{path.name}: found no valid BibTeX ({error}); expected one entry per reference") from None
    return {key: Reference(key, entry) for key, entry in entries.items()}


REFERENCES: Mapping[str, Reference] = _read(Path(__file__).with_name("references.bib"))


def read_references(path: Path) -> dict[str, Reference]:
    """The house's references and those of a BibTeX file of one's own.

    Raises:
        ValueError: when the file is no BibTeX, or an entry's key is none or it has no author, title or year.
    """
    own = _read(path)
    for key, reference in own.items():
        missing = [name for name in ("title", "year") if not reference.field(name)]
        missing += ["author"] if not reference.entry.persons.get("author") else []
        if missing or not KEY.fullmatch(key):
            expected = "a key such as stein1981 with author, title and year"
            raise ValueError(
                f"{path.name}: found {key} without {', '.join(missing) or 'a year in its key'}; expected {expected}"
            )
    return {**REFERENCES, **own}


def key_of(source: str) -> str | None:
    """The bibliography key with which a source begins, as in "duranthon2025, Prop. 4.1"; None for a name.

    The arXiv number of an entry does as well: "arXiv 2310.11685, section 6" is deng2023.
    """
    head = source.split(",", 1)[0].strip()
    if number := ARXIV.fullmatch(head):
        return next(
            (item.key for item in REFERENCES.values() if item.field("eprint").partition("v")[0] == number[1]), None
        )
    return head if KEY.fullmatch(head) or head in REFERENCES else None


def place_in(source: str) -> str:
    """Where in the source: what follows its key."""
    return source.partition(",")[2].strip()


def cited(sources: Iterable[str], references: Mapping[str, Reference] = REFERENCES) -> list[Reference]:
    """The references of the keys among ``sources``, in the order in which they are first used.

    Raises:
        UnknownReference: for a key without entry.
    """
    found: dict[str, Reference] = {}
    for source in sources:
        key = key_of(source)
        if key is None:
            continue
        if key not in references:
            known = ", ".join(sorted(references))
            raise UnknownReference(
                f"source {source!r}: found no entry for {key}; expected one of {known}, or add it to references.bib"
            )
        found[key] = references[key]
    return list(found.values())
