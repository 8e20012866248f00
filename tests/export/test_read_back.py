"""What is printed says what is meant: random arithmetic, and every line of symslr's derivations, printed and read back."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from mpmath import fprod, fsum, isfinite, mpc, mpmathify, workdps
from sympy import Add, Basic, Expr, Integer, Mul, Pow, Rational, Sum, Symbol, erf, exp, log, pi, sqrt

from symslr.export.breaking import latex_lines
from symslr.export.printing import HousePrinter
from tests.derivations.made import every_chain
from tests.export.reading import FUNCTIONS, read, run_on

LETTERS = [Symbol(name) for name in ("x", "y", "nu", "q_1")]
COUNTER = Symbol("i")
ARITHMETIC = (Add, Mul, Pow, exp, log, erf)


def grown(rng: random.Random, depth: int) -> Expr:
    """A random tree; of its sums, products and powers every second one is held as it is written."""
    if depth == 0:
        return rng.choice([*LETTERS, Integer(rng.randint(-3, 3)), Rational(rng.randint(-5, 5), rng.randint(1, 4)), pi])
    evaluate = rng.random() < 0.5
    parts = [grown(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    match rng.randint(0, 9):
        case 0 | 1 | 2:
            return Add(*parts, evaluate=evaluate)
        case 3 | 4 | 5:
            return Mul(*parts, evaluate=evaluate)
        case 6:
            return Pow(parts[0], rng.choice([-2, -1, 2, 3, Rational(1, 2), Rational(-1, 2)]), evaluate=evaluate)
        case 7:
            return Mul(-1, parts[0], evaluate=evaluate)
        case 8:
            return rng.choice([exp, log, erf, sqrt])(parts[0])
        case _:
            return Sum(parts[0], (COUNTER, 1, Symbol("n"))) if not isinstance(parts[0], Sum) else parts[0]


def letter(name: str) -> mpc:
    """A value of its own for every name."""
    return mpc(random.Random(name.lstrip("\\")).uniform(0.3, 1.7))


def number(expr: Expr) -> mpc:
    """The value of a tree, node by node.

    Raises:
        ArithmeticError: where it has none.
    """
    if isinstance(expr, Symbol):
        return letter(expr.name)
    if isinstance(expr, Sum):
        value = number(expr.function)
        for _ in expr.limits:
            value = run_on(value)
        return value
    if not expr.args:
        if not expr.is_finite:
            raise ZeroDivisionError(str(expr))
        return mpmathify(expr.evalf(40))
    parts = [number(arg) for arg in expr.args]
    if isinstance(expr, Add):
        return fsum(parts)
    if isinstance(expr, Mul):
        return fprod(parts)
    if isinstance(expr, Pow):
        return parts[0] ** parts[1]
    return FUNCTIONS["\\operatorname{erf}" if isinstance(expr, erf) else f"\\{expr.func}"](*parts)


def assert_reads(expr: Expr, width: float) -> bool:
    """Whether the tree has a value, which its print is then held against."""
    lines = latex_lines(expr, width, printer=HousePrinter())
    tex = " ".join(line.tex for line in lines)
    with workdps(40):
        try:
            meant = number(expr)
        except ArithmeticError:
            return False
        if not (isfinite(meant) and abs(meant) < 1e30):
            return False
        found = read(tex, letter)
        assert abs(found - meant) <= 1e-9 * (abs(meant) + 1e-9), f"{expr} is printed as {tex}"
    return True


@pytest.mark.parametrize("width", [400.0, 12.0, 5.0])
def test_random_arithmetic_reads_as_it_is_meant(width: float) -> None:
    rng = random.Random(int(width))
    assert sum(assert_reads(grown(rng, rng.randint(1, 4)), width) for _ in range(400)) > 300


def test_a_held_negative_sum_has_its_brackets() -> None:
    x, y = LETTERS[:2]
    assert HousePrinter().doprint(Mul(-1, x + y, evaluate=False)) == "-(x + y)"


def bare(expr: Expr, names: dict[Basic, Symbol]) -> Expr:
    """The arithmetic of a line, written as it is there, with a letter for everything else."""
    if isinstance(expr, (Integer, Rational)) or expr == pi:
        return expr
    if not isinstance(expr, ARITHMETIC) or (isinstance(expr, Pow) and not isinstance(expr.exp, Rational)):
        return names.setdefault(expr, Symbol(f"z_{len(names)}"))
    return expr.func(*(bare(arg, names) for arg in expr.args), evaluate=False)


def pieces(expr: Basic, inside: bool = False) -> Iterator[Expr]:
    """The largest parts of a formula that are arithmetic."""
    arithmetic = isinstance(expr, ARITHMETIC)
    if arithmetic and not inside:
        yield expr
    for arg in expr.args:
        yield from pieces(arg, arithmetic)


@pytest.mark.parametrize("width", [400.0, 36.0])
def test_every_line_of_every_derivation_reads_as_it_is_meant(width: float) -> None:
    seen: set[Expr] = set()
    for item in every_chain():
        for line in (item.start, *(step.after for step in item.steps)):
            seen |= {bare(piece, {}) for piece in pieces(line)}
    assert len(seen) > 500
    assert sum(assert_reads(piece, width) for piece in sorted(seen, key=str)) > 0.9 * len(seen)
