"""mpmath: the same plan at a working precision that is raised until the error estimate meets the digits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sympy import Symbol

from symslr.evaluate.errors import CannotEvaluate
from symslr.evaluate.node import Node
from symslr.evaluate.value import Value


def evaluate_multiprecision(node: Node, scalars: Mapping[Symbol, Any], digits: int) -> Value:
    raise CannotEvaluate("mpmath backend: not there yet")


def minimum_multiprecision(node: Node, scalars: Mapping[Symbol, Any], digits: int, bounds: Any) -> Any:
    raise CannotEvaluate("mpmath backend: not there yet")
