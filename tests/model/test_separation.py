"""Parameters of the separation construction: what is refused, in one line, and what a float means."""

import pytest
from sympy import Rational

from symslr.model.separation import Marks, power_kernel, separation, taylor_kernel
from symslr.model.symbols import x

GOOD = {"n": 1024, "d": 258, "t": 4, "a0": 0.05, "a1": 1.1, "b": 0.2, "c": 0.8, "m": 52}

REFUSED = [
    ({"n": 1000}, r"n: found 1000; expected \(d-2\)\*t = 256\*4 = 1024"),
    ({"t": 3}, r"n: found 1024; expected \(d-2\)\*t = 256\*3 = 768"),
    ({"m": 0}, "m: found 0; expected at least 1"),
    ({"m": 2.5}, "m: found 5/2; expected a whole number"),
    ({"d": 2}, "d: found 2; expected at least 3"),
    ({"n": 1, "d": 3, "t": 1}, "n: found 1; expected at least 2"),
    ({"b": 0}, "b: found 0; expected a positive number"),
    ({"beta": -1}, "beta: found -1; expected a positive number"),
    ({"margin": 0}, "margin: found 0; expected a positive number"),
    ({"c": -0.1}, "c: found -1/10; expected a number >= 0"),
    ({"a1": float("inf")}, "a1: found oo"),
    ({"margin": 1.3}, "margin: found 13/10; nothing reaches the threshold"),
    ({"keys": Marks(0.5, 0.3, 0.2), "margin": 0.8}, "nothing reaches the threshold"),
    ({"keys": Marks(0.5, 0, 0.2)}, "b of the keys: found 0"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_refused_in_one_line(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        separation(**{**GOOD, **change})
    assert "\n" not in str(refusal.value)


def test_a_float_is_the_decimal_it_prints_as() -> None:
    assert separation(**GOOD).a0 == Rational(1, 20)


def test_cross_attention_keeps_the_keys() -> None:
    keys = Marks(0.9, 0.3, 0.5)
    made = separation(**{**GOOD, "keys": keys})
    assert made.values(0) == made.values(1) == keys
    assert made.queries(1).a == Rational(11, 10)


def test_kernels() -> None:
    assert taylor_kernel(2) == 1 + x + x**2 / 2
    with pytest.raises(ValueError, match="degree: found 0"):
        taylor_kernel(0)
    with pytest.raises(ValueError, match="degree: found -1"):
        power_kernel(-1)
