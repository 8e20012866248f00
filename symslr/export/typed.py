"""Running text of a report as a terminal shows it: without LaTeX."""

from __future__ import annotations

import re

from symslr.export.text import COMMANDS, pieces

TYPED = {
    **{
        rf"\{name}": sign
        for names, sign in (("geq ge", ">="), ("leq le", "<="), ("neq ne", "!="))
        for name in names.split()
    },
    **{r"\mid": "|", r"\gg": ">>", r"\ll": "<<", r"\propto": "~"},
    **{r"\in": "in", r"\sim": "~", r"\to": "->", r"\infty": "inf", r"\log": "log"},
}
"""Commands as a terminal has them."""
RELATION = re.compile(r"\s*(>=|<=|!=|->)\s*")


def text_to_terminal(text: str) -> str:
    """``text`` as one types it, in the letters of ASCII where it was: a root is sqrt(...), a fraction has a slash."""
    return "".join(_typed(part) if is_math else COMMANDS.sub(r"\2", part) for is_math, part in pieces(text))


def _typed(tex: str) -> str:
    bare = re.sub(r"\\(?:left|right)(?![A-Za-z])", "", tex.replace(r"\{", "\1").replace(r"\}", "\2"))
    said = re.sub(r"\\[,;!]", " ", bare)
    said = re.sub(r"\\(?:mathrm|mathcal|mathbb|mathsf|operatorname)(?![A-Za-z])", "", said)
    said = re.sub(r"\\(hat|tilde|bar)\{([^{}]*)\}", r"\2\1", said.replace(r"^\star", "*"))
    said = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", said)
    said = re.sub(r"\\sqrt(?:\{([^{}]*)\}|(\\[A-Za-z]+|\w))", r"sqrt(\1\2)", said)
    for command, sign in TYPED.items():
        said = re.sub(rf"{re.escape(command)}(?![A-Za-z])", sign, said)
    said = re.sub(r"\\([A-Za-z]+)", r"\1", re.sub(r"(?<=[A-Za-z0-9}])\\(?=[A-Za-z])", r" \\", said))
    while SCRIPT.search(said):
        said = SCRIPT.sub(_script, said)
    said = RELATION.sub(r" \1 ", re.sub(r"[{}]", "", said)).translate(BRACES)
    return re.sub(r"\s+", " ", said).replace(" )", ")").strip()


SCRIPT = re.compile(r"([_^]|(?<!\w))\{([^{}]*)\}")
BRACES = str.maketrans("\1\2", "{}")
"""Of scripts that are no word, while the others are taken away."""


def _script(found: re.Match[str]) -> str:
    """A script: a word as it is, ``_{s-1}``, ``^(a + b)``."""
    sign, inside = found[1], found[2].strip()
    if not sign or re.fullmatch(r"\w*|\*", inside):
        return f"{sign}{inside}"
    return f"_\1{inside}\2" if sign == "_" else f"^({inside})"
