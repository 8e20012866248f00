"""Dynamic programming along a chain: sums over picked and relevant positions of a segment, from those of its two halves.

A segment of positions has one entry for each kind of sum over it, such as "no position picked" or "one picked, times r^(distance
to the last position)". A table of products gives the entries of two adjacent segments together. An entry is a number for every
u, a function on mesh nodes, or an operator between the nodes before and after the segment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Key = tuple[str, int]
"""(name of a sum, number of relevant positions in it)."""
Segment = Mapping[Key, Any]
Product = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Term:
    """A product in the table: ``factor`` times entry ``left`` of the first segment times ``right`` of the second adds to ``out``.

    Attributes:
        over: the segment that lies between a picked position and the end to which its distance counts: a further factor
            r^(length of that segment). None where no distance changes.
    """

    out: Key
    left: Key
    right: Key
    factor: float = 1.0
    over: Literal["first", "second"] | None = None


def attention_terms(size: int, share: float, ratio: float) -> list[Term]:
    """The table of products for E[r^T C sigma] and E[sigma^T C sigma], with C_ll = 1 and C_lm = share ratio^|l - m|.

    Entries, for each number of relevant positions 0, ..., size: ``none``, no pick; ``norm``, two picks; ``hit``, a relevant
    position and a pick; and unless share is 0, one ``pick`` or ``relevant`` position with its distance to the ``late`` (last) or
    ``early`` (first) position.
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


def joined_segments(
    terms: Sequence[Term],
    first: Segment,
    second: Segment,
    lengths: tuple[int, int],
    ratio: float,
    times: Product,
    wanted: Collection[str] | None = None,
) -> dict[Key, Any]:
    """The entries of two adjacent segments together; a missing entry is 0.

    Args:
        lengths: positions of the first and of the second segment.
        times: how entries multiply: numbers and functions by ``np.multiply``, operators by ``np.matmul``.
        wanted: names of the entries to compute; all by default.
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


def repeated_segment(terms: Sequence[Term], one: Segment, length: int, ratio: float, times: Product) -> dict[Key, Any]:
    """The segment of ``length`` equal positions, by doubling."""
    found: dict[Key, Any] | None = None
    done, double, size = 0, dict(one), 1
    while length:
        if length & 1:
            found = double if found is None else joined_segments(terms, found, double, (done, size), ratio, times)
            done += size
        length >>= 1
        if length:
            double, size = joined_segments(terms, double, double, (size, size), ratio, times), 2 * size
    assert found is not None
    return found
