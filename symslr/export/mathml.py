"""LaTeX mathematics as MathML that browsers draw without scripts, by latex2mathml and a few repairs."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from xml.etree import ElementTree as ET

from symslr.extras import need

UPRIGHT = re.compile(r"\\mathrm\{([^{}\\]*)\}")
TALL = {"mfrac", "munder", "munderover", "mtable", "mroot"}
"""What is taller than a line."""
OUTER_SPACE = re.compile(r"\\text\{( *)([^{}]*?)( *)\}")
"""Words within a formula: the spaces about them are lost in a browser, and stand outside instead."""
STACKED = {"∑", "∏", "min", "max", "lim"}
CAPITALS = set("ΓΔΘΛΞΠΣΥΦΨΩ")
"""Greek capitals, which TeX sets upright."""
MISTAKEN = {"⋿": "𝖤"}
"""A letter that the converter takes for a sign that looks like it, by that sign."""
ESCAPED = {r"\{": "{", r"\}": "}", r"\|": "‖"}
"""Fences that the converter leaves as they are typed where they are enlarged by hand."""
SIGNS = {"−", "+", "±"}
CLOSING = {")", "]", "}", "⟩", "|", "‖", "!", "⋆", "⊤", "…", "⋯"}
"""Operators after which a sign joins two terms; after any other it belongs to what follows."""
STRUT = {"width": "0em", "height": "0.7em", "depth": "0.2em"}
"""What every root holds: over a low letter alone a browser lets the sign hang below the line, and TeX does not."""
WIDTHS = {"negativethinmathspace": "-0.167em", "negativemediummathspace": "-0.222em"}


class CannotTypeset(ValueError):
    """A formula that the converter does not know; the message names the command."""


@lru_cache(maxsize=4096)
def mathml(tex: str, *, block: bool = False) -> str:
    """``tex``, without dollar signs, as a ``<math>`` element.

    Raises:
        CannotTypeset: when a command is left unconverted.
        MissingExtra: when latex2mathml is not installed.
    """
    convert_to_element = need("latex2mathml.converter", "MathML").convert_to_element
    # The converter sets one upright letter in italics and several one by one; as text they stay upright and together.
    # A browser breaks no line within a formula, so that a place where it may be broken says nothing to it.
    source = UPRIGHT.sub(r"\\text{\1}", tex).replace(r"\allowbreak", "")
    source = OUTER_SPACE.sub(
        lambda found: r"\ " * bool(found[1]) + rf"\text{{{found[2]}}}" + r"\ " * bool(found[3]), source
    )
    try:
        root = convert_to_element(source, display="block" if block else "inline")
    except Exception as error:
        raise CannotTypeset(f"formula {tex!r}: the converter to MathML failed with {type(error).__name__}") from error
    for node in root.iter():
        _repair(node, block)
    for square in list(root.iter("msqrt")):
        square.insert(0, ET.Element("mspace", STRUT))
    for row in root.iter("mrow"):
        _fit(row)
        _pair(row)
        for name, argument in pairwise(row):
            if _is_function(name) and _text(next(iter(argument.iter("mo")), argument)) not in ("(", "[", "{"):
                name.set("rspace", "0.167em")
    markup = ET.tostring(root, encoding="unicode")
    if left := re.search(r"\\(?:[A-Za-z]+|.)", markup):
        raise CannotTypeset(f"formula {tex!r}: found {left[0]}, which has no MathML; expected commands of amsmath")
    return markup


def _text(node: ET.Element) -> str:
    text = node.text or ""
    return re.sub(r"&#x([0-9A-Fa-f]+);", lambda found: chr(int(found[1], 16)), text).strip()


def _fit(row: ET.Element) -> None:
    """Brackets about what is no taller than a line do not grow: a browser gives each that may the width of its largest form."""
    if any(node.tag in TALL for node in row.iter()):
        return
    for node in row:
        if node.get("fence") == "true" and node.get("minsize") is None:
            node.set("stretchy", "false")


def _pair(row: ET.Element) -> None:
    """What two neighbours are together: a defining equality, and a sign that belongs to what follows it."""
    for one, other in list(pairwise(row)):
        if one.tag != "mo" or other.tag != "mo":
            continue
        if (_text(one), _text(other)) == (":", "="):
            row.remove(one)
            other.text = "≔"
        elif _text(other) in SIGNS and _text(one) not in CLOSING:
            other.set("form", "prefix")


def _is_function(node: ET.Element) -> bool:
    text = _text(node)
    return node.tag in ("mi", "mo") and len(text) > 1 and text.isalpha() and text.isascii()


def _repair(node: ET.Element, block: bool) -> None:
    """Where the converter's output differs from what TeX shows."""
    text = _text(node)
    if "&#x" in (node.text or ""):
        node.text = text
    if text in MISTAKEN:
        node.text = MISTAKEN[text]
    elif node.tag == "mi" and text == "~":
        node.tag, node.text = "mo", "∼"
    elif node.tag == "mi" and text in CAPITALS:
        node.set("mathvariant", "normal")
    elif node.tag == "mi" and text in ("#", "±", ":", ";"):
        node.tag = "mo"
    elif node.tag == "mo" and text == "∞":
        node.tag = "mi"
    elif node.tag == "mo" and text in ESCAPED:
        node.text = ESCAPED[text]
    elif node.tag == "mtext" and not text:
        # the control space of TeX, which arrives without its space
        node.tag, node.text = "mspace", None
        node.set("width", "0.25em")
    elif node.tag == "mo" and text == "|" and node.get("fence") is None:
        node.set("lspace", "0em")
        node.set("rspace", "0em")
    elif text == "/" or _is_function(node):
        # A slash stands close, the name of a function has a thin space before it and none after.
        node.tag = "mo"
        node.set("lspace", "0.05em" if text == "/" else "0.167em")
        node.set("rspace", "0.05em" if text == "/" else "0em")
    elif node.tag == "mspace":
        node.set("width", WIDTHS.get(node.get("width", ""), node.get("width", "0em")))
    elif node.tag in ("msub", "msubsup", "msup") and block and _text(node[0]) in STACKED:
        node.tag = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}[node.tag]
