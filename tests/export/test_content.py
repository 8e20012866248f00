"""What a section says of the letters in it."""

from __future__ import annotations

import pytest
from sympy import Expr, Function, Rational, exp

from symslr.algebra.derivation import Derivation
from symslr.cache.results import Cache
from symslr.check.collect import collect
from symslr.export import lines
from symslr.export.content import content
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.expression.open_functions import OpenKernel
from symslr.library.folders import builtin_folder
from symslr.model.catalogue import SpikedSLR, softmax
from symslr.model.open_function import OpenFunction
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import Delta, L, a, chi, epsilon, nu, x


def _here(chain: Derivation) -> str:
    return " ".join(content([chain]).sections[0].here)


def test_a_weight_that_is_left_open_is_not_said_to_be_itself() -> None:
    law = SequenceLaw(OpenFunction.of("g", epsilon), L)
    assert _here(Derivation(SequenceExpectation(chi[epsilon], law), name="open")) == ""
    known = Derivation(SequenceExpectation(chi[epsilon], SpikedSLR().law), name="known")
    assert "has the weight" in _here(known)


def test_every_weight_has_a_letter_of_its_own() -> None:
    """Regression: both were E_g, and its weight was said twice; a chain about a landscape compares two weights."""
    spiked, maximum, twice = (
        SequenceLaw(weight, L)
        for weight in (
            SpikedSLR().law.weight,
            exp(-(chi[epsilon] ** 2)),
            exp(chi[epsilon]) * exp(-chi[epsilon] - chi[epsilon] ** 2),
        )
    )
    parts = [SequenceExpectation(chi[epsilon] ** n, law) for n, law in enumerate((spiked, maximum, twice), 1)]
    (section,) = content([Derivation(parts[0] + 2 * parts[1] + 3 * parts[2], name="two")]).sections
    said = " ".join(section.here)
    assert said.count("has the weight") == 2
    assert r"$\mathbb{E}_{g'}$ has the weight" in said
    assert r"g'(\epsilon,\chi) =" in said
    printed = "".join(line.tex for line in section.start)
    assert printed.count(r"\mathbb{E}_{g}") + printed.count(r"\mathbb{E}_{g'}") == 3
    assert 1 <= printed.count(r"\mathbb{E}_{g'}") <= 2


def test_a_statement_defines_its_own_letters_and_leaves_those_of_the_proof_to_the_proof() -> None:
    """A theorem on correlated keys listed five laws, three of which only its proof knew."""
    (chain,) = (
        item for item in collect(builtin_folder() / "14_location_laws.py") if item.name == "location-equicorrelated"
    )
    (section,) = content([chain]).sections
    assert [said.partition(":")[0] for said in section.here] == [
        rf"Under $\mathbb{{E}}_{{{name}}}$" for name in ("w", "w'")
    ]
    assert len(section.within) == 3
    assert not set(section.here) & set(section.within)


@pytest.mark.parametrize(
    "kernel", [Function("kappa", positive=True)(x), OpenKernel(x)], ids=["a function", "any kernel"]
)
def test_a_kernel_that_is_left_open_is_any_kernel(kernel: Expr) -> None:
    paid = Activation.of(epsilon, softmax, a).with_kernel(kernel)
    said = _here(Derivation(SequenceExpectation(paid, SpikedSLR().law), name="kernel"))
    assert r"with any kernel $\kappa$" in said
    assert r"\kappa(x) =" not in said


def test_formulas_that_are_kept_are_printed_once(toy: Derivation, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Cache()
    first = content([toy], kept=kept)
    assert first == content([toy])
    monkeypatch.setattr(lines, "_printed", lambda item, room: pytest.fail(f"prints {item.name} again"))
    assert content([toy], kept=kept) == first
    with pytest.raises(pytest.fail.Exception, match="again"):
        content([toy.named(symbol="q")], kept=kept)


def test_ranges_of_points_are_mathematics(toy: Derivation) -> None:
    chain = toy.named(ranges={nu: (Rational(1, 5), 2), Delta: [1, 2, 5]})
    assert content([chain]).sections[0].compared == (r"$\Delta \in \{1, 2, 5\}$", r"$1/5 < \nu < 2$")
