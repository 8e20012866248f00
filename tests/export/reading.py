"""Reads printed arithmetic as a person does, sharing nothing with the printer: sums, products, fractions, roots, powers.

SymPy's own reader takes neither the sizes of brackets nor a fraction before a product, and calls half of the rest ambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from mpmath import erf, exp, log, mpc, mpf, pi, sqrt

FUNCTIONS = {r"\log": log, r"\exp": exp, r"\operatorname{erf}": erf}
CONSTANTS = {r"\pi": mpc(pi), "i": mpc(0, 1), "e": exp(mpc(1))}


def run_on(body: mpc) -> mpc:
    """What a sum's sign makes of all factors behind it here: something that is not linear."""
    return body**2 / 7 + mpf(1) / 3


TOKEN = re.compile(r"\\operatorname\{erf\}|\\[A-Za-z]+|\d+|[A-Za-z]|\S")
SKIPPED = re.compile(r"\\(?:biggl|biggr|left|right)(?![a-z])|\\[,;!:]|\{\}|\\displaystyle")


class Reader:
    """Descends from sums to products to powers."""

    def __init__(self, tex: str, value: Callable[[str], mpc]) -> None:
        self.value = value
        self.tokens = TOKEN.findall(SKIPPED.sub(" ", tex.replace(r"\bigg/", "/")))
        self.at = 0

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        found = self.next
        assert not expected or found == expected, f"found {found!r}, expected {expected!r} in {self.tokens}"
        self.at += 1
        return found

    def whole(self) -> mpc:
        value = self.sum()
        assert not self.next, f"left over: {self.tokens[self.at :]}"
        return value

    def sum(self) -> mpc:
        value: mpc = mpc(0)
        negative = self.take() == "-" if self.next in ("-", "+") else False
        while True:
            term = self.product()
            value = value - term if negative else value + term
            if self.next not in ("-", "+"):
                return value
            negative = self.take() == "-"

    def product(self, stops: str = "-+)]},") -> mpc:
        value = self.power()
        while self.next and self.next not in stops:
            if self.next in (r"\cdot", r"\times"):
                self.take()
            if self.next == "/":
                self.take()
                value = value / self.power()
            else:
                value = value * self.power()
        return value

    def power(self) -> mpc:
        base = self.atom()
        return base ** self.braced() if self.next == "^" and self.take() else base

    def braced(self) -> mpc:
        self.take("{")
        value = self.sum()
        self.take("}")
        return value

    def atom(self) -> mpc:
        token = self.take()
        if token in ("(", "[", "{"):
            value = self.sum()
            self.take({"(": ")", "[": "]", "{": "}"}[token])
            return value
        if token.isdigit():
            return mpc(token)
        if token in (r"\frac", r"\dfrac"):
            above = self.braced()
            return above / self.braced()
        if token == r"\sqrt":
            if self.next != "[":
                return sqrt(self.braced())
            self.take("[")
            index = self.sum()
            self.take("]")
            return self.braced() ** (1 / index)
        if token == "e" and self.next == "^":
            self.take()
            return exp(self.braced())
        if token == r"\sum":
            for _ in range(2):
                self.take()
                self.scripted()
            negative = self.next == "-" and bool(self.take())
            body = self.product("-+)]},/")
            return run_on(-body if negative else body)
        if token in FUNCTIONS:
            power = self.braced() if self.next == "^" and self.take() else mpc(1)
            return FUNCTIONS[token](self.atom()) ** power
        if token in CONSTANTS:
            return CONSTANTS[token]
        name = token
        if self.next == "_":
            self.take()
            name = f"{name}_{self.scripted()}"
        return self.value(name)

    def scripted(self) -> str:
        """An index or a bound, as it is written."""
        self.take("{")
        depth, said = 1, ""
        while depth:
            token = self.take()
            depth += (token == "{") - (token == "}")
            said += token if depth else ""
        return said


def read(tex: str, value: Callable[[str], mpc]) -> mpc:
    """The value of printed arithmetic where ``value`` gives that of a letter by its printed name."""
    return Reader(tex, value).whole()
