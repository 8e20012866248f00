"""One-pass descent of a student with any loss, as the dimension grows."""

from collections.abc import Iterator

from sympy import Expr, Rational, Symbol, exp, sin

from symslr.algebra.derivation import Derivation
from symslr.expression.instance import FIELDS
from symslr.model.symbols import x
from symslr.theory.online import (
    GAMMA,
    LENGTH,
    OVERLAP,
    RIDGE,
    SLOPE,
    STUDENT,
    Z,
    descent_chain,
    over_fields,
    slope,
)

SOURCE = "saad1995"
s = FIELDS[1]
BOX = {OVERLAP: (Rational(-1, 2), Rational(1, 2)), LENGTH: (Rational(1, 2), Rational(3, 2))}
"""Everywhere in it Q > M^2."""
SLOPES = [s - x**2 + s**3 / 5, sin(x + s) - s / 2, (s - x) / (1 + x**2 / 4 + s**2 / 5), exp(-s * x / 4) - s / 3]
NAMED = {OVERLAP: "overlap with the teacher", LENGTH: "squared norm of the student"}
STEP = (
    r"A step takes a fresh sample, $w\leftarrow w-\frac{\gamma}{D}(x\,d+\lambda w)$, with $d(z,s)$ the slope of any loss in the "
    r"student's field $s=w\cdot x$ and $z=w^\star\cdot x$; $|w^\star|=1$, $M=w\cdot w^\star$, $Q=|w|^2$. One token and one "
    r"direction of each: what several contribute adds up. "
)


def mean_force(d: Expr, overlap: Symbol) -> Expr:
    """-E[d z] or -2 E[d s]."""
    return -over_fields(d * Z) if overlap == OVERLAP else -2 * over_fields(d * STUDENT)


def derive_descent() -> Iterator[Derivation]:
    beyond = {OVERLAP: -RIDGE * OVERLAP, LENGTH: -2 * RIDGE * LENGTH + GAMMA * over_fields(slope() ** 2)}
    words = {
        OVERLAP: "It is exact in every dimension.",
        LENGTH: r"The last term is the noise of single samples: $|x|^2/D\to1$ multiplies the square of the step. Without it, as "
        r"$\gamma\to0$, the equations are those of gradient flow.",
    }
    for overlap, name in NAMED.items():
        yield (
            descent_chain(overlap)
            .named(
                title=f"One-pass descent with any loss: {name}",
                symbol=rf"\frac{{\mathrm{{d}}{overlap}}}{{\mathrm{{d}}t}}",
                introduction=STEP + words[overlap],
                sources=(SOURCE,),
                ranges={**BOX, SLOPE: SLOPES},
            )
            .claim(mean_force(slope(), overlap) + beyond[overlap], SOURCE)
        )
