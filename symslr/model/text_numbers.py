"""Numbers and laws of the length, read from text as exact fractions; no SymPy, so that a refusal comes at once."""

from __future__ import annotations

import re
from fractions import Fraction

from symslr.model.text_scan import NUMBER, Source, as_source, check_digits

LONGEST_SEQUENCE = 10**300

_INFINITE = {"inf": float("inf"), "+inf": float("inf"), "-inf": float("-inf"), "oo": float("inf"), "-oo": float("-inf")}
A_NUMBER = "a number such as 2, 0.25, 1/3 or 1e-3"
A_LENGTH = "a length such as 3 or a law such as 1:1/3,2:2/3"
"""What a refusal says was expected."""
_NUMBER = re.compile(rf" *([-+]?) *({NUMBER})(?: */ *({NUMBER}))? *")


def read_number(text: str, *, what: str = "number", allow_infinite: bool = False) -> Fraction | float:
    """The exact number of '2', '-0.25', '1/3' or '1e-3'; a float for 'inf' and '-inf' alone, where they are allowed.

    Raises:
        TextError: for anything else, in one line.

    >>> read_number("1e-3"), read_number("inf", allow_infinite=True)
    (Fraction(1, 1000), inf)
    """
    source = as_source(text, what)
    if allow_infinite and text.strip(" ") in _INFINITE:
        return _INFINITE[text.strip(" ")]
    return _number(source, 0, text)


LONGEST_WRITTEN = 20
"""Characters of a number that stands as it is: more than an integer of 64 bits has digits."""


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
    source = as_source(text, what)
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
            check_digits(source, start + found.start(group), found[group])
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
