"""The mean over one training sample of any law."""

from __future__ import annotations

from typing import final

from sympy import Basic, Expr

from symslr.expression.expectation import Expectation, SequenceExpectation
from symslr.model.exact import exact
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import BOUND_IN_SEQUENCE


@final
class SampleExpectation(Expectation):
    """E[body] over one sample, body in chi, z, zeta, eta, xi and epsilon; ``args = (body, law, length)``.

    ``law`` is a ``SequenceLaw``, or an integer symbol for a law left open: the referee puts in laws on finitely many
    sequences, numbered 1, 2, ..., and no law that it puts in is Gaussian or symmetric.
    """

    def __new__(cls, body: Expr, law: Basic, length: Expr) -> Expr:
        body = exact(body, "body")
        return body if body.is_number else super().__new__(cls, body, law, length)

    @property
    def law(self) -> Basic:
        return self.args[1]

    @property
    def length(self) -> Expr:
        return self.args[2]

    @property
    def bound(self) -> frozenset[Basic]:
        return BOUND_IN_SEQUENCE

    def doit(self, **hints: object) -> Expr:
        """An expectation over sequences where the law is given; unchanged where it is open."""
        return SequenceExpectation(self.body, self.law) if isinstance(self.law, SequenceLaw) else self

    @property
    def subscript(self) -> str:
        return ""
