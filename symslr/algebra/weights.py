"""Checks that the weight of a law is a density where a derivation needs it; an open weight is assumed to be one."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from sympy import Expr, S, latex

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.positivity import is_open
from symslr.algebra.rule import Rule
from symslr.expression.configuration import ConfigurationExpectation, is_density
from symslr.expression.expectation import SequenceExpectation
from symslr.model.admissible import check_mean_one
from symslr.model.configuration import ConfigurationLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L


def laws_in(expr: Expr) -> set[SequenceLaw | ConfigurationLaw]:
    """The laws of the means over sequences and over configurations in ``expr``."""
    return {node.law for node in expr.atoms(SequenceExpectation, ConfigurationExpectation)}


def mean_one(laws: Iterable[SequenceLaw | ConfigurationLaw], rule: Rule) -> tuple[Hypothesis, ...]:
    """E_0[g] = 1 for the weights of some laws: nothing where a check finds it, a hypothesis where g is left open.

    Raises:
        RuleRefused: in the name of ``rule``, for a weight with another mean.
    """
    weighted = sorted((law for law in laws if law.weight != S.One), key=str)
    found = (_of_sequences(law, rule) if isinstance(law, SequenceLaw) else _of_keys(law, rule) for law in weighted)
    return tuple(hypothesis for hypothesis in found if hypothesis is not None)


def _of_sequences(law: SequenceLaw, rule: Rule) -> Hypothesis | None:
    if law.is_selection:
        return None
    if is_open(law.weight):
        return Hypothesis.of_weight(law)
    if law.length != L and law.relevant_factor is None:
        return Hypothesis(rf"$\mathbb{{E}}_0[{latex(law.weight)}]=1$")
    if reason := _no_density(law):
        raise rule.refuse(reason)
    return None


def _of_keys(law: ConfigurationLaw, rule: Rule) -> Hypothesis | None:
    if is_density(law):
        return None
    if not is_open(law.weight):
        raise rule.refuse(f"the weight {law.weight} is not known to be a density of the keys given the configuration")
    return Hypothesis.of_weight(law)


@cache
def _no_density(law: SequenceLaw) -> str:
    try:
        check_mean_one(law)
    except ValueError as reason:
        return str(reason)
    return ""
