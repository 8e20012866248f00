"""The list of rules in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from symslr.export.content import RuleEntry
from symslr.export.latex import source
from symslr.export.text import text_to_tex


def rules_to_tex(rules: Sequence[RuleEntry]) -> str:
    """A section with the statement, the conditions and the origin of each; steps link to it by its number."""
    parts = [r"\section{Rules used}", r"\begin{description}\setlength{\itemsep}{0pt}", *map(_rule, rules)]
    return "\n".join([r"\newcounter{symslrrulecount}", ADJUST, *parts, r"\end{description}"])


def _rule(rule: RuleEntry) -> str:
    origin = f" {source(rule.source)}" if rule.source else ""
    said = [
        rf"\item[R{rule.number}\ {text_to_tex(rule.name)}]\setcounter{{symslrrulecount}}{{{rule.number - 1}}}",
        rf"\refstepcounter{{symslrrulecount}}\label{{rule:{rule.anchor}}}{origin}",
        rf"\par\nobreak\adjuststatement{{{rule.statement}}}",
    ]
    said += [f"Conditions: {text_to_tex(rule.conditions)}."] if rule.conditions else []
    return "\n".join(said)


ADJUST = r"""\newsavebox{\symslrbox}
\newcommand{\adjuststatement}[1]{\sbox{\symslrbox}{$\displaystyle #1$}%
\[\ifdim\wd\symslrbox>\linewidth\resizebox{\linewidth}{!}{\usebox{\symslrbox}}\else\usebox{\symslrbox}\fi\]}"""
