"""Pieces of the LaTeX report that every part of it uses: formulas on lines, sources, verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from symslr.export.bibliography import key_of, place_in
from symslr.export.breaking import INDENT, Line
from symslr.export.text import plain_to_tex, text_to_tex
from symslr.export.typed import text_to_plain
from symslr.export.verdicts import SIGNS, Verdict, Word


def display(lines: Sequence[Line]) -> str:
    """A formula on its lines, flush left."""
    rows = [(rf"\hspace{{{INDENT * line.depth:g}em}}" if line.depth else "") + line.tex for line in lines]
    body = "\\\\\n".join(rf"\quad & {row} &&" for row in rows)
    return f"\\begin{{flalign*}}\n{body}\n\\end{{flalign*}}"


def section(heading: str) -> str:
    """A section under a heading in running text, whose bookmark has no mathematics."""
    title, bookmark = text_to_tex(heading), plain_to_tex(text_to_plain(heading, greek=False))
    return rf"\section{{{title}}}" if "$" not in title else rf"\section{{\texorpdfstring{{{title}}}{{{bookmark}}}}}"


def source(text: str) -> str:
    """A source in words: a citation where it begins with a key."""
    key = key_of(text)
    if key is None:
        return text_to_tex(text)
    place = place_in(text)
    return rf"\cite[{text_to_tex(place)}]{{{key}}}" if place else rf"\cite{{{key}}}"


def verdict(item: Verdict, *, tally: bool = True) -> str:
    """A verdict with its sign and colour; nothing where nothing was checked."""
    if item.word is Word.UNCHECKED:
        return ""
    shown = f"{item.word}: {item.tally}" if tally and item.tally else str(item.word)
    return rf"\{SIGNS[item.word][2]}{{{shown}}}"


def detail(item: Verdict) -> str:
    return rf"{{\small\raggedright {plain_to_tex(item.detail)}\par}}" if item.detail else ""
