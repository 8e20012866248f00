"""Test risk at finite alpha: the replica-symmetric saddle point against fits of sampled training sets."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sympy import Rational, oo

from symslr.cache.parts import OTHER_SEEDS, computed_once, measured
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax, softmax1, softplus
from symslr.model.task import Task
from symslr.validation.validation import LARGEST_Z, NamedComparison, by_z_score, states

DIMENSION, SEEDS = 500, tuple(range(8))
FRESH = 200_000


@dataclass(frozen=True)
class Point:
    """One fit: N = alpha D samples of a task, an attention, two ridges."""

    task: Task
    attention: Attention
    alpha: float
    ridge: tuple[float, float]
    remark: str = ""

    @property
    def name(self) -> str:
        where = f"{self.task.name}-SLR, $L={self.task.length}$, {self.remark or 'no noise'}"
        ridges = rf"$r_k={self.ridge[0]:g}$, $r_v={self.ridge[1]:g}$"
        return rf"{self.attention.name}, {where}, $\alpha={self.alpha:g}$, {ridges}"


@dataclass(frozen=True)
class Sets:
    """Training sets of one point, a seed each, and the starts of every fit."""

    point: Point
    seeds: tuple[int, ...] = SEEDS
    starts: tuple[str, ...] = ("informed",)
    dimension: int = DIMENSION


@dataclass(frozen=True)
class Fits:
    """What was fitted, a training set each: test risks, least values of the objective over D, whether all are stationary."""

    risks: np.ndarray
    objectives: np.ndarray
    converged: bool

    @property
    def standard_error(self) -> float:
        return _standard_error(self.risks)


def fitted(sets: Sets) -> dict[str, object]:
    """Fits by L-BFGS, the lowest minimum of all starts."""
    from symslr.simulate.erm import erm_replicates

    point = sets.point
    found = erm_replicates(
        point.task,
        point.attention,
        {},
        alpha=point.alpha,
        dimension=sets.dimension,
        r_k=point.ridge[0],
        r_v=point.ridge[1],
        seeds=sets.seeds,
        starts=sets.starts,
        fresh=FRESH,
    )
    risks, objectives = (
        np.array(each) for each in zip(*((r.risk.mean, r.fit.loss / sets.dimension) for r in found.runs))
    )
    return {
        "risk": measured(risks.mean(), _standard_error(risks)),
        "objective": measured(objectives.mean(), _standard_error(objectives)),
        "risks": risks,
        "objectives": objectives,
        "converged": bool(found.converged),
    }


def _others(sets: Sets, run: int) -> Sets:
    return replace(sets, seeds=tuple(seed + OTHER_SEEDS * run for seed in sets.seeds))


def saddle(job: tuple[Point, str]) -> dict[str, object]:
    """The theory's saddle point on a branch: that of the informed start, from which the fits start too, or the lowest."""
    from symslr.evaluation.finite_sample import finite_sample

    point, branch = job
    found = finite_sample(
        point.task, point.attention, {}, alpha=point.alpha, ridge=point.ridge, branch=branch, precision=0.003
    )
    told = {"replicon": found.replicon, "change": found.change, "jumps": found.jumps}
    # as they are printed: to two digits, to a tenth of a per cent, in their order of magnitude
    errors = {"replicon": 0.005, "jumps": 0.0005, "change": abs(found.change)}
    return {
        **{"risk": measured(found.risk), "energy": measured(found.energy), "stable": float(found.stable)},
        **{name: measured(number, errors[name]) for name, number in told.items()},
    }


def _spiked(nu: object, length: int = 3, noise: object = 0) -> Task:
    return SpikedSLR(nu, length=length, noise=noise)


POINTS = (
    Point(_spiked(2), linear, 4, (0.5, 0.5), r"$\nu=2$"),
    Point(_spiked(2), linear, 4, (0.6, 12), r"$\nu=2$, tuned ridges"),
    Point(_spiked(2), linear, 4, (0.3, 0.4), r"$\nu=2$, low ridges"),
    Point(_spiked(Rational(1, 2)), linear, 2, (0.3, 5), r"$\nu=1/2$"),
    Point(_spiked(2), softmax, 4, (0.1, 0.3), r"$\nu=2$"),
    Point(_spiked(5, length=2), softmax, 4, (0.1, 0.3), r"$\nu=5$"),
    Point(_spiked(Rational(1, 2)), softmax, 2, (0.5, 0.5), r"$\nu=1/2$"),
    Point(_spiked(Rational(1, 2)), softmax, 4, (0.3, 0.3), r"$\nu=1/2$, low ridges"),
    Point(_spiked(2, noise=Rational(3, 10)), softmax, 2, (0.3, 0.5), r"$\nu=2$, $\Delta=0.3$"),
    Point(_spiked(3, length=5), softmax, 4, (0.3, 0.5), r"$\nu=3$"),
    Point(_spiked(2), softmax1, 4, (0.2, 0.5), r"$\nu=2$"),
    Point(_spiked(2), softplus, 4, (0.3, 0.5), r"$\nu=2$"),
    Point(MaxSLR(2, length=3, noise=0), softmax, 4, (0.1, 0.3), r"$\nu=2$"),
    Point(MaxSLR(2, length=3, noise=0), linear, 4, (0.6, 8), r"$\nu=2$"),
    Point(MaxSLR(oo, length=3, noise=0), softmax, 3, (0.3, 0.5), r"$\nu=\infty$"),
)

BROKEN = (
    Point(_spiked(Rational(1, 2)), softmax, 2, (0.05, 0.05), r"$\nu=1/2$, very low ridges"),
    Point(_spiked(2), linear, 4, (0.1, 0.3), r"$\nu=2$, very low ridges"),
)
"""Where readers of the paper saw theory and experiments differ."""


FEW_LINEAR = Point(_spiked(4), linear, 0.5, (0.18, 6), r"$\nu=4$, tuned ridges")
FEW_SOFTMAX = tuple(
    Point(_spiked(4), softmax, 0.5, ridge) for ridge in ((0.1, 0.6), (0.3, 0.3), (0.3, 0.6), (0.3, 1.2))
)
"""The theory's best ridges, near (0.3, 0.6), and others around them."""
FEW_LOW = Point(_spiked(4), softmax, 0.5, (0.03, 0.6), r"$\nu=4$, low ridges")
FEW_SEEDS = tuple(range(24))


SIZES = {250: 64, 500: 32, 1000: 16}
"""D -> training sets, of seeds that no other comparison shares: the points above all use the same few seeds, so that
their z-scores may lean to one side together."""
GROWING = next(point for point in POINTS if point.attention == softmax and point.alpha == 4)
"""The point that is fitted at these sizes."""

FOUR = SEEDS[:4]
ONE_START = ("informed", "random")
MANY_STARTS = ("informed", *("random",) * 5)

AT_SIZES = [
    Sets(GROWING, tuple(range(1000 * size, 1000 * size + count)), dimension=size) for size, count in SIZES.items()
]
SETS = (
    *(Sets(point) for point in POINTS),
    *(Sets(point, FOUR, (start,)) for point in BROKEN for start in ONE_START),
    Sets(FEW_LINEAR, FEW_SEEDS),
    *(Sets(point, FEW_SEEDS, MANY_STARTS) for point in FEW_SOFTMAX),
    *(Sets(FEW_LOW, FEW_SEEDS, (start,)) for start in ONE_START),
    *AT_SIZES,
)
"""All that is fitted."""

Saddle = dict[str, float]


def _plain(found: dict[str, Any]) -> Saddle:
    """Every number by its name, and its error as that name and _error."""
    numbers = {name: one for name, one in found.items() if isinstance(one, dict)}
    errors = {f"{name}_error": one["error"] for name, one in numbers.items()}
    return {**found, **{name: one["value"] for name, one in numbers.items()}, **errors}


def validate() -> list[NamedComparison]:
    fits = {
        sets: Fits(np.array(found["risks"]), np.array(found["objectives"]), found["converged"])
        for sets, found in zip(SETS, computed_once(fitted, SETS, again=_others), strict=True)
    }
    branches = [*((point, "informed") for point in POINTS), *((point, "lowest") for point in BROKEN)]
    theory = {job: _plain(found) for job, found in zip(branches, computed_once(saddle, branches), strict=True)}
    return [
        *(row for point in POINTS for row in _agreement(point, theory[point, "informed"], fits[Sets(point)])),
        *(
            row
            for point in BROKEN
            for row in _disagreement(
                point, theory[point, "lowest"], {start: fits[Sets(point, FOUR, (start,))] for start in ONE_START}
            )
        ),
        *_few_samples(fits),
        *_sizes(theory[GROWING, "informed"], [fits[sets] for sets in AT_SIZES]),
    ]


def _agreement(point: Point, theory: Saddle, fits: Fits) -> list[NamedComparison]:
    """Test risk, and the least value of the objective per dimension, within the errors of both sides.

    Everywhere here the replicon is below 1, so that the theory should hold.
    """
    note = (
        f"{len(SEEDS)} training sets, D={DIMENSION}, all stationary: {fits.converged}; "
        f"replicon {theory['replicon']:.2g}, change {theory['change']:.1g}"
    )
    found = []
    for what, key, values in (("test risk", "risk", fits.risks), ("objective", "energy", fits.objectives)):
        error = math.hypot(theory[f"{key}_error"], _standard_error(values))
        found.append(by_z_score(f"{what}: {point.name}", theory[key], float(values.mean()), error, note))
    return found


def _disagreement(point: Point, theory: Saddle, sets: dict[str, Fits]) -> list[NamedComparison]:
    """Very low ridges: the theory's energy is below that of every fit, from any start, and its replicon exceeds 1.

    The fits stop at points whose gradient vanishes, and the fixed point of the theory is converged; but replica symmetry
    is unstable there, so it is the theory that does not describe what is found, not the fits and not the quadrature.
    """
    means = {start: float(fits.objectives.mean()) for start, fits in sets.items()}
    found = ", ".join(
        f"{start} start: objective {means[start]:.4g}, risk {fits.risks.mean():.4g}" for start, fits in sets.items()
    )
    every = f"theory: objective {theory['energy']:.4g}, risk {theory['risk']:.4g}; {found}"
    higher = min(means.values()) > theory["energy"]
    stationary = all(fits.converged for fits in sets.values())
    return [
        states(
            f"replica symmetry is unstable: {point.name}",
            not theory["stable"],
            f"replicon {theory['replicon']:.3g}, jumps {theory['jumps']:.2g}; {every}",
        ),
        states("there every fit stops above the theory's energy, at a stationary point", higher and stationary, every),
    ]


def _few_samples(fits: dict[Sets, Fits]) -> list[NamedComparison]:
    """With half as many samples as dimensions linear attention is ahead at the least value of the fit's objective.

    Not so at every stationary point: from an informed start softmax at low ridges stops at a higher value of the
    objective and a lower risk, which no fit that does not know the truth would find.
    """
    rival = fits[Sets(FEW_LINEAR, FEW_SEEDS)].risks
    gaps = [fits[Sets(point, FEW_SEEDS, MANY_STARTS)].risks - rival for point in FEW_SOFTMAX]
    nearest = min(gaps, key=_score)
    informed, random = (fits[Sets(FEW_LOW, FEW_SEEDS, (start,))] for start in ONE_START)
    losses = [informed.objectives, random.objectives]
    gain = random.risks - informed.risks
    sizes = f"{len(FEW_SEEDS)} training sets, D={DIMENSION}"
    return [
        states(
            r"with few samples linear attention has less risk than softmax, spiked-SLR, $L=3$, $\nu=4$, $\alpha=0.5$",
            _score(nearest) > LARGEST_Z,
            f"{_score(nearest):.1f} standard errors on the same training sets, least of {len(gaps)} ridges of softmax; "
            f"{rival.mean():.4f} against {rival.mean() + nearest.mean():.4f}; lowest minimum of 6 starts; {sizes}",
        ),
        states(
            f"an informed start stops at higher loss and lower risk: {FEW_LOW.name}",
            _score(losses[0] - losses[1]) > LARGEST_Z and _score(gain) > LARGEST_Z,
            f"objective {losses[0].mean():.5f} against {losses[1].mean():.5f} from a random start, risk "
            f"{informed.risks.mean():.4f}({informed.standard_error:.4f}) against "
            f"{random.risks.mean():.4f}({random.standard_error:.4f}); {sizes}",
        ),
    ]


def _standard_error(values: np.ndarray) -> float:
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))


def _score(differences: np.ndarray) -> float:
    """The mean in units of its standard error."""
    return float(differences.mean() / _standard_error(differences))


def _sizes(theory: Saddle, found: list[Fits]) -> list[NamedComparison]:
    """Test risk and objective against 1/D: the line through three sizes meets the theory at D = infinity."""
    both = {"test risk": ("risk", [fits.risks for fits in found])}
    both["objective"] = ("energy", [fits.objectives for fits in found])
    rows = []
    for what, (key, sets) in both.items():
        means = np.array([one.mean() for one in sets])
        errors = np.array([_standard_error(one) for one in sets])
        line, spread = np.polyfit(1 / np.array(list(SIZES)), means, 1, w=1 / errors, cov="unscaled")
        each = ", ".join(f"{a:.4f}({b:.4f}) at D={size}" for size, a, b in zip(SIZES, means, errors, strict=True))
        error = math.hypot(theory[f"{key}_error"], math.sqrt(spread[1, 1]))
        note = f"{each}; slope in 1/D {line[0]:.2g}({math.sqrt(spread[0, 0]):.2g})"
        rows.append(by_z_score(rf"{what} as $D\to\infty$: {GROWING.name}", theory[key], float(line[1]), error, note))
    return rows
