"""The parameters of a point of a study, each read from TOML into one canonical text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from symslr.model.text_numbers import read_length, read_number

Raw = str | int | float | bool
"""A scalar of a TOML file."""

LARGEST_NUMBER = 200
"""Digits of a parameter's text at most."""


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

    >>> number(0.10, "nu"), number("2/4", "nu"), number("inf", "nu")
    ('1/10', '1/2', 'inf')
    """
    if isinstance(value, bool):
        raise ValueError(f"{what}: found {str(value).lower()}; expected a number")
    return str(read_number(_plain(value), what=what, allow_infinite=True))


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
    text = _plain(value)
    low, dots, high = text.partition("..")
    if dots:
        ends = int(count(low, what)), int(count(high, what))
        if not ends[0] <= ends[1] < ends[0] + 10_000:
            raise ValueError(f"{what}: found {_shown(value)}; expected a rising range of at most 10000 numbers")
        return ",".join(str(n) for n in range(ends[0], ends[1] + 1))
    return ",".join(count(part, what) for part in text.split(","))


def length(value: Raw, what: str) -> str:
    """A length 3 or a law of the length "1:1/3,2:2/3"."""
    found = read_length(_plain(value), what=what)
    return ",".join(f"{n}:{p}" for n, p in found) if isinstance(found, tuple) else str(found)


def kernel(value: Raw, what: str) -> str:
    """A kernel in x, checked by the whitelist of ``symslr.model.text``; the canonical text is as written."""
    from symslr.model.symbols import x
    from symslr.model.text import parse_expression

    text = _plain(value).strip()
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


def _plain(value: Raw) -> str:
    text = format(Decimal(repr(value)), "f") if isinstance(value, float) and abs(value) < 1e300 else str(value)
    if len(text) > LARGEST_NUMBER and isinstance(value, (int, float)):
        raise ValueError(f"number: found one of {len(text)} digits; expected at most {LARGEST_NUMBER}")
    return text


def _shown(value: object) -> str:
    return ascii(value)[:40]
