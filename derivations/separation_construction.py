"""Attention of softmax, linear and power kernels on the companion's block data, from sums over rows and columns."""

from collections.abc import Iterator

from sympy import Expr, KroneckerDelta, log

from symslr.algebra.derivation import Derivation
from symslr.model.block_layout import j, row_class
from symslr.model.separation import LINEAR_KERNEL, QUERIES, SELF, SOFTMAX_KERNEL, beta, j3, n, power_kernel, t
from symslr.theory.separation.definition import Column, Row, i
from symslr.theory.separation.factors import factors_derivation
from symslr.theory.separation.shares import DEGREE, share_derivation

KERNELS: dict[str, Expr] = {"softmax": SOFTMAX_KERNEL, "linear": LINEAR_KERNEL, "power": power_kernel(DEGREE)}
SOURCE = "deng2023, section 4, layout reconstructed"
CLASS_PLACES = (
    (Row.MARKED, Column.MARK),
    (Row.MARKED, Column.OWN),
    (Row.MARKED, Column.OTHER),
    (Row.SIBLING, Column.MARK),
    (Row.SIBLING, Column.OWN),
    (Row.STRANGER, Column.OWN),
    (Row.STRANGER, Column.OTHER),
)
PLACES = {"softmax": CLASS_PLACES, "linear": CLASS_PLACES, "power": (CLASS_PLACES[0], CLASS_PLACES[1], CLASS_PLACES[4])}

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

CONSTRUCTION = (
    r"The construction, in the letters of its source, where $m$, $t$, $a$, $b$, $c$ are no quantities of single-location"
    r" regression. Row $i$ of the data matrix $A\in\mathbb{R}^{n\times d}$, $n=(d-2)t$, is $\sqrt{\log n}$"
    r" times $(a\,1[i=j_3],\;b\,e_{i \bmod (d-2)},\;c)$: a mark in one row $j_3$, $t$ stacked identity blocks that"
    r" sort the rows into $n/t=d-2$ classes, a constant. $D_0$ holds the matrices with a small mark $a=a_0$, $D_1$"
    r" those with a large one, $a=a_1$. Attention forms $u_{ij}=\kappa(\beta\langle A_i,A_j\rangle)$,"
    r" $\alpha_i=\sum_{j=1}^n u_{ij}$, $f_{ij}=u_{ij}/\alpha_i$ and puts out the rows of $fA$; $\kappa=\exp$ is softmax,"
    r" $\kappa(x)=x$ linear attention. The source states $n=(d-2)t$, the four layers, the threshold and the random"
    r" weights; the block layout is a reconstruction consistent with all of them. A row of $fA$ holds four"
    r" different numbers: $a\,p$ in the first column, $b$ times the attention to its own class, $b$ times that to"
    r" each other class, and $c$. They are derived here from the sums over rows and columns as they stand."
)
LINEAR = (
    r"Linear attention cannot single out one row in $n$: its share is of order $1/n$ however large the mark is,"
    r" because every row has a score of at least $c^2\log n$, which no exponential makes small."
)
CROSS = (
    r"Cross-attention: the queries are the rows of a matrix of their own with marks $a_q$, $b_q$, $c_q$, and $a$,"
    r" $b$, $c$ are those of keys and values. Every square becomes a product."
)


FACTORS = (
    r"The two factors. The source writes the data of one example as $A=A_1\otimes A_2\in\mathbb{R}^{n^2\times d^2}$, whose"
    r" block $i$ has a row for every $j$, and the weights of attention as the vector of the $d^2$ entries of $X$:"
    r" $u_i=\kappa(A_i\,\mathrm{vec}X)$."
    r" With $X=\beta I$ that is $\beta\langle A_{1,i},A_{2,j}\rangle$. $A_1$ holds the queries, with marks"
    r" $a_q,b_q,c_q$, and $A_2$ the keys, with marks $a,b,c$; self-attention takes both equal."
)


def derive_factors() -> Derivation:
    query, key = QUERIES, SELF
    marked = query.a * key.a * KroneckerDelta(i, j3) * KroneckerDelta(j, j3)
    group = query.b * key.b * KroneckerDelta(row_class(i), row_class(j))
    score = beta * log(n) * (marked + group + query.c * key.c)
    return factors_derivation().named(introduction=FACTORS).claim(score, SOURCE)


def derive_shares() -> Iterator[Derivation]:
    introductions = {
        ("softmax", Row.MARKED, Column.MARK): CONSTRUCTION,
        ("linear", Row.MARKED, Column.MARK): LINEAR,
    }
    for name, kernel in KERNELS.items():
        for row, column in PLACES[name]:
            label = f"separation-{name}-{row.name}-{column.name}".lower()
            chain = share_derivation(row, column, kernel, name=label)
            chain = chain.named(introduction=introductions.get((name, row, column), ""))
            formula = PUBLISHED.get((name, row, column))
            yield chain if formula is None else chain.claim(formula, SOURCE)


def derive_cross_attention() -> Iterator[Derivation]:
    for name in ("softmax", "linear"):
        label = f"separation-cross-{name}-marked-mark"
        chain = share_derivation(Row.MARKED, Column.MARK, KERNELS[name], name=label, cross=True)
        yield chain.named(introduction=CROSS if name == "softmax" else "")
