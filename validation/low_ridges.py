"""Low ridges and weak signals, where readers saw theory and experiments differ: which side is wrong, point by point."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import Rational

from symslr.cache.parts import OTHER_SEEDS, computed_once, measured
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR, linear, softmax
from symslr.validation.validation import LARGEST_Z, NamedComparison, by_z_score, states

DIMENSION, SEEDS, FRESH = 400, range(12), 100_000
MANY = range(100, 300)
LENGTH = 3
QUOTED = 0.911
"""Test risk of linear attention at nu = 2, alpha = 4, both ridges 1/2, as a summary of the paper has it."""


@dataclass(frozen=True)
class Point:
    """A fit of spiked-SLR without noise; both ridges are equal."""

    nu: Rational
    attention: Attention
    alpha: float
    ridge: float

    @property
    def name(self) -> str:
        where = rf"spiked-SLR, $L={LENGTH}$, $\nu={self.nu}$, $\alpha={self.alpha:g}$"
        return rf"{self.attention.name}, {where}, $r_k=r_v={self.ridge:g}$"


Theory = dict[str, float]
"""Test risk, its error, replicon, jumps, whether replica symmetry is stable, and what one more step changes."""


def theory(job: tuple[Point, float, int]) -> dict[str, object]:
    """The saddle point on the branch of the informed start, to a precision, by the samples of a seed."""
    from symslr.evaluation.finite_sample import finite_sample

    point, precision, seed = job
    found = finite_sample(
        SpikedSLR(point.nu, length=LENGTH, noise=0),
        point.attention,
        {},
        alpha=point.alpha,
        ridge=(point.ridge, point.ridge),
        precision=precision,
        branch="informed",
        seed=seed,
    )
    told = {"replicon": found.replicon, "jumps": found.jumps, "change": found.change}
    # as they are printed: to two digits behind the point, to a tenth of a per cent, in their order of magnitude
    errors = {"replicon": 0.005, "jumps": 0.0005, "change": abs(found.change)}
    held = {name: measured(number, errors[name]) for name, number in told.items()}
    return {"risk": measured(found.risk), "stable": float(found.stable), **held}


def _plain(found: dict[str, Any]) -> Theory:
    """Every number by its name, and the error of the risk."""
    numbers = {name: one["value"] if isinstance(one, dict) else one for name, one in found.items()}
    return {**numbers, "error": found["risk"]["error"]}


def fitted(job: tuple[Point, int, int]) -> dict[str, object]:
    """Test risk and whether all fits are stationary, of the training sets of the seeds from one to before another."""
    from symslr.evaluation.sampling.scatter import standard_error
    from symslr.simulate.erm import erm_replicates

    point, first, end = job
    found = erm_replicates(
        SpikedSLR(point.nu, length=LENGTH, noise=0),
        point.attention,
        {},
        alpha=point.alpha,
        dimension=DIMENSION,
        r_k=point.ridge,
        r_v=point.ridge,
        seeds=range(first, end),
        starts=("informed",),
        fresh=FRESH,
    )
    risks = [run.risk.mean for run in found.runs]
    stationary = all(run.fit.converged for run in found.runs)
    return {"risk": measured(float(np.mean(risks)), standard_error(risks)), "stationary": stationary}


def _others(job: tuple[Point, int, int], run: int) -> tuple[Point, int, int]:
    return job[0], job[1] + OTHER_SEEDS * run, job[2] + OTHER_SEEDS * run


FLAGSHIP = Point(Rational(2), linear, 4, 0.5)
POINTS = (
    *(Point(Rational(1, 2), softmax, 2, ridge) for ridge in (0.5, 0.3, 0.2, 0.1, 0.05)),
    *(Point(Rational(1, 2), linear, 2, ridge) for ridge in (0.5, 0.3, 0.15)),
    FLAGSHIP,
    *(Point(Rational(2), linear, 4, ridge) for ridge in (0.4, 0.3)),
    *(Point(Rational(2), softmax, 4, ridge) for ridge in (0.1, 0.05)),
    Point(Rational(1, 10), softmax, 4, 0.3),
)


@dataclass(frozen=True)
class Seen:
    """What both sides say at a point.

    Attributes:
        risk, error: mean test risk of the fits and its standard error.
        stationary: whether every fit is.
    """

    point: Point
    theory: Theory
    risk: float
    error: float
    stationary: bool

    @property
    def stable(self) -> bool:
        """Whether replica symmetry holds."""
        return bool(self.theory["stable"])

    @property
    def z(self) -> float:
        """Fits minus theory, in standard errors."""
        return (self.risk - self.theory["risk"]) / math.hypot(self.error, self.theory["error"])

    @property
    def numbers(self) -> str:
        said = f"theory {_shown(self.theory['risk'], self.theory['error'])}, fits {_shown(self.risk, self.error)}"
        return f"{said}; replicon {self.theory['replicon']:.2f}, jumps {self.theory['jumps']:.1%}"


FINE, COARSE = 0.0008, 0.2
"""Precisions of the theory beside the usual one."""
USUAL = 0.004
COARSE_SEEDS = range(1, 25)


def validate() -> list[NamedComparison]:
    sets = [*((point, SEEDS[0], SEEDS[-1] + 1) for point in POINTS), (FLAGSHIP, MANY[0], MANY[-1] + 1)]
    fits = computed_once(fitted, sets, again=_others)
    jobs = [*((point, USUAL, 0) for point in POINTS), (FLAGSHIP, FINE, 0)]
    found = computed_once(theory, [*jobs, *((FLAGSHIP, COARSE, seed) for seed in COARSE_SEEDS)])
    saddles = list(map(_plain, found))
    seen = [_seen(*both) for both in zip(POINTS, saddles, fits)]
    many = _seen(FLAGSHIP, saddles[len(POINTS)], fits[len(POINTS)])
    return [*map(_row, seen), _verdict(seen), *_quoted(many, saddles[len(jobs) :])]


def _seen(point: Point, saddle: Theory, fits: dict[str, Any]) -> Seen:
    return Seen(point, saddle, fits["risk"]["value"], fits["risk"]["error"], fits["stationary"])


def _shown(value: float, error: float) -> str:
    return f"{value:.4f} ± {error:.1g}"


def _row(seen: Seen) -> NamedComparison:
    """A comparison where replica symmetry holds; elsewhere, whether the fits have arrived, and who is wrong."""
    if seen.stable:
        error = math.hypot(seen.error, seen.theory["error"])
        name = f"test risk of theory and fits: {seen.point.name}"
        return by_z_score(name, seen.theory["risk"], seen.risk, error, seen.numbers)
    wrong = abs(seen.z) > LARGEST_Z
    said = "the theory is wrong" if wrong else "the theory is not to be trusted, though these fits do not tell"
    note = f"{said}: {seen.numbers}; z = {seen.z:+.1f}; the fits are stationary, and one more step moves the fixed point by"
    note += f" {seen.theory['change']:.0e}{', the jumps of single samples' if seen.theory['jumps'] else ''}"
    return states(f"replica symmetry is unstable: {seen.point.name}", seen.stationary, note)


def _verdict(seen: list[Seen]) -> NamedComparison:
    """No point where the two differ is one where the theory should hold."""
    apart = [each for each in seen if abs(each.z) > LARGEST_Z]
    stable = [each for each in seen if each.stable]
    replicon = min((each.theory["replicon"] for each in apart), default=math.nan)
    note = (
        f"{len(apart)} of {len(seen)} points differ by more than {LARGEST_Z:g} standard errors, with replicons from "
        f"{replicon:.2f} up; at the {len(stable)} points where replica symmetry holds "
        f"the largest |z| is {max(abs(each.z) for each in stable):.1f}. Where they differ it is the theory that is wrong,"
        " as replica symmetry, on which it rests, is unstable, while every fit is stationary"
    )
    return states("where theory and fits differ the theory is wrong", not any(each.stable for each in apart), note)


def _quoted(many: Seen, coarse: list[Theory]) -> list[NamedComparison]:
    """A quoted value beside what is derived and what many fits give; and what errors at coarse precision are worth."""
    from symslr.evaluation.finite_sample.randomised import CONFIRMED
    from symslr.evaluation.sampling.scatter import student_factor

    point, derived, error = many.point, many.theory["risk"], many.theory["error"]
    numbers, errors = (np.array([each[key] for each in coarse]) for key in ("risk", "error"))
    scatter = math.sqrt(np.mean(np.square(errors)))
    one = scatter / student_factor(CONFIRMED) * math.sqrt(CONFIRMED)
    z = (numbers - derived) / errors
    note = (
        f"derived {_shown(derived, error)}; {len(MANY)} fits in D={DIMENSION} {_shown(many.risk, many.error)}, which"
        f" is {many.z:+.1f} standard errors from the derived and"
        f" {(many.risk - QUOTED) / many.error:+.1f} from the quoted number. The quoted number is the wrong one, by"
        f" {(derived - QUOTED) / error:.0f} standard errors of the theory; a saddle point on 1024 random samples misses by"
        f" {one:.2g}"
    )
    cover = (
        f"{len(z)} seeds at 1024 samples: they scatter by {np.std(numbers, ddof=1):.2g}, and {scatter:.2g} was claimed; "
        f"z-scores have standard deviation {np.std(z):.2f}, the largest is {np.max(np.abs(z)):.1f}"
    )
    return [
        states(f"a quoted {QUOTED} is not the theory's: {point.name}", derived - QUOTED > 4 * error, note),
        states(f"errors at coarse precision are true: {point.name}", bool(0.6 < np.std(z) < 1.3), cover),
    ]
