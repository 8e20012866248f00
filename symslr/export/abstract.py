"""What a report opens with: a few sentences, the results that matter most, and one figure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

FILE = "abstract.toml"
"""Stands in a folder of derivations."""

FIELDS = {"words", "says", "figure", "formula"}
FORMULA = {"result", "says"}


@dataclass(frozen=True)
class Abstract:
    """The opening of a report; the formulas themselves are taken from the derivations.

    Attributes:
        words: (heading, text) pairs: in plain words what was asked, found, new and different.
        says: sentences, text with mathematics between dollar signs; in these and in ``words`` a number of the report stands
            as its name, <steps>, see ``Content.counts``.
        formulas: (name of a derivation, what its result is) pairs.
        figure: the name of the figure beside them; empty for none.
    """

    says: str
    formulas: tuple[tuple[str, str], ...] = ()
    figure: str = ""
    words: tuple[tuple[str, str], ...] = ()

    def filled(self, counts: Mapping[str, int]) -> Abstract:
        """The same with numbers in the place of their names.

        Raises:
            ValueError: for a name that is none of ``counts``.
        """

        def number(name: re.Match[str]) -> str:
            if name[1] not in counts:
                raise ValueError(f"abstract: found {name[0]}; expected one of {', '.join(counts)}")
            return str(counts[name[1]])

        said = tuple((heading, re.sub(r"<(\w+)>", number, text)) for heading, text in self.words)
        return replace(self, says=re.sub(r"<(\w+)>", number, self.says), words=said)


def abstract_in(folder: Path) -> Abstract | None:
    """The abstract of ``abstract.toml`` in a folder; None where there is no such file, or ``folder`` is a file.

    Raises:
        ValueError: in one line, for a file that is not a text ``says``, a name ``figure`` and [[formula]] tables.
    """
    file = folder / FILE
    if not file.is_file():
        return None
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as problem:
        raise ValueError(f"{file}: {problem}; expected TOML") from None
    formulas, words = found.get("formula", []), found.get("words", {})
    kinds = [isinstance(found.get(name, default), str) for name, default in (("says", None), ("figure", ""))]
    tables = isinstance(formulas, list) and all(map(_is_formula, formulas))
    texts = isinstance(words, dict) and all(isinstance(text, str) for text in words.values())
    if set(found) - FIELDS or not all(kinds) or not tables or not texts:
        raise ValueError(
            f"{file}: found {', '.join(found)}; expected the text says, perhaps the name figure, a table [words] of texts and"
            " [[formula]] tables with the texts result, a derivation's name, and says"
        )
    opening = tuple((heading, " ".join(text.split())) for heading, text in words.items())
    named = tuple((item["result"], item["says"]) for item in formulas)
    return Abstract(" ".join(found["says"].split()), named, found.get("figure", ""), opening)


def _is_formula(item: object) -> bool:
    return isinstance(item, Mapping) and set(item) == FORMULA and all(isinstance(text, str) for text in item.values())
