"""What is asked of the construction of arXiv 2310.11685, which softmax separates and linear attention does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields, replace
from typing import Any

from symslr.evaluation.separation.report import separation_report
from symslr.expression.value import Value
from symslr.face.numbers import Wanted
from symslr.face.quantity import Quantity
from symslr.model.separation import Marks, Separation, kernel_of

USUAL_DIGITS = 15


def separation(
    kernel: str = "softmax", rival: str = "linear", *, keys: Sequence[Any] | None = None, **given: object
) -> Quantity:
    """P(the network of a kernel tells D1 from D0 and that of its rival does not), exactly, for the construction of Deng et al.

    Its parameters are those of ``symslr.model.separation.Separation``: n, d, t, a0, a1, b, c, m, margin, beta. ``result`` of a
    value is the ``SeparationReport``: the probabilities of every marked row and of failure, bounds, the widths that suffice.

    Args:
        kernel, rival: "softmax", "linear" or a formula in x.
        keys: of cross-attention the marks (a, b, c) of keys and values; a0, a1, b and c are then the queries'.
    """
    kernels = kernel_of(kernel, "kernel"), kernel_of(rival, "rival")
    if keys is not None and len(keys) != 3:
        found = ",".join(map(str, keys))
        raise ValueError(f"keys: found {found!r}; expected three numbers a,b,c such as 0.9,0.4,0.5")
    marks = None if keys is None else Marks(*keys)
    names = {own.name: own.default is MISSING for own in fields(Separation) if own.name != "keys"}

    def answer(values: dict[Any, Any], wanted: Wanted) -> Value:
        unknown, missing = sorted(values.keys() - names), [own for own in names if names[own] and own not in values]
        if unknown or missing:
            found = f"found {unknown[0]}" if unknown else f"no value for {missing[0]}"
            raise ValueError(f"separation: {found}; expected {', '.join(names)}")
        report = separation_report(Separation(**values, keys=marks), *kernels, wanted.digits or USUAL_DIGITS)
        return replace(report.fixed_row, result=report)

    title = f"P({kernel} separates, {rival} does not), one marked row"
    return Quantity(title, None, answer, frozenset(names), given, ("deng2023",))
