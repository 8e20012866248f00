"""Sensitivity: one parameter changed, P(separation) as a function of the degree of a kernel, and the gap between D1 and D0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from sympy import Expr

from symslr.evaluation.separation.law import NeuronLaw
from symslr.evaluation.separation.outputs import data_set_outputs
from symslr.model.exact import exact
from symslr.model.separation import Separation, taylor_kernel
from symslr.theory.separation.definition import Row

LAYOUT = ("n", "d", "t")


def with_parameter(base: Separation, name: str, value: object) -> Separation:
    """``base`` with one parameter changed, and n = (d - 2) t kept.

    For n and d the other one follows at fixed t; for t, d follows at fixed n.

    Raises:
        ValueError: when n = (d-2) t has no solution, or the construction refuses the value.
    """
    if name not in LAYOUT:
        return replace(base, **{name: exact(value, name)})
    number = exact(value, name)
    layout = {"n": {"d": number / base.t + 2}, "d": {"n": (number - 2) * base.t}, "t": {"d": base.n / number + 2}}[name]
    return replace(base, **{name: number}, **layout)


def gap(parameters: Separation, kernel: Expr) -> float:
    """(a1 p + b m) on D1 minus (a0 p + b m) on D0: the gap of the marked row's outputs at signs +1, in units of sqrt(log n).

    p and m are the attention of the marked row on itself and on its class, for one kernel.
    """
    below, above = (data_set_outputs(parameters, kernel, which).row(Row.MARKED) for which in (0, 1))
    return float((above.mark + above.own).mid()) - float((below.mark + below.own).mid())


def by_degree(parameters: Separation, family: Callable[[int], Expr], scan: Iterable[int]) -> dict[int, float]:
    """{degree: P(separation)} for one marked row, for ``power_kernel``, ``taylor_kernel`` or another family of kernels."""
    return {degree: float(NeuronLaw(parameters, family(degree)).fixed_row) for degree in scan}


def working_window(probabilities: Mapping[int, float], least: float = 0.5) -> tuple[int, int] | None:
    """First and last degree with P(separation) >= least, or None."""
    working = [degree for degree, probability in probabilities.items() if probability >= least]
    return (working[0], working[-1]) if working else None


def smallest_taylor_degree(parameters: Separation, most: int = 200) -> int:
    """The least degree of a Taylor polynomial of exp that separates with half of softmax's probability.

    Raises:
        ValueError: when no degree up to ``most`` does.
    """
    goal = float(NeuronLaw(parameters).fixed_row) / 2
    for degree in range(1, most + 1):
        if float(NeuronLaw(parameters, taylor_kernel(degree)).fixed_row) >= goal:
            return degree
    raise ValueError(f"degree: found none up to {most}; expected parameters for which softmax separates")
