"""The parameters of a point of a study, each read from TOML into one canonical text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from symslr.model.text_numbers import MOST_DIGITS, read_length, read_number

Raw = str | int | float | bool
"""A scalar of a TOML file."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kind of point.

    Attributes:
        name: as it is written in a study file.
        read: (value of the file, name for errors) -> canonical text; equal points have equal texts.
        default: canonical text where the file is silent; None where the parameter must be given, "" where it stays
            unset.
        is_file: whether a value ending in .toml names a model file, whose text belongs to the point.
    """

    name: str
    read: Callable[[Raw, str], str]
    default: str | None = None
    is_file: bool = False


def number(value: Raw, what: str) -> str:
    """An exact number: 2, 0.25, "1/3", "inf"; a float stands for the decimal it prints as.

    >>> number(0.10, "nu"), number("2/4", "nu"), number("inf", "nu"), number(1e-60, "nu")
    ('1/10', '1/2', 'inf', '1/1e60')
    """
    if isinstance(value, bool):
        raise ValueError(f"{what}: found {str(value).lower()}; expected a number")
    text = _text(read_number(str(value), what=what, allow_infinite=True))
    read_number(text, what=what, allow_infinite=True)  # as the point does: what it refuses is refused before it runs
    return text


def positive(value: Raw, what: str) -> str:
    """An exact finite number above 0."""
    text = number(value, what)
    if text in ("0", "inf") or text.startswith("-"):
        raise ValueError(f"{what}: found {_shown(value)}; expected a positive number")
    return text


def count(value: Raw, what: str) -> str:
    """A whole number >= 0."""
    text = number(value, what)
    if not text.isdigit():
        raise ValueError(f"{what}: found {_shown(value)}; expected a whole number >= 0")
    return text


def counts(value: Raw, what: str) -> str:
    """Whole numbers apart by commas, or a range: "0,1,2" or "0..4" with both ends."""
    text = str(value)
    low, dots, high = text.partition("..")
    if dots:
        ends = int(count(low, what)), int(count(high, what))
        if not ends[0] <= ends[1] < ends[0] + 10_000:
            raise ValueError(f"{what}: found {_shown(value)}; expected a rising range of at most 10000 numbers")
        return ",".join(str(n) for n in range(ends[0], ends[1] + 1))
    return ",".join(count(part, what) for part in text.split(","))


def length(value: Raw, what: str) -> str:
    """A length 3 or a law of the length "1:1/3,2:2/3"."""
    found = read_length(str(value), what=what)
    return ",".join(f"{_text(n)}:{_text(p)}" for n, p in found) if isinstance(found, tuple) else _text(found)


def kernel(value: Raw, what: str) -> str:
    """A kernel in x, checked by the whitelist of ``symslr.model.text``; the canonical text is as written."""
    from symslr.model.symbols import x
    from symslr.model.text import parse_expression

    text = str(value).strip()
    parse_expression(text, {"x": x}, what=what)
    return text


def flag(value: Raw, what: str) -> str:
    """true or false."""
    text = str(value).lower()
    if text not in ("true", "false"):
        raise ValueError(f"{what}: found {_shown(value)}; expected true or false")
    return text


def name(value: Raw, what: str) -> str:
    """A word, such as the name of a task or the path of a model file."""
    if not isinstance(value, str) or not value.strip() or "\n" in value:
        raise ValueError(f"{what}: found {_shown(value)}; expected a name")
    return value.strip()


def one_of(*choices: str) -> Callable[[Raw, str], str]:
    """One of these words."""

    def read(value: Raw, what: str) -> str:
        if value not in choices:
            raise ValueError(f"{what}: found {_shown(value)}; expected {', '.join(choices)}")
        return str(value)

    return read


def _text(value: Fraction | float) -> str:
    """A number as text that can be read again: where it has too many digits, zeros at the end are a power of ten."""
    return "/".join(
        part if len(part) <= MOST_DIGITS else re.sub("0+$", lambda zeros: f"e{len(zeros[0])}", part)
        for part in str(value).split("/")
    )


def _shown(value: object) -> str:
    return ascii(value)[:40]
