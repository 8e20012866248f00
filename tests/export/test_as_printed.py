"""Every line of every derivation: broken over lines it is the formula it was, token for token, and its heads are the tree's.

A head is the sign of an expectation with its law, of a sum, a product, an integral or a minimum with what it runs over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from sympy import Add, Basic, Derivative, Expr, Integral, Product, Sum, floor

from symslr.algebra.derivation import Derivation
from symslr.export.breaking import latex_lines
from symslr.export.lines import rests_on
from symslr.export.printing import HousePrinter
from symslr.export.terminal import TerminalPrinter
from symslr.expression.configuration import (
    ConfigurationExpectation,
    ConfigurationMean,
    ElementarySymmetric,
    PosteriorMean,
    Precision,
    ShiftedDensity,
)
from symslr.expression.convolution import GaussianConvolution
from symslr.expression.expectation import Expectation, LengthExpectation, ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Minimum, Posterior
from symslr.expression.joint import AtMinimiser, JointMinimum, Solution
from symslr.expression.open_functions import OpenRisk
from symslr.expression.quantity import Quantity
from symslr.expression.sample import SampleExpectation
from symslr.expression.scored import ScoredActivation
from symslr.expression.signs import SignExpectation
from symslr.model.open_function import OpenFunction
from symslr.model.symbols import x
from symslr.theory.landscape import LandscapeRisk
from tests.derivations.made import every_chain
from tests.export.structure import joined, structure

WIDTHS = (60.0, 36.0, 16.0)
SIGN = re.compile(r"\\mathbb\{E\}|\\(?:sum|prod|int|min)(?![a-z])")
TYPED = re.compile(r"(?<!\w)(?:E(?=\[|_\{|_[0-9A-Za-z']+\[)|Sum(?=\()|Product(?=\()|Integral(?=\()|min_)")
SIGNS = {Sum: r"\sum", Product: r"\prod", Integral: r"\int"}
SHORT_PRINT = (Activation, GaussianConvolution, OpenFunction, OpenRisk, Posterior, Precision)
"""Nodes that are printed as a letter with indices or arguments that hold no heads."""


def formulas(item: Derivation) -> list[Expr]:
    """All that a report prints of a derivation."""
    made = [formula for step in item.steps for formula in (step.after, step.remainder)]
    found = [item.start, *made, *(claim.formula for claim in item.claims)]
    return list(dict.fromkeys([*found, *(quantity.definition() for quantity in rests_on(item))]))


def with_heads(expr: Basic) -> Iterator[Expr]:
    """The nodes that have a head and are printed."""
    if isinstance(expr, (Expectation, ConditionalMean, Sum, Product, Integral, Minimum, JointMinimum)):
        yield expr
    shown: tuple[Basic, ...] = expr.args
    match expr:
        case Expectation() | Minimum() | JointMinimum() | PosteriorMean() | Solution():
            shown = (expr.body,)
        case ConditionalMean():
            shown = (expr.label,)
        case AtMinimiser():
            shown = (expr.value,)
        case Derivative():
            shown = (expr.expr,)
        case ScoredActivation():
            shown = (expr.score,)
        case ElementarySymmetric():
            shown = (expr.term,)
        case ShiftedDensity():
            shown = expr.means
        case LandscapeRisk():
            shown = expr.args[1:]
        case Quantity():
            shown = ()
    if not isinstance(expr, SHORT_PRINT):
        for each in shown:
            yield from with_heads(each)


def law(node: Expr, printer: HousePrinter) -> str:
    """What an expectation is over."""
    match node:
        case ScalarExpectation():
            return rf"{printer.doprint(node.variable)}\sim {printer.law_name(node.law)}"
        case SequenceExpectation():
            return "0" if node.law.weight == 1 else printer.weight_name(node.law)
        case ConfigurationExpectation():
            return printer.weight_name(node.law)
        case ConfigurationMean():
            return "h"
        case LengthExpectation():
            return "L"
        case SignExpectation():
            return rf"w\in\{{\pm1\}}^{{{printer.doprint(node.count)}}}"
        case SampleExpectation() | ConditionalMean():
            return ""
    raise AssertionError(type(node))


def head(node: Expr, printer: HousePrinter) -> Iterator[str]:
    """The signs of a node in LaTeX, without spaces."""
    say = printer.doprint
    if type(node) in SIGNS:
        for variable, low, high in node.limits:
            below = say(low) if isinstance(node, Integral) else f"{say(variable)}={printer.superscript(low)}"
            above = say(high) if isinstance(node, Integral) else printer.superscript(high)
            yield rf"{SIGNS[type(node)]}_{{{below}}}^{{{above}}}"
    elif isinstance(node, Minimum):
        yield rf"\min_{{{say(node.variable)}}}"
    elif isinstance(node, JointMinimum):
        yield rf"\min_{{{','.join(say(family.label) for family in node.families)}}}"
    else:
        yield r"\mathbb{E}" + (f"_{{{law(node, printer)}}}" if law(node, printer) else "")


def braced(tex: str, at: int) -> int:
    """The place behind the group that begins at ``at``."""
    depth = 0
    for place in range(at, len(tex)):
        depth += {"{": 1, "}": -1}.get(tex[place], 0)
        if depth == 0:
            return place + 1
    raise AssertionError(tex[at:])


def printed_heads(tex: str) -> Iterator[str]:
    for found in SIGN.finditer(tex):
        end = found.end()
        while tex[end : end + 2] in ("_{", "^{"):
            end = braced(tex, end + 1)
        yield tex[found.start() : end]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_broken_formula_is_the_formula_token_for_token_under_the_heads_of_the_tree(width: float) -> None:
    seen = 0
    for item in every_chain():
        printer = HousePrinter()
        for formula in formulas(item):
            whole, broken = printer.doprint(formula), joined(latex_lines(formula, width, printer=printer))
            assert structure(broken) == structure(whole), f"{item.name}: {whole} is broken as {broken}"
            meant = Counter(sign for node in with_heads(formula) for sign in head(node, printer))
            assert Counter(printed_heads(broken)) == meant, f"{item.name}: {broken}"
            seen += sum(meant.values())
    assert seen > 2000


def test_a_function_in_signs_of_its_own_keeps_them_where_it_is_broken() -> None:
    long = floor(Add(*(x**n / (n + 1) for n in range(1, 20)), evaluate=False))
    assert structure(joined(latex_lines(long, 16.0))) == structure(HousePrinter().doprint(long))


# In a terminal


def typed_head(node: Expr, printer: TerminalPrinter) -> Iterator[str]:
    if type(node) in SIGNS:
        limits = ", ".join(printer.doprint(limit) for limit in node.limits)
        yield f"{type(node).__name__}({limits})"
    elif isinstance(node, ScalarExpectation):
        name, said = printer.law_name(node.law), printer.doprint(node.variable)
        yield f"E_{{{said} ~ {name}}}"
    elif isinstance(node, SignExpectation):
        yield "E_signs"
    elif isinstance(node, (Expectation, ConditionalMean)):
        below = law(node, printer.house)
        yield f"E_{below}" if below else "E"
    else:
        families = [node.variable] if isinstance(node, Minimum) else node.families
        yield f"min_{{{', '.join(map(str, families))}}}"


def closed(text: str, at: int) -> int:
    """The place behind the bracket that begins at ``at``."""
    depth = 0
    for place in range(at, len(text)):
        depth += {"(": 1, "[": 1, "{": 1}.get(text[place], 0) - (text[place] in ")]}")
        if depth == 0:
            return place + 1
    raise AssertionError(text[at:])


def typed_heads(text: str) -> Iterator[str]:
    for found in TYPED.finditer(text):
        name = found[0]
        if name == "min_":
            yield text[found.start() : closed(text, found.end())]
        elif name == "E":
            place = found.end()
            place = closed(text, place + 1) if text[place : place + 2] == "_{" else text.index("[", place)
            yield text[found.start() : place]
        else:
            inside = text[found.end() + 1 : closed(text, found.end()) - 1]
            limits = re.search(r"((?:, \((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))+)$", inside)
            assert limits, inside
            yield f"{name}({limits[1][2:]})"


def test_a_terminal_shows_the_heads_of_the_tree() -> None:
    seen = 0
    for item in every_chain():
        printer = TerminalPrinter()
        for formula in formulas(item):
            text = printer.doprint(formula)
            meant = Counter(sign for node in with_heads(formula) for sign in typed_head(node, printer))
            assert Counter(typed_heads(text)) == meant, f"{item.name}: {text}"
            for node in with_heads(formula):
                inside = {v for each in with_heads(node.args[0]) if type(each) in SIGNS for v in each.variables}
                assert type(node) not in SIGNS or inside.isdisjoint(node.variables), (
                    f"{item.name}: one index twice in {text}"
                )
            seen += sum(meant.values())
    assert seen > 2000
