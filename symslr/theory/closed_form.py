"""Carry expectations of elementary activations to closed form, as far as the rules reach."""

from __future__ import annotations

from contextlib import suppress

from sympy import Expr

from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules import (
    CameronMartin,
    CompleteSquare,
    Exchangeability,
    GaussianErf,
    GaussianMoments,
    Independence,
    Linearity,
    Selection,
    Unfold,
)
from symslr.expression.folded import FOLDED

CHAIN: tuple[Rule, ...] = (
    Unfold(*FOLDED),
    Linearity(),
    Selection(),
    CameronMartin(),
    Exchangeability(),
    Independence(),
    GaussianErf(),
    GaussianMoments(),
    CompleteSquare(),
    Linearity(),
)
"""Tried in this order; a rule that refuses or finds nothing to do is passed over, since another may do."""


def in_closed_form(chain: Derivation) -> Derivation:
    """The chain with every rule applied that applies; what no rule reaches stays an expectation."""
    for rule in CHAIN:
        with suppress(RuleRefused):
            chain = chain.apply(rule)
    return chain


def closed_form(expr: Expr) -> Expr:
    """``expr`` as far as ``in_closed_form`` carries it."""
    return in_closed_form(Derivation(expr)).result
