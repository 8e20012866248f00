r"""The admissible region: exact probabilities tend to the verdict of the limit; $a_1 \ge 0.7$ is not enough at $\beta = 1$."""

from symslr.evaluation.separation.law import NeuronLaw
from symslr.model.separation import separation
from symslr.theory.separation.boundary import boundary_mark
from symslr.theory.separation.region import limit_verdict
from symslr.validation.validation import NamedComparison, states

THETA = 0.2
SIZES = ((32, 2), (1024, 4), (32768, 8))
"""(n, t = n^theta)."""
POINTS = {
    "inside the region": {"a0": 0.05, "a1": 1.1, "b": 0.2, "beta": 1},
    r"$a_1=0.7$ at $\beta=1$": {"a0": 0.05, "a1": 0.7, "b": 0.2, "beta": 1},
    r"$a_1=0.7$ at $\beta=2.2$": {"a0": 0.05, "a1": 0.7, "b": 0.2, "beta": 2.2},
    "$a_0=1.05$: the marked row of $D_0$ attends to itself": {"a0": 1.05, "a1": 1.2, "b": 0.2, "beta": 1},
    "$b=0.95$: rows attend to their own class": {"a0": 0.05, "a1": 1.1, "b": 0.95, "beta": 1},
}


def validate() -> list[NamedComparison]:
    return [_tends(name, point) for name, point in POINTS.items()] + [_finite(rows, blocks) for rows, blocks in SIZES]


def _success(rows: int, blocks: int, **point: float) -> float:
    return float(NeuronLaw(separation(n=rows, d=rows // blocks + 2, t=blocks, c=0.8, m=52, **point)).fixed_row)


def _tends(name: str, point: dict[str, float]) -> NamedComparison:
    verdict = limit_verdict(**point, theta=THETA, margin=0.1)
    found = [_success(rows, blocks, **point) for rows, blocks in SIZES]
    values = ", ".join(f"n={rows}: {value:.6g}" for (rows, _), value in zip(SIZES, found))
    return states(name, (found[-1] > 0.99) == verdict.separates, f"{verdict.reason}; exact {values}")


def _finite(rows: int, blocks: int) -> NamedComparison:
    """Success crosses 1/2 within 0.08 of the finite-n boundary, at b = 0.1 where nothing else fails."""
    edge = boundary_mark(rows, blocks, 0.1, 0.1)
    low, high = 0.3, 1.3
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if _success(rows, blocks, a0=0.05, a1=middle, b=0.1) < 0.5 else (low, middle)
    note = (
        r"$a_1$ at which the exact probability is 1/2, beside the derived boundary at this $n$; 0.995 as $n\to\infty$"
    )
    return NamedComparison(f"boundary at $n={rows}$", edge, (low + high) / 2, 0.08, note)
