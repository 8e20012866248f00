"""Which fields of a channel are integrated exactly, and which by nodes: one part for each value of the hidden variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sympy import Expr, S, expand_log, log, sign

from symslr.evaluation.numbers.compiled import compile_float
from symslr.evaluation.sequence.peel import Told, is_known_up_to_sign, told
from symslr.model.sequence.hidden import SIGN
from symslr.model.sequence.model import SequenceModel

Array = Any
FARTHEST = 8.0
"""Standard deviations up to which places are sought at which an integrand breaks."""
TRIALS, STEP, FLAT = 12, 1.7, 1e-9
"""Places at which a second difference is formed, its step, and the relative size up to which it is none."""
SCALES = 1.0, 1e-3, 1e-6
"""Sizes of places at which an exponential is looked at: steeper ones choose the largest."""
ROUNDING = 1e-12
"""Share of the largest coefficient of a linear form up to which another is 0."""


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
class Selection:
    """Weights P(h) g that choose one of the L tokens given the fields of one direction: softmax_l(rate z_lk), in the order of the
    hidden variable; the largest at an infinite rate."""

    direction: int
    rate: float


@dataclass(frozen=True)
class Split:
    """All parts of a model, and what its label tells.

    Attributes:
        tied: whether an overlap of two directions may differ from 0, (p, p).
        copies: (part, how many are as it is but for the order of the tokens) for the parts of which samples tell all.
        selection: of the token, where that is what the weights are and it was asked for; the parts then have no weight.
        is_sign: the label is the sign of what the parts describe.
        signs: the label is known up to these factors.
        is_whole: whether nothing was taken off the label, so that a part describes the label itself.
    """

    parts: tuple[Part, ...]
    is_sign: bool
    signs: tuple[int, ...]
    is_whole: bool
    tied: Array
    selection: Selection | None
    copies: tuple[tuple[int, int], ...]

    @property
    def inner(self) -> int:
        """The number of inner fields, at most over the parts."""
        return max(len(part.inner) for part in self.parts)


def split(model: SequenceModel, selects: bool = False) -> Split:
    """The parts of a model: as many fields as possible are affine.

    Args:
        selects: whether weights that are a selection are told apart.
    """
    tied = _tied(model)
    selection = _selection(model, tied) if selects else None
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
    parts = tuple(_part(model, [own.core for own in labels], S.One if selection else weight) for labels, weight in read)
    is_even = first[0].is_even or model.invariant is not None
    whole = all(
        label == (sign(own.core) if own.is_sign else own.core)
        for (labels, _), kept in zip(read, _kept(model))
        for own, label in zip(labels, kept)
    )
    copies = tuple((h, 1) for h in range(len(parts))) if selection else _copies(model, parts)
    return Split(parts, first[0].is_sign, (1, -1) if is_even else (1,), whole, tied, selection, copies)


def _kept(model: SequenceModel) -> list[tuple[Expr, ...]]:
    """The labels without those of the negative common sign."""
    return [own for (given, _), own in zip(model.configurations, model.labels) if given.get(SIGN.symbol, S.One) != -1]


def tilt_of(model: SequenceModel, weight: Expr) -> tuple[Array, float] | None:
    """(a, c) of a weight P(h) g = e^{a.z + c}, a of shape (L p,); None for another."""
    return _linear(model, expand_log(log(weight), force=True))


def _linear(model: SequenceModel, expr: Expr) -> tuple[Array, float] | None:
    """(a, c) of an expression a.z + c in the fields, by its values at random places; None for another."""
    size = model.length * len(model.teachers)
    random = np.random.default_rng(3).standard_normal((3 * (size + 1), size))
    for scale in SCALES:  # a steep exponential overflows
        places = scale * random
        values = model.evaluated([expr], places)[0]
        if np.all(np.isfinite(values)):
            break
    else:
        return None
    terms = np.column_stack([places, np.ones(len(places))])
    found = np.linalg.lstsq(terms, values, rcond=None)[0]
    if not np.all(np.abs(terms @ found - values) <= FLAT * (1 + np.abs(values).max())):
        return None
    found[np.abs(found) < ROUNDING * np.abs(found).max(initial=0.0)] = 0.0
    return found[:-1], float(found[-1])


def _tied(model: SequenceModel) -> Array:
    """Whether an overlap of two directions may differ from 0, shape (p, p): not where the channel stays the same, up to the sign
    of the label, as the fields of one of them change their sign."""
    width = len(model.teachers)
    z = np.random.default_rng(4).standard_normal((TRIALS, model.length, width))
    labels, weights, tied = model.labels_at(z), model.weights_at(z), np.ones((width, width), bool)
    for flip in product((1, -1), repeat=width - 1):
        signs = np.array([1, *flip])
        mirrored = model.labels_at(z * signs)
        is_even, is_odd = (np.allclose(mirrored, sign * labels, FLAT, FLAT) for sign in (1, -1))
        if (is_even or is_odd) and np.allclose(model.weights_at(z * signs), weights, FLAT, FLAT):
            tied &= signs[:, None] == signs
    return tied


def _copies(model: SequenceModel, parts: Sequence[Part]) -> tuple[tuple[int, int], ...]:
    """(part, number of parts that are as it is but for an order of the tokens) for parts of which no two are alike.

    Every order of the tokens has to map the parts to each other; samples of one of them then tell all. Parts with a weight that is
    no exponential are left as they are.
    """
    alone = tuple((h, 1) for h in range(len(parts)))
    if len(parts) == 1 or len(parts) < len(model.labels) or any(part.has_rest for part in parts):
        return alone
    z = np.random.default_rng(8).standard_normal((TRIALS, model.length, len(model.teachers)))

    def rows(z: Array) -> Array:
        return np.concatenate([model.labels_at(z), model.weights_at(z)[:, None]], axis=1).reshape(len(parts), -1)

    here, first = rows(z), np.arange(len(parts))
    for l in range(1, model.length):
        order = np.arange(model.length)
        order[[0, l]] = l, 0
        same = [np.flatnonzero([np.allclose(own, row, FLAT, FLAT) for own in here]) for row in rows(z[:, order])]
        if any(len(found) != 1 for found in same):
            return alone
        for h, (other,) in enumerate(same):
            first[first == max(first[h], first[other])] = min(first[h], first[other])
    return tuple((int(h), int(np.sum(first == h))) for h in np.unique(first))


def _selection(model: SequenceModel, tied: Array) -> Selection | None:
    """The selection that the weights are, where the label holds no field of its direction and no overlap ties it to another."""
    held = {symbol for weight in model.weights for symbol in weight.free_symbols}
    directions = [k for k in range(len(model.teachers)) if held & {row[k] for row in model.fields}]
    if len(directions) != 1 or len(model.weights) != model.length or tied[directions[0]].sum() > 1:
        return None
    (k,) = directions
    if any(own.has(*(row[k] for row in model.fields)) for label in model.labels for own in label):
        return None
    z = np.random.default_rng(6).standard_normal((TRIALS, model.length, len(model.teachers)))
    weights = model.weights_at(z)
    if not np.allclose(weights.sum(axis=0), 1, 0, FLAT):
        return None
    if np.array_equal(model.weights_at(SCALES[-1] * z), np.arange(model.length)[:, None] == z[:, :, k].argmax(axis=1)):
        return Selection(k, math.inf)
    logs = [expand_log(log(weight), force=True) for weight in model.weights]
    rates = set()
    for l, own in enumerate(logs[1:], 1):
        found = _linear(model, own - logs[0])
        slope = None if found is None else found[0].reshape(model.length, -1)[:, k]
        if slope is None or not np.allclose(slope, slope[l] * (np.eye(model.length)[l] - np.eye(model.length)[0])):
            return None
        rates.add(float(slope[l]))
    rate = max(rates)
    return Selection(k, rate) if rate - min(rates) <= FLAT * abs(rate) else None


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
