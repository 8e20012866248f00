"""Running text of a report: LaTeX text with mathematics between dollar signs, made safe for TeX, turned into HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

MATH = re.compile(r"(?<!\\)\$(.+?)(?<!\\)\$", re.DOTALL)
UNESCAPED = re.compile(r"(?<!\\)([%&#_])")
GREEK_NAMES = """alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi omega
Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"""
GREEK = dict(zip("αβγδεζηθκλμνξπρστφχψωΓΔΘΛΞΠΣΦΨΩ", GREEK_NAMES.split(), strict=True))
SIGNS = {"≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "→": r"\to", "∞": r"\infty", "×": r"\times"}
COMMANDS = re.compile(r"\\(emph|textbf|textit|texttt|text)\{([^{}]*)\}")
CODE = re.compile(r"\\texttt\{[^{}]*\}")
"""What is typed as it stands: no two hyphens in it are a dash."""
TAGS = {"emph": "em", "textit": "em", "textbf": "strong", "texttt": "code", "text": "span"}
SPOKEN = {r"\sim": "~", r"\in": "in", r"\infty": "∞", r"\to": "→", r"\leq": "≤", r"\geq": "≥", r"\log": "log"}
"""Commands as plain text has them."""
PLAIN = {"---": "—", "--": "–", "``": "“", "''": "”", "~": "\u00a0", "\\,": "\u202f", "\\ ": " ", "\\\\": " "}


def pieces(text: str) -> Iterator[tuple[bool, str]]:
    """(is mathematics, content) pairs in order of reading."""
    at = 0
    for found in MATH.finditer(text):
        if found.start() > at:
            yield False, text[at : found.start()]
        yield True, found[1]
        at = found.end()
    if at < len(text):
        yield False, text[at:]


def text_to_tex(text: str) -> str:
    """``text`` with the characters that TeX would take for commands escaped outside mathematics."""
    return "".join(f"${part}$" if is_math else _plain_to_tex(part) for is_math, part in pieces(text))


def _plain_to_tex(text: str) -> str:
    text = CODE.sub(lambda found: _hyphens(found[0]), text)
    text = UNESCAPED.sub(r"\\\1", text).replace("$", r"\$").replace(r"\\$", r"\$")
    text = text.replace("^", r"\textasciicircum{}")
    for sign, name in {**{letter: "\\" + name for letter, name in GREEK.items()}, **SIGNS}.items():
        text = text.replace(sign, rf"\ensuremath{{{name}}}")
    return text


def _hyphens(text: str) -> str:
    """``text`` in which TeX makes no dash of two hyphens."""
    return re.sub("-(?=-)", "-{}", text)


def plain_to_tex(text: str) -> str:
    """Plain text, in which nothing is a command, as LaTeX."""
    for sign, tex in (("\\", "\0"), ("{", r"\{"), ("}", r"\}"), ("$", r"\$"), ("~", r"\textasciitilde{}")):
        text = text.replace(sign, tex)
    text = _hyphens(text)
    return _plain_to_tex(text.replace("\0", r"\textbackslash{}"))


def text_to_html(text: str, mathematics: Callable[[str], str]) -> str:
    """``text`` as HTML; ``mathematics`` turns a formula into markup."""
    return "".join(mathematics(part) if is_math else _plain_to_html(part) for is_math, part in pieces(text))


def _plain_to_html(text: str) -> str:
    text = CODE.sub(lambda found: found[0].replace("-", "\0"), text)
    for tex, sign in PLAIN.items():
        text = text.replace(tex, sign)
    text = text.replace("\0", "-")
    text = html.escape(re.sub(r"\\([%&#_$])", r"\1", text), quote=False)
    return COMMANDS.sub(lambda found: f"<{TAGS[found[1]]}>{found[2]}</{TAGS[found[1]]}>", text)


def text_to_plain(text: str, *, greek: bool = True) -> str:
    """``text`` without markup, for window titles; ``greek=False`` spells the letters out, for PDF bookmarks."""
    bare = COMMANDS.sub(r"\2", text.replace("$", ""))
    bare = re.sub(r"\\(?:mathrm|mathcal|mathbb|operatorname)", "", bare)
    for command, said in SPOKEN.items():
        bare = re.sub(rf"\s*{re.escape(command)}(?![A-Za-z])\s*", f" {said if greek else command[1:]} ", bare)
    bare = re.sub(r"\\([{}])", lambda brace: {"{": "\0", "}": "\1"}[brace[1]], bare)
    for letter, name in GREEK.items():
        bare = re.sub(rf"\\{name}(?![A-Za-z])", letter, bare)
        bare = bare if greek else bare.replace(letter, name)
    return re.sub(r"[{}\\]", "", bare).replace("\0", "{").replace("\1", "}")


def sentence(note: str) -> str:
    """A note as a sentence: with a capital and a full stop; nothing of nothing."""
    ended = note if not note or note[-1] in ".!?:" else f"{note}."
    return ended[:1].upper() + ended[1:]


def anchor(text: str) -> str:
    """``text`` as it may stand in a label, a link or a file name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "untitled"
