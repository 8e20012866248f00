"""Is the weight of a law a density? Checked where a derivation rests on it; an open weight is assumed to be one."""

from __future__ import annotations

from functools import cache

from sympy import Expr, S, latex

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.positivity import is_open
from symslr.algebra.rule import Rule
from symslr.expression.configuration import ConfigurationExpectation, is_density
from symslr.expression.expectation import SequenceExpectation
from symslr.model.admissible import check_mean_one
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L


def mean_one(expr: Expr, rule: Rule) -> tuple[Hypothesis, ...]:
    """E_0[g] = 1 for the laws in ``expr``: nothing where a check finds it, a hypothesis where g is left open.

    Raises:
        RuleRefused: in the name of ``rule``, for a weight with another mean.
    """
    found = []
    for law in sorted({node.law for node in expr.atoms(SequenceExpectation)}, key=str):
        if law.weight == S.One or law.is_selection:
            continue
        if is_open(law.weight):
            found.append(Hypothesis.of_weight(law))
        elif law.length != L and law.relevant_factor is None:
            found.append(Hypothesis(rf"$\mathbb{{E}}_0[{latex(law.weight)}]=1$"))
        elif reason := _no_density(law):
            raise rule.refuse(reason)
    for law in sorted({node.law for node in expr.atoms(ConfigurationExpectation)}, key=str):
        if law.weight == S.One or is_density(law):
            continue
        if not is_open(law.weight):
            raise rule.refuse(
                f"the weight {law.weight} is not known to be a density of the keys given the configuration"
            )
        found.append(Hypothesis.of_weight(law))
    return tuple(found)


@cache
def _no_density(law: SequenceLaw) -> str:
    try:
        check_mean_one(law)
    except ValueError as reason:
        return str(reason)
    return ""
