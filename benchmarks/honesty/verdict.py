"""One answer of the library and its claimed error against a judge that shares nothing with it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import partial
from math import ceil, sqrt
from typing import Any

import numpy as np
from flint import arb
from mpmath import log10, mp, mpf, nstr
from scipy.special import erfc

from symslr.budget import OutOfTime, processor_time
from symslr.evaluation import CannotEvaluate, Kind, Value

from . import by_hand, pairs, sequences
from .by_hand import Array, NoJudgement, Question, exact
from .points import Point

SECONDS, STEEP_SECONDS, PATIENCE = 4.0, 12.0, 1.0
"""Processor time that one number may take, a steep one, and how many times that each of its judges."""
MORE_DIGITS = 3
"""So many more than the number has are worked with."""
FLOAT_DIGITS = 18
"""Those of long doubles, for a value in float64."""
FEWEST_DIGITS = 25
"""Of balls, where a function is wanted that long doubles do not have."""
SIGMAS = 5.0
"""Standard errors that a value may be off drawn sequences: once in two million."""
TELLING = 0.1
"""Standard error over the value from which on drawn sequences judge nothing."""
ROUNDED = 1e-13
"""Standard error that is rounding: sums over sequences are in float64."""


SCALES = 8
"""Drawn, at which a least risk is held against the risk."""
CLOSE, ROUGH = 1e-9, 1e-5
"""Relative errors of a judge at the best scale, whose own error moves the risk by its square, and at others."""
ENDLESS = 1e9
"""A scale that stands for an endless one."""
EXACT = 200
"""Digits more, with which a value is compared: a claim of no error leaves nothing to rounding."""
FAR_BELOW = 700.0
"""Of zero, in a softplus."""
FEWER, ROUGHEST = 1e-6, 1e-2
"""From which on formulas by hand judge nothing: alone or at the best scale, and at others."""
LEFT_OUT = 2e-15
"""Of a risk, by the ends of meshes of sequences: twice what was measured at a certified risk of 2.07e-6, 1.04e-15 of it."""
LOST = 1e-13
"""Of a risk, at most, to rounding in long doubles."""


class Outcome(StrEnum):
    """Of one point."""

    TRUE = "true"
    FALSE = "false"
    """The number is further from the judge's than the two errors allow."""
    CRASHED = "crashed"
    """Neither a number nor a refusal in one line."""
    REFUSED = "refused"
    SLOW = "slow"
    """No number in the time given."""
    UNJUDGED = "unjudged"
    """There is a number, but no judge for it in the time given."""


@dataclass(frozen=True)
class Judged:
    """A point, what became of it, and why.

    Attributes:
        relative: claimed error over the value.
        used: distance over the claimed error.
    """

    point: Point
    outcome: Outcome
    reason: str = ""
    judge: str = ""
    relative: float = 0.0
    used: float = 0.0


def judge(point: Point, seconds: float = SECONDS) -> Judged:
    """What the library answers, held against formulas written by hand, or else against sequences."""
    try:
        with processor_time(seconds):
            number, scale = point.least() if point.is_least else (point.answer(), None)
    except CannotEvaluate as refusal:
        return Judged(point, Outcome.REFUSED, str(refusal))
    except OutOfTime:
        return Judged(point, Outcome.SLOW, f"more than {seconds:g} s of processor time")
    except Exception as fault:
        return Judged(point, Outcome.CRASHED, f"{type(fault).__name__}: {fault}"[:200])
    reason = ""
    for ask in (
        _judges(point)
        if scale is None
        else [
            partial(_by_scales, scale=scale),
            partial(_by_drawn_scales, scale=scale),
        ]
    ):
        try:
            with processor_time(PATIENCE * seconds):
                verdict = ask(point, number)
        except OutOfTime:
            reason = f"the judge took more than {PATIENCE * seconds:g} s"
            continue
        except NoJudgement as lack:
            reason = str(lack)
            continue
        except Exception as fault:  # a judge that breaks judges nothing
            reason = f"the judge broke: {type(fault).__name__}: {fault}"[:200]
            continue
        if verdict is not None:
            return verdict
        reason = "the judge is not as sharp as the claim"
    return Judged(point, Outcome.UNJUDGED, reason)


def _judges(point: Point) -> list[Callable[[Point, Value], Judged | None]]:
    if point.task == "located":
        return [*([_by_hand] if _is_alike(point) else []), _by_mesh, _by_sequences]
    return [_by_pairs, _by_sequences] if point.is_steep else [_by_hand, _by_fewer_digits, _by_sequences]


def _is_alike(point: Point) -> bool:
    """Whether a Bayes risk has one relevant position, each as likely as another, and independent keys along one direction."""
    law, is_bayes = dict(point.located), point.attention is None
    return is_bayes and law["where"] == "one" and not law["prior"] and not law["keys"] and "(1,0)" not in law["signal"]


def _verdict(point: Point, number: Value, truth: Any, spare: Any, name: str) -> Judged:
    """Of a value without noise and what the judge may be off."""
    sigmas = SIGMAS if number.kind is Kind.STATISTICAL else 1
    claimed = mpf(number.error) * sigmas
    with mp.workdps(mp.dps + EXACT):
        noise = mpf(point.noise.numerator) / point.noise.denominator
        distance = abs(mpf(number.value) - noise**2 - truth)
    relative = float(claimed / abs(mpf(number.value))) if number.value else float(claimed)
    used = float(distance / claimed) if claimed else 0.0
    if distance <= claimed + spare:
        return Judged(point, Outcome.TRUE, "", name, relative, used)
    reason = (
        f"off by {nstr(distance, 3)}, claimed {nstr(claimed, 3)} (value {nstr(truth + noise**2, 8)}, "
        f"allowed {nstr(spare, 3)})"
    )
    return Judged(point, Outcome.FALSE, reason, name, relative, used)


def _by_hand(point: Point, number: Value) -> Judged | None:
    """None where the meshes of balls do not come to the claim; those of long doubles judge with fewer digits."""
    digits = _digits(point, number)
    with mp.workdps(digits + number.digits + 20):
        claimed = mpf(number.error)

        def is_sharp(value: mpf, error: mpf) -> bool:
            return bool(error <= claimed / 4 or (error <= mpf(10) ** -16 * abs(value) and point.digits is None))

        value, error = _best(point, is_sharp, digits)
        if digits == FLOAT_DIGITS and not is_sharp(value, error) and error <= LOST * abs(value):  # they round too much
            value, error = _best(point, is_sharp, digits := FEWEST_DIGITS)
        if is_sharp(value, error):
            return _verdict(point, number, value, 2 * error, "formulas by hand")
        return _fewer(point, number, value, error) if digits == FLOAT_DIGITS else None


def _digits(point: Point, number: Value) -> int:
    """Those of the risk without noise that the claim leaves, and a few more; of long doubles where they are enough."""
    if point.attention is not None and point.attention.name == "erf":
        fewest = FEWEST_DIGITS
    else:
        fewest = FLOAT_DIGITS
    if point.digits is None:
        return fewest
    with mp.workdps(2 * number.digits + 20):
        left = mpf(number.value) - mpf(point.noise.numerator) ** 2 / point.noise.denominator**2
        wanted = log10(abs(left) / number.error) if left and number.error else mpf(number.digits)
    return max(fewest, ceil(wanted) + MORE_DIGITS)


def _by_fewer_digits(point: Point, number: Value) -> Judged | None:
    """Formulas by hand in long doubles where balls were asked."""
    if _digits(point, number) == FLOAT_DIGITS:
        return None
    with mp.workdps(number.digits + 20):
        return _fewer(point, number, *_best(point, _within(LOST)))


def _fewer(point: Point, number: Value, truth: mpf, error: mpf) -> Judged | None:
    if error > FEWER * abs(truth):
        return None
    spare = 2 * error + LOST * abs(truth)
    return _verdict(point, number, truth, spare, "formulas by hand, fewer digits than the claim")


def _within(relative: float) -> Callable[[mpf, mpf], bool]:
    return lambda value, error: bool(error <= relative * abs(value))


def _best(point: Point, is_sharp: Callable[[mpf, mpf], bool], digits: int = FLOAT_DIGITS) -> tuple[mpf, mpf]:
    """(the risk without noise from formulas by hand, its error): the first that is sharp, or else the last.

    Raises:
        NoJudgement: where the meshes are too large from the first on.
    """
    found = None
    try:
        for pair in by_hand.risks([(p, question(point, length)) for length, p in point.lengths], digits):
            value, error = map(_number, pair)
            found = value, error
            if is_sharp(value, error):
                break
    except NoJudgement:
        if found is None:
            raise
    if found is None:
        raise NoJudgement("a single mesh")
    return found


def _by_scales(point: Point, number: Value, scale: Value) -> Judged | None:
    """A least risk: it is that of its scale, and those of other scales are not lower."""

    def at(there: Point, is_own: bool) -> tuple[mpf, mpf]:
        truth, error = _best(there, _within(CLOSE if is_own else ROUGH))
        if error > (FEWER if is_own else ROUGHEST) * abs(truth):
            raise NoJudgement("the judge is not as sharp as the claim")
        return truth, 2 * error + CLOSE * abs(truth)

    return _at_scales(point, number, scale, at, "risks at other scales")


def _by_drawn_scales(point: Point, number: Value, scale: Value) -> Judged | None:
    """The same over drawn sequences; the same ones at every scale."""

    def at(there: Point, is_own: bool) -> tuple[mpf, mpf]:
        try:
            value, error = _over_drawn(there, _generator(point))
        except NoJudgement:
            if is_own:
                raise
            return mpf(0), mpf("inf")  # another scale of which they say nothing
        return mpf(value), SIGMAS * mpf(error) + CLOSE * mpf(value)

    return _at_scales(point, number, scale, at, "drawn sequences at other scales")


def _at_scales(
    point: Point, number: Value, scale: Value, at: Callable[[Point, bool], tuple[mpf, mpf]], name: str
) -> Judged | None:
    """From the risk without noise at a scale, the library's own or another, and what it may be off."""
    rng = random.Random(point.name)
    signs = rng.choices((1, 1, 1, -1), k=SCALES)
    scales = [*(sign * 10 ** rng.uniform(-1.5, 1.5) for sign in signs), *(float(scale) * t for t in (0.7, 1.4))]
    at_end = float(np.clip(float(scale), -ENDLESS, ENDLESS))
    own, *others = (
        replace(point, values=(*point.values, ("a", Fraction(a)))) for a in (at_end, *filter(np.isfinite, scales))
    )
    found = _verdict(point, number, *at(own, True), name)
    least = mpf(number.value) - mpf(number.error) - mpf(point.noise.numerator) ** 2 / point.noise.denominator**2
    for there in others if found.outcome is Outcome.TRUE else ():
        truth, spare = at(there, False)
        if truth + spare < least:
            a = float(dict(there.values)["a"])
            reason = f"{nstr(least - truth, 3)} above the risk at a = {a:.6g}"
            return replace(found, outcome=Outcome.FALSE, reason=reason)
    return found


def _by_mesh(point: Point, number: Value) -> Judged | None:
    law, claimed = _law(point), float(number.error)
    value, error, doubted = sequences.refined(law, claimed / 4)
    is_sharp = error <= max(claimed, 2 * law.rounding(value))
    if not is_sharp and (error := doubted) > FEWER * abs(value):
        return None
    with mp.workdps(30):
        name = "sequences on a mesh" + ("" if is_sharp else ", fewer digits than the claim")
        spare = 2 * mpf(error) if is_sharp else max(2 * mpf(error), LEFT_OUT * abs(_number(value)))
        return _verdict(point, number, _number(value), spare, name)


def _by_pairs(point: Point, number: Value) -> Judged | None:
    """None where the meshes of two tokens are not as sharp as the claim, and do not know the value to FEWER."""
    if len(point.lengths) > 1:
        raise NoJudgement("several lengths")
    found, claimed = None, float(number.error)
    try:
        for found in pairs.refined(question(point, point.lengths[0][0]), abs(float(dict(point.values).get("a", 1)))):
            if found[1] <= max(claimed / 4, 4 * pairs.ROUNDED):
                break
    except NoJudgement:
        if found is None:
            raise
    assert found is not None
    value, error = found
    is_sharp = error <= claimed
    if not is_sharp and error > FEWER * abs(value):
        return None
    name = "pairs of tokens" + ("" if is_sharp else ", fewer digits than the claim")
    return _verdict(point, number, mpf(value), 2 * mpf(error), name)


def _by_sequences(point: Point, number: Value) -> Judged | None:
    """None where the standard error says little."""
    value, error = _over_drawn(point, _generator(point))
    return _verdict(point, number, mpf(value), SIGMAS * mpf(error), "drawn sequences")


def _generator(point: Point) -> np.random.Generator:
    return np.random.default_rng(random.Random(point.name).getrandbits(64))


def _over_drawn(point: Point, rng: np.random.Generator) -> tuple[float, float]:
    """(the risk without noise over drawn sequences, its standard error).

    Raises:
        NoJudgement: where the standard error says little.
    """
    if point.task == "located":
        value, error = sequences.drawn(_law(point), rng)
    else:
        asked = [(float(share), question(point, length)) for length, share in point.lengths]
        value, error = sequences.attention_drawn(asked, rng)
    if dict(point.values).get("a") == 0:  # attention does not look at the tokens
        return value, ROUNDED
    if not ROUNDED < error <= TELLING * abs(value):  # drawn sequences without a single error say nothing
        raise NoJudgement("the judge is not as sharp as the claim")
    return value, error


def _number(value: Any) -> mpf:
    """Of a long double or a ball's middle, exactly enough."""
    if isinstance(value, arb):
        mantissa, exponent = value.mid().man_exp()
        return mpf((int(mantissa), int(exponent))) if mantissa else mpf(0)
    return mpf(np.format_float_scientific(value, precision=25, unique=False))


def question(point: Point, length: int) -> Question:
    """A point at one length, in the terms of ``by_hand``."""
    at = dict(point.values)
    if point.task == "located":
        signals = [(Fraction(theta), Fraction(p)) for theta, p in dict(point.located)["signal"].items()]
        largest = max(abs(theta) for theta, _ in signals)
        return Question(
            partial(_log_mixture, at["nu"], signals),
            2 * sqrt(at["nu"]) * largest,
            length,
            signal=at["nu"] * largest**2,
            is_bayes=True,
            is_ratio=True,
        )
    if point.task == "student":
        laws = _student(at["dof"], Fraction(0)), _student(at["dof"], at["mean"])
        return Question(
            lambda x: laws[1](x) - laws[0](x),
            4.5,
            length,
            is_bayes=True,
            density=laws,
            drawn=(lambda rng, shape: rng.standard_t(float(at["dof"]), shape), float(at["mean"])),
        )
    nu = at["nu"]
    task: dict[str, Any] = {"signal": nu} if point.task == "spiked" else {"signal": None, "rate": nu}
    steep = sqrt(nu) if point.task == "spiked" else float(nu)
    if point.attention is None:
        rate = (lambda x: np.sqrt(exact(nu, x)) * x) if point.task == "spiked" else (lambda x: exact(nu, x) * x)
        size = (lambda x: np.sqrt(exact(nu, x))) if point.task == "spiked" else None
        return Question(rate, steep, length, is_bayes=True, exponential=size, **task)
    scale, name = at["a"], point.attention.name
    kernel, is_normalised = KERNELS[name]
    shifted = partial(kernel, at.get("c", Fraction(0)))
    slope = max(abs(float(scale)), steep if point.task == "max" else 0.0)
    offset = 1 if name == "softmax1" else 0
    return Question(
        lambda x: shifted(exact(scale, x) * x),
        slope,
        length,
        offset=offset,
        is_normalised=is_normalised,
        exponential=partial(exact, scale) if name.startswith("softmax") else None,
        **task,
    )


def _log_mixture(nu: Fraction, signals: list[tuple[Fraction, Fraction]], x: Array) -> Array:
    """log of sum_theta P(theta) e^{theta sqrt(nu) x - theta^2 nu/2}."""
    return np.log(
        sum(
            exact(p, x) * np.exp(exact(theta, x) * np.sqrt(exact(nu, x)) * x - exact(theta * theta * nu, x) / 2)
            for theta, p in signals
        )
    )


def _student(dof: Fraction, mean: Fraction) -> Callable[[Array], Array]:
    """The logarithm of a density, up to the constant that makes its integral one."""

    def density(x: Array) -> Array:
        n, away = exact(dof, x), x - exact(mean, x)
        return -(n + 1) / 2 * np.log(1 + away * away / n) + _student_constant(dof, x)

    return density


def _student_constant(dof: Fraction, like: Array) -> Any:
    """log Gamma((n + 1)/2)/(Gamma(n/2) sqrt(n pi))."""
    half = arb(dof.numerator) / (2 * dof.denominator)
    found = (half + arb(0.5)).lgamma() - half.lgamma() - (2 * half * arb.pi()).log() / 2
    return found if like.dtype == object else np.longdouble(mp.nstr(_number(found), 22))


def _softplus(_: Fraction, y: Array) -> Array:
    is_low = np.asarray(y < 0, dtype=bool)
    grown = np.log1p(np.exp(-np.abs(y)))
    is_far = np.asarray(y < -FAR_BELOW, dtype=bool)  # log(1 + e^y) is e^y
    return np.asarray(np.where(is_far, y, np.log(np.where(is_far, 1, np.where(is_low, grown, y + grown)))))


def _erf(shift: Fraction, y: Array) -> Array:
    """1 + erf(c + y); of long doubles to the accuracy of a double."""
    at = -(y + exact(shift, y))
    if y.dtype != object:
        return np.asarray(erfc(np.asarray(at, dtype=float)))
    return np.array([number.erfc() for number in at], dtype=object)


KERNELS: dict[str, tuple[Callable[[Fraction, Array], Array], bool]] = {
    "softmax": (lambda _, y: y, True),
    "softmax1": (lambda _, y: y, True),
    "softplus": (_softplus, True),
    "quartic": (lambda _, y: np.log1p(y * y * y * y), True),
    "hump": (lambda _, y: np.log1p(np.exp(-50 * y * y)), True),
    "kink": (lambda _, y: np.log1p(np.abs(y)), True),
    "linear": (lambda _, y: 1 + y, False),
    "erf": (_erf, False),
    "step": (lambda _, y: 1 + np.tanh(y) if y.dtype != object else 2 / (1 + np.exp(-2 * y)), False),
}
"""log kappa where it is normalised, kappa where it stands alone."""


def _law(point: Point) -> sequences.Located:
    written, at, length = dict(point.located), dict(point.values), point.lengths[0][0]
    size = {"one": 1, "subset(2)": 2, "independent": 0}[written["where"]]
    prior = [Fraction(1, l + 1) if written["prior"] else Fraction(1, length) for l in range(length)]
    if not size:
        prior = [at["coin"]] * length
    signals = tuple((_theta(theta), Fraction(p)) for theta, p in written["signal"].items())
    covariance = None
    if written["keys"]:
        power = {"alike": lambda i, j: int(i != j), "ar": lambda i, j: abs(i - j)}[written["keys"]]
        covariance = tuple(tuple(at["rho"] ** power(i, j) for j in range(length)) for i in range(length))
    weights = None
    if point.attention is not None:
        (kernel, is_normalised), scale = KERNELS[point.attention.name], sequences.long(at["a"])
        offset = 1 if point.attention.name == "softmax1" else 0
        weights = partial(sequences.weights, lambda keys: kernel(Fraction(0), scale * keys), is_normalised, offset)
    return sequences.Located(size, tuple(prior), signals, covariance, at["nu"], weights)


def _theta(text: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(part) for part in text.strip("()").split(","))
