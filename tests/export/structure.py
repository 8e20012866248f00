"""Printed formulas as nested terms, in which it does not show how they were broken over lines or set.

A term is a sign, what stands above the bar and what stands below it, each in the order of print. Sizes of brackets, spaces and
signs of multiplication are left out; ``\\frac{a}{b} c``, ``a c / (b)`` and ``\\frac{1}{b} a c`` are one term, a power of e is
``\\exp``, a root is a power. Everything else counts, token for token.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from symslr.export.breaking import Line

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+|\S")
SKIPPED = re.compile(r"\\(?:[Bb]igg?[lr]?|left|right|displaystyle|times|cdot|q?quad)(?![A-Za-z])|\\[,;:!]")
CLOSES = {"(": ")", "[": "]", "{": "}", r"\{": r"\}", r"\langle": r"\rangle", "|": "|"}
FUNCTIONS = (r"\exp", r"\log", r"\Phi", r"\Gamma")
PLACE = re.compile(r"\((\d+)\):\\quad")


@dataclass
class Term:
    """Signs of a product, factors above and below the bar."""

    sign: str = "+"
    above: list = field(default_factory=list)
    below: list = field(default_factory=list)

    def plain(self) -> tuple:
        return self.sign, tuple(x for x in self.above if x != "1" or not self.below), tuple(self.below)


class Reader:
    def __init__(self, tex: str) -> None:
        self.tokens = TOKEN.findall(SKIPPED.sub(" ", tex))
        self.at = 0

    def take(self) -> str:
        self.at += 1
        assert self.at <= len(self.tokens), f"cut short: {self.tokens}"
        return self.tokens[self.at - 1]

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def group(self, opening: str) -> tuple:
        """The terms up to the bracket that closes ``opening``, which is taken."""
        found = self.terms(CLOSES.get(opening, ""))
        assert not opening or self.take() == CLOSES[opening], f"unpaired {opening} before {self.at} in {self.tokens}"
        return found

    def braced(self) -> tuple:
        opening = self.take()
        return self.group("{") if opening == "{" else (("+", (opening,), ()),)

    def terms(self, closing: str) -> tuple:
        done: list[Term] = []
        term, open_braces, below = Term(), 0, False
        while self.next and (self.next != closing or open_braces):
            token = self.take()
            if token in "+-" and not below:
                if term.above or term.below:
                    done.append(term)
                    term = Term()
                term.sign = {"+-": "-", "--": "+"}.get(term.sign + token, token)
                continue
            if token in "{}":
                open_braces += 1 if token == "{" else -1  # braces that only hold together
                continue
            if token == "/":
                below = True
                continue
            over, under = self.factor(token)
            side = (term.below, term.above) if below else (term.above, term.below)
            side[0].extend(over)
            side[1].extend(under)
            below = below and token.startswith("\\") and self.next in ("(", "{")  # a function's argument
        done.append(term)
        return tuple(found.plain() for found in done)

    def factor(self, token: str) -> tuple[list, list]:
        """One factor, with its scripts, as what stands above and below a bar."""
        if token == r"\frac":
            above, below = opened(self.braced()), opened(self.braced())
            if r"\partial" in above[0] or r"\mathrm" in above[0]:  # the sign of a derivative
                return [("d", tuple(above[0]), tuple(below[0]))], []
            return above[0] + below[1], above[1] + below[0]
        if token == "e" and self.next == "^":
            self.take()
            return [r"\exp", ("(", self.braced())], []
        if token in FUNCTIONS and self.next in ("(", "{"):
            braces = self.next == "{" and self.take()
            held = (self.take(), self.group("("))
            assert not braces or self.take() == "}"
            return [token, held], []
        if token in CLOSES:
            held = (token, self.group(token))
            if token != "(" or self.next in ("^", "_"):
                return [held, *self.scripts()], []
            return opened(held[1])
        if token == r"\sqrt":
            index = self.group(self.take()) if self.next == "[" else (("+", ("2",), ()),)
            return [("(", self.braced()), ("^", (("+", (), index[0][1]),))], []
        return [token, *self.scripts()], []

    def scripts(self) -> list:
        found = []
        while self.next in ("^", "_"):
            found.append((self.take(), self.braced()))
        return found


def opened(terms: tuple) -> tuple[list, list]:
    """Factors above and below of what stands in brackets: those of a single term, or the sum in its brackets."""
    if len(terms) == 1 and terms[0][0] == "+":
        return list(terms[0][1]), list(terms[0][2])
    return [("(", terms)], []


def structure(tex: str) -> tuple:
    """The terms of a printed formula."""
    reader = Reader(tex)
    found = reader.group("")
    assert not reader.next, f"left over: {reader.tokens[reader.at :]}"
    return found


def joined(lines: Sequence[Line]) -> str:
    """The lines behind one another, with every place in place of its number."""
    formula: list[str] = []
    places: dict[str, list[str]] = {}
    into = formula
    for line in lines:
        named = PLACE.match(line.tex)
        into = places.setdefault(named[1], []) if named else into
        into.append(line.tex.removeprefix(named[0]) if named else line.tex)
    whole = " ".join(formula)
    for number, place in places.items():
        whole = whole.replace(f"_{{({number})}}", f"_{{{' '.join(place)}}}")
    return whole
