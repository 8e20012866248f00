"""What a section says of the letters in it."""

from __future__ import annotations

from sympy import Function

from symslr.algebra.derivation import Derivation
from symslr.export.content import content
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.model.catalogue import SpikedSLR, softmax
from symslr.model.open_function import OpenFunction
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, a, chi, epsilon, x


def _here(chain: Derivation) -> str:
    return " ".join(content([chain]).sections[0].here)


def test_a_weight_that_is_left_open_is_not_said_to_be_itself() -> None:
    law = SequenceLaw(OpenFunction.of("g", epsilon), L)
    assert _here(Derivation(SequenceExpectation(chi[epsilon], law), name="open")) == ""
    known = Derivation(SequenceExpectation(chi[epsilon], SpikedSLR().law), name="known")
    assert "has the weight" in _here(known)


def test_a_kernel_that_is_left_open_is_any_kernel() -> None:
    paid = Activation.of(epsilon, softmax, a).with_kernel(Function("kappa", positive=True)(x))
    said = _here(Derivation(SequenceExpectation(paid, SpikedSLR().law), name="kernel"))
    assert r"with any kernel $\kappa$" in said
    assert r"\kappa(x) =" not in said
