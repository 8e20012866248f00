"""Sequences drawn from the law of a task, with the probabilities of the relevant token that they leave.

Where the weight selects a token, tokens are drawn from the base law; where it reweights the relevant one, that from its own. Tokens
come from uniform numbers through quantiles, so that points of low discrepancy serve as well as random ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from sympy import Expr

from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.numbers.compiled import compile_float
from symslr.evaluation.numbers.logarithm import signed_log
from symslr.model.breakpoints import breakpoint_equations, solved
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import x

NODES, FARTHEST, GAUSS = 2**13, 30.0, 5
"""Of a table of quantiles, in the variable of which a token is sinh, exp or tanh; how far that goes; and nodes between two."""
MASS = 1e-10
"""How near to 1 the mass of a law comes in such a table."""

Tokens = Callable[[Any], Any]
"""Uniform numbers to tokens, of the same shape."""


@dataclass(frozen=True)
class Draws:
    """Sequences of the law of a task.

    Attributes:
        relevant, others: the laws from which the first token and all others are drawn.
        log_weight: log of what the probability of a token is proportional to; None where the largest token is the relevant one.
    """

    relevant: Tokens
    others: Tokens
    log_weight: Callable[[Any], Any] | None

    @classmethod
    def of(cls, law: SequenceLaw) -> Draws:
        """For a law whose parameters have numbers.

        Raises:
            CannotEvaluate: for a weight that neither selects a token nor is one of the relevant token alone.
        """
        factor, kernel = law.relevant_factor, law.posterior_kernel
        if not law.selects_largest and (kernel is None or not (law.is_selection or factor is not None)):
            raise CannotEvaluate(
                f"tokens of the weight {law.weight} are not drawn; expected a weight of the relevant token alone, or one that "
                "adds up to the length over all tokens"
            )
        others = quantiles(law.base)
        relevant = others if factor is None else quantiles(ScalarLaw(law.base.density * factor, *law.base.support))
        return cls(relevant, others, None if law.selects_largest else _log(kernel))

    def sequences(self, uniform: Any) -> tuple[Any, Any]:
        """Tokens (n, L) from uniform numbers (n, L), and the probability that each is the relevant one (n, L).

        Under a weight of the relevant token alone the first token is that one; under a selection all have one law.
        """
        tokens = np.concatenate([self.relevant(uniform[:, :1]), self.others(uniform[:, 1:])], axis=1)
        if self.log_weight is None:
            return tokens, (tokens == tokens.max(axis=1, keepdims=True)).astype(float)
        logs = self.log_weight(tokens)
        return tokens, np.exp(logs - scipy.special.logsumexp(logs, axis=1, keepdims=True))


def _log(kernel: Expr) -> Callable[[Any], Any]:
    """log of a positive kernel in x, on arrays."""
    function = signed_log(kernel, (x,))

    def log(tokens: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(function(tokens)[1], dtype=float), tokens.shape)

    return log


def quantiles(law: ScalarLaw) -> Tokens:
    """Quantiles of a law: cubic interpolants of them in the log of the mass on either side.

    Raises:
        CannotEvaluate: where the table does not hold all of the law.
    """
    if law == STANDARD_NORMAL:
        return scipy.special.ndtri
    at, slope, back = _mapped(float(law.lower), float(law.upper))
    kinks = [solved(equation, x) for equation in breakpoint_equations(law.density, x)]
    inside = [float(kink) for kink in kinks if kink is not None and law.lower < kink < law.upper]
    nodes = np.unique([*np.linspace(-FARTHEST, FARTHEST, NODES), *back(np.array(inside))])
    points, weights = np.polynomial.legendre.leggauss(GAUSS)
    widths = np.diff(nodes)
    places = nodes[:-1, None] + widths[:, None] * (1 + points) / 2
    with np.errstate(all="ignore"):
        (density,) = compile_float((x,), (law.density,))(at(places))
        heights = np.nan_to_num(np.broadcast_to(density, places.shape) * slope(places), nan=0.0, posinf=0.0)
    steps = widths / 2 * (heights @ weights)
    below, above = np.cumsum(steps), np.cumsum(steps[::-1])[::-1]
    if not abs(below[-1] - 1.0) < MASS:
        raise CannotEvaluate(f"token density {law.density}: its mass is {below[-1]:.6g} in a table; expected 1")
    sides = [_inverse(below, nodes[1:]), _inverse(above[::-1], nodes[:-1][::-1])]

    def tokens(uniform: Any) -> Any:
        return at(np.where(uniform < 0.5, sides[0](np.log(uniform)), sides[1](np.log1p(-uniform))))

    return tokens


def _inverse(mass: Any, nodes: Any) -> Callable[[Any], Any]:
    """Where so much of the log of a mass is reached."""
    rises = np.flatnonzero(np.diff(mass, prepend=0.0) > 1e-14 * mass)
    return scipy.interpolate.PchipInterpolator(np.log(mass[rises]), nodes[rises])


def _mapped(lower: float, upper: float) -> tuple[Tokens, Tokens, Tokens]:
    """A rising map of the line to an interval, its slope, and its inverse."""
    if np.isfinite(lower) and np.isfinite(upper):
        half = (upper - lower) / 2

        def back(place: Any) -> Any:
            return np.arctanh((place - lower) / half - 1)

        return lambda u: lower + half * (1 + np.tanh(u)), lambda u: half / np.cosh(u) ** 2, back
    if np.isfinite(lower):
        return lambda u: lower + np.exp(u), np.exp, lambda place: np.log(place - lower)
    if np.isfinite(upper):
        return lambda u: upper - np.exp(-u), lambda u: np.exp(-u), lambda place: -np.log(upper - place)
    return np.sinh, np.cosh, np.arcsinh
