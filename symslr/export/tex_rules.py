"""The list of rules in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from symslr.export.content import IN_RULES, RuleEntry
from symslr.export.latex import source
from symslr.export.measure import width
from symslr.export.text import text_to_tex

LINE = 36.0
"""Width in em of a line of a statement."""
QUAD = r"\qquad"
"""What stands between two formulas of a statement."""


def rules_to_tex(rules: Sequence[RuleEntry]) -> str:
    """A section with the statement, the conditions and the origin of each; steps link to it by its number."""
    parts = [r"\section{Rules used}", IN_RULES, r"\begin{description}\setlength{\itemsep}{0pt}", *map(_rule, rules)]
    return "\n".join([r"\newcounter{symslrrulecount}", ADJUST, *parts, r"\end{description}"])


def _rule(rule: RuleEntry) -> str:
    origin = f" {source(rule.source)}" if rule.source else ""
    said = [
        rf"\item[R{rule.number}\ {text_to_tex(rule.name)}]\setcounter{{symslrrulecount}}{{{rule.number - 1}}}",
        rf"\refstepcounter{{symslrrulecount}}\label{{rule:{rule.anchor}}}{origin}",
        rf"\par\nobreak\adjuststatement{{{_in_lines(rule.statement)}}}",
    ]
    said += [f"Conditions: {text_to_tex(rule.conditions)}."] if rule.conditions else []
    return "\n".join(said)


def statement_lines(statement: str) -> list[str]:
    r"""A statement of several formulas, with ``\qquad`` between them, on as many lines as it needs."""
    lines: list[str] = []
    for formula in statement.split(QUAD):
        longer = f"{lines[-1]}{QUAD}{formula}" if lines else formula
        if lines and width(longer) <= LINE:
            lines[-1] = longer
        else:
            lines.append(formula)
    return [statement] if any(line.count("{") != line.count("}") for line in lines) else lines


def _in_lines(statement: str) -> str:
    lines = statement_lines(statement)
    said = r"\\".join(lines)
    return said if len(lines) == 1 else rf"\begin{{gathered}}{said}\end{{gathered}}"


ADJUST = r"""\newsavebox{\symslrbox}
\newcommand{\adjuststatement}[1]{\sbox{\symslrbox}{$\displaystyle #1$}%
\[\ifdim\wd\symslrbox>\linewidth\resizebox{\linewidth}{!}{\usebox{\symslrbox}}\else\usebox{\symslrbox}\fi\]}"""
