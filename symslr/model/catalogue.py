"""The tasks and attentions of the papers, by name."""

from __future__ import annotations

import re
from difflib import get_close_matches

from sympy import Expr, S, Sum, exp, oo, sqrt

from symslr.model.admissible import hold_admissible
from symslr.model.attention import NAMED, Attention
from symslr.model.exact import check_is, exact
from symslr.model.form import check_parameters
from symslr.model.largest import IsLargest
from symslr.model.request import TASK_NAMES, is_selection
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import Delta, L, chi, epsilon, l, nu
from symslr.model.task import Task
from symslr.model.text import FUNCTIONS


def SpikedSLR(nu: Expr = nu, length: object = L, noise: Expr = Delta) -> Task:
    """Spiked-SLR: g = exp(sqrt(nu) chi_epsilon - nu/2), so chi_epsilon ~ N(sqrt(nu), 1) and the others are N(0, 1).

    Raises:
        ValueError: when nu is negative or infinite.

    Source: arXiv 2509.21936, section 2.
    """
    return Task(nu=_strength(nu), length=length, noise=noise, name="spiked")


def MaxSLR(nu: Expr = nu, length: object = L, noise: Expr = Delta) -> Task:
    """Max-SLR: g = L exp(nu chi_epsilon) / sum_l exp(nu chi_l), so chi ~ N(0, I) and epsilon | chi ~ softmax(nu chi).

    At nu = oo epsilon is the token with the largest key projection.

    Raises:
        ValueError: when nu is negative.

    Source: arXiv 2509.21936, section 2.
    """
    if exact(nu, "nu") == oo:
        return Task(L * IsLargest.of(epsilon, L), length, noise, name="max")
    strength = _strength(nu)
    total = Sum(exp(strength * chi[l]), (l, 1, L))
    return Task(L * exp(strength * chi[epsilon]) / total, length, noise, name="max")


def _strength(value: object) -> Expr:
    strength = exact(value, "nu")
    check_parameters(strength, "nu")
    if strength.is_negative or strength.is_finite is False:
        raise ValueError(f"nu: found {strength}; expected a finite signal strength nu >= 0")
    return strength


_SPIKED = exp(sqrt(nu) * chi[epsilon] - nu / 2)
_MAX = L * exp(nu * chi[epsilon]) / Sum(exp(nu * chi[l]), (l, 1, L))
hold_admissible(weights=(S.One, _SPIKED, _MAX))

ATTENTIONS = {name: Attention(name) for name in NAMED}
softmax, softmax1, linear, erf, softplus = ATTENTIONS.values()

TASKS = dict(zip(TASK_NAMES, (SpikedSLR, MaxSLR), strict=True))


def is_catalogued(law: SequenceLaw) -> bool:
    """Whether a law is that of a task of the catalogue, or unweighted, at any length."""
    return law.weight == 1 or any(law == known.subs(L, law.length) for known in _LAWS)


_LAWS = (SpikedSLR().law, MaxSLR().law, MaxSLR(oo).law)


def attention_of(attention: object) -> Attention:
    """An attention, or the one of the catalogue with this name, a selection, a kernel in x, or an optimal attention.

    Raises:
        TypeError, ValueError: in one line, for anything else.
    """
    if isinstance(attention, str):
        if attention in ATTENTIONS:
            return ATTENTIONS[attention]
        if is_selection(attention) or re.search(r"\bx\b", attention):
            return Attention(attention)
        near = [f'"{name}"' for name in get_close_matches(attention, ATTENTIONS, 1)]
        near += [f'Attention("{attention}(x)")'] if attention in FUNCTIONS else []
        meant = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(ATTENTIONS)}, or an Attention"
        raise ValueError(f"attention: found {attention!r}; {meant}")
    if isinstance(attention, Expr):
        return Attention(attention, name=str(attention))
    attention = getattr(attention, "attention", attention)
    check_is(attention, Attention, "attention", "softmax")
    assert isinstance(attention, Attention)
    return attention


def kernel_attention_of(attention: object) -> Attention:
    """As ``attention_of``, where one kernel of single keys is needed.

    Raises:
        TypeError, ValueError: as ``attention_of``, and for a selection, heads, a bias or a filter.
    """
    found = attention_of(attention)
    if found.is_selection or not found.is_plain:
        raise ValueError(
            f"attention {found.title}: found {'a selection' if found.is_selection else 'heads, a bias or a filter'}; expected "
            "one kernel of single keys here, such as softmax; risks know the others"
        )
    return found
