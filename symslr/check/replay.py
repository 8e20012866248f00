"""Replays chains: every line is made again by its rule; a user's rule must compute its result and not hold a typed line."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from functools import cache

from sympy import Basic, Expr, S, Symbol, latex

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Claim, Derivation, Step
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule, RuleRefused
from symslr.check.nodes import is_open
from symslr.model.symbols import BOUND_IN_SEQUENCE, L

HOUSES = ("symslr", "sympy")
"""Where the nodes of a formula may come from: their meaning is known to the referee."""


def replay(item: Derivation) -> tuple[str, ...]:
    """For each step why it is no step, or an empty text.

    A step stands where its rule makes the same line, remainder and hypotheses from the line before it, and, for a rule that
    is not symslr's, where the rule does to a renamed line what it did to the line: a typed right-hand side does not.
    """
    reasons = []
    line = item.start
    for step in item.steps:
        reasons.append(_broken(step, line))
        line = step.after
    return tuple(reasons)


def unclear(item: Derivation) -> str:
    """Why a chain has no meaning that could be checked: objects that are not symslr's own, names with two meanings."""
    kinds = {Derivation: [item], Step: item.steps, Claim: item.claims}
    for kind, members in kinds.items():
        for member in members:
            if type(member) is not kind:
                return f"found a {type(member).__name__}; expected a {kind.__name__} of symslr's, made by its methods"
    lines = _lines(item)
    names = sorted({name for line in lines for name in foreign_nodes(line)})
    if names:
        return f"found {', '.join(names)}, defined outside of symslr; write what is meant in symslr's and SymPy's own nodes"
    meanings: dict[str, Symbol] = {L.name: L} if any(L in line.free_symbols for line in lines) else {}
    for symbol in sorted({s for line in lines for s in line.atoms(Symbol)}, key=str):
        other = meanings.setdefault(symbol.name, symbol)
        if other != symbol:
            return f"found two symbols called {symbol.name}, with other assumptions; expected one, or another name"
    return ""


def _lines(item: Derivation) -> list[Basic]:
    """Everything that a chain says in formulas."""
    lines: list[Basic] = [item.start, *(claim.formula for claim in item.claims)]
    for step in item.steps:
        lines += [step.before, step.after, step.remainder]
        for hypothesis in step.hypotheses:
            lines += [hypothesis.condition, *hypothesis.means]
    return lines


def foreign_nodes(expr: Basic) -> tuple[str, ...]:
    """Names of the nodes in ``expr`` that neither symslr nor SymPy defines: what they mean is their author's word."""
    found = {type(node) for node in _nodes(expr) if not is_open(node)}
    return tuple(sorted(kind.__name__ for kind in found if not is_of_the_house(kind)))


def own_rules(item: Derivation) -> tuple[str, ...]:
    """Names of the rules in a chain that are not symslr's."""
    return tuple(dict.fromkeys(step.rule.name for step in item.steps if not is_house_rule(step.rule)))


def is_house_rule(rule: Rule) -> bool:
    """Whether a rule is symslr's, with none of its methods replaced on the object."""
    kind = type(rule)
    replaced = any(callable(getattr(kind, name, None)) or name in FACTS for name in getattr(rule, "__dict__", ()))
    return is_of_the_house(kind) and not replaced


FACTS = ("name", "statement", "relation")
"""Of a rule: its class gives them."""


def is_of_the_house(kind: type) -> bool:
    """Whether a class stands in a module of symslr or SymPy under the name that it gives."""
    module = getattr(kind, "__module__", None) or ""
    if module.split(".")[0] not in HOUSES:
        return False
    found: object = sys.modules.get(module)
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is kind and (module.split(".")[0] != "symslr" or _is_written(kind))


@cache
def _is_written(kind: type) -> bool:
    """Whether the file of its module defines a class; a module made at run time has no file."""
    try:
        inspect.getsource(kind)
    except (OSError, TypeError):
        return False
    return True


def _broken(step: Step, line: Expr) -> str:
    rule = step.rule
    if step.before != line:
        return f"begins with {step.before}; the line before it is {line}"
    try:
        made = Step.of(rule, step.before, step.note)
    except RuleRefused as refusal:
        return f"the rule refuses: {refusal}"
    for what in ("after", "remainder", "hypotheses"):
        if getattr(made, what) != getattr(step, what):
            return f"is not what the rule makes: {what} is {getattr(step, what)}, the rule gives {getattr(made, what)}"
    if made.relation != step.relation:
        return f"is not what the rule makes: the relation is {step.relation}, the rule gives {made.relation}"
    if is_house_rule(rule):
        return ""
    if made.relation not in RELATIONS:
        return f"{rule.name}: found the relation {made.relation!r}; expected one of {', '.join(RELATIONS)}"
    return _unsaid(rule, made.hypotheses) or _typed(rule, step)


RELATIONS = ("=", "~", "<=")


def _unsaid(rule: Rule, hypotheses: tuple[Hypothesis, ...]) -> str:
    """Why the words of a hypothesis do not say what it excludes: the words are all that a reader sees."""
    for hypothesis in hypotheses:
        if hypothesis.condition != S.true and latex(hypothesis.condition) not in hypothesis.text:
            said = latex(hypothesis.condition)
            return f"{rule.name}: found a hypothesis with the words {hypothesis.text!r}; expected ${said}$ in them"
    return ""


def _typed(rule: Rule, step: Step) -> str:
    """Why a rule is none: it does not follow when a parameter is called otherwise."""
    for symbol in _parameters(step.before):
        renamed = Symbol(f"{symbol.name}_renamed", **symbol.assumptions0)
        try:
            made = rule.rewrite(step.before.subs(symbol, renamed))
        except RuleRefused as refusal:
            return f"{rule.name} refuses when {symbol} is called {renamed} ({refusal}), so it is no rule"
        if made != step.after.subs(symbol, renamed):
            return (
                f"{rule.name} does not give the same line when {symbol} is called {renamed}: "
                "its right-hand side is typed and not made from the line before"
            )
    return ""


def _parameters(expr: Expr) -> list[Symbol]:
    """Free symbols that a rule may not know by name."""
    free = {symbol for symbol in expr.free_symbols if isinstance(symbol, Symbol)} - BOUND_IN_SEQUENCE - {L}
    return sorted(free, key=str)


def _nodes(expr: Basic) -> Iterator[Basic]:
    yield expr
    for arg in expr.args:
        yield from _nodes(arg)


def citations(item: Derivation) -> tuple[Derivation, ...]:
    """The derivations whose results a chain uses, at once or through others, each once."""
    found: dict[int, Derivation] = {}
    waiting = [step.rule.theorem for step in item.steps if isinstance(step.rule, Cite)]
    while waiting:
        theorem = waiting.pop()
        if id(theorem) not in found:
            found[id(theorem)] = theorem
            waiting += [step.rule.theorem for step in theorem.steps if isinstance(step.rule, Cite)]
    return tuple(found.values())
