"""More chains of a stranger: forged objects, borrowed names, words that hide, files that change symslr."""

import sys
import types
from pathlib import Path

import pytest
from sympy import Expr, Rational, S, Symbol, exp, expand, sqrt

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation, Step
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.algebra.rules import Algebra
from symslr.cache.results import Cache
from symslr.check import Verdict, check, collect
from symslr.check.check import check_derivation
from symslr.check.collect import CollectError
from symslr.check.replay import own_rules
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.quantity import Quantity
from symslr.model.catalogue import SpikedSLR
from symslr.model.open_function import OpenFunction
from symslr.model.scalar_law import STANDARD_NORMAL, student
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, nu, x
from tests.check.toys import Say

SQUARE = (nu + 1) ** 2
TYPED = nu**2 + 2 * nu + 1
spiked = SpikedSLR().law


def forged(chain: Derivation, *steps: Step) -> Derivation:
    copy = chain.named()
    object.__setattr__(copy, "steps", steps)
    return copy


def verdict(*chains: Derivation) -> Verdict:
    return check(chains, jobs=1).verdict


HONEST = Derivation(SQUARE, name="square").apply(Algebra("expand"))
FAKE = forged(HONEST, Step(SQUARE, TYPED, Say(lambda e: e + 1)))


def test_a_forged_chain_under_the_name_of_an_honest_one() -> None:
    cites = Derivation(3 * SQUARE, name="thrice").apply(Cite(FAKE))
    with pytest.raises(ValueError, match="one chain for each name"):
        check([HONEST, cites], jobs=1)


def test_a_forged_chain_without_a_name() -> None:
    one = Derivation(3 * SQUARE, name="one").apply(Cite(HONEST.named(name="")))
    other = Derivation(5 * SQUARE, name="other").apply(Cite(FAKE.named(name="")))
    assert verdict(one, other) is Verdict.FALSE


class OtherResult(Derivation):
    """Says that its last line is another."""

    def __getattribute__(self, name: str) -> object:
        return SQUARE + 7 if name == "result" else super().__getattribute__(name)


class Laxer(Step):
    """Says that it is a bound."""

    @property
    def relation(self) -> str:
        return "<="


class Moving(Quantity):
    """A name whose meaning is its author's."""

    source = "nowhere"

    def definition(self) -> Expr:
        return SQUARE


class Greater(Say):
    """A relation that nothing checks."""

    relation = ">="


class InTheHouse(Say):
    """Says that it is symslr's."""


t_real, t_positive = Symbol("t", real=True), Symbol("t", positive=True)
patched = Algebra("expand")
patched.__dict__["rewrite"] = lambda expr: TYPED
weighed = SequenceExpectation(chi[epsilon] ** 2, SequenceLaw(OpenFunction.of("g", epsilon), L))


def in_a_module_of_its_own() -> Derivation:
    module = types.ModuleType("symslr.made_up")
    InTheHouse.__module__ = "symslr.made_up"
    module.InTheHouse = InTheHouse  # type: ignore[attr-defined]
    sys.modules["symslr.made_up"] = module
    return Derivation(SQUARE, name="injected").apply(InTheHouse(lambda _: TYPED))


CASES = {
    "a chain of another class": lambda: OtherResult(SQUARE, name="other").claim(SQUARE + 7, "nowhere"),
    "a step of another class": lambda: forged(HONEST, Laxer(SQUARE, SQUARE + 5, Say(lambda e: e + 5))),
    "a quantity of the author's in the middle": lambda: (
        Derivation(SQUARE, name="q").apply(Say(lambda _: Moving())).apply(Say(lambda e: e.definition().expand()))
    ),
    "a relation of the author's": lambda: Derivation(SQUARE, name="ge").apply(Greater(lambda e: e + 1)),
    "two symbols of one name": lambda: Derivation(sqrt(t_real**2) + 1, name="t").claim(t_positive + 1, "nowhere"),
    "another L": lambda: Derivation(1 / L + nu, name="own-L").claim(1 / Symbol("L", positive=True) + nu, "nowhere"),
    "words that hide a hypothesis": lambda: Derivation(SQUARE, name="h").apply(
        Say(expand, hypotheses=(Hypothesis("$L$ an integer", nu > 1),))
    ),
    "a method replaced on the object": lambda: Derivation(SQUARE, name="patched").apply(patched),
    "a class put into symslr": in_a_module_of_its_own,
    "a claim that is the first line": lambda: Derivation(2 * SQUARE, name="c").claim(2 * SQUARE, "them", label="published"),
    "an open function pinned to 1": lambda: Derivation(
        weighed, name="pin", ranges={OpenFunction.of("g", epsilon): [S.One]}
    ).apply(Say(lambda e: e / e)),
    "a weight with mean 2": lambda: Derivation(
        SequenceExpectation(chi[epsilon] ** 2, SequenceLaw(S(2), L)), name="two"
    ).apply(Say(lambda _: S(2))),
    "a variance that does not exist": lambda: Derivation(
        nu * ScalarExpectation(x**2, x, student(2)), name="heavy"
    ).apply(Say(lambda e: 7 * next(iter(e.free_symbols)))),
    "a Gaussian mean that overflows": lambda: Derivation(
        nu * ScalarExpectation(exp(x**2 / 2), x, STANDARD_NORMAL), name="inf"
    ).apply(Say(lambda e: 7 * next(iter(e.free_symbols)))),
    "a typed number": lambda: Derivation(
        ScalarExpectation(exp(x / 3), x, STANDARD_NORMAL), name="typed"
    ).apply(Say(lambda e: e + Rational(1, 10**18))),
    "chi of the third token": lambda: Derivation(
        SequenceExpectation(chi[3] * chi[epsilon], spiked), name="third"
    ).apply(Say(lambda e: 2 * e)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_is_not_true(name: str) -> None:
    assert verdict(CASES[name]()) in (Verdict.FALSE, Verdict.UNKNOWN)


def test_an_injected_class_and_a_patched_object_are_the_authors() -> None:
    assert own_rules(in_a_module_of_its_own()) == ("say",)
    assert own_rules(Derivation(SQUARE).apply(patched)) == ("algebra",)


class Patches(Rule):
    """Changes another rule while it runs."""

    name = "patches"
    statement = "A = B"

    def rewrite(self, expr: Expr) -> Expr:
        Algebra.rewrite = lambda self, line: line + 1  # type: ignore[method-assign]
        return expr.expand()


def test_a_rule_that_changes_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Algebra, "rewrite", Algebra.rewrite)
    before = Algebra.rewrite
    chain = Derivation(SQUARE, name="patches").apply(Patches())
    Algebra.rewrite = before  # type: ignore[method-assign]
    found = check_derivation(chain)
    assert found.verdict is Verdict.FALSE
    assert "symslr.algebra.rules.rewriting.simplify.Algebra.rewrite" in found.start.reason  # type: ignore[union-attr]


FILE = """
from symslr.algebra.rules import Algebra
from symslr.algebra.derivation import Derivation
from symslr.model.symbols import nu
{change}
short = Derivation((nu + 1) ** 2).apply(Algebra("expand"))
"""


@pytest.mark.parametrize(
    "change",
    [
        "Algebra.rewrite = lambda self, expr: expr + 1",
        "import symslr.check.compare as c; c._judge = lambda *a: None",
        "Algebra.rewrite.__code__ = (lambda self, expr: expr + 1).__code__",
        "Algebra.another = lambda self, expr: expr + 1",
    ],
)
def test_a_file_that_changes_symslr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    from symslr.check import compare

    monkeypatch.setattr(Algebra, "rewrite", Algebra.rewrite)
    monkeypatch.setattr(Algebra.rewrite, "__code__", Algebra.rewrite.__code__)
    monkeypatch.setattr(compare, "_judge", compare._judge)
    monkeypatch.setattr(Algebra, "another", 0, raising=False)
    monkeypatch.delattr(Algebra, "another")
    (tmp_path / "short.py").write_text(FILE.format(change=change))
    with pytest.raises(CollectError, match="leaves symslr as it is"):
        collect(tmp_path)


class Expands(Say):
    """With the name and the words of a rule of symslr's."""

    name, statement = Algebra.name, Algebra.statement


def test_a_verdict_is_not_found_again_for_a_chain_with_typed_lines(tmp_path: Path) -> None:
    kept = Cache(tmp_path / "kept")
    assert check([HONEST], jobs=1, kept=kept).verdict is Verdict.TRUE
    typed = Derivation(SQUARE, name="square").apply(Expands(lambda _: TYPED))
    assert check([typed], jobs=1, kept=kept).verdict is Verdict.FALSE
