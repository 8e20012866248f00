"""Verdicts in the words of the report."""

from __future__ import annotations

from symslr.export.verdicts import counted


def test_several_differ_and_one_differs() -> None:
    assert counted({"derived": 11, "differs": 4, "open": 0}) == "11 derived, 4 differ"
    assert counted({"differs": 1}) == "1 differs"
