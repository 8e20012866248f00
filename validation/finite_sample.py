"""Test risk at finite alpha: the replica-symmetric saddle point against fits of sampled training sets."""

import math
from dataclasses import dataclass

import numpy as np
from sympy import Rational, oo

from symslr.evaluation.finite_sample import FiniteSample, finite_sample
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax, softmax1, softplus
from symslr.model.task import Task
from symslr.simulate.erm import Replicates, erm_replicates
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
        where = f"{self.task.name}, L={self.task.length}, {self.remark or 'no noise'}"
        return f"{self.attention.name}, {where}, alpha={self.alpha:g}, ridges {self.ridge[0]:g} and {self.ridge[1]:g}"

    def theory(self, branch: str = "informed") -> FiniteSample:
        """The saddle point on the branch of the informed start, from which the fits start too."""
        return finite_sample(
            self.task, self.attention, {}, alpha=self.alpha, ridge=self.ridge, branch=branch, precision=0.003
        )

    def fits(self, *starts: str, seeds: tuple[int, ...] = SEEDS, dimension: int = DIMENSION) -> Replicates:
        """Fits by L-BFGS, one training set per seed, from an informed start if none is named."""
        r_k, r_v = self.ridge
        return erm_replicates(
            self.task,
            self.attention,
            {},
            alpha=self.alpha,
            dimension=dimension,
            r_k=r_k,
            r_v=r_v,
            seeds=seeds,
            starts=starts or ("informed",),
            fresh=FRESH,
        )


def _spiked(nu: object, length: int = 3, noise: object = 0) -> Task:
    return SpikedSLR(nu, length=length, noise=noise)


POINTS = (
    Point(_spiked(2), linear, 4, (0.5, 0.5), "nu=2"),
    Point(_spiked(2), linear, 4, (0.6, 12), "nu=2, tuned ridges"),
    Point(_spiked(2), linear, 4, (0.3, 0.4), "nu=2, low ridges"),
    Point(_spiked(Rational(1, 2)), linear, 2, (0.3, 5), "nu=1/2"),
    Point(_spiked(2), softmax, 4, (0.1, 0.3), "nu=2"),
    Point(_spiked(5, length=2), softmax, 4, (0.1, 0.3), "nu=5"),
    Point(_spiked(Rational(1, 2)), softmax, 2, (0.5, 0.5), "nu=1/2"),
    Point(_spiked(Rational(1, 2)), softmax, 4, (0.3, 0.3), "nu=1/2, low ridges"),
    Point(_spiked(2, noise=Rational(3, 10)), softmax, 2, (0.3, 0.5), "nu=2, Delta=0.3"),
    Point(_spiked(3, length=5), softmax, 4, (0.3, 0.5), "nu=3"),
    Point(_spiked(2), softmax1, 4, (0.2, 0.5), "nu=2"),
    Point(_spiked(2), softplus, 4, (0.3, 0.5), "nu=2"),
    Point(MaxSLR(2, length=3, noise=0), softmax, 4, (0.1, 0.3), "nu=2"),
    Point(MaxSLR(2, length=3, noise=0), linear, 4, (0.6, 8), "nu=2"),
    Point(MaxSLR(oo, length=3, noise=0), softmax, 3, (0.3, 0.5), "nu=infinity"),
)

BROKEN = (
    Point(_spiked(Rational(1, 2)), softmax, 2, (0.05, 0.05), "nu=1/2, very low ridges"),
    Point(_spiked(2), linear, 4, (0.1, 0.3), "nu=2, very low ridges"),
)
"""Where readers of the paper saw theory and experiments differ."""


def validate() -> list[NamedComparison]:
    return [
        *(row for point in POINTS for row in _agreement(point)),
        *(row for point in BROKEN for row in _disagreement(point)),
        *_few_samples(),
        *_sizes(),
    ]


def _agreement(point: Point) -> list[NamedComparison]:
    """Test risk, and the least value of the objective per dimension, within the errors of both sides.

    Everywhere here the replicon is below 1, so that the theory should hold.
    """
    theory, fits = point.theory(), point.fits()
    note = (
        f"{len(SEEDS)} training sets, D={DIMENSION}, all stationary: {fits.converged}; "
        f"replicon {theory.replicon:.2g}, change {theory.change:.1g}"
    )
    energies = [run.fit.loss / DIMENSION for run in fits.runs]
    spread = float(np.std(energies, ddof=1) / math.sqrt(len(energies)))
    both = [
        ("test risk", theory.risk, fits.risk, fits.standard_error),
        ("objective", theory.energy, float(np.mean(energies)), spread),
    ]
    return [
        by_z_score(f"{what}: {point.name}", float(value), found, math.hypot(float(value.error), error), note)
        for what, value, found, error in both
    ]


def _disagreement(point: Point) -> list[NamedComparison]:
    """Very low ridges: the theory's energy is below that of every fit, from any start, and its replicon exceeds 1.

    The fits stop at points whose gradient vanishes, and the fixed point of the theory is converged; but replica symmetry
    is unstable there, so it is the theory that does not describe what is found, not the fits and not the quadrature.
    """
    theory = point.theory("lowest")
    sets = {start: point.fits(start, seeds=SEEDS[:4]) for start in ("informed", "random")}
    losses = {start: [run.fit.loss / DIMENSION for run in fits.runs] for start, fits in sets.items()}
    means = {start: float(np.mean(values)) for start, values in losses.items()}
    found = ", ".join(f"{start} start: objective {means[start]:.4g}, risk {sets[start].risk:.4g}" for start in sets)
    every = f"theory: objective {float(theory.energy):.4g}, risk {float(theory.risk):.4g}; {found}"
    higher = min(means.values()) > float(theory.energy)
    stationary = all(fits.converged for fits in sets.values())
    return [
        states(
            f"replica symmetry is unstable: {point.name}",
            not theory.stable,
            f"replicon {theory.replicon:.3g}, jumps {theory.jumps:.2g}; {every}",
        ),
        states("there every fit stops above the theory's energy, at a stationary point", higher and stationary, every),
    ]


FEW_LINEAR = Point(_spiked(4), linear, 0.5, (0.18, 6), "nu=4, tuned ridges")
FEW_SOFTMAX = tuple(
    Point(_spiked(4), softmax, 0.5, ridge) for ridge in ((0.1, 0.6), (0.3, 0.3), (0.3, 0.6), (0.3, 1.2))
)
"""The theory's best ridges, near (0.3, 0.6), and others around them."""
FEW_LOW = Point(_spiked(4), softmax, 0.5, (0.03, 0.6), "nu=4, low ridges")
FEW_SEEDS = tuple(range(24))


def _few_samples() -> list[NamedComparison]:
    """With half as many samples as dimensions linear attention is ahead at the least value of the fit's objective.

    Not so at every stationary point: from an informed start softmax at low ridges stops at a higher value of the
    objective and a lower risk, which no fit that does not know the truth would find.
    """
    rival = _risks(FEW_LINEAR.fits(seeds=FEW_SEEDS))
    gaps = [_risks(point.fits("informed", *("random",) * 5, seeds=FEW_SEEDS)) - rival for point in FEW_SOFTMAX]
    nearest = min(gaps, key=_score)
    informed, random = (FEW_LOW.fits(start, seeds=FEW_SEEDS) for start in ("informed", "random"))
    losses = [np.array([run.fit.loss / DIMENSION for run in fits.runs]) for fits in (informed, random)]
    gain = _risks(random) - _risks(informed)
    sizes = f"{len(FEW_SEEDS)} training sets, D={DIMENSION}"
    return [
        states(
            "with few samples linear attention is ahead of softmax, spiked, L=3, nu=4, alpha=0.5",
            _score(nearest) > LARGEST_Z,
            f"{_score(nearest):.1f} standard errors on the same training sets, least of {len(gaps)} ridges of softmax; "
            f"{rival.mean():.4f} against {rival.mean() + nearest.mean():.4f}; lowest minimum of 6 starts; {sizes}",
        ),
        states(
            f"an informed start stops at higher loss and lower risk: {FEW_LOW.name}",
            _score(losses[0] - losses[1]) > LARGEST_Z and _score(gain) > LARGEST_Z,
            f"objective {losses[0].mean():.5f} against {losses[1].mean():.5f} from a random start, risk "
            f"{informed.risk:.4f}({informed.standard_error:.4f}) against {random.risk:.4f}({random.standard_error:.4f}); "
            + sizes,
        ),
    ]


def _risks(fits: Replicates) -> np.ndarray:
    return np.array([run.risk.mean for run in fits.runs])


def _score(differences: np.ndarray) -> float:
    """The mean in units of its standard error."""
    return float(differences.mean() / (differences.std(ddof=1) / math.sqrt(len(differences))))


SIZES = {250: 64, 500: 32, 1000: 16}
"""D -> training sets, of seeds that no other comparison shares: the points above all use the same few seeds, so that
their z-scores may lean to one side together."""


def _sizes() -> list[NamedComparison]:
    """Test risk and objective against 1/D: the line through three sizes meets the theory at D = infinity."""
    point = next(point for point in POINTS if point.attention == softmax and point.alpha == 4)
    theory = point.theory()
    found: dict[str, list[np.ndarray]] = {"test risk": [], "objective": []}
    for size, count in SIZES.items():
        fits = point.fits(seeds=tuple(range(1000 * size, 1000 * size + count)), dimension=size)
        found["test risk"].append(_risks(fits))
        found["objective"].append(np.array([run.fit.loss / size for run in fits.runs]))
    rows = []
    for value, (what, sets) in zip((theory.risk, theory.energy), found.items(), strict=True):
        means = np.array([one.mean() for one in sets])
        errors = np.array([one.std(ddof=1) / math.sqrt(len(one)) for one in sets])
        line, spread = np.polyfit(1 / np.array(list(SIZES)), means, 1, w=1 / errors, cov="unscaled")
        each = ", ".join(f"{a:.4f}({b:.4f}) at D={size}" for size, a, b in zip(SIZES, means, errors, strict=True))
        error = math.hypot(float(value.error), math.sqrt(spread[1, 1]))
        note = f"{each}; slope in 1/D {line[0]:.2g}({math.sqrt(spread[0, 0]):.2g})"
        rows.append(by_z_score(f"{what} at D = infinity: {point.name}", float(value), float(line[1]), error, note))
    return rows
