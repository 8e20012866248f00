"""Sums without a last term: a number where the terms fall by a steady factor, one line where they do not."""

import pytest
from mpmath import mp
from sympy import Expr, Integral, Product, Rational, Sum, Symbol, exp, factorial, oo

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Algebra
from symslr.check.check import check_derivation
from symslr.check.report import Verdict
from symslr.referee.arithmetic import CannotReferee
from symslr.referee.referee import referee

k = Symbol("k", integer=True, nonnegative=True)
p, u = (Symbol(name, positive=True) for name in "pu")


def total(term: Expr, first: int = 0) -> Expr:
    return Sum(term, (k, first, oo))


KNOWN = {
    "geometric": (total(p**k), 2),
    "from the third term on": (total(p**k, 2), "0.5"),
    "every other term is 0": (total(p**k * (1 + (-1) ** k) / 2), mp.mpf(4) / 3),
    "terms that rise first": (total(k**3 * p**k), 26),
    "exponential": (total((20 * p) ** k / factorial(k)) * exp(-20 * p), 1),
    "signs that cancel": (total((-20 * p) ** k / factorial(k)), mp.exp(-10)),
    "integrals": (total(Integral(u**k * exp(-3 * u), (u, 0, oo)) / factorial(k)), "0.5"),
}


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("digits", [13, 20])
def test_a_sum_has_its_value(name: str, digits: int) -> None:
    node, value = KNOWN[name]
    found = referee(node, {"p": Rational(1, 2)}, digits)
    with mp.workdps(15 if isinstance(value, mp.mpf) else 40):
        assert abs(found.value - mp.mpf(value)) <= found.error + (mp.eps if isinstance(value, mp.mpf) else 0)


UNKNOWN = {
    "a power": total(1 / (k + p) ** 2),
    "a large power": total(1 / (k + p) ** 8),
    "divergent": total((3 * p) ** k),
    "terms that grow again": total(p**k + exp(-((k - 900) ** 2))),
    "in an integral": Integral(total(u**k / factorial(k)) * exp(-2 * u), (u, 0, oo)),
    "in both directions": Sum(exp(-p * k**2), (k, -oo, oo)),
    "a product": Product(1 - p ** (k + 1), (k, 0, oo)),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_no_number_and_the_reason(name: str) -> None:
    with pytest.raises(CannotReferee, match=r"has no number here|grow again|may go on to infinity"):
        referee(UNKNOWN[name], {"p": Rational(1, 2)}, 20)


@pytest.mark.parametrize(
    ("claimed", "verdict"), [(1 / (1 - exp(-p)), Verdict.TRUE), (1 / (1 - exp(-p)) + p**2 / 10**6, Verdict.FALSE)]
)
def test_a_claim_about_a_sum(claimed: Expr, verdict: Verdict) -> None:
    chain = Derivation((1 + p) * total(exp(-p * k))).apply(Algebra("expand")).claim((1 + p) * claimed, "a source")
    assert check_derivation(chain).claims[0].verdict is verdict
