"""An engine that is wrong where it was once not looked at: each fault of the audit, made again, is called false."""

import pytest
from sympy import Expr, Piecewise, S, Sum, Symbol

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Exchangeability, LaplaceRepresentation, Unfold
from symslr.algebra.rules.laplace import representation
from symslr.algebra.rules.symmetry import exchangeability
from symslr.check import Verdict
from symslr.check.check import check_derivation
from symslr.check.report import DerivationCheck
from symslr.expression.expectation import SequenceExpectation, rewrite_expectations
from symslr.expression.folded import Activation
from symslr.expression.scored import ScoredActivation
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax, softmax1
from symslr.model.symbols import L, a, chi, epsilon, l, m, z
from tests.check.toys import Say

spiked, maximum = SpikedSLR().law, MaxSLR().law
sigma = Activation.of(epsilon, softmax, a)


pytestmark = pytest.mark.usefixtures("lines_alone")


def norm() -> DerivationCheck:
    start = SequenceExpectation(Sum(sigma.at(l) ** 2, (l, 1, L)), spiked)
    return check_derivation(Derivation(start, name="norm").apply(Unfold()).apply(Exchangeability()))


def test_the_engine_as_it_is() -> None:
    found = norm()
    assert found.verdict is Verdict.TRUE, found.steps
    assert max(found.steps[1].tally.lengths) >= 5


def test_a_coefficient_that_is_wrong_from_five_tokens_on(monkeypatch: pytest.MonkeyPatch) -> None:
    right = exchangeability.marked_terms

    def wrong(expr: Expr, length: Expr) -> list[tuple[Expr, Expr]]:
        return [(Piecewise((c, L < 5), (c * (1 + S.One / 10**5), True)), body) for c, body in right(expr, length)]

    monkeypatch.setattr(exchangeability, "marked_terms", wrong)
    found = norm()
    assert found.steps[1].verdict is Verdict.FALSE, found.steps[1]


def test_gamma_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(representation, "gamma", lambda _: S.One)
    chain = Derivation(SequenceExpectation(sigma**3, spiked), name="cube")
    found = check_derivation(chain.apply(Unfold()).apply(LaplaceRepresentation()))
    assert found.steps[1].verdict is Verdict.FALSE, found.steps[1]


WEIGHT_DROPPED = Say(lambda expr: rewrite_expectations(expr, lambda e: e.func(e.body, e.law.unweighted())))
score = a * chi[m] + Symbol("b", real=True) * z[m]
mixed = SequenceExpectation(z[epsilon] * ScoredActivation.of(epsilon, softmax1, score), maximum)


@pytest.mark.parametrize("ranges", [{}, {L: [1]}, {L: [1, 2]}])
def test_the_weight_of_the_other_task_deleted(ranges: dict) -> None:
    """Which one token cannot see: a chain that looks at no other is not called true."""
    found = check_derivation(Derivation(mixed, name="landscape", ranges=ranges).apply(WEIGHT_DROPPED))
    assert found.steps[0].verdict is (Verdict.UNKNOWN if ranges == {L: [1]} else Verdict.FALSE), found.steps[0]
