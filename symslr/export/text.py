"""Running text of a report: LaTeX text with mathematics between dollar signs, made safe for TeX, turned into HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

MATH = re.compile(r"(?<!\\)\$(.+?)(?<!\\)\$", re.DOTALL)
BRACES = re.compile(rf"{MATH.pattern}|\\.|[{{}}]|\\$", re.DOTALL)
"""Braces, and what holds none that counts: formulas, commands of one character; and a backslash at the end."""
UNESCAPED = re.compile(r"(?<!\\)([%&#_])")
GREEK_NAMES = """alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi omega
Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"""
GREEK = dict(zip("αβγδεζηθκλμνξπρστφχψωΓΔΘΛΞΠΣΦΨΩ", GREEK_NAMES.split(), strict=True))
SIGNS = {"≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "→": r"\to", "∞": r"\infty", "×": r"\times"}
LATEX_NAME = re.compile(r"(\\[A-Za-z]+|[^\\%$#&~])*")
IN_NAMES = {sign: "\\" + sign for sign in "%$#&_{} "} | {"\\": r"{\setminus}", "~": r"{\sim}", "^": r"{\wedge}"}
"""Signs of a name that is no LaTeX."""
COMMANDS = re.compile(r"\\(emph|textbf|textit|texttt|text)\{([^{}]*)\}")
CODE = re.compile(r"\\texttt\{[^{}]*\}")
"""What is typed as it stands: no two hyphens in it are a dash."""
TAGS = {"emph": "em", "textit": "em", "textbf": "strong", "texttt": "code", "text": "span"}
PLAIN = {"---": "—", "--": "–", "``": "“", "''": "”", "'": "’", "~": "\u00a0", "\\,": "\u202f", "\\ ": " ", "\\\\": " "}
TYPED = re.compile("|".join([CODE.pattern, *map(re.escape, PLAIN)]))
ATTACHED = re.compile(r"\(?<math(?:(?!</math>).)*</math>[).,:;]+", re.DOTALL)
"""A formula and the signs beside it, between which a browser would break a line."""


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
    """``text`` with the characters that TeX would take for commands escaped outside mathematics, and braces without a partner."""
    return "".join(_formula_to_tex(part) if is_math else _plain_to_tex(part) for is_math, part in pieces(paired(text)))


def paired(text: str) -> str:
    """``text`` in which braces without a partner, and a backslash that would take the end for its own, are escaped."""
    open_at: list[int] = []
    lone: dict[int, str] = {}
    for found in BRACES.finditer(text):
        place, token = found.start(), found[0]
        if token == "{":
            open_at.append(place)
        elif token == "}" and open_at:
            open_at.pop()
        elif token in ("}", "\\"):
            lone[place] = r"\}" if token == "}" else r"\textbackslash{}"
    lone |= dict.fromkeys(open_at, r"\{")
    return "".join(lone.get(place, letter) for place, letter in enumerate(text))


def _formula_to_tex(formula: str) -> str:
    """A formula between dollar signs, without comments; as it is typed where its braces have no partners."""
    whole = re.sub(r"(?<!\\)([%#])", r"\\\1", formula)
    return f"${whole}$" if paired(formula) == formula else plain_to_tex(f"${formula}$")


def name_to_tex(name: str) -> str:
    """A name that a formula takes: ``name`` itself where it can be LaTeX, else its characters as they are, upright."""
    if LATEX_NAME.fullmatch(name) and paired(name) == name:
        return name
    return rf"\mathrm{{{''.join(IN_NAMES.get(letter, letter) for letter in name)}}}"


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
    markup = "".join(mathematics(part) if is_math else _plain_to_html(part) for is_math, part in pieces(text))
    return ATTACHED.sub(r'<span class="whole">\g<0></span>', markup)


def _plain_to_html(text: str) -> str:
    text = TYPED.sub(lambda found: PLAIN.get(found[0], found[0]), text)
    text = html.escape(re.sub(r"\\([%&#_$])", r"\1", text), quote=False)
    return COMMANDS.sub(lambda found: f"<{TAGS[found[1]]}>{found[2]}</{TAGS[found[1]]}>", text)


def sentence(note: str) -> str:
    """A note as a sentence: with a capital and a full stop; nothing of nothing."""
    ended = note if not note or note[-1] in ".!?:" else f"{note}."
    return ended[:1].upper() + ended[1:]


def anchor(text: str) -> str:
    """``text`` as it may stand in a label, a link or a file name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "untitled"
