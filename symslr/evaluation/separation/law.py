"""The exact law of one random neuron: for which signs it fires on which data set, and the probabilities that follow.

A neuron's pre-activation on a row depends on its signs w_1 and w_d, on the sign of the row's class, and on the number s of plus
signs among the n/t - 1 other classes. On a data set whose marked row is of class g it fires if it fires on the marked row, on
another row of class g (t >= 2), or on a row of another class, for which only the sign of that class matters.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import product
from math import comb
from operator import or_

from sympy import Expr

from symslr.evaluation.separation.outputs import data_set_outputs
from symslr.evaluation.separation.probability import Probability, binomial_mass, falling_partial_sums, interval, runs
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Separation
from symslr.theory.separation.definition import Row

SIGNS = (1, -1)
Ends = tuple[int, int]
"""(w_1, w_d)."""
Sets = dict[tuple[Ends, int], int]
"""((w_1, w_d), sign of the marked class) -> a set of values of s, as a bit mask."""


@lru_cache(maxsize=16)
def firing_sets(parameters: Separation, kernel: Expr, which: int) -> Sets:
    """The values of s at which a neuron fires on some row of D0 (``which`` = 0) or D1; s counts classes other than the marked
    one."""
    outputs = data_set_outputs(parameters, kernel, which)
    others = parameters.classes - 1

    def on_row(row: Row, signs: tuple[int, int, int]) -> int:
        """The values of s, relative to the row's own class, at which the neuron fires on it: an interval, as the sum is linear."""
        first, last = (outputs.fires(row, signs, s) for s in (0, others))
        if first == last:
            return interval(0, others) if first else 0
        turn = bisect_left(range(others + 1), True, key=lambda s: outputs.fires(row, signs, s) != first)
        return interval(0, turn - 1) if first else interval(turn, others)

    def on_data_set(first: int, last: int, marked: int) -> int:
        members = 0
        for row in outputs.rows:
            if row is not Row.STRANGER:
                members |= on_row(row, (first, marked, last))
                continue
            plus, minus = (on_row(row, (first, sign, last)) for sign in SIGNS)
            shift = 1 if marked == 1 else 0
            # for a row of another class with sign +1 there are shift + s - 1 other plus signs, with sign -1 shift + s
            members |= (plus << 1 >> shift) & interval(1, others)
            members |= (minus >> shift) & interval(0, others - 1)
        return members

    return {(ends, marked): on_data_set(*ends, marked) for ends, marked in product(product(SIGNS, SIGNS), SIGNS)}


@dataclass(frozen=True)
class NeuronLaw:
    """Exact law of one random neuron, and of m of them.

    Attributes:
        parameters: the construction.
        kernel: the attention that has to separate D0 from D1.
        rival: the attention that must not fire.
    """

    parameters: Separation
    kernel: Expr = SOFTMAX_KERNEL
    rival: Expr = LINEAR_KERNEL

    @cached_property
    def bad(self) -> Sets:
        """Where a neuron fires for the kernel on D0, or for the rival on either."""
        silent = [firing_sets(self.parameters, *on) for on in ((self.kernel, 0), (self.rival, 0), (self.rival, 1))]
        return {key: reduce(or_, (sets[key] for sets in silent)) for key in silent[0]}

    @cached_property
    def useful(self) -> Sets:
        """Where a neuron fires for the kernel on D1 and is not bad."""
        fires = firing_sets(self.parameters, self.kernel, 1)
        return {key: members & ~self.bad[key] for key, members in fires.items()}

    def count(self, sets: Sets) -> int:
        """How many of the 2**d sign vectors of one neuron lie in the sets."""
        return sum(binomial_mass(self.parameters.classes - 1, members) for members in sets.values())

    def single(self, sets: Sets) -> Probability:
        """Probability that the signs of one neuron lie in the sets."""
        return Probability(((1, self.count(sets)),), self.parameters.d, 1)

    def fires(self, kernel: Expr, which: int) -> Probability:
        """P(one neuron fires on the data set)."""
        return self.single(firing_sets(self.parameters, kernel, which))

    @cached_property
    def fixed_row(self) -> Probability:
        """P(separation) for one given marked row: (1 - P_bad)^m - (1 - P_bad - P_useful)^m."""
        bad, useful = self.count(self.bad), self.count(self.useful)
        good = (1 << self.parameters.d) - bad
        return Probability(((1, good), (-1, good - useful)), self.parameters.d, self.parameters.m)

    @cached_property
    def all_rows(self) -> Probability:
        """P(one network separates for every marked row), by inclusion and exclusion over classes on which no neuron fires.

        sum_r (-1)^r C(D, r) P(a neuron is bad for no class and fires on none of r given classes)^m, D = n/t. A neuron depends on
        the marked row only through the sign of its class.
        """
        size = self.parameters.classes
        idle = zip(*(self._idle_counts_at(ends) for ends in product(SIGNS, SIGNS)), strict=True)
        terms = tuple(((-1) ** r * comb(size, r), sum(counts)) for r, counts in enumerate(idle))
        return Probability(terms, self.parameters.d, self.parameters.m)

    def _idle_counts_at(self, ends: Ends) -> Iterator[int]:
        """Sign vectors with these ends that are bad for no class and fire on none of r given classes, r = 0..D.

        T counts the plus signs of all D classes: a marked class of sign +1 sees s = T - 1, one of sign -1 sees s = T.
        """
        size = self.parameters.classes
        with_plus, with_minus = interval(1, size), interval(0, size - 1)

        def by_total(sets: Sets) -> tuple[int, int]:
            return (sets[ends, 1] << 1) & with_plus, sets[ends, -1] & with_minus

        bad_plus, bad_minus = by_total(self.bad)
        plus, minus = by_total(self.useful)
        good = interval(0, size) & ~(bad_plus | bad_minus)
        # whether a neuron fires on the marked classes of sign +1, of sign -1, of both, or of none, by the total T
        nothing = binomial_mass(size, good & ~plus & ~minus)
        only_plus = _sums_over_runs(size, good & plus & ~minus)
        only_minus = _sums_over_runs(size, _mirrored(good & minus & ~plus, size))
        both = binomial_mass(size, good & plus & minus)
        for r, (p, q) in enumerate(zip(only_plus, only_minus)):
            yield nothing + p + q + (both if r == 0 else 0)


def _sums_over_runs(size: int, members: int) -> list[int]:
    """sum over T in the set of binomial(size - r, T), r = 0..size."""
    total = [0] * (size + 1)
    for low, high in runs(members):
        upper, lower = falling_partial_sums(size, high), falling_partial_sums(size, low - 1)
        total = [value + up - down for value, up, down in zip(total, upper, lower)]
    return total


def _mirrored(members: int, size: int) -> int:
    """{size - T}."""
    return sum(interval(size - high, size - low) for low, high in runs(members))


def marked_columns(
    parameters: Separation, columns: int, kernel: Expr = SOFTMAX_KERNEL, rival: Expr = LINEAR_KERNEL
) -> Probability:
    """P(every output is right on all 2 s data sets and the rival's outputs are 0), for s marked columns and one marked row.

    Columns: s for marks, D = n/t for the classes of rows, one constant; d = D + s + 1. Data set g has the mark a1 in column g; a
    second one has the small mark a0 instead. The scores do not depend on g, so attention is that for one marked column. Output g
    sums the neurons with sign +1 on column g and -1 on the other mark columns (group g). It has to be > 0 on data set g with mark
    a1, and 0 on all others. Linear attention must be 0 everywhere. At s = 1 this is the construction of the paper without the
    neurons of sign -1 on the mark.

    A neuron of group g acts on data set g like w_1 = +1 with one marked column, and on any other data set like w_1 = -1. With P_bad
    and P_useful of one neuron in each group the result is sum_r (-1)^r C(s, r) P(no neuron is bad and r given groups have no useful
    one).

    Args:
        parameters: the construction with one marked column; its d counts that one.
        columns: s, at least 1.

    Raises:
        ValueError: for s < 1.

    Source: symslr; arXiv 2310.11685 treats two classes.
    """
    if columns < 1:
        raise ValueError(f"columns: found {columns}; expected at least 1 column for marks")
    law = NeuronLaw(parameters, kernel, rival)
    fires = firing_sets(parameters, kernel, 1)
    bad = useful = 0
    for last, marked in product(SIGNS, SIGNS):
        own, other = (((first, last), marked) for first in SIGNS)
        spoiled = law.bad[own] if columns == 1 else law.bad[own] | law.bad[other] | fires[other]
        bad += binomial_mass(parameters.classes - 1, spoiled)
        useful += binomial_mass(parameters.classes - 1, fires[own] & ~spoiled)
    # a neuron whose signs on the mark columns are those of no group belongs to no output
    bits = parameters.d + columns - 1
    good = (1 << bits) - columns * bad
    terms = tuple(((-1) ** r * comb(columns, r), good - r * useful) for r in range(columns + 1))
    return Probability(terms, bits, parameters.m)
