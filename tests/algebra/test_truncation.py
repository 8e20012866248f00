"""Remainders are carried through sums, products and powers, and refused elsewhere."""

from __future__ import annotations

import random

import pytest
from sympy import Expr, Function, S, Symbol, exp, sin, symbols

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import RuleRefused
from symslr.algebra.truncation import Truncation
from symslr.model.symbols import nu

a, b, t = symbols("a b t", real=True)
f = Function("f", real=True)


class Drop(Truncation):
    """f(x) = x up to 1/8: the toy that the tests know the truth of."""

    name = "drop"
    statement = r"f(x) \approx x"

    def truncate(self, term: Expr) -> tuple[Expr, Expr] | None:
        return (term.args[0], S.One / 8) if isinstance(term, f) else None


@pytest.mark.parametrize(
    "expr",
    [
        1 - f(a),
        f(a) - f(b),
        f(a) ** 2,
        3 * a * f(a) ** 3 - f(b) * f(a) + exp(t),
        (f(a) + f(b)) ** 2 * (1 - f(t)),
        -nu * f(a),
    ],
)
def test_the_bound_holds_and_is_reached(expr: Expr) -> None:
    """Over random true values within 1/8, the change never exceeds the remainder and comes close to it."""
    made, bound = Drop().rewrite(expr), Drop().remainder(expr)
    rng = random.Random(1)
    worst = 0.0
    for _ in range(40):
        values = {symbol: rng.uniform(-2, 2) for symbol in (a, b, t)} | {nu: rng.uniform(0, 3)}
        for signs in ((1, 1, 1), (1, -1, 1), (-1, 1, -1), (-1, -1, 1), (1, 1, -1), (-1, -1, -1)):
            truth = {f(s): values[s] + sign / 8 for s, sign in zip((a, b, t), signs, strict=True)}
            change = abs(float((expr.subs(truth) - made).subs(values)))
            allowed = float(bound.subs(values))
            assert change <= allowed * (1 + 1e-12)
            worst = max(worst, change / allowed)
    assert worst > 0.95


@pytest.mark.parametrize("expr", [exp(f(a)), 1 / f(a), sin(1 + f(a) ** 2)])
def test_other_functions_of_what_is_cut_are_refused(expr: Expr) -> None:
    with pytest.raises(RuleRefused, match="its error is not bounded"):
        Drop().rewrite(expr)


def test_a_chain_adds_its_remainders_and_prints_them_as_such() -> None:
    x = Symbol("x", real=True)
    chain = Derivation(1 - f(x) * f(a)).apply(Drop())
    assert [step.relation for step in chain.steps] == ["~"]
    assert str(chain).splitlines()[-1].lstrip().startswith("~ ")
    assert chain.remainder == chain.steps[0].remainder
    assert Derivation(x + 1).remainder == 0
