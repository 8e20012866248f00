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
    **{r"\in": "in", r"\sim": "~", r"\to": "->", r"\infty": "inf", r"\log": "log"},
}
"""Commands as a terminal has them."""
RELATION = re.compile(r"\s*(>=|<=|!=|->)\s*")


def text_to_terminal(text: str) -> str:
    """``text`` as one types it, in the letters of ASCII where it was: a root is sqrt(...), a fraction has a slash."""
    return "".join(_typed(part) if is_math else COMMANDS.sub(r"\2", part) for is_math, part in pieces(text))


def _typed(tex: str) -> str:
    said = re.sub(r"\\(?:left|right|,|;)(?![A-Za-z])", "", tex)
    said = re.sub(r"\\(?:mathrm|mathcal|mathbb|mathsf|operatorname)(?![A-Za-z])", "", said)
    said = re.sub(r"\\(hat|tilde|bar)\{([^{}]*)\}", r"\2\1", said.replace(r"^\star", "*"))
    said = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", said)
    said = re.sub(r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)", said)
    for command, sign in TYPED.items():
        said = re.sub(rf"{re.escape(command)}(?![A-Za-z])", sign, said)
    said = re.sub(r"\\([A-Za-z]+)", r"\1", said)
    said = RELATION.sub(r" \1 ", re.sub(r"[{}]", "", said))
    return re.sub(r"\s+", " ", said).replace(" )", ")").strip()
