"""Statements of rules: on as many lines as they need."""

from __future__ import annotations

from symslr.export.content import RuleEntry
from symslr.export.measure import width
from symslr.export.tex_rules import LINE, rules_to_tex, statement_lines

LONG = r"\mathbb{E}[f(x)] = a + b + c + d + e + f + g + h"


def test_a_statement_of_several_formulas_is_broken_between_them() -> None:
    assert statement_lines(r"a = b,\qquad c = d") == [r"a = b,\qquad c = d"]
    lines = statement_lines(rf"{LONG},\qquad {LONG},\qquad x")
    assert [r"\qquad" in line for line in lines] == [False, True]
    assert all(width(line) <= LINE for line in lines)


def test_a_brace_is_not_cut() -> None:
    statement = rf"\sqrt{{{LONG}\qquad {LONG}\qquad {LONG}}}"
    assert statement_lines(statement) == [statement]


def test_the_list_of_rules_has_the_lines() -> None:
    said = rules_to_tex([RuleEntry(1, "r", "r", rf"{LONG},\qquad {LONG}", "", "")])
    assert r"\begin{gathered}" in said
    assert said.count(LONG) == 2
