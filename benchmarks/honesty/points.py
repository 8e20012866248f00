"""Random questions to the library: tasks, attentions, laws of tokens and of location, lengths, noise, digits and backends."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Abs, Rational, exp, sign, tanh

from symslr.evaluation import evaluate, least_risk
from symslr.evaluation.location import bayes_value, risk_value
from symslr.expression.value import Value
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, erf, linear, softmax, softmax1, softplus
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import student
from symslr.model.symbols import i, j, l, x
from symslr.model.task import Task
from symslr.theory import bayes_risk, population_risk

QUARTIC = Attention(1 + x**4, name="quartic")
HUMP = Attention(1 + exp(-50 * x**2), name="hump")
KINK = Attention(1 + Abs(x), name="kink")
STEP = Attention(1 + tanh(x), normaliser=None, name="step")
ATTENTIONS: tuple[Attention | None, ...] = (None, softmax, softmax1, linear, erf, softplus, QUARTIC, STEP)
"""None stands for the Bayes risk."""
LOCATED_ATTENTIONS = (None, None, None, softmax, softmax1, linear, softplus, QUARTIC, HUMP, KINK)
"""The same under laws of location, with a kernel that is steep and one that has a kink."""
LEAST = (softmax, linear, softplus, softplus, QUARTIC, HUMP, KINK)
"""Those whose least risk over the scale is asked for."""
TASKS = ("spiked", "spiked", "spiked", "max", "max", "student", "located", "located", "least")
BACKENDS = ("numpy", "numpy", "numpy", "mpmath", "arb")
"""What is asked for: float64 three times in five, and certified values among the rest."""
WHERE = ("one", "one", "one", "subset(2)", "independent")
SIGNALS = (
    {"1": "1"},
    {"1": "1"},
    {"1": "1/2", "-1": "1/2"},
    {"1/2": "1/3", "2": "2/3"},
    {"(1,0)": "1/2", "(0,1)": "1/2"},
)
STEEP = (softmax, softmax, softmax1, softplus, erf, linear, QUARTIC, STEP, STEP, None)
"""Those asked for where signals and scales are large."""
CORRELATED: dict[str, Any] = {"alike": lambda rho: rho ** sign(Abs(i - j)), "ar": lambda rho: rho ** Abs(i - j)}


@dataclass(frozen=True)
class Point:
    """One question to the library; ``digits`` is None for float64, or what the route to a law of location gives.

    Attributes:
        values: numbers by name: nu, a, c of an attention, degrees of freedom and mean of a Student token, rho of correlated keys;
            with an attention and no a the least risk over a is meant.
        located: where, prior, signal and covariance of a law of location, as it is written.
        is_steep: whether it is one of ``steep_point``.
    """

    task: str
    attention: Attention | None
    lengths: tuple[tuple[int, Fraction], ...]
    noise: Fraction
    values: tuple[tuple[str, Fraction], ...]
    backend: str
    digits: int | None
    located: tuple[tuple[str, Any], ...] = ()
    is_steep: bool = False

    @property
    def is_least(self) -> bool:
        return self.attention is not None and "a" not in dict(self.values)

    def least(self) -> tuple[Value, Value]:
        """The least risk over the scale, and the scale, as the library says."""
        assert self.attention is not None
        made = {"spiked": SpikedSLR, "max": MaxSLR}[self.task](noise=self.noise, length=self._length())
        value, places = least_risk(made, self.attention, dict(self.values), self.digits)
        return value, places["a"]

    def answer(self) -> Value:
        """The risk, as the library says."""
        at, length = dict(self.values), self._length()
        asked: dict[str, Any] = {"backend": self.backend} | ({} if self.digits is None else {"digits": self.digits})
        if self.task == "located" and self.attention is not None:
            return risk_value(self._located_task(), self.attention, Rational(at["a"]))
        if self.task == "located":
            return bayes_value(self._located_task(), {})
        if self.task == "student":
            dof, mean = (Rational(at[name]) for name in ("dof", "mean"))
            task = Task.from_token_laws(student(dof, mean), student(dof), noise=self.noise, length=length)
            return evaluate(bayes_risk(task), {}, **asked)
        made = {"spiked": SpikedSLR, "max": MaxSLR}[self.task](noise=self.noise, length=length)
        expression = bayes_risk(made) if self.attention is None else population_risk(made, self.attention)
        return evaluate(expression, at, **asked)

    def _length(self) -> Any:
        if len(self.lengths) == 1:
            return self.lengths[0][0]
        return LengthLaw({n: Rational(p) for n, p in self.lengths})

    def _located_task(self) -> Task:
        law, at = dict(self.located), dict(self.values)
        correlated = CORRELATED[law["keys"]](Rational(at["rho"])) if law["keys"] else None
        written = ",".join(f"{theta}:{p}" for theta, p in law["signal"].items())
        prior = 1 / l if law["prior"] else None
        return Task(
            nu=Rational(at["nu"]),
            location=f"independent({at['coin']})" if law["where"] == "independent" else law["where"],
            prior=prior,
            signal=written,
            key_covariance=correlated,
            length=self.lengths[0][0],
            noise=self.noise,
        )

    @property
    def kind(self) -> str:
        """The task and the attention."""
        asked = "Bayes" if self.attention is None else self.attention.name
        if self.is_least:
            return f"least {self.task} {asked}"
        return f"located {dict(self.located)['where']} {asked}" if self.task == "located" else f"{self.task} {asked}"

    @property
    def name(self) -> str:
        length = ",".join(f"{n}:{p}" if len(self.lengths) > 1 else str(n) for n, p in self.lengths)
        at = ", ".join(f"{name}={value}" for name, value in (*self.values, *self.located))
        asked = "float64" if self.digits is None else f"{self.backend} {self.digits} digits"
        return f"{self.kind}, L={length}, Delta={self.noise}, {at}, {asked}"


def random_points(count: int, seed: int) -> Iterator[Point]:
    """The first points of a list that the seed names."""
    for number in range(count):
        yield random_point(number, seed)


def random_point(number: int, seed: int) -> Point:
    """One point of the list. Lengths go up to 10^6, nu to 400, and 15 to 60 digits are asked for, few more often than many."""
    rng = random.Random(f"{seed} {number}")
    task = rng.choice(TASKS)
    noise = _short(rng.uniform(0.01, 2)) if rng.random() < 0.3 else Fraction(0)
    if task == "located":
        return _located(rng, noise)
    if task == "least":
        return _least(rng, noise)
    attention = None if task == "student" else rng.choice(ATTENTIONS)
    nu = Fraction(rng.randint(0, 4000), 10) if rng.random() < 0.5 else _short(10 ** rng.uniform(-1, 2.6))
    values = {"nu": nu}
    if attention is not None:
        values["a"] = _short(rng.uniform(0.1, 1.5) * float(nu) ** 0.5) or Fraction(1, 3)
    if attention is erf:
        values["c"] = Fraction(rng.randint(-30, 10), 10)
    if task == "student":
        values = {"dof": Fraction(rng.randint(2, 9)), "mean": _short(rng.uniform(0.2, 6))}
    length = round(10 ** rng.uniform(0, 6)) if rng.random() < 0.5 else rng.randint(1, 12)
    lengths: tuple[tuple[int, Fraction], ...] = ((length, Fraction(1)),)
    if rng.random() < 0.15:
        several = 1, rng.randint(2, 9), rng.randint(10, 999)
        lengths = tuple(zip(several, (Fraction(k, 7) for k in (1, 2, 4))))
    backend = rng.choice(BACKENDS)
    digits = None if backend == "numpy" else round(15 * 4 ** rng.random() ** 2)
    return Point(task, attention, lengths, noise, tuple(sorted(values.items())), backend, digits)


def steep_point(number: int, seed: int) -> Point:
    """One point of another list: nu to 3000, scales to 200, of softmax to 3000; few digits or float64; mostly two tokens."""
    rng = random.Random(f"steep {seed} {number}")
    task, attention = rng.choice(("spiked", "max", "max")), rng.choice(STEEP)
    values = {"nu": _short(10 ** rng.uniform(0, 3.5))}
    if attention is not None:
        values["a"] = _short(10 ** rng.uniform(0, 3.5 if attention is softmax else 2.3))
    if attention is erf:
        values["c"] = Fraction(rng.randint(-30, 10), 10)
    length = 2 if rng.random() < 0.7 else round(10 ** rng.uniform(0.5, 2))
    digits = rng.choice((None, None, 4, 8))
    return Point(
        task,
        attention,
        ((length, Fraction(1)),),
        Fraction(0),
        tuple(sorted(values.items())),
        "numpy",
        digits,
        is_steep=True,
    )


def _least(rng: random.Random, noise: Fraction) -> Point:
    lengths: tuple[tuple[int, Fraction], ...] = ((round(10 ** rng.uniform(0.3, 4)), Fraction(1)),)
    if rng.random() < 0.15:
        several = 1, rng.randint(2, 9), rng.randint(10, 999)
        lengths = tuple(zip(several, (Fraction(k, 7) for k in (1, 2, 4))))
    nu = _short(10 ** rng.uniform(-1, 1.6))
    digits = rng.choice((None, None, 12))
    return Point(
        rng.choice(("spiked", "spiked", "max")), rng.choice(LEAST), lengths, noise, (("nu", nu),), "numpy", digits
    )


def _located(rng: random.Random, noise: Fraction) -> Point:
    where, signal = rng.choice(WHERE), rng.choice(SIGNALS)
    length = rng.randint(2, 3) if rng.random() < 0.6 else round(10 ** rng.uniform(0.5, 2.3))
    keys = (
        rng.choice(tuple(CORRELATED))
        if where == "one" and length <= 3 and signal == SIGNALS[0] and rng.random() < 0.5
        else ""
    )
    prior = where == "one" and not keys and rng.random() < 0.3
    values = {"nu": _short(rng.uniform(0.2, 12))}
    if keys:
        values["rho"] = Fraction(rng.randint(1, 9), 10)
    if where == "independent":
        values["coin"] = Fraction(rng.randint(1, 9), 10)
    attention = None if "(1,0)" in signal else rng.choice(LOCATED_ATTENTIONS)
    if attention is not None:
        length = min(length, 2) if rng.random() < 0.4 else length  # where a mesh over all tokens is sharp
        values["a"] = rng.choice((1, -1, 1, 1)) * _short(rng.uniform(0.1, 1.5) * float(values["nu"]) ** 0.5 + 0.01)
    located = (("where", where), ("signal", signal), ("prior", prior), ("keys", keys))
    return Point("located", attention, ((length, Fraction(1)),), noise, tuple(values.items()), "numpy", None, located)


def _short(number: float) -> Fraction:
    return Fraction(round(100 * number), 100)
