"""Which fields of a channel are integrated exactly, and which by nodes: one part for each value of the hidden variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sympy import DiracDelta, Expr, S, log, sign

from symslr.evaluation.numbers.compiled import compile_float
from symslr.evaluation.sequence.peel import Told, is_known_up_to_sign, told
from symslr.model.sequence.hidden import SIGN
from symslr.model.sequence.model import SequenceModel

Array = Any
FARTHEST = 8.0
"""Standard deviations up to which places are sought at which an integrand breaks."""
TRIALS, STEP, FLAT = 12, 1.7, 1e-9
"""Places at which a second difference is formed, its step, and the relative size up to which it is none."""


@dataclass(frozen=True)
class Part:
    """One value of the hidden variables: P(h) g = e^{tilt.z + log_scale} rest(x), and the label base(x) + slope(x) z_A.

    Fields are numbered l p + k. The inner ones, x, are summed over nodes; in all others, z_A, the label is affine.

    Attributes:
        inner, affine: the numbers of the fields.
        tilt: shape (L p,).
        terms: x -> [base_o ..., the slopes that are not 0 ..., rest where there is one].
        entries: (output, place in ``affine``) of every slope that is not 0.
        has_rest: whether the weight has a factor that is no exponential of a linear form.
        breaks: of one inner field, where a label without noise loses its slope and what is integrated may jump.
    """

    inner: tuple[int, ...]
    affine: tuple[int, ...]
    tilt: Array
    log_scale: float
    terms: Callable[..., list[Any]]
    entries: tuple[tuple[int, int], ...]
    outputs: int
    has_rest: bool
    breaks: tuple[float, ...] = ()

    def at(self, x: Array) -> tuple[Array, Array, Array | None]:
        """Base (O, ...), slope (O, A, ...) and log rest (...) at inner fields of shape (d, ...)."""
        shape = x.shape[1:]
        found = [np.broadcast_to(np.asarray(term, float), shape) for term in self.terms(*x)]
        base = np.array(found[: self.outputs])
        slope = np.zeros((self.outputs, len(self.affine), *shape))
        for (o, a), term in zip(self.entries, found[self.outputs :]):
            slope[o, a] = term
        with np.errstate(divide="ignore"):
            rest = np.log(found[-1]) if self.has_rest else None
        return base, slope, rest


@dataclass(frozen=True)
class Split:
    """All parts of a model, and what its label tells.

    Attributes:
        is_sign: the label is the sign of what the parts describe.
        signs: the label is known up to these factors.
        is_whole: whether nothing was taken off the label, so that a part describes the label itself.
    """

    parts: tuple[Part, ...]
    is_sign: bool
    signs: tuple[int, ...]
    is_whole: bool

    @property
    def inner(self) -> int:
        """The number of inner fields, at most over the parts."""
        return max(len(part.inner) for part in self.parts)


def split(model: SequenceModel) -> Split:
    """The parts of a model: as many fields as possible are affine."""
    read: list[tuple[list[Told], Expr]] = []
    for (given, _), label, weight in zip(model.configurations, model.labels, model.weights):
        if given.get(SIGN.symbol) == -1:
            continue
        single = model.noise == 0 and len(label) == 1
        double = 2 * weight if model.invariant else weight  # the common sign is summed by itself
        read.append(([told(own) if single else Told(own) for own in label], double))
    first = read[0][0]
    every = [own for labels, _ in read for own in labels]
    is_told = len({own.outer for own in every}) == 1 and (
        model.invariant is None or all(map(is_known_up_to_sign, every))
    )
    if not is_told:  # where no one function is taken off, labels are taken as they are written
        read = [([Told(own) for own in label], weight) for (_, weight), label in zip(read, _kept(model))]
        first = read[0][0]
    parts = tuple(_part(model, [own.core for own in labels], weight) for labels, weight in read)
    is_even = first[0].is_even or model.invariant is not None
    whole = all(
        label == (sign(own.core) if own.is_sign else own.core)
        for (labels, _), kept in zip(read, _kept(model))
        for own, label in zip(labels, kept)
    )
    return Split(parts, first[0].is_sign, (1, -1) if is_even else (1,), whole)


def _kept(model: SequenceModel) -> list[tuple[Expr, ...]]:
    """The labels without those of the negative common sign."""
    return [own for (given, _), own in zip(model.configurations, model.labels) if given.get(SIGN.symbol, S.One) != -1]


def tilt_of(model: SequenceModel, weight: Expr) -> tuple[Array, float] | None:
    """(a, c) of a weight P(h) g = e^{a.z + c}, a of shape (L p,); None for another."""
    symbols = [symbol for row in model.fields for symbol in row]
    slopes = [log(weight).diff(symbol) for symbol in symbols]
    if any(own.has(DiracDelta) for own in slopes):
        return None
    values = model.evaluated(slopes, np.random.default_rng(3).standard_normal((TRIALS, len(symbols))))
    if not np.all(np.ptp(values, axis=1) <= FLAT * (1 + np.abs(values).max())):
        return None
    return values[:, 0], float(log(weight.subs(dict.fromkeys(symbols, 0))))


def _part(model: SequenceModel, cores: Sequence[Expr], weight: Expr) -> Part:
    symbols = [symbol for row in model.fields for symbol in row]
    exponential = tilt_of(model, weight)
    tilt, scale = (np.zeros(len(symbols)), 0.0) if exponential is None else exponential
    held = {n for n, symbol in enumerate(symbols) if weight.has(symbol)}
    inner = _inner(model, cores, held if exponential is None else set())
    affine = tuple(n for n in range(len(symbols)) if n not in inner)
    zero = {symbols[n]: S.Zero for n in affine}
    base = [core.xreplace(zero) for core in cores]
    entries, terms = [], []
    for o, core in enumerate(cores):
        for place, n in enumerate(affine):
            if core.has(symbols[n]):
                entries.append((o, place))
                terms.append(core.xreplace({**zero, symbols[n]: S.One}) - base[o])
    every = [*base, *terms, *([weight] if exponential is None else [])]
    compiled = compile_float([symbols[n] for n in inner], every, keeps_digits=False)
    part = Part(inner, affine, tilt, scale, compiled, tuple(entries), len(cores), exponential is None)
    return replace(part, breaks=_breaks(part)) if model.noise == 0 and len(inner) == 1 else part


def _breaks(part: Part) -> tuple[float, ...]:
    """The values of the one inner field, up to ``FARTHEST``, at which the determinant of the label's slopes vanishes."""

    def size(x: Array) -> Array:
        slope = np.moveaxis(part.at(np.atleast_1d(x)[None])[1], -1, 0)
        return np.sqrt(np.abs(np.linalg.det(slope @ slope.swapaxes(1, 2))))

    line = np.linspace(-FARTHEST, FARTHEST, 1601)
    at = size(line)
    if not at.max() > 0:
        return ()
    low = np.flatnonzero((at[1:-1] <= at[:-2]) & (at[1:-1] <= at[2:])) + 1
    how: dict[str, Any] = {"method": "bounded", "options": {"xatol": 1e-12}}
    found = [minimize_scalar(lambda x: float(size(x)[0]), bounds=(line[n - 1], line[n + 1]), **how) for n in low]
    return tuple(sorted({round(float(own.x), 10) + 0.0 for own in found if own.fun < 1e-6 * at.max()}))


def _inner(model: SequenceModel, cores: Sequence[Expr], forced: set[int]) -> tuple[int, ...]:
    """The fewest fields, found greedily for every order of the directions, without which all outputs are affine."""
    width = len(model.teachers)
    held = [n for n in range(model.length * width) if any(core.has(_symbol(model, n)) for core in cores)]
    curved = _curved(model, cores, held)
    fewest = set(held) | forced
    for order in permutations(range(width)):
        chosen: list[int] = []
        for n in sorted(held, key=lambda n: (order.index(n % width), n)):
            if n not in forced and not any(curved[n, other] for other in (*chosen, n)):
                chosen.append(n)
        left = set(held) - set(chosen) | forced
        fewest = left if len(left) < len(fewest) else fewest
    return tuple(sorted(fewest))


def _symbol(model: SequenceModel, n: int) -> Expr:
    width = len(model.teachers)
    return model.fields[n // width][n % width]


def _curved(model: SequenceModel, cores: Sequence[Expr], held: Sequence[int]) -> Array:
    """Whether some output has a second difference in two fields, at random places."""
    size = model.length * len(model.teachers)
    random = np.random.default_rng(5)
    places = random.standard_normal((TRIALS, size))
    found = np.zeros((size, size), bool)
    with np.errstate(all="ignore"):
        steps = STEP * np.eye(size)
        at = model.evaluated(cores, places)
        one = {n: model.evaluated(cores, places + steps[n]) for n in held}
        for i in held:
            for j in (j for j in held if j <= i):
                other = (1 + 0.37 * (i == j)) * steps[j]
                beside = model.evaluated(cores, places + other) if i == j else one[j]
                change = model.evaluated(cores, places + steps[i] + other) - one[i] - beside + at
                is_curved = not np.all(np.abs(change) <= FLAT * (1 + np.abs(at)))
                found[i, j] = found[j, i] = is_curved
    return found
