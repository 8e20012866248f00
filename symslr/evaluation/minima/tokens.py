"""What tokens see of a kernel as the scale of the key grows: the unit of a search, and places at which it must look.

For independent tokens and no normaliser the risk at scale a is R/(1 + R) with R = (Var k(a y) + (L - 1) E k(a z)^2)/(E k(a y))^2, y
the relevant token and z another one. Sums over tokens give R at hundreds of scales in a few milliseconds. Where R turns, the
kernel meets a token, under a normaliser too; nothing else is concluded from R.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sympy import Expr, S, Symbol, expand_log, log

from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.expression.folded import Activation
from symslr.model.exponential import exponential_slope
from symslr.model.length_law import LengthLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import x

TOKENS = np.sinh(np.arange(-14.0, 14.0, 0.002))
"""Places at which the peak of a density is sought, up to 6e5."""
AROUND = np.sinh(np.arange(-5.98, 6.0, 0.04))
"""Distances of tokens from the peak at which sums are taken; those of a mass below 1e-16 are left out."""
SIZES = np.unique(np.concatenate([np.geomspace(1e-12, 1e12, 97), np.geomspace(2e-3, 2e3, 347)]))
"""Scales, in units of the inverse of a token's size; from 1/500 to 500 neighbours differ by four hundredths."""
FARTHEST = 3.0
"""log R further than this above its least value says nothing of where that lies."""
ROUNDING = 1e-9
"""Changes of log R up to this size are rounding."""
IN_ERRORS = 4.0
"""A change counts where it is so many times what leaving out every second token changes."""
MOST_FINE = 100.0
"""A token's place in units of its width up to which neighbouring scales differ by half of that width."""
MOST_PLACES = 4
"""The lowest so many turns are looked at."""


@dataclass(frozen=True)
class View:
    """What a search of the scale begins with.

    Attributes:
        unit: the scale at which half of what happens to R has happened; 1 where nothing does.
        reach: a scale beyond which nothing more happens to R.
        places: the lowest local minima of R.
    """

    unit: float = 1.0
    reach: float = 0.0
    places: tuple[float, ...] = ()


@dataclass(frozen=True)
class Attended:
    """The kernel, the laws of tokens and the length in an expression; ``kernel`` is None where it has not just one."""

    kernel: Expr | None = None
    law: SequenceLaw | None = None

    @classmethod
    def of(cls, expr: Expr) -> Attended:
        kernels = {node.kernel for node in expr.atoms(Activation)}
        laws = expr.atoms(SequenceLaw)
        return cls(kernels.pop(), laws.pop()) if len(kernels) == len(laws) == 1 else cls()

    def view(self, numbers: Mapping[Symbol, Any]) -> View:
        """The view at numbers for the parameters; the plain one where a parameter has none."""
        if self.kernel is None or self.law is None:
            return View()
        known = {s: n for s, n in numbers.items() if not isinstance(n, LengthLaw)}
        kernel, base, relevant = (
            part.subs({s: known[s] for s in part.free_symbols if s in known})
            for part in (self.kernel, self.law.base.density, self.law.relevant_factor or S.One)
        )
        length = self.law.length.subs(known) if isinstance(self.law.length, Expr) else S(3)
        if kernel.free_symbols != {x} or (base * relevant).free_symbols - {x}:
            return View()
        support = float(self.law.base.lower), float(self.law.base.upper)
        many = float(length) if length.is_number else 3.0
        try:
            return _view(kernel, base, None if self.law.is_selection else relevant, support, many)
        except (ArithmeticError, TypeError, ValueError, IndexError):
            return View()

    def steepness(self, numbers: Mapping[Symbol, Any]) -> float:
        """The slope of the posterior, sqrt(nu) or nu, to which the scales of a search extend; 0 where it is not known."""
        slope = None if self.law is None else _slope(self.law)
        found = slope.subs({s: numbers[s] for s in slope.free_symbols if s in numbers}) if slope is not None else S.Zero
        return abs(float(found)) if found.is_number and found.is_finite else 0.0


_slope = lru_cache(maxsize=512)(exponential_slope)


@lru_cache(maxsize=64)
def _view(kernel: Expr, base: Expr, relevant: Expr | None, support: tuple[float, float], many: float) -> View:
    """``Attended.view``; ``relevant`` is None where the law selects the largest token, or nearly so."""
    others = _tokens(base, support)
    own = _largest(others, many) if relevant is None else _tokens(base * relevant, support)
    size = max(abs(float(nodes @ masses)) + float(np.sqrt(nodes**2 @ masses)) for nodes, masses in (own, others)) / 2
    function = FLOAT.compile((x,), [kernel])
    middle, apart = abs(float(own[0] @ own[1])), float(np.std(own[0]))
    finer = np.geomspace(2e-3, 2e3, int(np.log(1e6) * 2.0 * middle / max(apart, 1e-9 + middle / MOST_FINE)) + 2)
    scales = (SIZES if middle < 12.0 * apart else np.union1d(SIZES, finer)) / size

    def log_ratio(side: int) -> tuple[Any, Any]:
        near, far = (
            np.broadcast_to(
                np.asarray(function(np.outer(side * scales, nodes))[0], dtype=float), (len(scales), len(nodes))
            )
            for nodes, _ in (own, others)
        )
        peak = np.maximum(np.max(np.abs(near), axis=1), np.max(np.abs(far), axis=1))[:, None]
        near, far = near / peak, far / peak

        def by(step: int) -> Any:
            (mine, weights), (theirs, shares) = (
                (part[:, ::step], law[1][::step]) for part, law in ((near, own), (far, others))
            )
            hit, square, other = (w / w.sum() for w in (weights, weights, shares))
            hit, square, other = mine @ hit, mine**2 @ square, theirs**2 @ other
            return np.log((square - hit**2 + (many - 1.0) * other) / hit**2)

        return by(1), np.abs(by(2) - by(1))

    with np.errstate(all="ignore"):
        logs, errors = zip(*(log_ratio(side) for side in (1, -1)))
    logs = tuple(np.where(np.isfinite(one), one, np.inf) for one in logs)
    doubts = [
        ROUNDING + IN_ERRORS * _spread(np.nan_to_num(one, nan=1e6, posinf=1e6), scales * size < 1.0) for one in errors
    ]
    lowest = min(float(np.min(one)) for one in logs)
    if not np.isfinite(lowest):
        return View()
    heights = [np.where(np.isfinite(one), np.minimum(one, lowest + FARTHEST), np.nan) for one in logs]
    moves = [np.nan_to_num(np.abs(np.diff(one))) for one in heights]
    total = np.cumsum(
        sum(np.where(own > np.maximum(doubt[1:], doubt[:-1]), own, 0.0) for own, doubt in zip(moves, doubts))
    )
    if total[-1] < 1e-6:
        return View()
    unit, reach = (float(scales[np.searchsorted(total, part * total[-1])]) for part in (0.5, 0.95))
    places = []
    for side, one, doubt in zip((1, -1), logs, doubts):
        middle = one[1:-1] + doubt[1:-1]
        turns = 1 + np.flatnonzero((middle < one[:-2]) & (middle < one[2:]))
        places += [(float(one[i]), side * float(scales[i])) for i in turns if one[i] < lowest + FARTHEST]
    return View(unit, reach, tuple(place for _, place in sorted(places)[:MOST_PLACES]))


def _spread(errors: Any, is_small: Any) -> Any:
    """Errors spread outwards from the middle: where tokens lie too far apart, or digits are lost, they do so further on."""
    large, small = errors[~is_small], errors[is_small]
    return np.concatenate([np.maximum.accumulate(small[::-1])[::-1], np.maximum.accumulate(large)])


def _tokens(density: Expr, support: tuple[float, float]) -> tuple[Any, Any]:
    """(tokens, probabilities) of a law by its density up to a factor."""
    logarithm = FLOAT.compile((x,), [expand_log(log(density), force=True)])

    def at(places: Any) -> Any:
        inside = (places > support[0]) & (places < support[1])
        with np.errstate(all="ignore"):
            found = np.asarray(logarithm(np.where(inside, places, np.nan))[0], dtype=float)
        found = np.where(inside, np.broadcast_to(found, places.shape), -np.inf)
        return np.where(np.isfinite(found), found, -np.inf)

    peak = TOKENS[int(np.argmax(at(TOKENS)))]
    nodes, logs = peak + AROUND, at(peak + AROUND)
    if not np.isfinite(np.max(logs)):
        raise ValueError("a density that is not seen")
    masses = np.exp(logs - np.max(logs)) * np.sqrt(1.0 + AROUND**2)
    kept = masses > 1e-16 * masses.sum()
    return nodes[kept], masses[kept] / masses[kept].sum()


def _largest(tokens: tuple[Any, Any], many: float) -> tuple[Any, Any]:
    """The law of the largest of so many tokens."""
    nodes, masses = tokens
    found = np.diff(np.concatenate([[0.0], np.minimum(np.cumsum(masses), 1.0)]) ** many)
    return nodes, found / found.sum()
