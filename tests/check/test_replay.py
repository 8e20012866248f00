"""A chain is what its rules make: forged lines, typed right-hand sides and foreign names are seen."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from sympy import Expr, S, Symbol, exp

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation, Step
from symslr.algebra.rule import Rule
from symslr.algebra.rules import CameronMartin, Linearity
from symslr.check import Verdict
from symslr.check.check import check_derivation
from symslr.check.replay import citations, foreign_nodes, own_rules, replay
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.quantity import Quantity
from symslr.model.catalogue import SpikedSLR
from symslr.model.symbols import chi, epsilon, nu
from tests.check.toys import Say
from tests.derivations.made import FILES, chains, every_chain

LAW = SpikedSLR().law
MEAN = SequenceExpectation(chi[epsilon] ** 2, LAW)
CHAIN = Derivation(MEAN, name="second-moment").apply(CameronMartin()).apply(Linearity())


def forged(chain: Derivation, steps: tuple[Step, ...]) -> Derivation:
    copy = chain.named()
    object.__setattr__(copy, "steps", steps)
    return copy


def test_an_honest_chain_replays() -> None:
    assert replay(CHAIN) == ("", "")
    assert own_rules(CHAIN) == ()


def test_a_line_that_the_rule_does_not_make() -> None:
    step = CHAIN.steps[1]
    typed = Step(step.before, 2 + nu, step.rule)
    assert "is not what the rule makes" in replay(forged(CHAIN, (CHAIN.steps[0], typed)))[1]


def test_a_forged_remainder() -> None:
    step = CHAIN.steps[0]
    loose = Step(step.before, step.after, step.rule, remainder=S(10))
    assert "remainder is 10" in replay(forged(CHAIN, (loose, CHAIN.steps[1])))[0]


def test_a_gap() -> None:
    assert replay(forged(CHAIN, CHAIN.steps[1:]))[0].startswith("begins with")


def test_a_typed_right_hand_side_is_no_rule() -> None:
    found = replay(Derivation(MEAN).apply(Say(lambda _: 1 + nu)))
    assert "right-hand side is typed" in found[0]
    assert own_rules(Derivation(MEAN).apply(Say(lambda _: 1 + nu))) == ("say",)


def test_a_rule_of_ones_own_that_follows_the_parameters_is_one() -> None:
    assert replay(Derivation(exp(nu) * MEAN).apply(Say(lambda e: e.subs(exp(nu), 1 + exp(nu))))) != ("",)
    doubled = Say(lambda e: e + e)
    assert replay(Derivation(MEAN).apply(doubled)) == ("",)


@pytest.mark.parametrize("name", ["a", "b", "c", "d"])
def test_a_rule_of_ones_own_is_tried_at_weak_signals_whatever_the_chain_is_called(name: str) -> None:
    def wrong_where_weak(expr: Expr) -> Expr:
        (signal,) = (s for s in expr.free_symbols if str(s).startswith("nu"))
        return expr + exp(-100 * signal)

    found = check_derivation(Derivation(MEAN, name=name).apply(Say(wrong_where_weak)))
    assert found.steps[0].verdict is Verdict.FALSE
    assert "typed" not in found.steps[0].reason


class Moody(Rule):
    """Gives another line each time."""

    name = "moody"
    statement = "A = ?"

    def __init__(self) -> None:
        self.times = count()

    def rewrite(self, expr: Expr) -> Expr:
        return expr + next(self.times) + 1


def test_a_rule_that_changes_its_mind() -> None:
    assert "is not what the rule makes" in replay(Derivation(MEAN).apply(Moody()))[0]


class Theorem(Quantity):
    """A name for what its author would like to be true."""

    source = "nowhere"

    def definition(self) -> Expr:
        return nu + 2


def test_foreign_names_are_seen() -> None:
    assert foreign_nodes(MEAN + Theorem()) == ("Theorem",)
    Theorem.__module__ = "symslr.theory.bayes"
    assert foreign_nodes(MEAN + Theorem()) == ("Theorem",)


@cache
def replayed() -> frozenset[str]:
    """Names of symslr's chains, short ones first, in which every rule that any of them applies stands at least twice."""
    times: Counter[type[Rule]] = Counter()
    names = []
    for item in sorted(every_chain(), key=lambda item: len(item.steps)):
        rules = {type(step.rule) for step in item.steps}
        if any(times[rule] < 2 for rule in rules):
            names.append(item.name)
            times.update(rules)
    return frozenset(names)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_line_of_the_house_is_made_of_known_nodes_and_every_rule_replays(file: Path) -> None:
    """A chain was made by its rules a moment ago: what a replay can find is a rule that does not give the same line twice."""
    for item in chains(file):
        lines = [item.start, *(step.after for step in item.steps), *(claim.formula for claim in item.claims)]
        assert {name for line in lines for name in foreign_nodes(line)} == set()
        if item.name in replayed():
            assert set(replay(item)) <= {""}


def test_citations_through_others() -> None:
    second = Derivation(3 * MEAN, name="thrice").apply(Cite(CHAIN))
    third = Derivation(second.start + 1, name="more").apply(Cite(second))
    assert third.result == 3 * CHAIN.result + 1
    assert {item.name for item in citations(third)} == {"thrice", "second-moment"}


def test_a_result_is_used_at_admissible_values_only() -> None:
    t = Symbol("t", real=True)
    with pytest.raises(ValueError, match="is not known to be"):
        Cite(CHAIN, {nu: t})
    assert Derivation(MEAN.subs(nu, 4)).apply(Cite(CHAIN, {nu: 4})).result == CHAIN.result.subs(nu, 4)
