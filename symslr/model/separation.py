"""The construction that separates softmax from linear attention: symbols, parameters and what they must satisfy.

Data. Row i = 1..n of a data matrix is sqrt(log n) (a 1[i = j3], b e_{i mod (d-2)}, c) in R^d: one mark in the first
column, ``t`` stacked identity blocks, one constant last column; n = (d-2) t. D0 has a = a0, D1 has a = a1.
Attention. u_i = kernel(beta <A1_i, A2_j>)_j, alpha = <u, 1>, f = u / alpha, output row f^T A3. Self-attention takes
A1 = A2 = A3; in the cross-attention variant A1 has marks of its own and A2 = A3 holds ``keys``.
Network. F = relu(sum_rows sum_neurons relu(<f^T A3, w> - tau)), W in {-1, 1}^{d x m}, tau = (c + margin) sqrt(log n).

The source document states n = (d-2) t, tau, the four layers and the random weights; the block layout is a
reconstruction consistent with all of them.

Source: arXiv 2310.11685, sections 1.1, 3.3 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr, Rational, S, Symbol, exp, factorial

from symslr.model.exact import exact
from symslr.model.symbols import x
from symslr.model.text import parse_expression

n = Symbol("n", integer=True, positive=True)
t = Symbol("t", integer=True, positive=True)
a = Symbol("a", positive=True)
b = Symbol("b", positive=True)
c = Symbol("c", positive=True)
beta = Symbol("beta", positive=True)
margin = Symbol("gamma", positive=True)
j3 = Symbol("j_3", integer=True, positive=True)
"""Row that carries the mark."""

SOFTMAX_KERNEL = exp(x)
LINEAR_KERNEL = x


NAMED_KERNELS = {"exp": SOFTMAX_KERNEL, "softmax": SOFTMAX_KERNEL, "linear": LINEAR_KERNEL}


def kernel_of(text: str, what: str) -> Expr:
    """The kernel of a name or a formula in x.

    Raises:
        TextError: for text that is neither.
    """
    return NAMED_KERNELS[text] if text in NAMED_KERNELS else parse_expression(text, {"x": x}, what=what)


def power_kernel(degree: object) -> Expr:
    """The kernel x**degree.

    Raises:
        ValueError: for a degree that is not positive.
    """
    power = exact(degree, "degree")
    if power.is_number and not power.is_positive:
        raise ValueError(f"degree: found {power}; expected a positive degree of x**degree")
    return x**power


def taylor_kernel(degree: int) -> Expr:
    """The Taylor polynomial sum_{k <= degree} x**k / k! of exp.

    Raises:
        ValueError: for a degree below 1.
    """
    if degree < 1:
        raise ValueError(f"degree: found {degree}; expected a Taylor polynomial of degree 1 or more")
    return sum((x**k / factorial(k) for k in range(degree + 1)), S.Zero)


@dataclass(frozen=True)
class Marks:
    """What a row holds, in units of sqrt(log n): ``a`` at the marked row, ``b`` in its class, ``c`` everywhere."""

    a: Expr
    b: Expr
    c: Expr

    def __post_init__(self) -> None:
        for name in ("a", "b", "c"):
            object.__setattr__(self, name, exact(getattr(self, name), name))


SELF = Marks(a, b, c)
QUERIES = Marks(Symbol("a_q", positive=True), Symbol("b_q", positive=True), Symbol("c_q", positive=True))
"""Marks of the query matrix A1 of cross-attention, whose keys and values are ``SELF``."""


PAPER_MARGIN = Rational(1, 10)
"""tau = (c + 0.1) sqrt(log n)."""


@dataclass(frozen=True)
class Separation:
    """Parameters of one pair of data sets and of the two networks.

    Attributes:
        n, d, t: rows, columns, blocks; n = (d-2) t.
        a0, a1: mark of D0 and D1 (of their queries, in the cross-attention variant).
        b, c: class mark and constant (of the queries, in the cross-attention variant).
        m: neurons.
        margin: threshold tau = (c + margin) sqrt(log n), with c that of the values.
        beta: inverse temperature, X = beta I.
        keys: marks of keys and values in cross-attention; None for self-attention.

    Raises:
        ValueError: with one line for each condition that fails.
    """

    n: int
    d: int
    t: int
    a0: Expr
    a1: Expr
    b: Expr
    c: Expr
    m: int
    margin: Expr = PAPER_MARGIN
    beta: Expr = S.One
    keys: Marks | None = None

    def __post_init__(self) -> None:
        for name in ("n", "d", "t", "m"):
            object.__setattr__(self, name, _whole(getattr(self, name), name))
        for name in ("a0", "a1", "b", "c", "margin", "beta"):
            object.__setattr__(self, name, exact(getattr(self, name), name))
        _at_least(self.d, 3, "d", "columns: a mark, d-2 >= 1 classes and a constant")
        _at_least(self.t, 1, "t", "identity block")
        _at_least(self.m, 1, "m", "neuron: a network without neurons is 0 on every data set")
        if self.n != self.classes * self.t:
            raise ValueError(
                f"n: found {self.n}; expected (d-2)*t = {self.classes}*{self.t} = {self.classes * self.t}: "
                "change n, d or t"
            )
        _at_least(self.n, 2, "n", "rows: log n = 0 at n = 1")
        for name in ("b", "margin", "beta"):
            _positive(getattr(self, name), name)
        for name in ("a0", "a1", "c"):
            _nonnegative(getattr(self, name), name)
        if self.keys is not None:
            _positive(self.keys.b, "b of the keys")
            _nonnegative(self.keys.a, "a of the keys")
            _nonnegative(self.keys.c, "c of the keys")
        self._check_reachable()

    def _check_reachable(self) -> None:
        most = self.values(1).a + self.values(1).b
        if (self.margin - most).is_nonnegative:
            raise ValueError(
                f"margin: found {self.margin}; nothing reaches the threshold, since full attention to the marked row "
                f"gives a + b = {most} above c at most: expected margin < {most}"
            )

    @property
    def classes(self) -> int:
        """D = d - 2 = n / t."""
        return self.d - 2

    def queries(self, which: int) -> Marks:
        """Marks of A1 in data set D0 (``which`` = 0) or D1."""
        return Marks(self.a1 if which else self.a0, self.b, self.c)

    def values(self, which: int) -> Marks:
        """Marks of A2 = A3 in data set D0 or D1."""
        return self.queries(which) if self.keys is None else self.keys


def separation(**numbers: object) -> Separation:
    """``Separation`` from numbers of any exact or decimal kind; a float stands for the decimal it prints as.

    Raises:
        ValueError: as ``Separation``.
    """
    return Separation(**numbers)  # type: ignore[arg-type]


def _whole(value: object, name: str) -> int:
    number = exact(value, name)
    if not number.is_Integer:
        raise ValueError(f"{name}: found {number}; expected a whole number")
    return int(number)


def _at_least(value: int, least: int, name: str, noun: str) -> None:
    if value < least:
        raise ValueError(f"{name}: found {value}; expected at least {least} {noun}")


def _positive(value: Expr, name: str) -> None:
    if value.is_positive is not True or value.is_finite is not True:
        raise ValueError(f"{name}: found {value}; expected a positive number")


def _nonnegative(value: Expr, name: str) -> None:
    if value.is_nonnegative is not True or value.is_finite is not True:
        raise ValueError(f"{name}: found {value}; expected a number >= 0")
