"""Risks of tasks with independent tokens from formulas written out by hand, summed on equidistant meshes.

With S the sum of kappa over the tokens and the offset o, 1/S = int e^{-uS} du, where tokens factorise. Everything here is
NumPy's: on long doubles, or on arrays of Arb's balls where more digits are asked for. Errors are differences between two meshes.

Nothing is imported from the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, log, log2, pi, sqrt
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.lib.stride_tricks import sliding_window_view

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[[Array], Array]

LONG_DIGITS = 18
"""Digits of a long double, of which sums over thousands of nodes lose one or two."""
COARSE = 1.0
"""Step in log u of the search for the window."""
FINER = 0.75
"""Steps of one mesh over those of the one before."""
MESHES = {False: 9, True: 6}
"""Of long doubles, which take little time, and of balls."""
ROUNDED = 1e-16
"""Of a risk in long doubles: finer meshes say nothing more."""
ALGEBRAIC = 1.15
"""Power of the last difference that the next has to be below, where a mesh three quarters as fine gives the power 4/3."""
SMOOTH = 0.3
"""Of the steps in log u where the kernel is e^{rate x}, whose sums are smooth on the scale of rate over the largest of L tokens."""
FAR = 1e5
"""From this u on e^{-u} is 0 beside 40,000 digits; balls of such exponents take minutes to multiply."""
BLOCK = 2_000_000
"""Exponentials that are held at once."""
MOST = {False: 30_000_000, True: 3_000_000}
"""Exponentials of one mesh, of long doubles and of balls."""
LONGEST = 100_000
"""Nodes of the token."""
PRODUCTS = 5
"""So many times more products of two exponentials."""
SHARED = 2
"""So many times more where the nodes are a lattice, which shares its exponentials."""


class NoJudgement(Exception):
    """No answer to the accuracy that is asked for, with the reason."""


@dataclass(frozen=True)
class Question:
    """A risk at one length.

    Attributes:
        kernel: log kappa(a x) where it is normalised, kappa(a x) where it stands alone.
        slope: how fast the logarithm of any function here changes: poles and zeros are about pi/2 over it away.
        length: L.
        signal: the square of the mean of the relevant token, whose variance is 1 as that of the others; None where the
            weight is L e^{rate chi}/sum e^{rate chi}.
        rate: of that weight.
        offset: o.
        is_normalised: whether kappa is divided by the sum.
        is_bayes: whether the risk is 1 - E p_eps, kappa being the likelihood ratio.
        density: log of a law of the others, and of the relevant token; N(0, 1) and N(sqrt(signal), 1) where None.
        is_ratio: whether kappa is the likelihood ratio of the relevant token, whose law then follows from it.
        exponential: the rate of a kernel that is e^{rate x}, in the arithmetic of an array.
        drawn: tokens of the others, of a shape, and what is added to the relevant one; N(0, 1) and sqrt(signal) where None.
    """

    kernel: Function
    slope: float
    length: int
    signal: Fraction | None = Fraction(0)
    rate: Fraction = Fraction(0)
    offset: int = 0
    is_normalised: bool = True
    is_bayes: bool = False
    density: tuple[Function, Function] | None = None
    is_ratio: bool = False
    exponential: Callable[[Array], Any] | None = None
    drawn: tuple[Callable[[np.random.Generator, tuple[int, int]], Array], float] | None = None


def exact(number: Fraction, like: Array) -> Any:
    """The fraction in the arithmetic of an array."""
    if like.dtype == object:
        return arb(number.numerator) / number.denominator
    of = like.dtype.type
    return of(number.numerator) / of(number.denominator)


class Mesh:
    """Arrays of one arithmetic: long doubles where ``digits`` <= LONG_DIGITS, balls otherwise."""

    def __init__(self, digits: int) -> None:
        self.is_balls, self.nats = digits > LONG_DIGITS, digits * log(10)

    def array(self, numbers: Array) -> Array:
        if self.is_balls:
            return np.array([arb(float(x)) for x in numbers], dtype=object)
        return np.asarray(numbers, dtype=np.longdouble)

    def product(self, left: Array, right: Array) -> Array:
        if not self.is_balls:
            return np.asarray(left @ right)
        found = arb_mat(left.tolist()) * arb_mat(right.tolist())
        return np.array([[found[i, j] for j in range(right.shape[1])] for i in range(left.shape[0])], dtype=object)

    def pi(self) -> Any:
        return arb.pi() if self.is_balls else np.longdouble("3.14159265358979323846264338327950288")


def risks(questions: Sequence[tuple[Fraction, Question]], digits: int) -> Iterator[tuple[Any, Any]]:
    """(risk without noise, estimate of its error), ever better; about ``digits`` digits are worked with.

    Args:
        questions: at every length that occurs, with its probability, a fraction.
        digits: of the claim, and a few more.

    Raises:
        NoJudgement: where the meshes are too large.
    """

    def averaged(h: float, d: float) -> Moments:
        parts = [(p, _moments(question, Mesh(digits), h, d)) for p, question in questions]
        return {name: sum(part[name] * exact(p, np.asarray(part[name])) for p, part in parts) for name in parts[0][1]}

    slope = max(question.slope for _, question in questions)
    yield from _refined(averaged, slope, digits)


Moments = dict[str, Any]
"""m = E w_eps and n = E sum w^2; or "risk"; and "spread" = n - m^2 in terms that do not cancel where w_eps is near 1."""


def risk_of(moments: Moments) -> Any:
    if "risk" in moments:
        return moments["risk"]
    mean, norm = moments["mean"], moments["norm"]
    direct = 1 - mean * mean / norm
    if "rest" in moments and float(direct) < 0.5:
        rest = moments["rest"]
        return (moments["rest2"] - rest * rest + moments["others"]) / norm
    return direct


def _refined(at: Callable[[float, float], Moments], slope: float, digits: int) -> Iterator[tuple[Any, Any]]:
    nats = max(digits, LONG_DIGITS) * log(10)
    h, d = 9.0 / nats, min(1.0, 1.5 / max(slope, 1e-3)) * 6.28 / nats * 1.3
    d = min(d, sqrt(2 * pi**2 / nats))
    before: Any = None
    differences: list[float] = []
    for _ in range(MESHES[digits > LONG_DIGITS]):
        with ctx.workprec(_bits(digits)):
            found = risk_of(at(h, d))
            away = None if before is None else abs(found - before)
            if away is not None and isinstance(away, arb):
                away = arb(away.upper())  # what balls lost in cancellation is part of it
        if away is not None:
            yield found, away
            differences.append(abs(float(away / found)) if found else 0.0)
            if digits <= LONG_DIGITS and (differences[-1] <= ROUNDED or is_algebraic(differences)):
                return
        before, h, d = found, h * FINER, d * FINER


def is_algebraic(differences: list[float]) -> bool:
    """Whether differences of ever finer meshes fall as those of a kink, twice in a row: never as sharp as is wanted."""
    last = differences[-3:]
    return len(last) == 3 and all(ROUNDED**0.75 < x < 1e-2 and y > x**ALGEBRAIC for x, y in pairwise(last))


def _bits(digits: int) -> int:
    return int(digits * log2(10)) + 100


def _moments(question: Question, mesh: Mesh, h: float, d: float) -> Moments:
    with np.errstate(all="ignore"):
        return _Sums(question, mesh, h, d).moments()


class _Sums:
    """All sums of one question on one mesh with steps h in log u and d in the token."""

    def __init__(self, question: Question, mesh: Mesh, h: float, d: float) -> None:
        self.q, self.mesh, self.h, self.d = question, mesh, _binary(h), _binary(d)
        reach = sqrt(2 * (mesh.nats + 5 + log(question.length)))
        low, high = -reach, reach + sqrt(question.signal or 0)
        if question.density is not None:  # power tails: x = sinh y
            reach = mesh.nats / 1.8
            low, high = -reach, reach
        if (high - low) / max(self.d, 2**-20) > LONGEST:
            raise NoJudgement(f"steps of {d:.1g} in the token")
        places = np.arange(ceil(low / self.d), ceil(high / self.d) + 1) * self.d
        y = mesh.array(places)
        if question.density is None:
            self.x, jacobian = y, self.d / np.sqrt(2 * mesh.pi())
            self.others = np.exp(-(y * y) / 2) * jacobian
            moved = y - np.sqrt(exact(question.signal or Fraction(0), y))
            self.relevant = np.exp(-(moved * moved) / 2) * jacobian
        else:
            self.x = np.sinh(y)
            others, relevant = (density(self.x) for density in question.density)
            self.others, self.relevant = (np.exp(law) * np.cosh(y) * self.d for law in (others, relevant))
        self.kernel = question.kernel(self.x)
        if question.is_ratio:
            self.relevant = self.others * np.exp(self.kernel)

    def _step(self, rate: Any) -> float:
        """In log u; wider where the kernel is e^{rate x}, unless an offset's e^{-ou} changes faster."""
        if rate is None or self.q.offset:
            return self.h
        smooth = abs(float(rate)) / (1 + sqrt(2 * log(self.q.length)))
        return _binary(self.h * max(1.0, SMOOTH * smooth * sqrt(self.mesh.nats)))

    def _rate(self) -> Any:
        """Of a kernel that is an exponential."""
        return self.q.exponential(self.x) if self.q.exponential else None

    def moments(self) -> Moments:
        q = self.q
        if not q.is_normalised:
            return self._alone()
        if q.signal is not None:
            return self._ratio()
        return self._ratio_of_largest()

    def _alone(self) -> Moments:
        """Element-wise kernels: m = E kappa(relevant), n = E kappa^2 summed over the tokens."""
        k = self.kernel
        square = (self.others * k * k).sum()
        if self.q.signal is not None:
            mean = (self.relevant * k).sum()
            spread = (self.relevant * (k - mean) ** 2).sum() + (self.q.length - 1) * square
            norm = spread + mean * mean
            return {"mean": mean, "norm": norm, "rest": mean * 0, "rest2": spread, "others": mean * 0}
        weight = np.exp(self.x * exact(self.q.rate, self.x))
        columns = [self.others, self.others * weight * k]
        wanted = {"mean": lambda s, u: u * s["A"] * _power(s["M"], s["-M"], self.q.length - 1)}
        mean = self._integrals(weight, columns, ("M", "A"), wanted, exact(self.q.rate, self.x))["mean"]
        return {"mean": self.q.length * mean, "norm": self.q.length * square}

    def _ratio(self) -> Moments:
        """w_eps, w_eps^2, the squares of the others, 1 - w_eps and its square, for a relevant token of its own law."""
        k, n, o = np.exp(self.kernel), self.q.length, self.q.offset
        columns = [
            self.others,
            self.others * k,
            self.others * k * k,
            self.relevant,
            self.relevant * k,
            self.relevant * k * k,
        ]
        names = ("M", "M1", "M2", "A", "A1", "A2")

        def power(s: Any, m: int) -> Any:
            return _power(s["M"], s["-M"], m) if m >= 0 else s["M"] * 0

        def damped(u: Any) -> Any:
            return u * np.exp(-o * u) if o else u

        wanted = {"rest": lambda s, u: damped(u) * s["A"] * (o * power(s, n - 1) + (n - 1) * s["M1"] * power(s, n - 2))}
        if not self.q.is_bayes:
            wanted |= {
                "mean": lambda s, u: damped(u) * s["A1"] * power(s, n - 1),
                "square": lambda s, u: u * damped(u) * s["A2"] * power(s, n - 1),
                "others": lambda s, u: u * damped(u) * (n - 1) * s["A"] * s["M2"] * power(s, n - 2),
                "rest2": lambda s, u: (
                    u
                    * damped(u)
                    * s["A"]
                    * (
                        o * o * power(s, n - 1)
                        + (n - 1) * (2 * o * s["M1"] + s["M2"]) * power(s, n - 2)
                        + (n - 1) * (n - 2) * s["M1"] * s["M1"] * power(s, n - 3)
                    )
                ),
            }
        found = self._integrals(k, columns, names, wanted, self._rate())
        if self.q.is_bayes:
            return {"risk": found["rest"]}
        return {**found, "norm": found["square"] + found["others"]}

    def _ratio_of_largest(self) -> Moments:
        """With the weight of a softmax: p_1 = e^{rate chi_1}/T has a Laplace variable t of its own."""
        n = self.q.length
        if n == 1 and not self.q.offset:  # all weight is on the only token
            one = exact(Fraction(1), self.x)
            return {"risk": one * 0} if self.q.is_bayes else {"mean": one, "norm": one}
        if self.q.is_bayes:
            k = np.exp(self.x * exact(self.q.rate, self.x))
            columns = [self.others, self.others * k]
            wanted = {"risk": lambda s, u: n * (n - 1) * u * u * s["M1"] * s["M1"] * _power(s["M"], s["-M"], n - 2)}
            return self._integrals(k, columns, ("M", "M1"), wanted, exact(self.q.rate, self.x))
        k, total, o = np.exp(self.kernel), np.exp(self.x * exact(self.q.rate, self.x)), self.q.offset
        found = self._integrals(
            k,
            [self.others, self.others * k * k],
            ("M", "M2"),
            {"square": lambda s, u: u * u * (np.exp(-o * u) if o else 1) * s["M2"] * _power(s["M"], s["-M"], n - 1)},
            self._rate(),
        )
        steps = self._step(self._rate()), self._step(exact(self.q.rate, self.x))
        u, t = self._window_of(k, self.others * k, steps[0]), self._window_of(total, self.others * total, steps[1])
        most = MOST[self.mesh.is_balls]
        if (len(u) + len(t)) * len(self.x) > most or len(u) * len(t) * len(self.x) > PRODUCTS * most:
            raise NoJudgement("two Laplace variables on too large a mesh")
        left, right = np.exp(-np.outer(u, k)), np.exp(-np.outer(t, total))
        both = self.mesh.product(left * self.others, right.T)
        weighted = self.mesh.product(left * (self.others * k * total), right.T)
        log_power = (n - 1) * np.log(both)
        if n > 1000:
            log_power = (n - 1) * np.log1p(
                -(
                    self.mesh.product(left * self.others, -np.expm1(-np.outer(total, t)))
                    + self.mesh.product(-np.expm1(-np.outer(u, k)), self.others[:, None])
                )
            )
        inside = np.exp(log_power) * weighted * (u * (np.exp(-o * u) if o else 1))[:, None] * t[None, :]
        return {"mean": n * inside.sum() * steps[0] * steps[1], "norm": n * found["square"]}

    def _columns(self, fall: Array, rise: Array | None, columns: Array, names: tuple[str, ...]) -> dict[str, Array]:
        """E e^{-uk} with every column's weights, and under "-M" 1 - E e^{-uk} of the first, from e^{-uk} and 1 - e^{-uk}."""
        found = self.mesh.product(fall, columns)
        sums = {name: found[:, i] for i, name in enumerate(names)}
        sums["-M"] = columns[:, 0].sum() - sums["M"] if rise is None else self.mesh.product(rise, columns[:, :1])[:, 0]
        return sums

    def _rise(self, loads: Array) -> Array | None:
        """1 - e^{-uk}, which balls, who have bits to spare, take from e^{-uk}."""
        return None if self.mesh.is_balls or self.q.length <= 2 else -np.expm1(-loads)

    def _window_of(self, k: Array, weights: Array, h: float) -> Array:
        """Nodes u outside of which u E[k e^{-uk}] M(u)^{L-1} is nothing, h apart in log u."""
        wanted = {"": lambda s, u: u * s["M1"] * _power(s["M"], s["-M"], self.q.length - 1)}
        low, high = self._window(k, [self.others, weights], ("M", "M1"), wanted, h)
        return np.exp(self.mesh.array(np.arange(ceil(low / h), ceil(high / h) + 1) * h))

    def _window(
        self, k: Array, columns: list[Array], names: tuple[str, ...], wanted: Any, h: float
    ) -> tuple[float, float]:
        """Where some integrand is more than e^-nats of its largest value, seen on every fourth token in long doubles."""
        coarse = _long(k[::4]), [_long(column[::4]) for column in columns]
        logs = np.log(coarse[0])
        coarser = max(COARSE, h)
        v = np.arange(-float(logs.max()) - self.mesh.nats - log(self.q.length) - 10, -float(logs.min()) + 12, coarser)
        u = np.exp(np.asarray(v, dtype=np.longdouble))
        inside = np.zeros(len(v), dtype=bool)
        step = max(1, BLOCK // len(coarse[0]))
        rows = []
        for i in range(0, len(u), step):
            loads = -np.outer(u[i : i + step], coarse[0])
            found = np.exp(loads) @ np.stack(coarse[1], axis=1)
            sums = {name: 4 * found[:, j] for j, name in enumerate(names)}
            sums["-M"] = -4 * (np.expm1(loads) @ coarse[1][0])
            rows.append([np.broadcast_to(form(sums, u[i : i + step]), (len(loads),)) for form in wanted.values()])
        for j in range(len(wanted)):
            values = np.abs(np.nan_to_num(np.concatenate([row[j] for row in rows])))
            inside |= values > values.max() * np.exp(np.longdouble(-self.mesh.nats - 4))
        if not inside.any():
            return 0.0, 0.0  # all integrals are zero
        places = np.flatnonzero(inside)
        return float(v[places[0]]) - 2 * coarser, float(v[places[-1]]) + 2 * coarser

    def _integrals(
        self, k: Array, columns: list[Array], names: tuple[str, ...], wanted: Any, rate: Any = None
    ) -> Moments:
        """Of every form of the sums, over log u; ``rate`` where k = e^{rate x} on the nodes."""
        low, high = self._window(k, columns, names, wanted, h := self._step(rate))
        if rate is not None and rate > 0:
            u, loads, h = self._lattice(rate, low, high, h)
            shared = SHARED
        else:
            u = np.exp(self.mesh.array(np.arange(ceil(low / h), ceil(high / h) + 1) * h))
            loads, shared = None, 1
        if len(u) * len(k) > shared * MOST[self.mesh.is_balls]:
            raise NoJudgement(f"a mesh of {len(u)} times {len(k)} nodes")
        together, step = np.stack(columns, axis=1), max(1, BLOCK // len(k))
        totals: Moments = dict.fromkeys(wanted, 0)
        for i in range(0, len(u), step):
            part = u[i : i + step]
            if loads is None:
                load = np.outer(part, k)
                both = np.exp(-load), self._rise(load)
            else:
                both = loads[0][i : i + step], None if loads[1] is None else loads[1][i : i + step]
            sums = self._columns(*both, together, names)
            for name, form in wanted.items():
                totals[name] = totals[name] + form(sums, part).sum() * h
        return totals

    def _lattice(self, rate: Any, low: float, high: float, h: float) -> tuple[Array, tuple[Array, Array | None], Any]:
        """Nodes u whose logarithms are in steps of rate times those of the token, e^{-uk} and 1 - e^{-uk}, and the steps.

        A row follows from the one before by a shift, so that every exponential is taken once.
        """
        unit, count = rate * exact(Fraction(self.d), self.x), len(self.x)
        every = max(1, int(h / float(unit)))
        first, last = int(low / float(unit)) // every, int(high / float(unit)) // every + 1
        start = round(float(self.x[0]) / self.d)
        load = np.exp(unit * self.mesh.array(np.arange(first * every + start, last * every + start + count)))
        u = np.exp(unit * self.mesh.array(np.arange(first, last + 1) * every))
        fall, rise = np.exp(-load), self._rise(load)
        if self.mesh.is_balls:
            fall = np.where(load > FAR, arb(0), fall)

        def shifted(series: Array) -> Array:
            return sliding_window_view(series, count)[::every]

        return u, (shifted(fall), None if rise is None else shifted(rise)), unit * every


def _binary(number: float) -> float:
    """Near a number, with few bits: multiples of it are exact."""
    return round(number * 2**20) / 2**20


def _power(m: Array, missing: Array, n: int) -> Array:
    """m^n, by 1 - m where m is near 1."""
    if n == 0:
        return m * 0 + 1
    if m.dtype == object:
        return np.array([a**n if not a > 0.5 else (n * (-b).log1p()).exp() for a, b in zip(m, missing)], dtype=object)
    near = m > 0.5
    return np.exp(
        n
        * np.where(
            near,
            np.log1p(-np.where(near, missing, 0)),
            np.log(np.where(near, 1, np.maximum(m, np.longdouble("1e-4900")))),
        )
    )


def _long(array: Array) -> Array:
    if array.dtype != object:
        return array
    return np.array([_long_of(x) for x in array], dtype=np.longdouble)


def _long_of(ball: Any) -> Any:
    """The middle of a ball; beyond the range of a double by its logarithm."""
    if not ball.mid() > 0:
        return np.longdouble(0)
    return np.exp(np.longdouble(float(ball.mid().log())))
