"""The formulas of a derivation on lines, and sentences that say what their letters stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sympy import Basic, Expr
from sympy.core.function import AppliedUndef

from symslr.algebra.derivation import Derivation, Step
from symslr.cache.content import content as written
from symslr.cache.results import Cache, key_of
from symslr.check.replay import citations
from symslr.export.arrange import order
from symslr.export.breaking import Line, latex_lines
from symslr.export.measure import width
from symslr.export.printing import HousePrinter, brackets
from symslr.expression.folded import Activation
from symslr.expression.open_functions import OpenKernel
from symslr.expression.quantity import Quantity
from symslr.model.open_function import OpenFunction
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import chi, l
from symslr.model.symbols import m as index_m

RELATIONS = {"=": "=", "~": r"\approx", "<=": r"\leq", ">=": r"\geq"}
"""How the relation of a line to the one before it is printed."""

LINE_WIDTH = 36.0
"""Room for a formula in em: the report's text width less the indentation and the frame around a result."""


@dataclass(frozen=True)
class Printed:
    """The formulas of a derivation on lines; ``definitions`` are those of what it rests on, each with its postulate or ""."""

    here: tuple[str, ...]
    start: tuple[Line, ...]
    steps: tuple[tuple[tuple[Line, ...], tuple[Line, ...]], ...]
    result: tuple[Line, ...]
    equation: tuple[Line, ...]
    claims: tuple[tuple[Line, ...], ...]
    definitions: tuple[tuple[str, tuple[Line, ...]], ...]


def printed(item: Derivation, kept: Cache | None = None) -> Printed:
    """The formulas of a derivation, as an earlier report ``kept`` them where neither they nor symslr have changed since."""
    if kept is None:
        return _printed(item)
    steps = [(step.after, step.remainder, step.relation) for step in item.steps]
    formulas = item.symbol, item.start, steps, [claim.formula for claim in item.claims], rests_on(item)
    return kept.computed(key_of("printed", written(formulas)), lambda: _printed(item))


def _printed(item: Derivation) -> Printed:
    printer = HousePrinter()

    def lines(expr: Expr, relation: str, symbol: str = item.symbol, tail: str = "") -> tuple[Line, ...]:
        lead = f"{symbol} {relation}" if symbol else ""
        return tuple(latex_lines(expr, LINE_WIDTH, lead=lead, tail=tail, printer=printer))

    relation, tail = RELATIONS[item.relation], ""
    if item.relation == "~":
        relation, tail = "=", rf"{{}} + O{brackets(printer.doprint(order(item.remainder)))}"
    told = _bare(printer.doprint(item.start)) == _bare(item.symbol)
    # In the order of reading: the printer names token laws as it meets them.
    here, start = tuple(_here(item, printer)), lines(item.start, "=", "" if told else item.symbol)
    steps = tuple(_step_lines(step, printer) for step in item.steps)
    result = lines(item.result, relation, tail=tail)
    equation = result if item.symbol and item.steps else _equation(item, relation, tail, printer)
    claims = tuple(lines(claim.formula, RELATIONS[item.relation]) for claim in item.claims)
    definitions = {
        q: tuple(latex_lines(q.definition(), LINE_WIDTH, lead=f"{printer.doprint(q)} :=", printer=printer))
        for q in rests_on(item)
    }
    said = tuple((q.postulate, lines) for q, lines in definitions.items())
    return Printed(here, start, steps, result, equation, claims, said)


def rests_on(item: Derivation) -> tuple[Quantity, ...]:
    """The definitions and postulates behind a result, its own last."""
    chains = [*citations(item), item]
    return tuple({quantity.func: quantity for chain in chains for quantity in chain.quantities}.values())


def _equation(item: Derivation, relation: str, tail: str, printer: HousePrinter) -> tuple[Line, ...]:
    """What a derivation without a symbol proves: start and result; one without steps states its start."""

    def lines(expr: Expr, lead: str, tail: str = "") -> tuple[Line, ...]:
        return tuple(latex_lines(expr, LINE_WIDTH, lead=lead, tail=tail, printer=printer))

    if not item.steps:
        return lines(item.start, f"{item.symbol} =" if item.symbol else "")
    left = printer.doprint(item.start)
    if width(left) <= LINE_WIDTH / 2:
        return lines(item.result, f"{left} {relation}", tail)
    return (*lines(item.start, ""), *lines(item.result, relation, tail))


def _step_lines(step: Step, printer: HousePrinter) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """The formula that the step made, and the bound on what it left out."""
    made = latex_lines(step.after, LINE_WIDTH, lead=RELATIONS[step.relation], printer=printer)
    if step.remainder == 0:
        return tuple(made), ()
    return tuple(made), tuple(
        latex_lines(step.remainder, LINE_WIDTH, lead=r"\left|\text{error}\right| \leq", printer=printer)
    )


def _bare(tex: str) -> str:
    """LaTeX without what does not show, to see whether a symbol is the print of its own definition."""
    return re.sub(r"\\left|\\right|[\s{}]", "", tex)


# What the letters stand for in one derivation


def _here(item: Derivation, printer: HousePrinter) -> Iterator[str]:
    """Sentences that define the weights, activations and token laws that occur, printed from the objects themselves."""
    expressions = [item.start, *(step.after for step in item.steps)]
    said: dict[str, str] = {}
    for law in _ordered(expressions, SequenceLaw):
        if law.weight != 1 and (name := printer.weight_name(law)) not in said:
            said[name] = _weight(law, name, printer)
    yield from filter(None, said.values())
    met = _ordered(expressions, Activation)
    others = [node for node in met if not node.is_softmax]  # softmax is written out, and then sigma is another one
    yield from dict.fromkeys(_activation(node, printer) for node in others or met)
    for scalar_law, name in printer.laws.items():
        yield f"${name}(x) = {printer.doprint(scalar_law.density)}$ is a density on {_support(scalar_law, printer)}."


def _ordered(expressions: Sequence[Basic], kind: type[Basic]) -> list:
    """The nodes of a kind, each once, those of earlier expressions first."""
    found: dict[Basic, None] = {}
    for expr in expressions:
        found.update(dict.fromkeys(sorted(expr.atoms(kind), key=str)))
    return list(found)


def _weight(law: SequenceLaw, name: str, printer: HousePrinter) -> str:
    """What the weight is; empty where it is left open and the tokens are standard normal: the hypotheses speak of it."""
    if isinstance(law.weight, OpenFunction) and law.weight.name == name and law.base == STANDARD_NORMAL:
        return ""
    tokens = "" if law.base == STANDARD_NORMAL else rf", $\chi_l \sim {printer.law_name(law.base)}$ before reweighting"
    formula = rf"{name}(\epsilon,\chi) = {printer.doprint(law.weight)}"
    return rf"$\mathbb{{E}}_{{{name}}}$ has the weight $\displaystyle {formula}${tokens}."


def _activation(node: Activation, printer: HousePrinter) -> str:
    _, kernel, normalised, offset, scale, _ = node.args
    if node.is_softmax:
        return rf"The attention is $\sigma_l = {printer.doprint(node.at(l))}$."
    sigma = printer.attention_name(node)
    argument = printer.doprint(scale * chi[l])
    above = rf"\kappa({argument})"
    if normalised == 1:
        total = rf"\sum_{{m=1}}^L \kappa({printer.doprint(scale * chi[index_m])})"
        below = total if offset == 0 else rf"{printer.doprint(offset)} + {total}"
        formula = (
            rf"{sigma}_l = {above} \big/\allowbreak \bigl({below}\bigr)"
            if offset != 0
            else rf"{sigma}_l = {above} \big/\allowbreak {below}"
        )
    else:
        formula = rf"{sigma}_l = {above}"
    if isinstance(kernel, (AppliedUndef, OpenKernel)):
        return rf"The attention is ${formula}$ with any kernel ${printer.function_name(kernel)}$."
    return rf"The attention is ${formula}$ with $\kappa(x) = {printer.doprint(kernel)}$."


def _support(law: ScalarLaw, printer: HousePrinter) -> str:
    return f"$({printer.doprint(law.lower)},\\, {printer.doprint(law.upper)})$"
