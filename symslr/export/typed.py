"""Running text of a report without LaTeX: as a terminal shows it, and as titles of windows and bookmarks have it."""

from __future__ import annotations

import re
from collections import deque

from symslr.export.text import COMMANDS, GREEK, pieces

SIGNS = {
    **{name: " >= " for name in ("geq", "ge")},
    **{name: " <= " for name in ("leq", "le")},
    **{name: " != " for name in ("neq", "ne")},
    **{"mid": " | ", "gg": " >> ", "ll": " << ", "propto": " ~ ", "in": " in ", "sim": " ~ ", "to": " -> "},
    **{"times": " x ", "infty": "inf", "bmod": " mod ", "dots": "...", "cdot": "*", "star": "*", "top": "T"},
    **{"langle": " \1", "rangle": "\2", "left": "", "right": ""},
}
"""Commands as a terminal has them; any other is its name."""
ALPHABETS = ("mathrm", "mathcal", "mathbb", "mathsf", "mathbf", "operatorname", "text")
ACCENTS = ("hat", "tilde", "bar", "dot")
LETTERS = {name: letter for letter, name in GREEK.items()} | {"inf": "∞", "->": "→", ">=": "≥", "<=": "≤", "!=": "≠"}
WORD = re.compile(r"[A-Za-z]+|->|[<>!]=")
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
WHOLE = re.compile(r"[\w']+(?:\^\w+)?")
"""What needs no brackets above or below a slash."""
ENDS = ("+", "-", "=", ",", ";", ".", ")", "]", "}", "|", "<", ">", "\\right")
"""What may follow a fraction that has no brackets around it."""


def text_to_terminal(text: str) -> str:
    """``text`` as one types it, in the letters of ASCII where it was: a root is sqrt(...), a fraction has a slash."""
    return "".join(_typed(part) if is_math else _prose(part) for is_math, part in pieces(text))


def text_to_plain(text: str, *, greek: bool = True) -> str:
    """``text`` without markup, for window titles; ``greek=False`` keeps to ASCII, for PDF bookmarks."""
    if not greek:
        return text_to_terminal(text)
    return "".join(WORD.sub(_letter, _typed(part)) if is_math else _prose(part) for is_math, part in pieces(text))


def _letter(word: re.Match[str]) -> str:
    return LETTERS.get(word[0], word[0])


def _prose(text: str) -> str:
    """Text between formulas, without commands."""
    return re.sub(r"\\([%&#_${}])", r"\1", re.sub(r"\\[, ]|~", " ", COMMANDS.sub(r"\2", text)))


def _typed(tex: str) -> str:
    said = re.sub(r"\s+", " ", _group(deque(TOKEN.findall(tex))))
    return re.sub(r" (?=[)\],\2])|(?<=[(\[\1]) ", "", said).strip().replace("\1", "<").replace("\2", ">")


def _group(tokens: deque[str]) -> str:
    """What stands until the group ends; a name, an index or a bracket and the letter behind it stay apart."""
    said, apart = "", False
    while tokens and (token := tokens.popleft()) != "}":
        piece = _piece(token, tokens)
        name = len(token) > 1 and (piece.isdigit() or (len(piece) > 1 and piece[0].isalpha()))
        said += " " * ((apart or (name and said[-1:].isalnum())) and piece[:1].isalnum()) + piece
        apart = name or token in ("_", "^") or (len(token) > 1 and piece[-1:] == ")")
    return said


def _piece(token: str, tokens: deque[str]) -> str:
    name = token[1:] if token[0] == "\\" else ""
    if token in ("_", "^"):
        return _script(token, _argument(tokens))
    if token == "{":
        return _group(tokens)
    if name in ("frac", "tfrac", "dfrac"):
        return _fraction(_argument(tokens), _argument(tokens), tokens)
    if name == "sqrt":
        return f"sqrt({_argument(tokens)})"
    if name in ACCENTS:
        return f"{_argument(tokens)}{name}"
    if name in ALPHABETS:
        return _argument(tokens)
    if name in ("|", "{", "}"):
        return {"|": "||"}.get(name, name)
    if token[0] == "\\":
        return SIGNS.get(name, name) if name.isalpha() else " "
    return token


def _argument(tokens: deque[str]) -> str:
    """What a command takes: a group, or the next sign."""
    while tokens and tokens[0].isspace():
        tokens.popleft()
    return _piece(tokens.popleft(), tokens).strip() if tokens else ""


def _fraction(above: str, below: str, tokens: deque[str]) -> str:
    """With brackets around what is more than one letter or number, and around all of it where a factor follows."""
    over = "/".join(part if WHOLE.fullmatch(part) else f"({part})" for part in (above, below))
    behind = next((token for token in tokens if not token.isspace()), "}")
    return over if behind in ENDS else f"({over})"


def _script(sign: str, inside: str) -> str:
    """A script: a word as it is, ``_{s-1}``, ``^(a + b)``."""
    if sign == "^" and inside == "*":
        return inside
    if re.fullmatch(r"\w*|\*", inside):
        return f"{sign}{inside}"
    return (
        f"_{{{inside}}}" if sign == "_" else f"^{inside}" if inside[0] == "(" and inside[-1] == ")" else f"^({inside})"
    )
