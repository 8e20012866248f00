"""Checks in several processes, of which one dies."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from sympy import S

from symslr.algebra.derivation import Derivation
from symslr.check import check
from symslr.check.report import DerivationCheck, StepCheck, Verdict


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
