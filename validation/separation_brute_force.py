"""The exact law against every weight matrix there is, for small layouts, kernels and the cross-attention variant."""

from sympy import Expr

from symslr.evaluation.separation.law import NeuronLaw
from symslr.model.separation import (
    LINEAR_KERNEL,
    SOFTMAX_KERNEL,
    Marks,
    Separation,
    power_kernel,
    separation,
    taylor_kernel,
)
from symslr.simulate.separation import exhaustive_success
from symslr.validation.validation import NamedComparison

LAYOUTS = ((2, 3, 3), (3, 2, 2), (4, 2, 2), (5, 1, 2), (6, 2, 1))
"""(classes, blocks, neurons): at most 14 signs."""
KERNELS: dict[str, Expr] = {
    "softmax": SOFTMAX_KERNEL,
    "$x^4$": power_kernel(4),
    "Taylor polynomial of degree 6": taylor_kernel(6),
}
KEYS = {"self": None, "cross": Marks(0.9, 0.4, 0.5)}


def validate() -> list[NamedComparison]:
    return [
        _compare(f"{attention}-attention, {name}, $n/t={layout[0]}$, $t={layout[1]}$", _made(layout, keys), kernel)
        for attention, keys in KEYS.items()
        for name, kernel in KERNELS.items()
        for layout in LAYOUTS
    ]


def _made(layout: tuple[int, int, int], keys: Marks | None) -> Separation:
    classes, blocks, neurons = layout
    numbers = {"n": classes * blocks, "d": classes + 2, "t": blocks, "m": neurons}
    return separation(**numbers, a0=0.1, a1=1.6, b=0.3, c=0.6, margin=0.35, beta=1.5, keys=keys)


def _compare(name: str, parameters: Separation, kernel: Expr) -> NamedComparison:
    success, total = exhaustive_success(parameters, range(parameters.n), kernel, LINEAR_KERNEL)
    exactly = NeuronLaw(parameters, kernel).all_rows.fraction()
    note = f"{success} of {total} weight matrices, every marked row; the law gives {exactly}"
    return NamedComparison(name, float(exactly), success / total, 0.0, note)
