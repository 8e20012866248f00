"""A check of each new task: its plan must agree with the unreduced definition at one cheap point.

The referee evaluates the definition from the model and the expression nodes; the plan comes from the rules and the evaluators.
For tasks and attentions of the catalogue the tests make this comparison (tests/evaluation/test_guard.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from sympy import Expr, Integer, Rational, Symbol

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.nodes.node import Context
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.open_kernel import with_kernel, with_open_kernel
from symslr.evaluation.plan import plan
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation, Minimum
from symslr.expression.open_functions import OpenKernel
from symslr.expression.quantity import Quantity, conditioned
from symslr.expression.scored import ScoredActivation
from symslr.expression.value import Value
from symslr.model.catalogue import ATTENTIONS, is_catalogued
from symslr.model.length_law import LengthLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import P_L, L, x
from symslr.theory.population import PopulationRisk

SHORT = LengthLaw({2: Rational(1, 3), 3: Rational(2, 3)})
"""Replaces a law of the length."""

MANY, FEW = 3, 2
"""Replace a symbolic length: with three tokens two others may differ, and two cost little."""

MOST_TOKENS = 12
"""Largest fixed length at which a definition is evaluated."""

DIGITS = 6
"""Digits that are compared: few, as every first number of a new task waits for them."""
SHARE = 0.2
"""Of ``symslr.referee.work.SECOND``, after which one evaluation by the referee is given up: one takes 0.03 to 0.15, and a new
task needs two or three."""

SCATTER = 10
"""Largest difference in errors of the referee; where it samples, its error is one standard error."""

PLACE = Rational(7, 10)
"""Value of a variable that is minimised over."""

UNHELD = "not held against its definition"

HELD = ""
"""No reason: the comparison was made."""
LONG, TOO_LARGE, UNREAD = (
    "which takes too long to read",
    "which leaves the range of float64",
    "which the referee cannot read",
)
MANY_TOKENS = f"which has more than {MOST_TOKENS} tokens"
NO_NUMBER = "as the derived formula has no number in float64 at the point where the two are compared"

_unheld: dict[Any, str] = {}


def unheld(expr: Expr, values: Mapping[Symbol, Any], found: Value | None = None) -> str:
    """Why the plan of ``expr`` was not compared with the definition, as words to print; empty where it was. Cached.

    The comparison is made at these values, with two or three tokens. Empty too where none is needed: no sequence inside, or a
    task and an attention of the catalogue.

    Args:
        values: numbers and length laws by symbol, as in ``Inputs``; of an array one entry.
        found: the float64 value of the plan there, where it is known.

    Raises:
        CannotEvaluate: where the two disagree, with both numbers.
    """
    key = expr, frozenset(s for s in values if s.is_Symbol and s.is_nonnegative is None and values[s] < 0)
    if key not in _unheld:
        reason = why_not_held(expr, values, found) if is_new(expr) else HELD
        _unheld[key] = f"{UNHELD}, {reason}" if reason else HELD
    return _unheld[key]


def why_not_held(expr: Expr, values: Mapping[Symbol, Any], found: Value | None = None) -> str:
    """The reason alone, for any task and attention and without the cache; empty where one comparison was made."""
    opened, kernel = with_open_kernel(expr)
    shape, readings = _readings(opened)
    short = with_kernel(shape, kernel)
    free = {symbol for symbol in short.free_symbols if isinstance(symbol, Symbol)}
    everywhere = {**dict.fromkeys(free - {L, P_L}, PLACE), **values, **({P_L: SHORT} if P_L in free else {})}
    reasons = []
    for reading, lengths in readings:
        closed = with_kernel(reading, kernel)
        # the first length whose definition is read in time
        for length in lengths if L in free else lengths[:1]:
            point = {**everywhere, L: length} if L in free else everywhere
            known = found if point == values and short == expr else None
            reason = _compared(short, closed, point, known)
            if reason == HELD:
                break
        reasons.append(reason)
    return HELD if HELD in reasons else reasons[0]


def is_new(expr: Expr) -> bool:
    """Whether a task or an attention inside is not of the catalogue."""
    normal = {Integer(1): True, Integer(0): False}
    attentions = {(item.kernel, item.is_normalised, item.offset) for item in ATTENTIONS.values()}
    asked = {(node.args[1], normal[node.args[2]], node.args[3]) for node in expr.atoms(Activation, ScoredActivation)}
    return not asked <= attentions or not all(is_catalogued(law) for law in expr.atoms(SequenceLaw))


def _shortened(expr: Expr) -> Expr:
    """``expr`` with few tokens in place of a law of the length, and the body in place of a minimum that is searched for."""
    expr = expr.xreplace(dict.fromkeys(expr.atoms(LengthLaw), SHORT))
    opened = _replaced(expr, _formula, Minimum)
    if not opened.has(Minimum):
        return expr
    known = conditioned(expr)  # a minimum that is known in another way
    if known.has(SequenceExpectation) and not known.has(Minimum):
        return known
    while opened.has(Minimum):
        opened = opened.replace(lambda node: isinstance(node, Minimum), lambda node: node.body)
    return opened


def _replaced(expr: Expr, form: Callable[[Quantity], Expr], kind: type = Expr) -> Expr:
    """``expr`` with every quantity replaced by ``form`` of it, repeatedly, where that is of type ``kind``."""

    def open_one(quantity: Quantity) -> Expr:
        found = form(quantity)
        return quantity if not isinstance(found, kind) or found == quantity else _replaced(found, form, kind)

    return expr.replace(lambda node: isinstance(node, Quantity), open_one)


def _formula(quantity: Quantity) -> Expr:
    """The formula that rules derive; for a population risk derived for any kernel at once, as its means are known to exist."""
    if not isinstance(quantity, PopulationRisk):
        return quantity.formula()
    activation, *rest = quantity.args
    return with_kernel(PopulationRisk(activation.with_kernel(OpenKernel(x)), *rest).formula(), activation.kernel)


@lru_cache(maxsize=512)
def _readings(expr: Expr) -> tuple[Expr, list[tuple[Expr, tuple[int, ...]]]]:
    """(``expr`` with few tokens, [(what the referee evaluates for it, at which lengths)]).

    These are the derived formula before it is reduced, and the definition; with a kernel left open they serve all kernels.
    """
    short = _shortened(expr)
    formula = _replaced(short, _formula)
    definition = _replaced(short, lambda quantity: quantity.definition())
    if definition == formula or definition.has(Minimum):  # a search for a minimum takes too long
        return short, [(formula, (MANY, FEW))]
    return short, [(formula, (MANY, FEW)), (definition, (FEW,))]


def _compared(expr: Expr, reading: Expr, values: Mapping[Symbol, Any], found: Value | None) -> str:
    """Why no comparison was possible; empty where the two numbers agree.

    Raises:
        CannotEvaluate: where they differ.
    """
    if any(law.length.is_Integer and law.length > MOST_TOKENS for law in reading.atoms(SequenceLaw)):
        return MANY_TOKENS
    from symslr.referee.referee import CannotReferee, referee
    from symslr.referee.scan import NotFinite
    from symslr.referee.work import SECOND, TooCostly

    point = {symbol: _plain(value) for symbol, value in values.items()}
    try:
        by_definition = referee(reading, point, DIGITS, SHARE * SECOND)
    except (NotFinite, ArithmeticError):
        return TOO_LARGE
    except CannotReferee as refusal:
        return LONG if isinstance(refusal, TooCostly) else UNREAD
    try:
        value, error = _planned(expr, point) if found is None else (float(found.value), float(found.error))
    except (CannotEvaluate, ArithmeticError):
        return NO_NUMBER
    expected = float(by_definition)
    if abs(value - expected) <= SCATTER * float(by_definition.error) + error + 10.0**-DIGITS * abs(expected):
        return HELD
    shown = ", ".join(sorted(f"{symbol} = {number}" for symbol, number in point.items()))
    raise CannotEvaluate(
        f"the plan gives {value:.8g} and the definition {expected:.8g} ({shown or 'no parameters'}); "
        "a fault of symslr: expected equal numbers, please report the task"
    )


def _planned(expr: Expr, point: Mapping[Symbol, Any]) -> tuple[float, float]:
    scope = {s: v if isinstance(v, LengthLaw) else (float(v), abs(float(v)) * FLOAT.eps) for s, v in point.items()}
    with np.errstate(all="ignore"):
        value, error = plan(expr).evaluate(Context(FLOAT, 10.0 ** -(DIGITS + 2)), scope)
    return float(value), float(error)


def _plain(value: Any) -> Any:
    """A rational number or a law, as the referee takes them."""
    return value if isinstance(value, (LengthLaw, int, Rational)) else Rational(repr(float(value)))
