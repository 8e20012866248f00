"""Carry expectations of elementary activations to closed form, as far as the rules reach."""

from __future__ import annotations

from sympy import Expr

from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules import (
    CameronMartin,
    Exchangeability,
    GaussianErf,
    GaussianMoments,
    Independence,
    Linearity,
    Selection,
    Unfold,
)

CHAIN: tuple[type[Rule], ...] = (
    Unfold,
    Linearity,
    Selection,
    CameronMartin,
    Exchangeability,
    Independence,
    GaussianErf,
    GaussianMoments,
    Linearity,
)
"""Tried in this order; a rule that refuses is passed over, since another may do."""


def closed_form(expr: Expr) -> Expr:
    """``expr`` after every rule of the chain that applies; what no rule reaches stays an expectation."""
    for rule in CHAIN:
        try:
            expr = rule().rewrite(expr)
        except RuleRefused:
            continue
    return expr
