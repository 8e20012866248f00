"""Concrete formulas for the open functions of a theorem: weights, functions of a token, symmetric functions."""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Abs, Expr, KroneckerDelta, Product, Rational, Sum, erf, exp
from sympy.core.function import AppliedUndef

from symslr.algebra.derivation import Derivation
from symslr.expression.configuration import ShiftedDensity, exactly
from symslr.expression.instance import open_functions
from symslr.model.configuration import ONE, ConfigurationLaw, Signal, r, theta
from symslr.model.open_function import OpenFunction
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, l, m, x

KEY = chi[epsilon]
S, T, W = Rational(37, 29), Rational(19, 31), Rational(43, 59)
"""A shift, a steepness, a share: nothing that makes a wrong formula right by accident."""


def tokens(summand: Expr) -> Expr:
    """The sum over all tokens."""
    return Sum(summand, (l, 1, L))


SPREAD = Rational(23, 17)
"""Standard deviation of the relevant token where its variance differs: below sqrt(2), so the weight has a variance."""

WEIGHTS: tuple[Expr, ...] = (
    L * exp(T * KEY) / tokens(exp(T * chi[l])),
    W * exp(S * KEY - S**2 / 2) + (1 - W) * exp(-T * KEY - T**2 / 2),
    exp(S * KEY - S**2 / 2),
    tokens(1 + erf(KEY - chi[l])) / L,
    exp(KEY**2 * (1 - 1 / SPREAD**2) / 2) / SPREAD,
)
"""A selection, a mixture, a shift, one that is no function of one token times a symmetric one, another variance.

The order is that of the points: the mixture meets three tokens, the shift many.
"""

FUNCTIONS: tuple[Expr, ...] = (
    exp(T * KEY) / tokens(exp(T * chi[l])),
    1 + W * KEY,
    exp(-(KEY**2) / 3) - W,
    KEY**2 / (1 + tokens(chi[l] ** 2)),
    KEY * exp(KEY / 5),
)
"""For a function of a token and of all key projections: an attention, and others of either sign."""

SYMMETRIC: tuple[Expr, ...] = (1 / (1 + tokens(chi[l] ** 2)), exp(-tokens(chi[l] ** 2) / 7), 1 + W * tokens(chi[l]))


KERNELS: tuple[Expr, ...] = (1 + W * x, exp(-(x**2) / 3) - W, exp(x / 5), x**2 - T, 1 + x**3 / 7)
"""For a function of one variable, such as a kernel."""

TOKEN_WEIGHTS = tuple(weight.subs(KEY, x) for weight in WEIGHTS if not weight.has(Sum))
"""For a weight that is a function of one token."""


def formulas(item: Derivation) -> dict[str, Sequence[Expr]]:
    """For each function that a derivation leaves open what it is replaced by, point after point.

    The derivation's ranges say it where they name the function; else a weight of a law becomes one of ``WEIGHTS``.
    """
    lines = (item.start, *(step.after for step in item.steps), *(claim.formula for claim in item.claims))
    nodes = {node for line in lines for node in line.atoms(OpenFunction, AppliedUndef)}
    weights = {law.weight for line in lines for law in line.atoms(SequenceLaw)}
    as_weight = set().union(*map(open_functions, weights & nodes))
    asked = {name: choices for node, choices in item.ranges.items() for name in open_functions(node)}
    of_laws = _of_laws(lines)
    found: dict[str, Sequence[Expr]] = {}
    for node in sorted(nodes, key=str):
        (name,) = open_functions(node) if isinstance(node, OpenFunction) else (node.func.__name__,)
        usual = of_laws.get(name) or _usual(node, name in as_weight)
        found[name] = _several(name, asked[name]) if name in asked else usual
    return found


def _several(name: str, choices: object) -> Sequence[Expr]:
    """The formulas that a derivation's ranges give for a function: one or two alone could be right by accident."""
    given = tuple(choices) if isinstance(choices, (list, tuple)) else ()
    if len({choice for choice in given if isinstance(choice, Expr) and not choice.is_number}) < FORMULAS_NEEDED:
        raise ValueError(
            f"range of {name}: found {choices}; expected a list of {FORMULAS_NEEDED} different formulas or more, constants "
            "not counted, or no range"
        )
    return given


FORMULAS_NEEDED = 3

PRIORS: tuple[Expr, ...] = (
    Product((2**-l) ** r[l], (l, 1, L)),
    1 + r[1] + W * Sum(l * r[l], (l, 1, L)) ** 2,
    exactly(1, L) * Product((1 + l * T) ** r[l], (l, 1, L)),
)
"""Of a configuration: independent tokens, dependent ones, one relevant token alone."""

SIGNALS: tuple[Expr, ...] = (
    ONE,
    Signal((theta,), [((1,), W), ((-T,), 1 - W)]),
    Signal((theta,), [((S,), T), ((-S / 2,), 1 - T), ((W,), W)]),
)
COVARIANCES: tuple[Expr, ...] = (W * KroneckerDelta(l, m) + T, T ** Abs(l - m), KroneckerDelta(l, m) * (1 + T * l))
"""A common part, a chain, other variances; of keys and of values."""

CONFIGURATION_WEIGHTS: tuple[Expr, ...] = tuple(
    ShiftedDensity.of((mean,), covariance, L)
    for mean, covariance in zip((theta * r[l], S * theta * r[l] - T, theta * (1 + T / l) * r[l] / 2), COVARIANCES)
)
"""Weights of keys with these covariances, in their order: for each a shift that depends on the configuration."""

READ_OUTS: tuple[Expr, ...] = (
    r[epsilon],
    r[epsilon] * theta + W,
    r[epsilon] / (1 + Sum(r[l], (l, 1, L))),
)


def _of_laws(lines: Sequence[Expr]) -> dict[str, Sequence[Expr]]:
    """What the laws of configurations in some lines leave open: prior, signal, weight, covariances."""
    found: dict[str, Sequence[Expr]] = {}
    for law in sorted({law for line in lines for law in line.atoms(ConfigurationLaw)}, key=str):
        parts = (law.prior.mass, law.prior.signal, law.weight, law.keys, law.values)
        choices = (PRIORS, SIGNALS, CONFIGURATION_WEIGHTS, COVARIANCES, COVARIANCES[1:] + COVARIANCES[:1])
        found.update({name: usual for part, usual in zip(parts, choices) for name in open_functions(part)})
    return found


def _usual(node: Expr, as_weight: bool) -> Sequence[Expr]:
    if isinstance(node, OpenFunction) and node.of_configuration:
        return READ_OUTS
    if isinstance(node, AppliedUndef):
        return TOKEN_WEIGHTS if as_weight else KERNELS
    if as_weight:
        return WEIGHTS
    return SYMMETRIC if node.index is None else FUNCTIONS
