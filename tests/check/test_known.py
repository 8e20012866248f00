"""Verdicts that are read from a list: they belong to what was stated, and a tenth is checked all the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sympy import Function, Integer

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Algebra
from symslr.check import check
from symslr.check.known import SHARE, spared, statement, told
from symslr.check.report import CheckReport, Verdict
from symslr.library.index import Entry, Index
from symslr.model.catalogue import SpikedSLR
from symslr.model.symbols import nu
from symslr.theory.bayes import BayesRisk


def square(shift: int, name: str = "square") -> Derivation:
    return Derivation((nu + shift) ** 2, name=name).apply(Algebra("expand"))


def listed(folder: Path, chains: list[Derivation], verdict: Verdict = Verdict.TRUE) -> CheckReport:
    """A list of checked chains, all with one verdict."""
    found = check(chains, jobs=1)
    entries = (
        Entry(item.name, "", "a.py", "", str(verdict), "0.0.9", statement(item), told(one))
        for item, one in zip(chains, found.derivations)
    )
    Index(tuple(entries), {}).write(folder)
    return found


def test_a_verdict_comes_back_with_what_its_comparisons_came_to(tmp_path: Path) -> None:
    found = listed(tmp_path, [square(1)])
    back = spared([square(1)], tmp_path, 0)[0]
    first, again = found.derivations[0], back
    assert (again.verdict, again.version) == (Verdict.TRUE, "0.0.9")
    assert [part.tally for part in again.parts] == [part.tally for part in first.parts]
    assert again.covered == first.covered
    assert CheckReport((again,)).counts() == found.counts()
    assert again.steps[0].comparisons == ()
    assert (
        "0 of 1 derivations were checked now; 1 by symslr 0.0.9, with the lines they have."
        in CheckReport((again,)).as_text()
    )


def test_what_says_something_else_has_no_verdict(tmp_path: Path) -> None:
    listed(tmp_path, [square(1)])
    changed = [
        square(2),
        square(1, "other"),
        square(1).apply(Algebra("factor")),
        replace(square(1), ranges={nu: (1, 2)}),
    ]
    assert spared(changed, tmp_path, 0) == {}
    assert set(spared([*changed, square(1)], tmp_path, 0)) == {4}
    assert spared([square(1)], tmp_path.parent, 0) == {}


def test_what_was_not_true_is_checked_again(tmp_path: Path) -> None:
    listed(tmp_path, [square(1)], Verdict.UNKNOWN)
    assert spared([square(1)], tmp_path, 0) == {}


def test_a_definition_and_an_assumption_belong_to_the_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = Derivation(BayesRisk(SpikedSLR().law, Integer(0)), name="risk")
    before = statement(chain)
    defined = BayesRisk.definition
    monkeypatch.setattr(BayesRisk, "definition", lambda self: 2 * defined(self))
    assert statement(chain) != before
    plain, positive = (Derivation(Function("f", **given)(nu), name="f") for given in ({}, {"positive": True}))
    assert statement(plain) != statement(positive)


def test_a_tenth_is_drawn_by_the_seed(tmp_path: Path) -> None:
    chains = [square(shift, f"square-{shift}") for shift in range(1, 41)]
    listed(tmp_path, chains)
    drawn = [set(range(40)) - set(spared(chains, tmp_path, seed)) for seed in range(60)]
    assert {len(one) for one in drawn} == {40 // SHARE}
    assert set().union(*drawn) == set(range(40))
    assert spared(chains, tmp_path, 3) == spared(chains, tmp_path, 3)


def test_known_verdicts_are_taken_and_the_rest_is_checked(tmp_path: Path) -> None:
    listed(tmp_path, [square(1)])
    chains = [square(1), square(2, "other")]
    report = check(chains, jobs=1, known=spared(chains, tmp_path, 0))
    assert [item.version for item in report.derivations] == ["0.0.9", ""]
    assert report.verdict is Verdict.TRUE
