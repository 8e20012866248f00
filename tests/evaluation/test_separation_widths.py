"""Widths that suffice: the ends of the interval against the exact law of networks of that width, and the routes in order."""

import json
import random
import shlex
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import ceil, floor, log

import pytest
from mpmath import mpf, workdps
from sympy import Expr, Rational

from symslr.cli import main
from symslr.evaluation.separation import NeuronLaw, report
from symslr.evaluation.separation.widths import as_text, hoeffding_bound, sufficient_widths
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Separation, power_kernel, separation, taylor_kernel

BETWEEN = separation(n=256, d=66, t=4, a0=0.05, a1=1.1, b=0.2, c=0.8, m=52)
"""A neuron is bad often enough for wide networks to fail."""


def failure(parameters: Separation, width: int) -> float:
    return float(NeuronLaw(replace(parameters, m=width)).fixed_row.complement())


@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_ends_of_the_exact_interval(delta: float) -> None:
    least, most = sufficient_widths(BETWEEN, delta).exact
    assert failure(BETWEEN, least) <= delta < failure(BETWEEN, least - 1)
    assert failure(BETWEEN, most) <= delta < failure(BETWEEN, most + 1)


def test_routes_lie_inside_one_another() -> None:
    """Hoeffding's interval within the union bound's within the exact one; the union bound's ends are those of two logarithms."""
    for delta in (0.2, 0.1, 0.01):
        found = sufficient_widths(BETWEEN, delta)
        routes = [route for route in (found.hoeffding, found.union, found.exact) if route is not None]
        for inner, outer in pairwise(routes):
            assert outer[0] <= inner[0]
            assert inner[1] <= outer[1]
        law = NeuronLaw(BETWEEN)
        bad, useful = float(law.single(law.bad)), float(law.single(law.useful))
        assert found.union == (ceil(log(2 / delta) / (bad + useful)), floor(delta / 2 / bad))


def test_nothing_suffices_or_anything_wide_does() -> None:
    assert sufficient_widths(BETWEEN, 0.001).exact is None
    silent = separation(n=128, d=66, t=2, a0=0.01, a1=1.3, b=0.02, c=0.95, m=3)
    law = NeuronLaw(silent)
    assert law.single(law.bad).is_zero
    found = sufficient_widths(silent, 0.01)
    assert (found.exact[1], found.union[1]) == (None, None)
    assert failure(silent, found.exact[0]) <= 0.01 < failure(silent, found.exact[0] - 1)


def test_a_small_mark_needs_a_wide_network() -> None:
    """a1 = 0.7 fails at m = 52, where a neuron is rarely useful, and not at m = 285."""
    small = replace(BETWEEN, a1=Rational(7, 10))
    least, _ = sufficient_widths(small, 0.1).exact
    assert 52 < least == 285
    assert failure(small, least) <= 0.1 < failure(small, 52)


def test_classes() -> None:
    assert sufficient_widths(BETWEEN, 0.01).classes == pytest.approx(8 * log(5200), rel=1e-12)


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2])
def test_delta_is_a_probability(delta: float) -> None:
    with pytest.raises(ValueError, match=r"delta: found .*; expected a probability of failure inside"):
        sufficient_widths(BETWEEN, delta)


def fractions_of(law: NeuronLaw) -> tuple[Fraction, Fraction]:
    """P(bad), P(bad or useful) of one neuron."""
    bad, useful = (Fraction(law.single(sets).terms[0][1], 1 << law.parameters.d) for sets in (law.bad, law.useful))
    return bad, bad + useful


CONSTRUCTIONS = 10


@cache
def small_constructions(count: int) -> list[tuple[Separation, Expr, Rational]]:
    """At most six classes of four rows in which a neuron may be useful, and may be bad too in half of them at least."""
    rng = random.Random(7)
    kernels = [SOFTMAX_KERNEL, power_kernel(3), LINEAR_KERNEL, taylor_kernel(2)]
    found: list[tuple[Separation, Expr, Rational]] = []
    open_ended = 0
    while len(found) < count:
        classes, blocks = rng.randint(2, 6), rng.randint(1, 4)
        marks = {"a0": (0.0, 0.4), "a1": (0.8, 2.5), "b": (0.05, 0.6), "c": (0.05, 1.0), "beta": (0.5, 3.0)}
        numbers = {name: round(rng.uniform(*ends), 2) for name, ends in marks.items()}
        made = separation(n=classes * blocks, d=classes + 2, t=blocks, m=3, **numbers)
        kernel, delta = rng.choice(kernels), Rational(rng.choice(["1/4", "1/2", "3/4", "9/10"]))
        bad, either = fractions_of(NeuronLaw(made, kernel))
        is_open = bad == 0
        if either > bad and open_ended + is_open <= count // 2:
            open_ended += is_open
            found.append((made, kernel, delta))
    return found


@pytest.mark.parametrize("place", range(CONSTRUCTIONS))
def test_widths_by_trying_every_one(place: int) -> None:
    """The exact failure as a fraction at every width up to 400, and of networks of a width next to both ends."""
    made, kernel, delta = small_constructions(CONSTRUCTIONS)[place]
    bad, either = fractions_of(NeuronLaw(made, kernel))
    suffice = [m for m in range(1, 400) if 1 - (1 - bad) ** m + (1 - either) ** m <= Fraction(str(delta))]
    found = sufficient_widths(made, delta, kernel).exact
    if not suffice:
        assert found is None
        return
    least, most = found
    assert (least, most) == (suffice[0], None if bad == 0 else suffice[-1])
    for width in {max(1, end + step) for end in (least, most) if end is not None for step in (-1, 0, 1)}:
        failed = NeuronLaw(replace(made, m=width), kernel).fixed_row.complement().fraction()
        assert (failed <= Fraction(str(delta))) == (least <= width and (most is None or width <= most))


def test_widths_beyond_every_machine_integer() -> None:
    """n = 4096: the largest width has 58 digits, all of them right; a network of one neuron more fails too often."""
    found = sufficient_widths(WIDE, Rational(1, 100))
    bad, either = fractions_of(NeuronLaw(WIDE))
    least, most = found.exact
    assert (least, most > 2**63) == (17, True)
    law = NeuronLaw(WIDE).fixed_row.complement()
    for width, suffices in ((most, True), (most + 1, False)):
        with workdps(150):
            assert (replace(law, power=width).value(150).value <= mpf(1) / 100) == suffices
    assert found.union[1] == floor(Fraction(1, 200) / bad)
    assert found.union[0] == ceil(log(200) / either)
    assert found.as_json()["exact"] == ["17", str(most)]


WIDE = separation(n=4096, d=1026, t=4, a0=0.05, a1=1.1, b=0.2, c=0.8, m=52)


def test_failure_that_is_delta_itself_is_allowed() -> None:
    """No neuron is bad and one in four is useful: m neurons fail with probability (3/4)^m, and 1e-60 less is too little."""
    quarter = separation(n=128, d=66, t=2, a0=0.01, a1=1.3, b=0.02, c=0.95, m=3)
    assert fractions_of(NeuronLaw(quarter)) == (0, Fraction(1, 4))
    for width in (1, 2, 5, 20):
        allowed = Rational(3, 4) ** width
        assert sufficient_widths(quarter, allowed).exact == (width, None)
        assert sufficient_widths(quarter, allowed - Rational(1, 10**60)).exact == (width + 1, None)


@pytest.mark.parametrize("kernel", [SOFTMAX_KERNEL, LINEAR_KERNEL])
def test_no_width_suffices_where_no_neuron_is_useful(kernel: Expr) -> None:
    idle = separation(n=2, d=3, t=2, a0=0.05, a1=0.9, b=0.2, c=0.8, m=52)
    bad, either = fractions_of(NeuronLaw(idle, kernel))
    assert 0 < bad == either
    found = sufficient_widths(idle, 0.01, kernel)
    assert (found.exact, found.union, found.hoeffding) == (None, None, None)


def test_hoeffding_below_the_range_of_float64() -> None:
    """A bound below 1e-308 is not 0, which would say that networks of any width suffice."""
    made = separation(n=60_000, d=60_002, t=1, a0=0.05, a1=1.1, b=0.2, c=0.8, m=52)
    bound = hoeffding_bound(made)
    assert float(bound.bad) == 0
    assert bound.bad > 0


def test_whole_numbers_of_thousands_of_digits_are_written() -> None:
    assert as_text(10**6000) == "1" + 6000 * "0"


def test_probabilities_are_printed_where_no_width_is_found(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def out_of_time(*_: object) -> None:
        raise ValueError("no answer")

    monkeypatch.setattr(report, "sufficient_widths", out_of_time)
    asked = "separation --n 128 --d 66 --t 2 --a0 .05 --a1 1.1 --b .1 --c .9 --m 24 --delta .01"
    for extra in ("", " --json"):
        with pytest.raises(SystemExit):
            main(shlex.split(asked + extra))
        out, err = capsys.readouterr()
        assert err == "symslr: no answer\n"
        assert "0.99899" in (json.loads(out)["fixed_row"]["value"] if extra else out)
