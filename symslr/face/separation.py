"""What is asked of the construction of arXiv 2310.11685, which softmax separates and linear attention does not."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from symslr.evaluation.separation.report import separation_report
from symslr.expression.value import Value
from symslr.face.numbers import Wanted
from symslr.face.quantity import Quantity
from symslr.model.separation import Separation, kernel_of

USUAL_DIGITS = 15


def separation(kernel: str = "softmax", rival: str = "linear", **given: object) -> Quantity:
    """P(the network of a kernel tells D1 from D0 and that of its rival does not), exactly, for the construction of Deng et al.

    Its parameters are those of ``symslr.model.separation.Separation``: n, d, t, a0, a1, b, c, m, margin, beta.

    Args:
        kernel, rival: "softmax", "linear" or a formula in x.
    """

    kernels = kernel_of(kernel, "kernel"), kernel_of(rival, "rival")

    def answer(values: dict[Any, Any], wanted: Wanted) -> Value:
        names = {own.name: own.default is MISSING for own in fields(Separation)}
        unknown, missing = sorted(values.keys() - names), [own for own in names if names[own] and own not in values]
        if unknown or missing:
            found = f"found {unknown[0]}" if unknown else f"no value for {missing[0]}"
            raise ValueError(f"separation: {found}; expected {', '.join(names)}")
        return separation_report(Separation(**values), *kernels, wanted.digits or USUAL_DIGITS).fixed_row

    title, names = (
        f"P({kernel} separates, {rival} does not), one marked row",
        frozenset(own.name for own in fields(Separation)),
    )
    return Quantity(title, None, answer, names, given, source="deng2023")
