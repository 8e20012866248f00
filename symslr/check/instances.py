"""Concrete formulas for the open functions of a theorem: weights, functions of a token, symmetric functions."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from functools import lru_cache

from sympy import Abs, Expr, Heaviside, KroneckerDelta, Product, Rational, Sum, cos, erf, exp, sign, sin
from sympy.core.function import AppliedUndef

from symslr.algebra.derivation import Derivation
from symslr.check.report import Comparison
from symslr.expression.configuration import ShiftedDensity, exactly
from symslr.expression.instance import open_functions
from symslr.model.configuration import ONE, ConfigurationLaw, Signal, r, theta
from symslr.model.open_function import OpenFunction
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, l, m, x

KEY = chi[epsilon]


FAR = 9
"""Standard deviations by which far weights move a token, at least; its cube is the size of a large function, and one over it."""


def tokens(summand: Expr) -> Expr:
    """The sum over all tokens."""
    return Sum(summand, (l, 1, L))


def _drawn(rng: random.Random, low: float, high: float) -> Rational:
    """A number between two, of which nothing makes a wrong formula right by accident."""
    return Rational(rng.randint(round(low * 37), round(high * 37)), 37)


def weights(rng: random.Random) -> tuple[Expr, ...]:
    """Weights of mean 1 for a law, in the order of the points: what meets three tokens and many is a mixture and a tilt.

    A selection, a mixture, tilts of either sign, one that is no function of one token times a symmetric one, a larger and a
    smaller variance, one with a zero and one that is 0 on a half line; and far ones, which break a bound that those keep: two
    that move a token by FAR and more, one of hardly any variance. A bound on what no weight here exceeds is outside.
    """
    far, thin = FAR + _drawn(rng, 0, 3), _drawn(rng, 0.02, 0.05)
    side = rng.choice((-1, 1))
    s, t, w = _drawn(rng, 1.1, 1.5), _drawn(rng, 0.5, 0.8), _drawn(rng, 0.6, 0.9)
    # the weight of a larger variance has a variance itself below sqrt(2)
    wide, narrow, zero = _drawn(rng, 1.2, 1.4), _drawn(rng, 0.4, 0.8), _drawn(rng, 0.3, 0.9)
    return (
        L * exp(side * t * KEY) / tokens(exp(side * t * chi[l])),
        w * exp(side * s * KEY - s**2 / 2) + (1 - w) * exp(-side * t * KEY - t**2 / 2),
        exp(side * s * KEY - s**2 / 2),
        tokens(1 + erf(KEY - chi[l])) / L,
        exp(KEY**2 * (1 - 1 / wide**2) / 2) / wide,
        exp(KEY**2 * (1 - 1 / narrow**2) / 2) / narrow,
        (KEY - side * zero) ** 2 / (1 + zero**2),
        exp(-side * t * KEY - t**2 / 2),
        2 * Heaviside(side * KEY),
        exp(side * far * KEY - far**2 / 2),
        exp(-side * far * KEY - far**2 / 2),
        exp(-side * w * KEY - w**2 / 2),
        exp(KEY**2 * (1 - 1 / thin**2) / 2) / thin,
    )


def functions(rng: random.Random) -> tuple[Expr, ...]:
    """Functions of a token and of all key projections: attentions, and others that grow, oscillate, have a kink or a jump."""
    side = rng.choice((-1, 1))
    t, w, c = _drawn(rng, 0.5, 0.8), _drawn(rng, 0.6, 0.9), _drawn(rng, 0.2, 1)
    return (
        exp(side * t * KEY) / tokens(exp(side * t * chi[l])),
        1 + w * KEY,
        exp(-(KEY**2) / 3) - w,
        KEY**2 / (1 + tokens(chi[l] ** 2)),
        KEY * exp(KEY / 5),
        cos(2 * KEY + c),
        Abs(KEY - side * c),
        exp(-side * t * KEY / 2),
        sign(KEY + side * c) + w,
        side * FAR**3 * (KEY - w),
        w * cos(KEY + c) / FAR**3,
    )


def kernels(rng: random.Random) -> tuple[Expr, ...]:
    """Functions of one variable, such as kernels: they grow, oscillate, have a kink or a jump; large and small ones."""
    side = rng.choice((-1, 1))
    w, c, s = _drawn(rng, 0.6, 0.9), _drawn(rng, 0.2, 1), _drawn(rng, 0.15, 0.3)
    return (
        1 + w * x,
        exp(-(x**2) / 3) - w,
        exp(side * s * x),
        x**2 - c,
        1 + side * x**3 / 7,
        sin(2 * x + c),
        Abs(x - side * c),
        exp(-2 * side * s * x),
        sign(x + side * c) + w,
        side * FAR**3 * (x - w),
        w * cos(x + c) / FAR**3,
    )


S, T, W = Rational(37, 29), Rational(19, 31), Rational(43, 59)
"""A shift, a steepness, a share: nothing that makes a wrong formula right by accident."""

SYMMETRIC: tuple[Expr, ...] = (1 / (1 + tokens(chi[l] ** 2)), exp(-tokens(chi[l] ** 2) / 7), 1 + W * tokens(chi[l]))


def formulas(item: Derivation) -> dict[str, Sequence[Expr]]:
    """For each function that a derivation leaves open what it is replaced by, point after point.

    The derivation's ranges say it where they name the function; else it becomes what is drawn from the name of the function.
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


@lru_cache(maxsize=64)
def _usual(node: Expr, as_weight: bool) -> Sequence[Expr]:
    if isinstance(node, OpenFunction) and node.of_configuration:
        return READ_OUTS
    rng = random.Random(f"open {min(open_functions(node))}")
    if isinstance(node, AppliedUndef):
        return tuple(w.subs(KEY, x) for w in weights(rng) if not w.has(Sum)) if as_weight else kernels(rng)
    if as_weight:
        return weights(rng)
    return SYMMETRIC if node.index is None else functions(rng)


def tried(made: Iterable[Comparison]) -> tuple[str, ...]:
    """What each open function was replaced by where a comparison could have failed, in words."""
    found: dict[str, dict[str, None]] = {}
    for comparison in made:
        for name, formula in comparison.functions if comparison.effective else ():
            found.setdefault(name, {})[formula] = None
    return tuple(f"{name} as {'; '.join(formulas)}" for name, formulas in found.items())
