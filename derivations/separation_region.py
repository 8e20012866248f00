"""Exponents of the odds against each share as $n$ grows: the admissible region and its correction at finite $n$."""

from collections.abc import Iterator

from symslr.algebra.derivation import Derivation
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL
from symslr.theory.separation.definition import Column, Row
from symslr.theory.separation.region import exponent_derivation

PLACES = ((Row.MARKED, Column.MARK), (Row.MARKED, Column.OWN), (Row.STRANGER, Column.OWN))
REGION = (
    r"Where it holds. With $t=n^\theta$ the odds against a share are $n^E$ up to a bounded factor: the share tends"
    r" to 1 where $E<0$ and to 0 where $E>0$. What the rule leaves beside $E$ is the exact correction at finite"
    r" $n$, of order $1/\log n$. For $b>\gamma$ softmax separates as $n\to\infty$ if rows without the mark do not"
    r" concentrate on their own class, $\theta<1-\beta b^2$, nor does the marked row of $D_0$, $\beta a_0^2<1-\beta"
    r" b^2$, and that of $D_1$ does, $\beta a_1^2>1-\beta b^2$. So $a_1\ge0.7$ alone is not enough at $\beta=1$,"
    r" where $a_1>\sqrt{1-b^2}$ is needed. Scope: the theorem is about $X=I$, a fixed threshold and random weights,"
    r" where softmax has a margin of order 1 and linear attention one of order $1/n$; a trained linear attention"
    r" can tell the two sets apart, and so can $X=\mathrm{diag}(1,0,\dots,0,1/n)$ with the same random weights."
)
LINEAR = r"Linear attention: the exponents are positive for every $a$, $b$ and $c>0$, so every share vanishes."


def derive_exponents() -> Iterator[Derivation]:
    for name, kernel, text in (("softmax", SOFTMAX_KERNEL, REGION), ("linear", LINEAR_KERNEL, LINEAR)):
        for position, (row, column) in enumerate(PLACES):
            label = f"separation-exponent-{name}-{row.name}-{column.name}".lower()
            chain = exponent_derivation(row, column, kernel, name=label)
            yield chain.named(introduction="" if position else text)
