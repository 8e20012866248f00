"""The formulas of a derivation on lines, and sentences that say what their letters stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sympy import Basic, Expr
from sympy.core.function import AppliedUndef

from symslr.algebra.derivation import Derivation
from symslr.cache.content import content as written
from symslr.cache.results import Cache, key_of
from symslr.check.replay import citations
from symslr.export.arrange import order
from symslr.export.breaking import Line, latex_lines
from symslr.export.laws import parts
from symslr.export.measure import width
from symslr.export.printing import HousePrinter, brackets
from symslr.expression.folded import Activation
from symslr.expression.open_functions import OpenKernel
from symslr.expression.quantity import Quantity
from symslr.expression.scored import ScoredActivation
from symslr.model.configuration import ConfigurationLaw
from symslr.model.open_function import OpenFunction
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import chi, l
from symslr.model.symbols import m as index_m

RELATIONS = {"=": "=", "~": r"\approx", "<=": r"\leq", ">=": r"\geq"}
"""How the relation of a line to the one before it is printed."""

LINE_WIDTH = 36.0
"""Room for a formula in em: the report's text width less what stands beside it."""
PAPER_WIDTH = 32.0
"""The same in a page of one column of LaTeX's article."""
STEM = 7.0
"""Width in em of the longest left-hand side that stands beside the lines of a chain."""
SHORT = 0.94
"""What ``measure.width`` finds at least of a true width."""


@dataclass(frozen=True)
class Printed:
    """The formulas of a derivation on lines; ``definitions`` are those of what it rests on, each with its postulate or "".

    ``here`` says what the letters of the statement stand for, ``within`` what those stand for that its proof adds;
    ``stem`` stands left of the relations of a chain, its lines under one another behind it; empty where it is long.
    """

    here: tuple[str, ...]
    within: tuple[str, ...]
    stem: str
    start: tuple[Line, ...]
    steps: tuple[tuple[tuple[Line, ...], tuple[Line, ...]], ...]
    result: tuple[Line, ...]
    equation: tuple[Line, ...]
    claims: tuple[tuple[Line, ...], ...]
    definitions: tuple[tuple[str, tuple[Line, ...]], ...]


def printed(item: Derivation, kept: Cache | None = None, room: float = LINE_WIDTH) -> Printed:
    """The formulas of a derivation in lines of ``room`` em, as an earlier report ``kept`` them where neither they nor symslr
    have changed since.
    """
    if kept is None:
        return _printed(item, SHORT * room)
    steps = [(step.after, step.remainder, step.relation) for step in item.steps]
    formulas = item.symbol, item.start, steps, [claim.formula for claim in item.claims], rests_on(item)
    return kept.computed(key_of("printed", written(formulas), str(room)), lambda: _printed(item, SHORT * room))


def _printed(item: Derivation, room: float) -> Printed:
    printer = HousePrinter()
    left = printer.doprint(item.start)
    stem = item.symbol or (left if width(left) <= STEM else "")
    beside = width(stem)

    def lines(expr: Expr, lead: str, tail: str = "", taken: float = 0.0) -> tuple[Line, ...]:
        return tuple(latex_lines(expr, room - taken, lead=lead, tail=tail, printer=printer))

    relation, tail = RELATIONS[item.relation], ""
    if item.relation == "~":
        relation, tail = "=", rf"{{}} + O{brackets(printer.doprint(order(item.remainder)))}"
    # In the order of reading: the printer names weights, attentions and token laws as it meets them.
    start = lines(
        item.start, f"{item.symbol} =" if item.symbol and _bare(left) != _bare(item.symbol) else "", "", beside
    )
    steps = tuple(
        (
            lines(step.after, RELATIONS[step.relation], "", beside),
            lines(step.remainder, r"|\text{error}| \leq") if step.remainder != 0 else (),
        )
        for step in item.steps
    )
    equation = result = lines(item.result, f"{item.symbol} {relation}" if item.symbol else "", tail)
    if not item.symbol and item.steps:
        short = width(left) <= room / 2
        equation = (
            *(() if short else lines(item.start, "")),
            *lines(item.result, f"{left} {relation}" if short else relation, tail),
        )
    claims = tuple(
        lines(claim.formula, f"{item.symbol} {RELATIONS[item.relation]}" if item.symbol else "")
        for claim in item.claims
    )
    definitions = tuple((q.postulate, lines(q.definition(), f"{printer.doprint(q)} :=")) for q in rests_on(item))
    here = tuple(_here([item.start, item.result], printer))
    every = _here([item.start, *(step.after for step in item.steps)], printer)
    within = tuple(sentence for sentence in every if sentence not in here)
    return Printed(here, within, stem, start, steps, result, equation, claims, definitions)


def rests_on(item: Derivation) -> tuple[Quantity, ...]:
    """The definitions and postulates behind a result, its own last."""
    chains = [*citations(item), item]
    return tuple({quantity.func: quantity for chain in chains for quantity in chain.quantities}.values())


def _bare(tex: str) -> str:
    """LaTeX without what does not show, to see whether a symbol is the print of its own definition."""
    return re.sub(r"\\left|\\right|[\s{}]", "", tex)


# What the letters stand for in one derivation


def _here(expressions: Sequence[Basic], printer: HousePrinter) -> Iterator[str]:
    """Sentences that define the weights, activations and token laws that occur, printed from the objects themselves."""
    said: dict[str, str] = {}
    for law in _ordered(expressions, SequenceLaw):
        if law.weight != 1 and (name := printer.weight_name(law)) not in said:
            said[name] = _weight(law, name, printer)
    yield from filter(None, said.values())
    for law in _ordered(expressions, ConfigurationLaw):
        name = printer.weight_name(law)
        if given := ", ".join(f"${left} {right}$" for left, right in parts(law, name, printer.doprint)):
            yield rf"Under $\mathbb{{E}}_{{{name}}}$: {given}."
    met = [node for kind in (Activation, ScoredActivation) for node in _ordered(expressions, kind)]
    others = [node for node in met if not getattr(node, "is_softmax", False)]
    yield from dict.fromkeys(
        _activation(node, printer) for node in others or met
    )  # softmax is written out beside others
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


def _activation(node: Activation | ScoredActivation, printer: HousePrinter) -> str:
    """What an attention is, at scores a chi or at the scores s that are written behind it."""
    _, kernel, normalised, offset, scale, _ = node.args
    if isinstance(node, ScoredActivation):
        name, own, each = r"\sigma_l(s)", "s_l", "s_m"
    elif node.is_softmax:
        return rf"The attention is $\sigma_l = {printer.doprint(node.at(l))}$."
    else:
        name = f"{printer.attention_name(node)}_l"
        own, each = (printer.doprint(scale * chi[token]) for token in (l, index_m))
    formula = rf"{name} = \kappa({own})"
    if normalised == 1:
        total = rf"\sum_{{m=1}}^L \kappa({each})"
        below = total if offset == 0 else rf"\bigl({printer.doprint(offset)} + {total}\bigr)"
        formula += rf" \big/\allowbreak {below}"
    if isinstance(kernel, (AppliedUndef, OpenKernel)):
        return rf"The attention is ${formula}$ with any kernel ${printer.function_name(kernel)}$."
    return rf"The attention is ${formula}$ with $\kappa(x) = {printer.doprint(kernel)}$."


def _support(law: ScalarLaw, printer: HousePrinter) -> str:
    return f"$({printer.doprint(law.lower)},\\, {printer.doprint(law.upper)})$"
