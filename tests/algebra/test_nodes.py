"""Nodes of the algebra as SymPy expressions: rebuilt, pickled and hashed they stay the same; bound symbols stay bound."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from functools import cache

import pytest
from sympy import (
    Basic,
    Dummy,
    Expr,
    I,
    Integral,
    Rational,
    Sum,
    Symbol,
    latex,
    nan,
    oo,
    preorder_traversal,
    sqrt,
    srepr,
)

from symslr.algebra.fresh import fresh, laplace_variables
from symslr.algebra.reduction import reduce
from symslr.expression.expectation import (
    LengthExpectation,
    ScalarExpectation,
    SequenceExpectation,
    rewrite_expectations,
)
from symslr.expression.folded import Activation, ConditionalMean, Minimum, Posterior
from symslr.expression.quantity import Quantity, conditioned
from symslr.expression.special import OwensT
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax
from symslr.model.largest import IsLargest
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import STANDARD_NORMAL, normal
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import BOUND_IN_SEQUENCE, P_L, L, a, c, chi, epsilon, l, nu, x, xi, z
from symslr.theory import bayes_risk, minimal_risk, population_risk
from tests.algebra.brute import brute
from tests.algebra.cases import ATTENTIONS, CASES, VALUES

LENGTHS = LengthLaw({2: Rational(1, 3), 3: Rational(2, 3)})


@cache
def nodes() -> dict[str, Basic]:
    return dict(_nodes())


def _nodes() -> Iterator[tuple[str, Basic]]:
    for name, case in CASES.items():
        task = case.task
        yield f"law {name}", task.law
        yield f"base {name}", task.base
        yield f"posterior {name}", Posterior(epsilon, task.law)
        yield f"bayes {name}", bayes_risk(task)
        yield f"bayes at random length {name}", bayes_risk(task.with_length(LENGTHS))
        yield f"conditional mean {name}", ConditionalMean(z[epsilon] + a * xi, task.law)
        yield f"reduced {name}", reduce(SequenceExpectation(1 - Posterior(epsilon, task.law), task.law))
    for name, attention in ATTENTIONS.items():
        yield f"activation {name}", Activation.of(epsilon, attention, a)
        yield f"risk {name}", population_risk(SpikedSLR(), attention)
        yield f"least {name}", minimal_risk(MaxSLR(length=LENGTHS), attention)
    largest = MaxSLR(nu=oo)
    yield "largest", IsLargest.of(epsilon, L)
    yield "law of the largest", largest.law
    yield "risk of the largest", bayes_risk(largest)
    yield "length law", LENGTHS
    yield "open length", LengthExpectation(L**2, P_L)
    yield "scalar", ScalarExpectation(x**2 * nu, x, normal(nu))
    yield "minimum", Minimum(a**2 - nu * a, a)
    yield "nested minimum", Minimum(Minimum(population_risk(SpikedSLR(), ATTENTIONS["erf"]), c), a)
    yield "Owen's T", OwensT(x, nu)


def forms(node: Basic) -> Iterator[Basic]:
    """A node as it is, unfolded and conditioned; `doit` would have SymPy try the integrals of a reduced one."""
    yield node
    if isinstance(node, Expr):
        if not node.has(Integral):
            yield node.doit()
        yield conditioned(node)


@pytest.mark.parametrize("name", list(nodes()))
def test_rebuilt_pickled_and_copied(name: str) -> None:
    """Trees are taken apart and put together by SymPy, and sent to other processes by studies."""
    for tree in forms(nodes()[name]):
        for node in preorder_traversal(tree):
            if node.args:
                rebuilt = node.func(*node.args)
                assert rebuilt == node
                assert hash(rebuilt) == hash(node)
        for twin in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
            assert twin == tree
            assert hash(twin) == hash(tree)
            assert type(twin) is type(tree)
        assert srepr(tree)
        assert str(tree)
        assert latex(tree)


@pytest.mark.parametrize("name", list(nodes()))
def test_free_symbols_are_the_parameters(name: str) -> None:
    node = nodes()[name]
    free = node.free_symbols
    if isinstance(node, (Quantity, SequenceExpectation, ScalarExpectation, LengthExpectation, SequenceLaw)):
        assert all(symbol.is_Symbol for symbol in free)
        assert not free & BOUND_IN_SEQUENCE
        assert x not in free
    if isinstance(node, Quantity):
        assert free >= {s for s in node.doit().free_symbols if s.is_Symbol} - {a, c} - BOUND_IN_SEQUENCE


def test_quantities_know_what_they_bind() -> None:
    """Regression: substituting L in a risk at random length changed its law and its value."""
    assert minimal_risk(SpikedSLR(), softmax).free_symbols == {L, nu, *SpikedSLR().noise.free_symbols}
    least = minimal_risk(SpikedSLR(length=LENGTHS), ATTENTIONS["erf"])
    assert least.subs({a: 2, c: 3, L: 5}) == least
    for task in (SpikedSLR(length=LENGTHS), SpikedSLR(length=3)):
        risk = population_risk(task, softmax)
        assert L not in risk.free_symbols
        assert risk.subs(L, 2) == risk


QUANTITIES = [name for name in nodes() if name.split()[0] in ("bayes", "risk")]


@pytest.mark.parametrize("name", [name for name in QUANTITIES if "student" not in name])
def test_substitution_commutes_with_evaluation(name: str) -> None:
    node = nodes()[name]
    options = next((case.options for key, case in CASES.items() if name.endswith(key)), {})
    exact = {symbol: Rational(str(value)) for symbol, value in VALUES.items()}
    if name == "risk of the largest":
        pytest.skip("no parameter but the length")
    before = brute(node, {**VALUES, L: 2}, **options)
    assert brute(node.subs(exact), {L: 2}, **options) == pytest.approx(before, rel=1e-12)
    assert brute(node.subs(exact).subs(L, 2), {L: 2}, **options) == pytest.approx(before, rel=1e-12)
    assert brute(node.subs(L, 2).subs(exact), {L: 2}, **options) == pytest.approx(before, rel=1e-12)


def test_bound_symbols_are_not_substituted() -> None:
    mean = SequenceExpectation(chi[epsilon] ** 2 * xi**2, SpikedSLR().law)
    for bound in (epsilon, xi, chi[epsilon], l):
        assert mean.subs(bound, 7) == mean
    assert mean.xreplace({nu: 2}).law.weight == SpikedSLR(nu=2).law.weight
    scalar = ScalarExpectation(x * nu, x, STANDARD_NORMAL)
    assert scalar.subs(x, 3) == scalar
    assert scalar.subs(nu, 3) == ScalarExpectation(3 * x, x, STANDARD_NORMAL)
    assert LengthExpectation(L + nu, P_L).subs(L, 3) == LengthExpectation(L + nu, P_L)
    assert Minimum(a**2 * nu, a).subs(a, 3) == Minimum(a**2 * nu, a)
    assert normal(nu).subs(x, 2) == normal(nu)


@pytest.mark.parametrize(
    ("node", "value"),
    [
        (SequenceExpectation(chi[epsilon] * nu, SpikedSLR().law), xi),
        (SequenceExpectation(chi[epsilon] * nu, SpikedSLR().law), 1 + chi[epsilon]),
        (ScalarExpectation(x * nu, x, STANDARD_NORMAL), x),
        (LengthExpectation(L * nu, P_L), L),
        (Minimum(a**2 * nu, a), a + 1),
        (minimal_risk(SpikedSLR(), softmax), a),
    ],
)
def test_nothing_is_captured(node: Expr, value: Expr) -> None:
    with pytest.raises(ValueError, match="is bound there"):
        node.subs(nu, value)


def test_namesakes_of_bound_symbols_are_the_users() -> None:
    """A parameter called epsilon or x, with other assumptions, is not ours: it stays free and is substituted."""
    for name in ("epsilon", "x", "l", "k", "xi", "u"):
        own = Symbol(name, positive=True)
        if own in BOUND_IN_SEQUENCE or own == x:
            continue
        mean = SequenceExpectation(own * chi[epsilon], SpikedSLR().law)
        assert own in mean.free_symbols
        assert mean.subs(own, 3) == SequenceExpectation(3 * chi[epsilon], SpikedSLR().law)


def test_numbers_pass_through() -> None:
    law = SpikedSLR().law
    assert SequenceExpectation(3, law) == 3
    assert ScalarExpectation(Rational(1, 3), x, STANDARD_NORMAL) == Rational(1, 3)
    assert LengthExpectation(sqrt(2), P_L) == sqrt(2)
    assert SequenceExpectation(0.1, law) == Rational(1, 10)
    for body in (nan, I, None, True):
        with pytest.raises(ValueError, match="body: found"):
            SequenceExpectation(body, law)


def test_derivatives() -> None:
    law = SpikedSLR().law
    mean = SequenceExpectation(a**2 * chi[epsilon] + c, law)
    assert mean.diff(a) == SequenceExpectation(2 * a * chi[epsilon], law)
    assert mean.diff(c) == 1
    assert mean.diff(Symbol("other")) == 0
    assert mean.diff(nu).has(nu)  # the law depends on nu: the derivative is left standing
    assert mean.diff(nu) != 0


def test_random_length_is_a_finite_sum() -> None:
    body = SequenceExpectation(Sum(chi[l] ** 2, (l, 1, L)), SpikedSLR().law)
    assert LengthExpectation(L, LENGTHS).doit() == LENGTHS.mean
    unfolded = LengthExpectation(body, LENGTHS).doit()
    assert unfolded == body.subs(L, 2) / 3 + body.subs(L, 3) * Rational(2, 3)
    assert LengthExpectation(body, P_L).doit() == LengthExpectation(body, P_L)
    assert LengthExpectation(body, P_L).subs(P_L, LENGTHS).doit() == unfolded


def test_expressions_used_twice() -> None:
    """Sums and squares of one expectation are of one node, whatever the order of the work."""
    mean = SequenceExpectation(Activation.of(epsilon, softmax, a), SpikedSLR().law)
    assert mean + mean == 2 * mean
    assert reduce(mean + mean) == 2 * reduce(mean)
    assert reduce(mean**2) == reduce(mean) ** 2
    assert rewrite_expectations(mean**2 + mean, lambda _: nu) == nu**2 + nu


def test_fresh_symbols() -> None:
    u = Symbol("u")
    assert str(fresh("u", set())) == "u"
    assert str(fresh("u", {u})) == "u_2"
    assert str(fresh("u", {u, Symbol("u_2", real=True), nu})) == "u_3"
    variables = laplace_variables({Symbol("t")})
    names = [str(next(variables)) for _ in range(4)]
    assert len(set(names)) == 4
    assert "t" not in names
    assert fresh("y", {Dummy("z")}, real=True).is_real


def test_owens_t() -> None:
    assert OwensT(0, nu).has(nu)
    assert OwensT(a, 0) == 0
    assert OwensT(-a, nu) == OwensT(a, nu)
    assert OwensT(a, -nu) == -OwensT(a, nu)
    for h, slope in ((0.3, 0.8), (-1.2, 2.5)):
        values = {a: h, nu: slope}
        step = 1e-5
        for symbol in (a, nu):
            up, down = ({**values, symbol: values[symbol] + sign * step} for sign in (1, -1))
            numeric = (brute(OwensT(a, nu), up) - brute(OwensT(a, nu), down)) / (2 * step)
            assert brute(OwensT(a, nu).diff(symbol), values) == pytest.approx(numeric, abs=1e-9)


def test_indicator_of_the_largest() -> None:
    largest = IsLargest.of(epsilon, L)
    assert largest**2 == largest
    assert IsLargest.of(epsilon, 1) == 1
    assert largest.subs(L, 1) == 1
    assert largest.free_symbols >= {epsilon, L}
