"""Named problems with known values: that the answer is right, and, apart from it, that its error is true."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import mpmath
import pytest

from symslr.evaluation import evaluate


def _sibling(name: str) -> ModuleType:
    """A module beside this one (tests are no package)."""
    spec = importlib.util.spec_from_file_location(f"evaluation_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PROBLEMS = _sibling("problems").PROBLEMS
# Nested quadrature at thirty digits takes minutes; shares at the other lengths show nothing that L = 2 does not.
SLOW = {"triangle"}
PRECISE = [p for p in PROBLEMS if p.name not in SLOW and not (p.name.startswith("share") and p.values["L"] != 2)]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_float64_is_right_and_its_error_true(problem) -> None:
    value = evaluate(problem.expr, problem.values, backend="numpy")
    exact = problem.exact.evalf(40)
    true = abs(value.value - mpmath.mpf(exact._mpf_) if exact.is_Float else value.value - int(exact))
    assert true <= value.error
    # Worst claim over this table: 6e-12, for log x; a claim is never below 2e-15.
    assert value.error <= 1e-11 * max(abs(float(exact)), 1e-300) or exact == 0


@pytest.mark.parametrize("problem", PRECISE, ids=lambda p: p.name)
def test_thirty_digits(problem) -> None:
    value = evaluate(problem.expr, problem.values, digits=problem.digits, backend="mpmath")
    with mpmath.workdps(60):
        exact = problem.exact.evalf(50)
        exact = mpmath.mpf(exact._mpf_) if exact.is_Float else mpmath.mpf(int(exact))
        slack = mpmath.mpf(10) ** -problem.digits * abs(exact)
        assert abs(value.value - exact) <= value.error + (slack if problem.digits < 30 else 0)
        assert value.error <= mpmath.mpf(10) ** -problem.digits * abs(value.value)
