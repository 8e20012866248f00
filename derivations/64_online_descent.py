"""One-pass descent of a student with any loss, as the dimension grows: its equations, and gradient flow as their limit."""

from collections.abc import Iterator

from sympy import Derivative, Expr, Rational, Subs, Symbol, exp, sin

from symslr.algebra.derivation import Derivation
from symslr.expression.instance import FIELDS
from symslr.model.symbols import x
from symslr.theory.online import (
    GAMMA,
    LENGTH,
    LOSS,
    OVERLAP,
    RIDGE,
    SLOPE,
    STUDENT,
    Z,
    descent_chain,
    flow_chain,
    over_fields,
    slope,
)

SOURCE = "saad1995"
OWN = "symslr, derivations/64_online_descent.py"
s = FIELDS[1]
BOX = {OVERLAP: (Rational(-1, 2), Rational(1, 2)), LENGTH: (Rational(1, 2), Rational(3, 2))}
"""Everywhere in it Q > M^2."""
SLOPES = [s - x**2 + s**3 / 5, sin(x + s) - s / 2, (s - x) / (1 + x**2 / 4 + s**2 / 5), exp(-s * x / 4) - s / 3]
LOSSES = [(s - x**2) ** 2 / 2, s**3 * x / 3 - s * x, s**4 / 5 + exp(x) * s]
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
        LENGTH: r"The last term is the noise of single samples: $|x|^2/D\to1$ multiplies the square of the step.",
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


def derive_flow() -> Iterator[Derivation]:
    t = Symbol("t", real=True)
    d = Subs(Derivative(LOSS.func(Z, t), t), t, STUDENT)
    for overlap, name in NAMED.items():
        yield (
            flow_chain(overlap)
            .named(
                title=f"Gradient flow of the population risk with any loss: {name}",
                symbol=rf"\frac{{\mathrm{{d}}{overlap}}}{{\mathrm{{d}}t}}",
                introduction=r"The flow of a risk of overlaps is $\dot M=-(\mathcal{E}_M+2\,\mathcal{E}_QM)$, "
                r"$\dot Q=-(2\,\mathcal{E}_MM+4\,\mathcal{E}_QQ)$. For $\mathcal{E}=\mathbb{E}\,\ell(z,s)$ it is one-pass descent "
                r"with $\gamma\to0$, without a ridge.",
                sources=(SOURCE,),
                ranges={**BOX, LOSS: LOSSES},
            )
            .claim(mean_force(d, overlap), OWN, label="own")
        )
