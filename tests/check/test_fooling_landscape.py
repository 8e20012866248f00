"""False chains about the landscape: what a step may get wrong there has to be seen, the length at which it goes wrong too."""

from collections.abc import Callable

import pytest
from sympy import Expr, Mul, Rational, S

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Unfold
from symslr.check import Verdict
from symslr.check.check import check_derivation
from symslr.check.compare import compare
from symslr.check.numbers import Numbers
from symslr.check.points import points
from symslr.model.catalogue import MaxSLR, SpikedSLR, softplus
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, m_kv, m_vk, q_kv
from symslr.theory.landscape import ADMISSIBLE, ON_MANIFOLD, LandscapeRisk, reduced
from tests.check.toys import Say

spiked = LandscapeRisk.of(SpikedSLR(), softplus)
maximum = LandscapeRisk.of(MaxSLR(), softplus)


def without_weight(expr: Expr) -> Expr:
    return expr.replace(SequenceLaw, lambda weight, length, base: SequenceLaw(S.One, length, base))


def one_coefficient(expr: Expr) -> Expr:
    """m_vk is 1e-3 too large."""
    return expr.subs(m_vk, m_vk * (1 + Rational(1, 1000)))


def wrong_sign(expr: Expr) -> Expr:
    return expr.subs(m_kv, -m_kv)


def from_five(expr: Expr) -> Expr:
    """Right at L = 1, 2, 3 and 4."""
    off = Mul(*(L - i for i in range(1, 5))) * Rational(1, 10**5)
    return expr * (1 + off)


MUTATIONS = {
    "max-SLR without its weight": (maximum, without_weight),
    "spiked-SLR without its weight": (spiked, without_weight),
    "a coefficient, max-SLR": (maximum, one_coefficient),
    "a coefficient, spiked-SLR": (spiked, one_coefficient),
    "the sign of an overlap": (maximum, wrong_sign),
    "right up to four tokens": (maximum, from_five),
}


def where_it_shows(risk: LandscapeRisk, wrong: Callable[[Expr], Expr]) -> set[int]:
    """Lengths at which the two sides of the false step are found to differ; the other ones have to say nothing false."""
    chain = Derivation(risk, ranges=ADMISSIBLE)
    numbers = Numbers()
    left = risk.definition()
    found = set()
    for point in points(chain)[:3]:
        made = compare(left, wrong(left), point, numbers)
        if made.verdict is Verdict.FALSE:
            found.update(made.lengths)
    return found


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_false_step_is_false(name: str) -> None:
    risk, wrong = MUTATIONS[name]
    shown = where_it_shows(risk, wrong)
    if wrong is from_five:
        assert shown
        assert min(shown) >= 5
    else:
        assert {2, 3} < shown


def test_a_chain_with_a_typed_mistake_is_false() -> None:
    chain = Derivation(maximum, name="typed", ranges=ADMISSIBLE).apply(Unfold(LandscapeRisk))
    wrong = chain.apply(Say(lambda expr: expr.subs(q_kv, q_kv * (1 + Rational(1, 1000)))))
    found = check_derivation(wrong)
    assert found.steps[0].verdict is Verdict.TRUE
    assert found.steps[1].verdict is Verdict.FALSE


def test_a_part_in_a_million_is_seen() -> None:
    risk = LandscapeRisk.of(MaxSLR(), softplus, ON_MANIFOLD)
    chain = reduced(Derivation(risk, name="claimed", ranges=ADMISSIBLE).apply(Unfold(LandscapeRisk)))
    for point in points(chain)[:3]:
        made = compare(chain.result, chain.result * (1 + Rational(1, 10**6)), point, Numbers())
        assert made.verdict is Verdict.FALSE
