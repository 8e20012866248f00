"""Formulas for the browser."""

from __future__ import annotations

import importlib
import pkgutil
import re
import string
import unicodedata
from xml.etree import ElementTree as ET

import pytest

import symslr.algebra.rules
from symslr.algebra.rule import Rule
from symslr.export.mathml import CannotTypeset, mathml
from symslr.export.text import name_to_tex, pieces

for module in pkgutil.walk_packages(symslr.algebra.rules.__path__, "symslr.algebra.rules."):
    importlib.import_module(module.name)


def _rules(kind: type[Rule] = Rule) -> list[type[Rule]]:
    found = [rule for child in kind.__subclasses__() for rule in (child, *_rules(child))]
    return [rule for rule in found if rule.__module__.startswith("symslr.") and hasattr(rule, "statement")]


@pytest.mark.parametrize("rule", _rules(), ids=lambda rule: rule.__name__)
def test_every_rule_can_be_shown(rule: type[Rule]) -> None:
    ET.fromstring(mathml(rule.statement, block=True))
    for is_math, part in pieces(rule.conditions):
        if is_math:
            ET.fromstring(mathml(part))


def test_repairs() -> None:
    assert "<mo>∼</mo>" in mathml(r"x\sim y")
    assert "<mtext>d</mtext>" in mathml(r"\mathrm{d}u")
    assert "<mtext>Bayes</mtext>" in mathml(r"E_{\mathrm{Bayes}}")
    assert "<munderover>" in mathml(r"\sum_{m=1}^{L} x", block=True)
    assert "<munderover>" not in mathml(r"\sum_{m=1}^{L} x")
    assert 'mathvariant="normal">Δ' in mathml(r"\Delta")


@pytest.mark.parametrize("font", ["mathsf", "mathcal", "mathbb", "mathbf", "mathfrak", "mathit", "mathtt"])
def test_a_letter_of_any_font_is_that_letter(font: str) -> None:
    """E without serifs was a sign for bags, which looks like it and is not in every font."""
    for letter in string.ascii_letters:
        (shown,) = "".join(ET.fromstring(mathml(rf"\{font}{{{letter}}}")).itertext()).split()
        size = "CAPITAL" if letter.isupper() else "SMALL"
        assert unicodedata.name(shown).endswith(f" {letter.upper()}")
        assert size in unicodedata.name(shown) or shown in "ℊℯℴ"


def test_a_name_that_is_no_latex_can_be_shown() -> None:
    shown = ET.fromstring(mathml(name_to_tex("a_%$#&\\x~^ {")))
    assert "".join(shown.itertext()).replace("\N{REVERSE SOLIDUS OPERATOR}", "\\").startswith("a_%$#&\\x")


def test_a_place_to_break_says_nothing_to_a_browser() -> None:
    assert mathml(r"a \big/\allowbreak b") == mathml(r"a \big/ b")


@pytest.mark.parametrize(
    ("tex", "shown"), [(r"\Bigl\{x\Bigr\}", "{x}"), (r"\big\|x\big\|", "‖x‖"), (r"\bigl[x\bigr]", "[x]")]
)
def test_a_fence_that_is_enlarged_by_hand_has_no_backslash(tex: str, shown: str) -> None:
    assert "".join(ET.fromstring(mathml(tex)).itertext()) == shown


def test_a_backslash_is_never_shown() -> None:
    with pytest.raises(CannotTypeset, match=r"\\\*"):
        mathml(r"\big\* x")


@pytest.mark.parametrize(
    ("tex", "forms"), [("x=-1", ["prefix"]), ("f(x)-1", [None]), (r"c\to-\infty", ["prefix"]), ("n!-1", [None])]
)
def test_a_sign_stands_close_to_what_it_belongs_to(tex: str, forms: list[str | None]) -> None:
    """A browser tells the sign of a number from a difference by its place in the row, as the first or a later one."""
    row = ET.fromstring(mathml(tex))
    assert [node.get("form") for node in row.iter() if node.text == "−"] == forms


@pytest.mark.parametrize("tex", [r"\sqrt{\nu}", r"\sqrt\nu", r"\sqrt{a+b}"])
def test_a_root_has_the_height_of_a_line(tex: str) -> None:
    """A browser puts the sign as high as what stands under it; over a low letter it would hang below the line."""
    (strut,) = ET.fromstring(mathml(tex)).iterfind(".//{*}msqrt/{*}mspace")
    assert (strut.get("width"), strut.get("height"), strut.get("depth")) == ("0em", "0.7em", "0.2em")


@pytest.mark.parametrize("rule", _rules(), ids=lambda rule: rule.__name__)
def test_a_letter_holds_no_element(rule: type[Rule]) -> None:
    """A browser reads what stands inside of a letter as HTML, where an element that is empty does not end."""
    for node in ET.fromstring(mathml(rule.statement)).iter():
        assert not len(node) or node.tag.rpartition("}")[2] not in ("mi", "mo", "mn", "mtext")


def test_infinity_is_no_operator() -> None:
    """It would have a space on either side."""
    assert "<mi>∞</mi>" in mathml(r"a\to\infty, b")


def test_an_equality_that_defines_is_one_sign() -> None:
    assert "".join(ET.fromstring(mathml(r"a:=b")).itertext()) == "a≔b"


def test_unknown_command_is_named() -> None:
    with pytest.raises(CannotTypeset, match=r"\\nosuchcommand"):
        mathml(r"a \nosuchcommand b")


def test_plus_minus_is_an_operator_and_a_control_space_a_space() -> None:
    markup = mathml(r"1 \pm 2\ \text{(estimated)}")
    assert "<mo>±</mo>" in markup
    assert '<mspace width="0.25em" />' in markup


@pytest.mark.parametrize(
    ("tex", "grows"),
    [
        (r"K{\left(l,m\right)}", ["false", "false"]),
        (r"\left[\frac{a}{b}\right]", ["true", "true"]),
        (r"\left[\left(x\right)+\frac{a}{b}\right]", ["true", "false", "false", "true"]),
    ],
)
def test_a_bracket_grows_only_about_what_is_tall(tex: str, grows: list[str]) -> None:
    assert re.findall(r'<mo[^>]*stretchy="(true|false)"', mathml(tex)) == grows


def test_words_within_a_formula_keep_their_spaces() -> None:
    shown = mathml(r"A = B \text{ as derived}")
    assert re.search(r"<mi>B</mi><mspace[^>]*/><mtext>as.derived</mtext>", shown)
    assert mathml(r"\text{if }x").count("<mspace") == 1
