"""Stretches of positions: sums over where tokens are picked and which are relevant, put together from shorter stretches.

A stretch has one entry for every thing that is summed over it, such as "no token picked" or "one picked, times r^(distance to
the last position)". The entries of two neighbouring stretches give those of both by a table of products, whatever an entry
is: a number for every load u, a function on nodes, or an operator between the nodes before and after the stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Key = tuple[str, int]
"""What is summed, and how many relevant positions it holds."""
ArsinhSumMap = Mapping[Key, Any]
Times = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Term:
    """``out`` of both stretches has ``factor`` times ``left`` of the first and ``right`` of the second.

    Attributes:
        over: the stretch over whose length a distance grows, by which the ratio r is taken to that power.
    """

    out: Key
    left: Key
    right: Key
    factor: float = 1.0
    over: Literal["first", "second"] | None = None


def attention_terms(size: int, share: float, ratio: float) -> list[Term]:
    """The sums behind E[r^T C sigma] and E[sigma^T C sigma], C_ll = 1 and C_lm = share ratio^|l - m|.

    Entries by the number of relevant positions 0, ..., size: ``none``; ``norm``, two picks; ``hit``, a relevant position and a
    pick; and where share is not 0 one ``pick`` or ``relevant`` position with its distance to the ``late`` or ``early`` end.
    """
    terms = []
    for first in range(size + 1):
        for second in range(size + 1 - first):
            none, other, both = ("none", first), ("none", second), first + second
            terms.append(Term(("none", both), none, other))
            for name in ("hit", "norm"):
                terms += [Term((name, both), (name, first), other), Term((name, both), none, (name, second))]
            if not share:
                continue
            for name in ("pick", "relevant"):
                late, early = f"late {name}", f"early {name}"
                terms += [
                    Term((late, both), (late, first), other, 1.0, "second"),
                    Term((late, both), none, (late, second)),
                    Term((early, both), (early, first), other),
                    Term((early, both), none, (early, second), 1.0, "first"),
                ]
            pick = ("early pick", second)
            apart = share * ratio
            terms += [
                Term(("norm", both), ("late pick", first), pick, 2 * apart),
                Term(("hit", both), ("late relevant", first), pick, apart),
                Term(("hit", both), ("late pick", first), ("early relevant", second), apart),
            ]
    return terms


def joined(
    terms: Sequence[Term],
    first: ArsinhSumMap,
    second: ArsinhSumMap,
    lengths: tuple[int, int],
    ratio: float,
    times: Times,
    wanted: Collection[str] | None = None,
) -> dict[Key, Any]:
    """Entries of two neighbouring stretches of so many positions; an entry that is missing is 0.

    Args:
        wanted: names of the entries to find; all by default.
    """
    grown = {None: 1.0, "first": ratio ** lengths[0], "second": ratio ** lengths[1]}
    found: dict[Key, Any] = {}
    for term in terms:
        left, right = first.get(term.left), second.get(term.right)
        factor = term.factor * grown[term.over]
        if left is None or right is None or factor == 0 or (wanted is not None and term.out[0] not in wanted):
            continue
        part = times(left, right)
        part = part if factor == 1 else factor * part
        found[term.out] = found[term.out] + part if term.out in found else part
    return found


def repeated(terms: Sequence[Term], one: ArsinhSumMap, length: int, ratio: float, times: Times) -> dict[Key, Any]:
    """So many equal positions, by doubling."""
    found: dict[Key, Any] | None = None
    done, double, size = 0, dict(one), 1
    while length:
        if length & 1:
            found = double if found is None else joined(terms, found, double, (done, size), ratio, times)
            done += size
        length >>= 1
        if length:
            double, size = joined(terms, double, double, (size, size), ratio, times), 2 * size
    assert found is not None
    return found
