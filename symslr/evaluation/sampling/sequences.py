"""Sequences drawn from the law of a task, with the posterior of the position of the relevant token.

Where the weight depends on the relevant token alone, the first token is the relevant one and has a law of its own. Otherwise
all tokens are drawn from the base law, and where the weight selects no token each sequence has an importance weight. Tokens are
quantiles of uniform numbers, so that low-discrepancy points may be used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy
from sympy import Dummy, Expr, Sum

from symslr.evaluation.numbers.compiled import compile_float
from symslr.evaluation.numbers.logarithm import signed_log
from symslr.evaluation.sampling.quantiles import Quantile, quantiles
from symslr.model.scalar_law import ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import chi, epsilon, x

Posterior = Callable[[Any], tuple[Any, Any]]
"""A function from tokens (n, L) to (the probability that each is the relevant one (n, L), the importance weights (n,))."""


@dataclass(frozen=True)
class Draws:
    """A sampler of sequences from the law of a task.

    Attributes:
        relevant, others: quantile functions of the first token and of all others.
        posterior: of the position of the relevant token.
        has_importance: whether sequences have importance weights other than 1.
    """

    relevant: Quantile
    others: Quantile
    posterior: Posterior
    has_importance: bool

    @classmethod
    def of(cls, law: SequenceLaw) -> Draws:
        """The sampler of a law whose parameters have numbers.

        Raises:
            CannotEvaluate: where a table of quantiles does not hold all of a token's law.
        """
        factor, others = law.relevant_factor, quantiles(law.base)
        relevant = others if factor is None else quantiles(ScalarLaw(law.base.density * factor, *law.base.support))
        return cls(relevant, others, *posterior_of(law))

    def sequences(self, uniform: Any) -> tuple[Any, Any, Any]:
        """(tokens (n, L), posterior (n, L), importance weights (n,)) from uniform numbers (n, L)."""
        tokens = np.concatenate([self.relevant(uniform[:, :1]), self.others(uniform[:, 1:])], axis=1)
        return tokens, *self.posterior(tokens)


def posterior_of(law: SequenceLaw) -> tuple[Posterior, bool]:
    """The posterior under a law whose parameters have numbers, and whether sequences that are drawn have importance weights."""
    kernel = law.posterior_kernel
    if law.selects_largest:
        return _posterior_of_largest, False
    if kernel is not None and (law.is_selection or law.relevant_factor is not None):
        return partial(_posterior_of_kernel, signed_log(kernel, (x,))), False
    return partial(_posterior_of_weight, law), True


def _posterior_of_largest(tokens: Any) -> tuple[Any, Any]:
    """p_l = 1 for the largest token and 0 for the others."""
    return (tokens == tokens.max(axis=1, keepdims=True)).astype(float), np.ones(len(tokens))


def _posterior_of_kernel(log_kernel: Callable[..., list[Any]], tokens: Any) -> tuple[Any, Any]:
    """p_l proportional to a kernel of token l."""
    with np.errstate(all="ignore"):
        logs = np.broadcast_to(np.asarray(log_kernel(tokens)[1], dtype=float), tokens.shape)
    return scipy.special.softmax(logs, axis=1), np.ones(len(tokens))


def _posterior_of_weight(law: SequenceLaw, tokens: Any) -> tuple[Any, Any]:
    """p_l = g(l, chi)/sum_m g(m, chi), with importance weights sum_l g(l, chi)/L."""
    mass = weight_values(law, tokens)
    total = mass.sum(axis=1)
    return mass / total[:, None], total / tokens.shape[1]


def weight_values(law: SequenceLaw, tokens: Any) -> Any:
    """g(l, chi) at every position l of sequences (n, L), in that shape."""
    own, length = Dummy("own", real=True), tokens.shape[1]
    weight = law.weight.subs(law.length, length) if law.length.is_Symbol else law.weight
    totals: dict[Expr, tuple[Expr, Any]] = {}
    for item in weight.atoms(Sum):
        summand = item.function.subs(chi[item.variables[0]], x).subs(chi[epsilon], own)
        # a sum that holds the key of the relevant token has a value for every position of it
        relevant = tokens[:, :, None] if own in summand.free_symbols else tokens[:, :1, None]
        shape = (*relevant.shape[:2], length)
        value = np.broadcast_to(compile_float([x, own], [summand])(tokens[:, None, :], relevant)[0], shape).sum(axis=2)
        totals[item] = (Dummy("total", real=True), value)
    body = weight.xreplace({item: symbol for item, (symbol, _) in totals.items()}).subs(chi[epsilon], own)
    function = compile_float([own, *(symbol for symbol, _ in totals.values())], [body])
    return np.broadcast_to(function(tokens, *(value for _, value in totals.values()))[0], tokens.shape)
