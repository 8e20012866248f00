"""What softmax, linear and power attention make of the block layout, from the sums over rows and columns."""

from collections.abc import Iterator

from sympy import Expr, Symbol

from symslr.algebra.derivation import Derivation
from symslr.model.separation import LINEAR_KERNEL, SELF, SOFTMAX_KERNEL, beta, n, power_kernel, t
from symslr.theory.separation.definition import Column, Row
from symslr.theory.separation.shares import share_derivation

degree = Symbol("r", positive=True)
KERNELS = {"softmax": SOFTMAX_KERNEL, "linear": LINEAR_KERNEL, "power": power_kernel(degree)}
SOURCE = "deng2023, section 4, layout reconstructed"

a, b, c = SELF.a, SELF.b, SELF.c
linear_row = a**2 + t * b**2 + n * c**2
softmax_row = n ** (beta * a**2) + t - 1 + (n - t) * n ** (-beta * b**2)
softmax_class = n ** (beta * b**2) + n / t - 1
linear_class = b**2 + c**2 * n / t

PUBLISHED: dict[tuple[str, Row, Column], Expr] = {
    ("softmax", Row.MARKED, Column.MARK): 1
    / (1 + (t - 1) * n ** (-beta * a**2) + (n - t) * n ** (-beta * (a**2 + b**2))),
    ("softmax", Row.MARKED, Column.OWN): (n ** (beta * a**2) + t - 1) / softmax_row,
    ("softmax", Row.SIBLING, Column.OWN): n ** (beta * b**2) / softmax_class,
    ("softmax", Row.STRANGER, Column.OWN): n ** (beta * b**2) / softmax_class,
    ("softmax", Row.STRANGER, Column.OTHER): 1 / softmax_class,
    ("linear", Row.MARKED, Column.MARK): (a**2 + b**2 + c**2) / linear_row,
    ("linear", Row.MARKED, Column.OWN): (a**2 + t * (b**2 + c**2)) / linear_row,
    ("linear", Row.SIBLING, Column.OWN): (b**2 + c**2) / linear_class,
    ("linear", Row.STRANGER, Column.OWN): (b**2 + c**2) / linear_class,
    ("linear", Row.STRANGER, Column.OTHER): c**2 / linear_class,
}


def derive_shares() -> Iterator[Derivation]:
    for name, kernel in KERNELS.items():
        for row in Row:
            for column in Column:
                chain = share_derivation(
                    row, column, kernel, name=f"separation-{name}-{row.name}-{column.name}".lower()
                )
                formula = PUBLISHED.get((name, row, column))
                yield chain if formula is None else chain.claim(formula, SOURCE)


def derive_cross_attention() -> Iterator[Derivation]:
    for name, kernel in KERNELS.items():
        for column in (Column.MARK, Column.OWN):
            label = f"separation-cross-{name}-marked-{column.name}".lower()
            yield share_derivation(Row.MARKED, column, kernel, name=label, cross=True)
