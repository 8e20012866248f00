"""Ends of token laws and kinks of kernels that are no numbers of float64, at more digits than it has."""

import mpmath
import numpy as np
import pytest
from sympy import Rational, exp, log, sign, sqrt

from symslr.evaluation import evaluate
from symslr.evaluation.numbers.balls import Multiprecision
from symslr.evaluation.quadrature.mesh import ExpSinh, Line, TanhSinh
from symslr.evaluation.quadrature.token_mesh import at_exact_ends, lost_beside_ends, zeros_of
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR, softmax
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import a, x
from symslr.model.task import Task
from symslr.theory import bayes_risk, population_risk

THIRD = Rational(1, 3)


def _on(end, relevant, length=3):
    """Uniform tokens on (0, end) and relevant ones of the density ``relevant``(x/end)/end."""
    laws = (ScalarLaw(density / end, lower=0, upper=end) for density in (relevant.subs(x, x / end), 1 + 0 * x))
    return Task.from_token_laws(*laws, length=length, noise=0)


def _agree(one, other, digits):
    assert one.digits >= digits
    assert other.digits >= digits
    assert abs(one.value - other.value) <= one.error + other.error


def test_a_law_on_a_third_of_the_interval_has_the_risks_of_the_law_on_all_of_it():
    """With the end rounded to float64 the Bayes risk was off by 2e-17 where 1e-34 was claimed."""
    ask = {"digits": 30, "backend": "mpmath"}
    third, whole = (_on(end, Rational(2, 3) * (1 + x)) for end in (THIRD, 1))
    _agree(evaluate(bayes_risk(third), {}, **ask), evaluate(bayes_risk(whole), {}, **ask), 30)
    for attention in (softmax, Attention(exp(x**2), None)):
        one = evaluate(population_risk(third, attention), {a: 3}, **ask)
        _agree(one, evaluate(population_risk(whole, attention), {a: 1}, **ask), 30)


def test_a_density_that_vanishes_at_an_end_has_the_digits_of_its_mirror_image():
    """1 - x was the difference of two rounded numbers, and more digits than float64 has were refused."""
    ask = {"digits": 25, "backend": "mpmath"}
    risks = [evaluate(bayes_risk(_on(1, relevant, 2)), {}, **ask) for relevant in (2 * x, 2 * (1 - x))]
    _agree(*risks, 25)


@pytest.mark.parametrize(
    ("inside", "cuts"),
    [(x - THIRD, [THIRD]), (x**2 - 2, [-sqrt(2), sqrt(2)]), (exp(x) - 2, [log(2)])],
)
def test_a_step_has_the_risk_of_its_two_values(inside, cuts):
    """kappa is 3 where it is positive and 1 elsewhere: probabilities of two tokens are all that counts."""
    attention = Attention(2 + sign(inside))
    with mpmath.workdps(50):
        ends = [mpmath.mpf(cut.evalf(50)) for cut in cuts]

        def above(mean):
            """P(inside > 0) of a token N(mean, 1)."""
            beyond = [mpmath.ncdf(mean - end) for end in ends]
            return beyond[0] if len(ends) == 1 else 1 - beyond[0] + beyond[1]

        chances = [((3, p), (1, 1 - p)) for p in (above(1), above(0))]
        pairs = [(k, l, p * q) for k, p in chances[0] for l, q in chances[1]]
        mean = sum(p * mpmath.mpf(k) / (k + l) for k, l, p in pairs)
        square = sum(p * mpmath.mpf(k * k + l * l) / (k + l) ** 2 for k, l, p in pairs)
        expected = 1 - mean**2 / square
        found = evaluate(population_risk(SpikedSLR(1, length=2, noise=0), attention), {a: 1}, digits=20)
        assert found.digits >= 20
        assert abs(found.value - expected) <= found.error


def test_ends_are_where_the_places_are_and_those_of_windows_stay():
    numbers = Multiprecision(200)
    with mpmath.workprec(200):
        equations = zeros_of([exp(x) - 2, 3 * x - 1], x, (), numbers)
        pieces = (
            TanhSinh(0.0, 1 / 3),
            TanhSinh(1 / 3, float(np.log(2.0))),
            ExpSinh(float(np.log(2.0)), 1, 1.0, 3.0),
            TanhSinh(5.0, 7.1),
            Line(0.0, 1.0, 0.5),
        )
        left, middle, right, window, line = at_exact_ends(pieces, ([0, mpmath.mpf(10)], equations, ()), numbers)
        assert abs(left.high * 3 - 1) < 1e-58
        assert left.high == middle.low
        assert abs(mpmath.exp(middle.high) - 2) < 1e-58
        assert right.end == middle.high
        assert (left.low, window.low, window.high) == (0, 5.0, 7.1)
        assert line is pieces[-1]


def test_as_many_bits_are_added_as_nodes_lie_near_an_end():
    """x - 1 at the node nearest to the end has all its digits, and x at an end 0 loses none."""
    numbers = Multiprecision(100)
    for piece in (
        TanhSinh(0.0, 1.0),
        TanhSinh(1.0, 1.0 + 1e-9),
        ExpSinh(1.0, 1, 1e-3, 3.0),
        ExpSinh(-1.0, -1, 1.0, 3.0),
    ):
        bits = lost_beside_ends((piece,), numbers.decades)
        with mpmath.workprec(100 + bits):
            nodes = piece.mesh(numbers, 0).nodes
            ends = [
                mpmath.mpf(end) for end in ((piece.end,) if isinstance(piece, ExpSinh) else (piece.low, piece.high))
            ]
            nearest = min(abs(node - end) / abs(end) for node in nodes for end in ends if end != 0)
            assert 2.0**-bits <= nearest
    assert lost_beside_ends((ExpSinh(0.0, 1, 1.0, 3.0), Line(-1.0, 1.0, 0.1)), numbers.decades) == 0
