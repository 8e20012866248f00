"""An author's own letters for those of symslr, in finished LaTeX: nu = "\\\\lambda", E = "\\\\operatorname{E}"."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from symslr.export.text import GREEK, paired, pieces

TABLE = "symbols"
WORDS = r"\\(?:mathrm|operatorname|text|texttt|mathcal|mathsf|mathbf|mathbb)\{[^{}]*\}"
TOKEN = re.compile(rf"(?P<script>[_^])?(?P<token>{WORDS}|\\[A-Za-z]+|\\.|[A-Za-z])")
"""A letter, a command, or a word in a font of its own; words are never read letter by letter."""
MACROS = ("E", "nu", "chi", "sigma", "p", "z", "kappa", "epsilon", "Delta")
"""Letters that a fragment prints through a macro, such as ``\\symslrnu``."""


def _house(name: str) -> str:
    """How symslr prints a letter: ``E`` is the expectation, a Greek letter its command, LaTeX is itself."""
    if name == "E":
        return r"\mathbb{E}"
    return f"\\{name}" if name in GREEK.values() else name


@dataclass(frozen=True)
class Notation:
    """The LaTeX that is printed in place of a letter of symslr, by the LaTeX that symslr prints.

    ``said`` has the names under which an author gave them, for messages and macros.
    """

    letters: Mapping[str, str] = field(default_factory=dict)
    said: Mapping[str, str] = field(default_factory=dict)

    def tex(self, formula: str) -> str:
        """A formula in these letters.

        Raises:
            ValueError: where the letter to be printed stands in the formula already, for something else.
        """
        found = {match["token"] for match in TOKEN.finditer(formula)}
        for letter in found & set(self.letters):
            new = self.letters[letter]
            if new != letter and new in found - set(self.letters):
                name = self.said[letter]
                raise ValueError(
                    f"{name} = {new!r}: found {new} in {formula!r} for something else; expected a free letter,"
                    f" or a line for {new} too"
                )
        return TOKEN.sub(lambda match: self._token(match, formula), formula)

    def _token(self, match: re.Match[str], formula: str) -> str:
        new = self.letters.get(match["token"])
        if new is None:
            return match[0]
        if match["script"]:
            return f"{match['script']}{{{new}}}"
        runs_on = re.search(r"\\[A-Za-z]+$", new) and formula[match.end() : match.end() + 1].isalpha()
        return f"{new} " if runs_on else new

    def text(self, text: str) -> str:
        """Running text with its formulas in these letters."""
        return "".join(f"${self.tex(part)}$" if is_math else part for is_math, part in pieces(text))

    def through_macros(self) -> Notation:
        """The same letters as macros, which ``macros`` defines."""
        names = dict.fromkeys((*MACROS, *(name for name in self.said.values() if name.isalpha())))
        kept = {letter: new for letter, new in self.letters.items() if not self.said[letter].isalpha()}
        made = {_house(name): rf"\symslr{name}" for name in names}
        return Notation({**kept, **made}, {**self.said, **{_house(name): name for name in names}})

    def macros(self) -> str:
        """Definitions of the macros that ``through_macros`` prints, for a preamble."""
        names = dict.fromkeys((*MACROS, *(name for name in self.said.values() if name.isalpha())))
        lines = (
            rf"\providecommand{{\symslr{name}}}{{{self.letters.get(_house(name), _house(name))}}}" for name in names
        )
        return "\n".join([*lines, ""])


HOUSE = Notation()
"""The letters of symslr."""


def notation_in(file: Path) -> Notation:
    r"""The notation of a TOML file whose table [symbols] has lines such as nu = "\\lambda", by name or by LaTeX.

    Raises:
        ValueError: in one line, for another file.
    """
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as problem:
        raise ValueError(f"{file}: {problem}; expected TOML") from None
    symbols = found.get(TABLE)
    if set(found) != {TABLE} or not isinstance(symbols, dict):
        raise ValueError(
            f'{file}: found {", ".join(found) or "nothing"}; expected one table [symbols], nu = "\\\\lambda"'
        )
    for name, new in symbols.items():
        if not TOKEN.fullmatch(_house(name)):
            raise ValueError(
                f"{file}: found the symbol {name!r}; expected a letter, the name of a Greek one, or its LaTeX"
            )
        if not isinstance(new, str) or not new or paired(new) != new or re.search(r"[$%&#~]|\\\\", new):
            raise ValueError(f"{file}: {name}: found {new!r}; expected LaTeX of a symbol")
    return Notation({_house(name): new for name, new in symbols.items()}, {_house(name): name for name in symbols})
