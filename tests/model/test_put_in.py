"""Several symbols replaced at once: what is put in is not replaced again, and nothing is lost of what is known."""

from __future__ import annotations

import pytest
from sympy import Abs, Dummy, Expr, Integer, KroneckerDelta, Rational, Sum, Symbol, exp, sqrt

from symslr.model import put_in as module
from symslr.model.put_in import put_in
from symslr.model.symbols import i, j, l

t = Symbol("t", real=True)
BODIES = [Rational(1, 2) ** Abs(i - j), KroneckerDelta(i, j) + i / j, exp(-sqrt(i) * t) * j, Sum(i * l / j, (l, 1, j))]


@pytest.mark.parametrize("body", BODIES, ids=str)
@pytest.mark.parametrize("values", [(j, i), (j + 1, i), (2, 5), (5, 2), (i, i + 3), (3, 3)], ids=str)
def test_it_is_what_sympy_gives(body: Expr, values: tuple[object, object]) -> None:
    both = dict(zip((i, j), values))
    assert put_in(body, both) == body.subs(both, simultaneous=True)


def test_one_symbol_and_bound_ones() -> None:
    assert put_in(i + j, {i: j}) == 2 * j
    total = Sum(i * l, (l, 1, 3))
    assert put_in(total, {l: Integer(7), i: j}) == Sum(j * l, (l, 1, 3))


def test_letters_are_known_to_be_what_their_symbols_are() -> None:
    """Else SymPy looks through |t| and the like for real parts, which is what takes long; the same ones, as it remembers them."""
    for symbol in (i, t):
        letter = module._letter(symbol)
        assert isinstance(letter, Dummy)
        assert letter is module._letter(symbol)
        assert letter.assumptions0 == symbol.assumptions0
