"""Are the claimed errors true? Random points of the library, each number against a referee that shares no integrator with it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import Any

from mpmath import mp, mpf, nstr
from sympy import Expr, Rational

from symslr.budget import OutOfTime, processor_time
from symslr.evaluation import CannotEvaluate, Kind, Value, evaluate
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, erf, linear, softmax, softmax1, softplus
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import x
from symslr.theory import bayes_risk, population_risk

QUARTIC = Attention(1 + x**4, name="quartic")
ATTENTIONS: tuple[Attention | None, ...] = (None, softmax, softmax1, linear, erf, softplus, QUARTIC)
"""None stands for the Bayes risk."""

SECONDS = 3.0
"""Processor time that one number may take, the referee's among them."""
FLOAT_REFEREE = 16
"""Digits of the referee of a float64 value."""
MORE_DIGITS = 4
"""So many more than the number has, for the others."""
BACKENDS = ("numpy", "numpy", "numpy", "mpmath", "arb")
"""What random points ask for: float64 three times in five, and certified values among the rest."""


class Outcome(StrEnum):
    """Of one point."""

    TRUE = "true"
    FALSE = "false"
    """The number is further from the referee's than the two errors allow."""
    CRASHED = "crashed"
    """Neither a number nor a refusal in one line."""
    REFUSED = "refused"
    UNJUDGED = "unjudged"
    """There is a number, but no referee for it in the time given."""


@dataclass(frozen=True)
class Point:
    """One question to the library; ``digits`` is None for float64."""

    task: str
    attention: Attention | None
    length: int | LengthLaw
    noise: Fraction
    values: tuple[tuple[str, Fraction], ...]
    backend: str
    digits: int | None

    @property
    def expression(self) -> Expr:
        made = {"spiked": SpikedSLR, "max": MaxSLR}[self.task](noise=self.noise, length=self.length)
        if self.attention is None:
            return bayes_risk(made)
        return population_risk(made, self.attention)

    @property
    def kind(self) -> str:
        """The task and the attention."""
        return f"{self.task} {'Bayes' if self.attention is None else self.attention.name}"

    @property
    def name(self) -> str:
        length = ",".join(f"{n}:{p}" for n, p in self.length) if isinstance(self.length, LengthLaw) else self.length
        at = ", ".join(f"{name}={value}" for name, value in self.values)
        asked = "float64" if self.digits is None else f"{self.backend} {self.digits} digits"
        return f"{self.kind}, L={length}, Delta={self.noise}, {at}, {asked}"


@dataclass(frozen=True)
class Judged:
    """A point, what became of it, and why."""

    point: Point
    outcome: Outcome
    reason: str = ""
    referee: str = ""
    relative: float = 0.0
    """Claimed error over the value."""


def random_points(count: int, seed: int) -> Iterator[Point]:
    """Tasks, attentions, lengths up to 10^6, nu up to 400, noise, scales and backends; one seed, one list.

    From 15 to 60 digits are asked for, few more often than many.
    """
    rng = random.Random(seed)
    for _ in range(count):
        task, attention = rng.choice(("spiked", "spiked", "max")), rng.choice(ATTENTIONS)
        nu = Fraction(rng.randint(0, 4000), 10) if rng.random() < 0.5 else _short(10 ** rng.uniform(-1, 2.6))
        values = {"nu": nu}
        if attention is not None:
            values["a"] = _short(rng.uniform(0.1, 1.5) * float(nu) ** 0.5) or Fraction(1, 3)
        if attention is erf:
            values["c"] = Fraction(rng.randint(-30, 10), 10)
        length: int | LengthLaw = round(10 ** rng.uniform(0, 6)) if rng.random() < 0.5 else rng.randint(1, 12)
        if rng.random() < 0.15:
            length = LengthLaw(
                {1: Rational(1, 7), rng.randint(2, 9): Rational(2, 7), rng.randint(10, 999): Rational(4, 7)}
            )
        noise = _short(rng.uniform(0.01, 2)) if rng.random() < 0.3 else Fraction(0)
        backend = rng.choice(BACKENDS)
        digits = None if backend == "numpy" else round(15 * 4 ** rng.random() ** 2)
        yield Point(task, attention, length, noise, tuple(sorted(values.items())), backend, digits)


def _short(number: float) -> Fraction:
    return Fraction(round(100 * number), 100)


def judge(point: Point, seconds: float = SECONDS) -> Judged:
    """One number and its claimed error against the referee.

    An estimated number is judged by Arb where it has a proof, else by mpmath with more digits; a certified one by mpmath.
    """
    at = dict(point.values)
    expression = point.expression
    asked: dict[str, Any] = {"backend": point.backend}
    if point.digits is not None:
        asked["digits"] = point.digits
    number, problem = _timed(lambda: evaluate(expression, at, **asked), seconds)
    if number is None:
        return Judged(point, *problem)
    claimed = mpf(number.error)
    wanted = FLOAT_REFEREE if point.digits is None else point.digits + MORE_DIGITS
    truth: Value | None = None
    for backend in ("mpmath",) if point.backend == "arb" else ("arb", "mpmath"):
        found, problem = _timed(partial(evaluate, expression, at, digits=wanted, backend=backend), seconds)
        if found is None:
            continue
        if found.error <= max(claimed, mpf(10) ** (1 - wanted) * abs(found.value)):
            truth = found
            break
        problem = Outcome.UNJUDGED, f"the referee {backend} has {found.digits} of {wanted} digits"
    if truth is None:
        return Judged(point, Outcome.UNJUDGED, problem[1])
    referee = "Arb" if truth.kind is Kind.CERTIFIED else "mpmath"
    with mp.workdps(wanted + 20):
        distance = abs(mpf(number.value) - truth.value)
        relative = float(claimed / abs(truth.value)) if truth.value else float(claimed)
        if distance <= claimed + truth.error:
            return Judged(point, Outcome.TRUE, referee=referee, relative=relative)
        reason = f"off by {nstr(distance, 3)}, claimed {nstr(claimed, 3)} (value {nstr(truth.value, 6)})"
    return Judged(point, Outcome.FALSE, reason, referee, relative)


def _timed(compute: Callable[[], Value], seconds: float) -> tuple[Value | None, tuple[Outcome, str]]:
    try:
        with processor_time(seconds):
            return compute(), (Outcome.TRUE, "")
    except CannotEvaluate as refusal:
        return None, (Outcome.REFUSED, str(refusal))
    except OutOfTime:
        return None, (Outcome.UNJUDGED, f"more than {seconds:g} s of processor time")
    except Exception as fault:
        return None, (Outcome.CRASHED, f"{type(fault).__name__}: {fault}"[:200])
