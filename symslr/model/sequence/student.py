"""The student of a sequence model: its fields, its predictor, and the loss that compares it with the label."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr, Symbol, exp, log

from symslr.model.sequence.fields import Fields

LOSSES = ("square", "logistic")
"""sum_o (y_o - f_o)^2 / 2, and log(1 + e^{-y f}) of one output."""


@dataclass(frozen=True)
class Student:
    """A student with r directions W: fields s = X W/sqrt(D).

    Attributes:
        names: of the directions.
        fields: symbols, shape (L, r).
        predictor: f_o in the fields, one for each output; none where the loss is written in the fields.
        outputs: the symbols y_o of the label, one for each output.
        loss: l(y, s) in ``outputs`` and ``fields``, and in the teachers' fields where it compares them.
    """

    names: tuple[str, ...]
    fields: Fields
    predictor: tuple[Expr, ...]
    outputs: tuple[Symbol, ...]
    loss: Expr


def named_loss(name: str, predictor: tuple[Expr, ...], outputs: tuple[Symbol, ...]) -> Expr:
    """The loss of that name.

    Raises:
        ValueError: in one line, for another name, or a logistic loss of several outputs.
    """
    if name == "square":
        return sum((y - f) ** 2 for y, f in zip(outputs, predictor)) / 2
    if len(outputs) > 1:
        raise ValueError(f"[student] loss: found logistic with {len(outputs)} outputs; expected one")
    return log(1 + exp(-outputs[0] * predictor[0]))
