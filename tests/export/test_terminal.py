"""What a terminal shows of chains and formulas: weights told apart, functions as one types them, letters that are explained."""

from __future__ import annotations

from sympy import Abs, Max, S, exp

from symslr import Attention, Derivation, SpikedSLR, rules
from symslr.export.terminal import chain_to_terminal, formula_to_terminal, letters
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, a, chi, epsilon, nu, x

ONE = SpikedSLR().law
OTHER = SequenceLaw(exp(chi[epsilon] - S.Half), L)


def test_a_chain_under_one_weight_reads_as_its_text_and_says_what_is_assumed() -> None:
    chain = Derivation(SequenceExpectation(chi[epsilon] ** 2, ONE), name="one").apply(rules.ChangeOfMeasure())
    chain = chain.named(introduction=r"Of \emph{one} $\chi_\epsilon$.", ranges={nu: (1, 2)})
    title, introduction, *lines, assumed, compared = chain_to_terminal(chain).splitlines()
    assert [title, *lines] == str(chain).splitlines()
    assert (introduction, assumed) == ("  Of one chi_epsilon.", "  for L a positive integer, nu > 0")
    assert compared == "  compared for 1 < nu < 2"


def test_two_weights_have_two_letters_which_the_last_lines_explain() -> None:
    start = SequenceExpectation(chi[epsilon], ONE) * SequenceExpectation(chi[epsilon] ** 2, OTHER)
    first, *_, last, other = chain_to_terminal(Derivation(start)).splitlines()
    assert "E_g[" in first
    assert "E_g'[" in first
    assert {last.partition(" = ")[0], other.partition(" = ")[0]} == {"  with g", "  with g'"}
    assert {last.partition(" = ")[2], other.partition(" = ")[2]} == {str(ONE.weight), str(OTHER.weight)}


def test_functions_are_printed_as_they_are_typed() -> None:
    assert formula_to_terminal(Max(x, 0) + Abs(x) / 2) in ("abs(x)/2 + max(x, 0)", "max(x, 0) + abs(x)/2")


def test_letters_of_a_formula() -> None:
    ramp = Activation.of(epsilon, Attention(Max(x, 0), normaliser=None), a)
    found = letters(SequenceExpectation(ramp, ONE))
    assert {letter: formula_to_terminal(meant) for letter, meant in found.items()} == {
        "sigma[l]": "max(a*chi[l], 0)",
        "g": str(ONE.weight),
    }
