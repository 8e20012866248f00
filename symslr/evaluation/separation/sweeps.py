"""Sensitivity: the exact law along one parameter, along the degree of a kernel, and how the gap scales with n and d."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from sympy import Expr

from symslr.evaluation.separation.hoeffding import hoeffding_bound
from symslr.evaluation.separation.law import NeuronLaw
from symslr.evaluation.separation.outputs import data_set_outputs
from symslr.evaluation.separation.report import reason
from symslr.model.exact import exact
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Separation, taylor_kernel
from symslr.theory.separation.definition import Row

LAYOUT = ("n", "d", "t")
SWEPT = (*LAYOUT, "a0", "a1", "b", "c", "m", "margin", "beta")


@dataclass(frozen=True)
class SweepRow:
    """The exact law at one value: probabilities rounded to double precision.

    Attributes:
        value: of the parameter or the degree.
        fixed_row, all_rows: P(separation).
        bad, useful: of one neuron.
        hoeffding: lower bound on ``fixed_row``.
        reason: why it works or fails.
    """

    value: Expr
    parameters: Separation
    fixed_row: float
    all_rows: float
    bad: float
    useful: float
    hoeffding: float
    reason: str


def sweep(base: Separation, name: str, values: Iterable[object], kernel: Expr = SOFTMAX_KERNEL) -> list[SweepRow]:
    """The exact law along one parameter, all others as in ``base``.

    n and d are moved at fixed t (the other follows), t at fixed n (d follows).

    Raises:
        ValueError: for a name that is not a parameter, or a value that the construction refuses.
    """
    if name not in SWEPT:
        raise ValueError(f"parameter: found {name!r}; expected one of {', '.join(SWEPT)}")

    def row(value: object) -> SweepRow:
        parameters = moved(base, name, value)
        law = NeuronLaw(parameters, kernel)
        return SweepRow(
            value=exact(value, "value"),
            parameters=parameters,
            fixed_row=float(law.fixed_row),
            all_rows=float(law.all_rows),
            bad=float(law.single(law.bad)),
            useful=float(law.single(law.useful)),
            hoeffding=hoeffding_bound(parameters, kernel).success,
            reason=reason(law),
        )

    return [row(value) for value in values]


def moved(base: Separation, name: str, value: object) -> Separation:
    """``base`` with one parameter changed, the layout kept consistent.

    Raises:
        ValueError: when n = (d-2) t has no solution, or the construction refuses the value.
    """
    if name not in LAYOUT:
        return replace(base, **{name: exact(value, name)})
    number = exact(value, name)
    layout = {"n": {"d": number / base.t + 2}, "d": {"n": (number - 2) * base.t}, "t": {"d": base.n / number + 2}}[name]
    return replace(base, **{name: number}, **layout)


@dataclass(frozen=True)
class Gap:
    """How far D1 lies above D0 on the marked row when every useful sign is +1, in units of sqrt(log n).

    ``softmax`` and ``linear`` are (a1 p + b m) on D1 minus (a0 p + b m) on D0.
    """

    parameters: Separation
    softmax: float
    linear: float


def gap(parameters: Separation, kernel: Expr = SOFTMAX_KERNEL, rival: Expr = LINEAR_KERNEL) -> Gap:
    """The two gaps of one construction."""

    def reach(of: Expr, which: int) -> float:
        output = data_set_outputs(parameters, of, which).row(Row.MARKED)
        return float((output.mark + output.own).mid())

    return Gap(parameters, *(reach(of, 1) - reach(of, 0) for of in (kernel, rival)))


def by_degree(parameters: Separation, family: Callable[[int], Expr], scan: Iterable[int]) -> dict[int, float]:
    """Degree -> P(separation) of one marked row, for ``power_kernel``, ``taylor_kernel`` or another family."""
    return {degree: float(NeuronLaw(parameters, family(degree)).fixed_row) for degree in scan}


def working_window(probabilities: Mapping[int, float], least: float = 0.5) -> tuple[int, int] | None:
    """First and last degree with P(separation) >= least, or None."""
    working = [degree for degree, probability in probabilities.items() if probability >= least]
    return (working[0], working[-1]) if working else None


def smallest_taylor_degree(
    parameters: Separation, fraction_of_softmax: Fraction = Fraction(1, 2), most: int = 200
) -> int:
    """The least degree of a Taylor polynomial of exp that separates with the given part of softmax's probability.

    Raises:
        ValueError: when no degree up to ``most`` does.
    """
    goal = float(fraction_of_softmax) * float(NeuronLaw(parameters).fixed_row)
    for degree in range(1, most + 1):
        if float(NeuronLaw(parameters, taylor_kernel(degree)).fixed_row) >= goal:
            return degree
    raise ValueError(f"degree: found none up to {most}; expected parameters for which softmax separates")
