"""The mean over a signal that takes finitely many values, written out."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, S, Sum

from symslr.algebra.polynomial import separate
from symslr.algebra.rule import Rule
from symslr.expression.configuration import ConfigurationMean
from symslr.expression.expectation import rewrite_expectations
from symslr.model.configuration import ONE, OwnSignals, Signal
from symslr.model.put_in import put_in


@final
class SumOverSignal(Rule):
    """Write the average over the signal out, inside of the mean over the relevant tokens."""

    name = "sum over the signal"
    statement = (
        r"\mathbb{E}_{r,\theta}[f(r,\theta)] = \mathbb{E}_r\Big[\sum_k q_k f(r,\theta_k)\Big],\qquad \sum_k q_k=1"
    )
    conditions = r"$\theta$ takes finitely many values $\theta_k$ with probabilities $q_k$, independently of $r$"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_expectations(expr, self._written_out, ConfigurationMean)

    def _written_out(self, node: ConfigurationMean) -> Expr:
        signal = node.prior.signal
        if signal == ONE and not node.body.has(*ONE.symbols):
            return node
        if isinstance(signal, OwnSignals):
            raise self.refuse("every relevant token has a signal of its own")
        if not isinstance(signal, Signal):
            raise self.refuse(f"the law of the signal is left open: {signal}")
        total = Add(*(weight for _, weight in signal.support))
        fixed, moving = separate(node.body, set(signal.symbols))
        terms = (
            weight * _without_empty(put_in(moving, dict(zip(signal.symbols, value, strict=True))))
            for value, weight in signal.support
        )
        return ConfigurationMean(fixed * Add(*terms) / total, node.prior.without_signal())


def _without_empty(expr: Expr) -> Expr:
    """``expr`` without sums of zeros, which components that are 0 leave behind."""
    return expr.replace(lambda node: isinstance(node, Sum) and node.function == 0, lambda node: S.Zero)
