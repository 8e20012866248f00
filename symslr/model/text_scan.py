"""The characters of a formula, checked one by one before Python's parser sees them.

The grammar is small enough that two states, "an operand comes next" and "an operand has just ended", decide every
syntax error here, with the column a person would point at. What passes is ASCII, balanced, shallow and short.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, field

LONGEST_TEXT = 2000
MOST_TOKENS = 1000
DEEPEST = 50
MOST_DIGITS = 50
LARGEST_DECIMAL_EXPONENT = 300

NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_TOKEN = re.compile(rf"(?P<number>{NUMBER})|(?P<name>[A-Za-z][A-Za-z0-9_]*)|(?P<mark>\*\*|[-+*/()\[\],])")
_OPERAND = "a number, a name or '('"
_CLOSES = {"call": ")", "group": ")", "index": "]"}
_HINTS = {
    "^": "write ** for a power",
    "=": "an expression has no '='",
    "_": "digits are not grouped and names start with a letter",
}


class TextError(ValueError):
    """Text that is no admissible expression, number or length law: one line with the place and what was expected."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text and what it stands for ('kernel', '--nu'): everything an error line needs."""

    text: str
    what: str

    def refuse(self, column: int, reason: str) -> TextError:
        """The error to raise for a fault at this column, counted from 0."""
        start = max(0, min(column - 30, len(self.text) - 60))
        end = start + 60
        shown = ("..." if start else "") + self.text[start:end] + ("..." if end < len(self.text) else "")
        return TextError(f"{self.what} {shown!a}: column {column + 1}: {reason}")


def as_source(text: object, what: str) -> Source:
    """Accept text that is short, ASCII and not empty.

    Raises:
        TextError: for anything else.
    """
    if not isinstance(text, str):
        raise TextError(f"{what}: found {type(text).__name__}; expected text")
    source = Source(text, what)
    if len(text) > LONGEST_TEXT:
        raise source.refuse(LONGEST_TEXT, f"found {len(text)} characters; expected at most {LONGEST_TEXT}")
    if not text.isascii():
        column = next(i for i, character in enumerate(text) if not character.isascii())
        raise source.refuse(column, f"found {text[column]!a}; expected ASCII characters only")
    if not text.strip(" "):
        raise source.refuse(0, "found nothing; expected an expression such as 2*x")
    return source


def check_digits(source: Source, column: int, number: str) -> None:
    """Refuse a literal too long to be meant: more than 50 digits, or beyond 1e300.

    Raises:
        TextError: at the literal.
    """
    mantissa, _, exponent = number.lower().partition("e")
    digits = len(mantissa.replace(".", ""))
    if digits > MOST_DIGITS:
        raise source.refuse(column, f"found a number of {digits} digits; expected at most {MOST_DIGITS}")
    if len(exponent) > 5 or abs(int(exponent or 0)) > LARGEST_DECIMAL_EXPONENT:
        raise source.refuse(column, f"found {_short(number)}; expected a power of ten up to {LARGEST_DECIMAL_EXPONENT}")
    if re.match("0[0-9]", mantissa):
        raise source.refuse(column, f"found {_short(number)}; expected a number without a leading zero")


def scan(source: Source) -> None:
    """Check that the text is a sentence of the grammar; see the module's docstring.

    Raises:
        TextError: at the first character that does not fit.
    """
    _Scan(source).run()


@dataclass(slots=True)
class _Scan:
    source: Source
    wants_operand: bool = True
    after_name: bool = False
    depth: int = 0
    open: list[tuple[str, int]] = field(default_factory=list)  # kind of bracket, depth outside it

    def run(self) -> None:
        text, column, count = self.source.text, 0, 0
        while column < len(text):
            if text[column] == " ":
                column += 1
                continue
            token = _TOKEN.match(text, column)
            if token is None:
                found = text[column]
                hint = _HINTS.get(found, "only names, numbers, + - * / ** ( ) [ ] and commas are read")
                raise self.source.refuse(column, f"found {found!a}; {hint}")
            count += 1
            if count > MOST_TOKENS:
                raise self.source.refuse(column, f"found more than {MOST_TOKENS} tokens; expected a shorter expression")
            self._step(token[0], token.lastgroup or "", column)
            column = token.end()
        if self.wants_operand:
            raise self.source.refuse(len(text), f"expected {_OPERAND}")
        if self.open:
            raise self.source.refuse(len(text), f"expected '{_CLOSES[self.open[-1][0]]}'")

    def _step(self, token: str, kind: str, column: int) -> None:
        if kind != "mark":
            if not self.wants_operand:
                raise self.source.refuse(column, f"found '{_short(token)}'; expected an operator before it, such as *")
            if kind == "number":
                check_digits(self.source, column, token)
            elif keyword.iskeyword(token):
                raise self.source.refuse(column, f"found '{token}', a word of Python; expected {_OPERAND}")
            self.wants_operand, self.after_name = False, kind == "name"
        elif token in "+-" and self.wants_operand:
            self._deepen(column)
        elif token == "(" and (self.wants_operand or self.after_name):
            self._enter("group" if self.wants_operand else "call", column)
        elif token == "[" and self.after_name:
            self._enter("index", column)
        elif self.wants_operand:
            raise self.source.refuse(column, f"found '{token}'; expected {_OPERAND}")
        elif token in ")]":
            if not self.open or _CLOSES[self.open[-1][0]] != token:
                expected = f"'{_CLOSES[self.open[-1][0]]}'" if self.open else "an operator or the end"
                raise self.source.refuse(column, f"found '{token}'; expected {expected}")
            self.depth = self.open.pop()[1]
            self.after_name = False
        elif token in "([":
            raise self.source.refuse(column, f"found '{token}'; expected an operator before it, such as *")
        elif token == "," and (not self.open or self.open[-1][0] != "call"):
            raise self.source.refuse(
                column,
                "found ','; expected it only between the arguments of a function, such as max(0, x); a sum over tokens is "
                "sum(term, index), and pieces are joined with step(x)",
            )
        else:
            if token == "**":
                self._deepen(column)
            else:
                self.depth = self.open[-1][1] + 1 if self.open else 0
            self.wants_operand, self.after_name = True, False

    def _enter(self, kind: str, column: int) -> None:
        self.open.append((kind, self.depth))
        self._deepen(column)
        self.wants_operand, self.after_name = True, False

    def _deepen(self, column: int) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.source.refuse(column, f"found more than {DEEPEST} levels; expected a shallower expression")


def _short(token: str) -> str:
    return token if len(token) <= 24 else f"{token[:10]}...{token[-4:]}"
