"""Checks in several processes: one dies, one is stopped, and no clock, order or memory changes what is compared."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest
from sympy import S, Sum, exp

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Exchangeability, Unfold
from symslr.cache.results import Cache
from symslr.check import CheckReport, check
from symslr.check.report import DerivationCheck, StepCheck, Verdict
from symslr.cli import main
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.model.catalogue import SpikedSLR, softmax
from symslr.model.symbols import L, a, chi, epsilon, l


def test_a_process_that_dies_takes_no_other_check_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Regression: where memory ran out in one of two processes, 133 of 209 derivations were not decided."""

    def checked(item: Derivation) -> DerivationCheck:
        hungry = tmp_path / "first"
        if item.name == "deadly" or (item.name == "hungry" and not hungry.exists()):
            hungry.touch()
            os._exit(9)
        return DerivationCheck(item.name, None, (StepCheck("step", Verdict.TRUE),), ())

    monkeypatch.setattr(sys.modules["symslr.check.check"], "check_derivation", checked)
    names = ["one", "hungry", "two", "deadly", "three", "four"]
    report = check([Derivation(S.One, name=name) for name in names], jobs=2)
    lost = [item.name for item in report.derivations if item.verdict is not Verdict.TRUE]
    assert [item.name for item in report.derivations] == names
    assert lost == ["deadly"]


SIGMA, LAW = Activation.of(epsilon, softmax, a), SpikedSLR().law
CHAINS = [
    Derivation(SequenceExpectation(body, LAW), name=name).apply(Unfold()).apply(Exchangeability())
    for name, body in {
        "norm": Sum(SIGMA.at(l) ** 2, (l, 1, L)),
        "shifted": Sum(SIGMA.at(l) * exp(chi[l] / 3), (l, 1, L)),
    }.items()
]
"""One by exponentials at every length, one by the law of a sum and by samples."""


def told(report: CheckReport) -> dict[str, str]:
    """All that a report says of each chain but how long it took, digit by digit."""
    return {item.name: json.dumps({**item.as_json(), "seconds": 0}) for item in report.derivations}


def test_no_clock_order_or_number_of_processes_changes_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    found = check(CHAINS, jobs=2)
    assert found.verdict is Verdict.TRUE
    clock = time.process_time
    monkeypatch.setattr(time, "process_time", lambda: 100 * clock())
    slowed = check(CHAINS, jobs=2)
    assert slowed.derivations[0].seconds > 20 * found.derivations[0].seconds
    turned = check(CHAINS[::-1], jobs=1)
    assert told(turned) == told(slowed) == told(found)


def test_what_is_stopped_has_no_verdict_and_is_not_kept(tmp_path: Path) -> None:
    with Cache(tmp_path / "kept") as kept:
        report = check(CHAINS[:1], seconds=0.05, kept=kept)
        (item,) = report.derivations
        assert item.stopped == "after 0.05 s of processor time"
        assert item.as_json()["verdict"] is report.as_json()["verdict"] is None
        assert report.as_text().startswith("stopped  norm: after 0.05 s of processor time; no verdict")
        assert check(CHAINS[:1], kept=kept).verdict is Verdict.TRUE


@pytest.mark.parametrize("more", [[], ["--allow-unknown"]])
def test_what_is_stopped_is_no_success(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", "nishimori", "--seconds", "0.01", *more])
    assert ended.value.code == 3
    assert "stopped  nishimori" in capsys.readouterr().out
