"""The verdict on a step from its comparisons: which comparisons a step needs to be called true."""

from __future__ import annotations

from functools import lru_cache

from sympy import Basic, Expr, Integer, Symbol

from symslr.algebra.derivation import Derivation
from symslr.algebra.hypothesis import holds
from symslr.check.instances import formulas
from symslr.check.points import LENGTH_LAWS, written_out
from symslr.check.replay import own_rules
from symslr.check.report import Comparison, StepCheck, Verdict
from symslr.expression.instance import open_functions
from symslr.model.exact import exact
from symslr.model.symbols import BOUND_IN_SEQUENCE, L

NEEDED = 2
"""Effective comparisons, at different points, that make a step true; at different values of each parameter."""

NO_TOKEN = "has no token"
"""Said of a length at which a formula means nothing, because it names more tokens than there are."""

MANY = 5
"""A length from which on nothing that holds for a few tokens holds by accident."""


def concluded(
    what: str, made: list[Comparison], sides: tuple[Expr, Expr], item: Derivation, missing: str = ""
) -> StepCheck:
    """The verdict that the comparisons of one step allow.

    True takes effective comparisons at two points, with two values of every parameter of the two sides among them; where the
    length is free, at L = 2, at L = 3 and at one L >= 5, as far as the derivation's ranges admit them.

    Args:
        what: the rule's name, or the claim's source.
        made: the comparisons.
        sides: both expressions.
        item: the derivation, for its ranges.
        missing: why it is not true, whatever was compared, or nothing.
    """
    false = [c for c in made if c.verdict is Verdict.FALSE]
    if false:
        return StepCheck(what, Verdict.FALSE, tuple(made), false[0].reason)
    reasons = "; ".join(dict.fromkeys(c.reason for c in made if c.reason))
    lacking = missing or _lacking(made, sides, item)
    if lacking:
        return StepCheck(what, Verdict.UNKNOWN, tuple(made), f"{lacking}: {reasons}" if reasons else lacking)
    return StepCheck(what, Verdict.TRUE, tuple(made))


def _lacking(made: list[Comparison], sides: tuple[Expr, Expr], item: Derivation) -> str:
    """What has not been compared and would have to be; empty where nothing lacks."""
    good = [c for c in made if c.effective]
    symbols = _parameters(sides)
    if len({c.point for c in good}) < (NEEDED if symbols else 1):
        new = sorted(str(s) for s in _parameters(sides[1:]) - _parameters(sides[:1]))
        unbound = f"the step brings in {', '.join(new)}, which the line before does not know" if new else ""
        return unbound or ("no comparison could have failed" if not good else "one comparison is not enough")
    for symbol in sorted(symbols, key=str):
        if symbol != L and len({dict(c.values).get(symbol.name) for c in good}) < NEEDED:
            pinned = _pinned(item, symbol)
            return (
                f"the derivation's range pins {symbol} to {pinned}; write that number in the first line, or widen the range"
                if pinned
                else f"only one value of {symbol} was compared"
            )
    return _lacking_lengths(made, symbols, item) or (_lacking_formulas(made, sides, item) if own_rules(item) else "")


def _lacking_formulas(made: list[Comparison], sides: tuple[Expr, Expr], item: Derivation) -> str:
    """The formula of an open function for which a rule of an author's was not compared; where two sides vanish they agree.

    A bound that the formulas of ``symslr.check.instances`` keep, such as E_g chi^2 < 1000, is not told from one that all keep.
    """
    met = {pair for c in made if c.effective or c.vanishing for pair in c.functions}
    asked = set().union(*(open_functions(written_out(side)) for side in sides))
    for name, choices in formulas(item).items():
        for formula in choices if name in asked else ():
            if (name, str(formula)) not in met:
                return (
                    f"nothing was compared for {name} = {formula}; where {name} is less general, give a range of {name}"
                )
    return ""


def _lacking_lengths(made: list[Comparison], symbols: set[Symbol], item: Derivation) -> str:
    """The lengths at which nothing was compared; two sides that vanish at a length agree there."""
    if not any(symbol == L or symbol.name == "P_L" for symbol in symbols):
        return ""
    admitted = _admitted_lengths(item)
    seen = {length for c in made if c.effective or c.vanishing for length in c.lengths}
    without = {length for c in made if NO_TOKEN in c.reason for length in c.lengths}
    if admitted is not None and len(admitted) == 1:
        return (
            f"the derivation's range pins L to {min(admitted)}; write that number in the first line, or widen the range"
        )
    for needed in (2, 3):
        if needed not in seen | without and (admitted is None or needed in admitted):
            return f"nothing was compared at L = {needed}"
    if not any(length >= MANY for length in seen) and (admitted is None or max(admitted) >= MANY):
        return f"nothing was compared at L >= {MANY}"
    if len(seen) < NEEDED:
        return "only one length was compared"
    return ""


def _admitted_lengths(item: Derivation) -> set[int] | None:
    """The lengths that the ranges and the relations of the hypotheses leave; None where nothing is excluded."""
    allowed = next((value for symbol, value in item.ranges.items() if exact(symbol) == L), None)
    if isinstance(allowed, tuple) and len(allowed) == 2:
        lengths = set(range(int(exact(allowed[0])), int(exact(allowed[1])) + 1))
    elif allowed is None:
        lengths = {*range(1, 10), *(int(length) for law in LENGTH_LAWS for length, _ in law)}
    else:
        lengths = {int(exact(choice)) for choice in allowed}  # type: ignore[attr-defined]
    for hypothesis in item.hypotheses:
        if hypothesis.condition.free_symbols == {L}:
            lengths = {length for length in lengths if _admits(hypothesis.condition, length)}
    return lengths


@lru_cache(maxsize=2**12)
def _admits(condition: Basic, length: int) -> bool:
    return holds(condition, {L: Integer(length)})


def _pinned(item: Derivation, symbol: Symbol) -> str:
    """The one value that the derivation's ranges leave to a symbol, or nothing."""
    for named, allowed in item.ranges.items():
        if exact(named) == symbol:
            choices = {exact(choice) for choice in allowed}  # type: ignore[attr-defined]
            return str(next(iter(choices))) if len(choices) == 1 else ""
    return ""


@lru_cache(maxsize=4096)
def _parameters(sides: tuple[Expr, ...]) -> set[Symbol]:
    """Free symbols that take a value at a point."""
    return {
        s for side in map(written_out, sides) for s in side.free_symbols if isinstance(s, Symbol)
    } - BOUND_IN_SEQUENCE
