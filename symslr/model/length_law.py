"""Law of the sequence length: fixed, symbolic, or random."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sympy import Basic, Expr, Integer, Rational, Tuple
from sympy.printing.latex import LatexPrinter

from symslr.model.exact import NotExact, exact


class LengthLaw(Basic):
    """A finite law of the length, ``P(L = l_i) = p_i``.

    Args:
        pairs: (length, probability) pairs, or one mapping; lengths are distinct positive integers, probabilities are
            positive and sum to 1.

    Raises:
        ValueError: when a pair is out of range or the probabilities do not sum to 1.
    """

    def __new__(cls, *pairs: tuple[Expr, Expr] | Mapping[Expr, Expr]) -> LengthLaw:
        items = pairs[0].items() if len(pairs) == 1 and isinstance(pairs[0], Mapping) else pairs
        found = [(exact(length, "length"), exact(p, "probability")) for length, p in map(_pair, items)]
        for length, p in found:
            if not isinstance(length, Integer) or length < 1:
                raise ValueError(f"length law: found length {length}; expected a positive integer")
            if not isinstance(p, Rational) or p <= 0:
                raise ValueError(f"length law: found P(L={length}) = {p}; expected a positive rational, such as 1/3")
        ordered = sorted(found)
        lengths = [length for length, _ in ordered]
        if len(set(lengths)) != len(lengths):
            raise ValueError(f"length law: a length occurs twice in {lengths}; merge the two probabilities")
        total = sum(p for _, p in ordered)
        if total != 1:
            raise ValueError(f"length law: the probabilities sum to {total}; expected 1")
        return super().__new__(cls, *(Tuple(length, p) for length, p in ordered))

    def __iter__(self) -> Iterator[tuple[Integer, Rational]]:
        return ((pair[0], pair[1]) for pair in self.args)

    @property
    def mean(self) -> Rational:
        """E[L]."""
        return sum(length * p for length, p in self)

    def _latex(self, printer: LatexPrinter) -> str:
        return ",\\ ".join(rf"{length}\text{{ with probability }}{printer._print(p)}" for length, p in self)


def _pair(item: object) -> tuple[object, object]:
    if not isinstance(item, (tuple, list, Tuple)) or len(item) != 2:
        raise NotExact(f"length law: found {str(item)[:60]}; expected pairs (length, probability), such as (1, 1/3)")
    return item[0], item[1]
