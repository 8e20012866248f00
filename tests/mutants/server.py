"""Reads mutants from standard input and tries them one after another, each in a fork of this process."""

from __future__ import annotations

import json
import sys

# What every child needs, imported once; symslr itself is not, since a child imports it with the mutant in it.
import hypothesis
import mpmath
import numpy
import pytest
import scipy.integrate
import sympy

from tests.mutants.operators import Mutant
from tests.mutants.selection import ROOT, Selection
from tests.mutants.trial import under_check, under_tests

LIBRARIES = (hypothesis, mpmath, numpy, pytest, scipy.integrate, sympy)


def main() -> None:
    items = [Mutant(**item) for item in json.load(sys.stdin)]
    kept = ROOT / "build" / "mutants" / "selection.json"
    selection = Selection.read(kept) if kept.exists() else Selection({}, {})
    outcomes = []
    for done, item in enumerate(items, 1):
        if item.file.startswith("derivations/"):
            outcome = under_check(item)
        else:
            outcome = under_tests(item, selection.tests(item.file, item.line, float(sys.argv[1])))
        outcomes.append(str(outcome))
        print(f"{done}/{len(items)} {outcome}: {item.file}:{item.line}: {item.change}: {item.text}", file=sys.stderr)
    json.dump(outcomes, sys.stdout)


if __name__ == "__main__":
    main()
