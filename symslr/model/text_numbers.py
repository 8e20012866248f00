"""Numbers and laws of the length, read from text as exact fractions; no SymPy, so that a refusal comes at once."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from fractions import Fraction

LONGEST_TEXT = 2000
MOST_DIGITS = 50
LARGEST_DECIMAL_EXPONENT = 300
LONGEST_SEQUENCE = 10**300
LONGEST_WRITTEN = 20
"""Characters of a number that stands as it is: more than an integer of 64 bits has digits."""

_INFINITE = {"inf": float("inf"), "+inf": float("inf"), "-inf": float("-inf"), "oo": float("inf"), "-oo": float("-inf")}
A_NUMBER = "a number such as 2, 0.25, 1/3 or 1e-3"
A_LENGTH = "a length such as 3 or a law such as 1:1/3,2:2/3"
"""What a refusal says was expected."""
NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NUMBER = re.compile(rf" *([-+]?) *({NUMBER})(?: */ *({NUMBER}))? *")


class TextError(ValueError):
    """Text that is no admissible expression, number or length law: one line with the place and what was expected."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text and what it stands for ('kernel', '--nu'): everything an error line needs."""

    text: str
    what: str

    def __post_init__(self) -> None:
        """Accept text that is short, ASCII and not empty.

        Raises:
            TextError: for anything else.
        """
        text = self.text
        if not isinstance(text, str):
            raise TextError(f"{self.what}: found {type(text).__name__}; expected text")
        if len(text) > LONGEST_TEXT:
            raise self.refuse(LONGEST_TEXT, f"found {len(text)} characters; expected at most {LONGEST_TEXT}")
        for column, character in enumerate(text):
            if not character.isascii():
                raise self.refuse(column, f"found {character!a}; expected ASCII characters only")
        if not text.strip(" "):
            raise self.refuse(0, "found nothing; expected an expression such as 2*x")

    def refuse(self, column: int, reason: str) -> TextError:
        """The error to raise for a fault at this column, counted from 0."""
        start = max(0, min(column - 30, len(self.text) - 60))
        end = start + 60
        shown = ("..." if start else "") + self.text[start:end] + ("..." if end < len(self.text) else "")
        return TextError(f"{self.what} {shown!a}: column {column + 1}: {reason}")

    def segment(self, node: ast.expr) -> str:
        """A node of the text's tree, as it is written."""
        return self.text[node.col_offset : node.end_col_offset]

    def check_number(self, column: int, number: str) -> None:
        """Refuse a literal too long to be meant: more than 50 digits, or beyond 1e300; and one that is no decimal.

        Raises:
            TextError: at the literal.
        """
        if not re.fullmatch(NUMBER, number) or re.match("0[0-9]", number):
            raise self.refuse(column, f"found '{cut(number)}'; expected a decimal number, or an operator before a name")
        mantissa, _, exponent = number.lower().partition("e")
        digits = len(mantissa.replace(".", ""))
        if digits > MOST_DIGITS:
            raise self.refuse(column, f"found a number of {digits} digits; expected at most {MOST_DIGITS}")
        if len(exponent) > 5 or abs(int(exponent or 0)) > LARGEST_DECIMAL_EXPONENT:
            raise self.refuse(column, f"found {cut(number)}; expected a power of ten up to {LARGEST_DECIMAL_EXPONENT}")


def cut(fragment: str) -> str:
    """The fragment as a message shows it: at most 40 characters."""
    return fragment if len(fragment) <= 40 else f"{fragment[:27]}...{fragment[-10:]}"


def read_number(text: str, *, what: str = "number", allow_infinite: bool = False) -> Fraction | float:
    """The exact number of '2', '-0.25', '1/3' or '1e-3'; a float for 'inf' and '-inf' alone, where they are allowed.

    Raises:
        TextError: for anything else, in one line.

    >>> read_number("1e-3"), read_number("inf", allow_infinite=True)
    (Fraction(1, 1000), inf)
    """
    source = Source(text, what)
    if allow_infinite and text.strip(" ") in _INFINITE:
        return _INFINITE[text.strip(" ")]
    return _number(source, 0, text)


def in_short(value: Fraction | int) -> str:
    """A number as text that ``read_number`` reads again; a long one by powers of ten where that is shorter.

    >>> in_short(Fraction(1, 3)), in_short(Fraction(2, 10**300)), in_short(Fraction(10**60, 3))
    ('1/3', '2e-300', '1e60/3')
    """
    value, plain = Fraction(value), str(value)
    if len(plain) <= LONGEST_WRITTEN:
        return plain
    forms = ["/".join(_power_of_ten(part) for part in plain.split("/")), plain]
    places = value.denominator.bit_length()
    if 10**places % value.denominator == 0:  # it ends as a decimal
        forms.insert(0, _power_of_ten(str((value * 10**places).numerator), -places))
    return min(forms, key=len)


def _power_of_ten(digits: str, exponent: int = 0) -> str:
    kept = digits.rstrip("0")
    exponent += len(digits) - len(kept)
    return f"{kept}e{exponent}" if exponent else kept


def read_length(text: str, *, what: str = "length") -> int | tuple[tuple[int, Fraction], ...]:
    """A fixed length '3', or a law of the length '1:1/3,2:1/3,3:1/3' as pairs (length, probability) in rising order.

    Lengths are distinct integers from 1 to 10**300; probabilities are positive and sum to 1 exactly.

    Raises:
        TextError: for anything else, in one line.

    >>> read_length("1:1/4, 3:3/4")
    ((1, Fraction(1, 4)), (3, Fraction(3, 4)))
    """
    source = Source(text, what)
    if ":" not in text and "," not in text:
        return _length(source, 0, text)
    law: dict[int, Fraction] = {}
    column = 0
    for part in text.split(","):
        length_text, colon, probability_text = part.partition(":")
        if not colon:
            raise source.refuse(column, f"found {ascii(part)[:40]}; expected length:probability, such as 2:1/3")
        length = _length(source, column, length_text)
        if length in law:
            raise source.refuse(column, f"found the length {length} twice; expected each length once")
        start = column + len(length_text) + 1
        law[length] = _number(source, start, probability_text)
        if law[length] <= 0:
            raise source.refuse(start, f"found the probability {law[length]}; expected a positive number")
        column += len(part) + 1
    total = sum(law.values(), Fraction(0))
    if total != 1:
        shown = total if total.denominator < 10**9 else f"about {float(total):.12g}"
        raise source.refuse(0, f"found probabilities that sum to {shown}; expected 1 exactly (write 1/3, not 0.333)")
    return tuple(sorted(law.items()))


def _number(source: Source, start: int, text: str, expected: str = A_NUMBER) -> Fraction:
    """The number that `text`, which begins at column `start` of the source, consists of."""
    found = _NUMBER.fullmatch(text)
    column = start + len(text) - len(text.lstrip(" "))
    if found is None:
        shown = ascii(text.strip(" "))[:40]
        raise source.refuse(column, f"found {shown}; expected {expected}")
    for group in (2, 3):
        if found[group] is not None:
            source.check_number(start + found.start(group), found[group])
    value = Fraction(found[2])
    if found[3] is not None:
        divisor = Fraction(found[3])
        if not divisor:
            raise source.refuse(start + found.start(3), "found a division by zero; expected a divisor other than 0")
        value /= divisor
    return -value if found[1] == "-" else value


def _length(source: Source, start: int, text: str) -> int:
    value = _number(source, start, text, A_LENGTH)
    if value.denominator != 1 or not 1 <= value <= LONGEST_SEQUENCE:
        raise source.refuse(
            start, f"found the length {text.strip(' ')[:40]}; expected a whole number from 1 to 10**300"
        )
    return int(value)


def split_outside(text: str, mark: str) -> list[str]:
    """The parts of a text between the marks that stand in no parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
