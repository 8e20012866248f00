"""Comparisons of integer indices: which are equal, which lie in a range, and the conditions assumed for that."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from sympy import Basic, Eq, Expr, KroneckerDelta, Mod, Product, S, Sum, expand, latex, sign
from sympy.core.relational import GreaterThan, LessThan, Relational, StrictGreaterThan

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.expression.expectation import Expectation
from symslr.expression.folded import Minimum
from symslr.model.walk import distinct_nodes


class Places:
    """Decides questions about integer places, and keeps what it assumed where the answer was open.

    A remainder Mod(x, D) lies between 0 and D - 1; two remainders are equal where x - y is a multiple of D. An index lies in
    the range of the sum that it belongs to.
    """

    def __init__(self, rule: Rule, expr: Expr) -> None:
        self.rule, self.bound = rule, bound_symbols(expr)
        self.ranges = index_ranges(expr, self.bound)
        self.assumed: dict[Hypothesis, None] = {}

    def assume(self, relation: Relational) -> bool:
        """Whether a relation may hold; where that is open it is assumed.

        Raises:
            RuleRefused: when it is about an index of a sum, of which nothing can be assumed.
        """
        if relation in (S.true, S.false):
            return bool(relation)
        if relation.free_symbols & self.bound:
            raise self.rule.refuse(f"cannot decide {relation} at every index")
        self.assumed[Hypothesis.of(relation)] = None
        return True

    def whole(self, number: Expr) -> bool:
        """Whether a number is an integer, assumed where that is open."""
        if number.is_integer is not None:
            return bool(number.is_integer)
        above, below = number.as_numer_denom()
        if not (above.is_integer and below.is_integer):
            return False
        divides = Eq(Mod(above, below), 0)
        if divides == S.false:
            return False
        self.assumed[Hypothesis(f"${latex(number)}$ an integer", divides)] = None
        return True

    def inside(self, place: Expr, low: Expr, high: Expr) -> bool:
        """Whether low <= place <= high, assumed where that is open."""
        return self._at_least(place, low) and self._at_most(place, high)

    def _at_least(self, place: Expr, low: Expr) -> bool:
        least, most = self._bounds(place - low)
        if least.is_nonnegative:
            return True
        return False if most.is_negative else self.assume(GreaterThan(place, low))

    def _at_most(self, place: Expr, high: Expr) -> bool:
        least, most = self._bounds(high - place)
        if least.is_nonnegative:
            return True
        return False if most.is_negative else self.assume(LessThan(place, high))

    def _bounds(self, place: Expr) -> tuple[Expr, Expr]:
        """(least, most) of a place over its remainders and over the indices that occur linearly."""
        place = expand(place)
        return _ends(place, {**_remainders(place), **self.ranges})

    def surely_positive(self, number: Expr) -> bool:
        """Whether a number is positive whatever its remainders are; nothing is assumed."""
        return bool(bounds(expand(number))[0].is_positive)

    def equal(self, left: Expr, right: Expr) -> bool | None:
        """Whether two places are the same; None where that is open."""
        difference = expand(left - right)
        if difference.is_zero:
            return True
        pair = _two_remainders(difference)
        if pair is not None:
            return self._congruent(*pair)
        least, most = bounds(difference)
        return False if least.is_positive or most.is_negative else None

    def _congruent(self, left: Mod, right: Mod) -> bool | None:
        period = left.args[1]
        distance = expand(left.args[0] - right.args[0])
        if expand(distance / period).is_integer:
            return True
        if distance.is_Integer and self.assume(StrictGreaterThan(period, abs(distance))):
            return False
        return None

    def decide(self, expr: Expr) -> Expr:
        """Every Kronecker delta as 1 or 0 where its places are known to be equal or different."""
        return expr.replace(lambda e: isinstance(e, KroneckerDelta), self._delta)

    def _delta(self, delta: KroneckerDelta) -> Expr:
        verdict = self.equal(*delta.args)
        if verdict is not None:
            return S.One if verdict else S.Zero
        pair = _two_remainders(expand(delta.args[0] - delta.args[1]))
        return KroneckerDelta(*pair) if pair is not None else delta


class PlacesRule(Rule):
    """Abstract: a rule about sums over integer places, whose open questions about places become hypotheses."""

    @abstractmethod
    def rewrite_at(self, expr: Expr, places: Places) -> Expr:
        """What ``rewrite`` returns; ``places`` keeps what is assumed.

        Raises:
            RuleRefused: when a condition of the rule fails.
        """

    def rewrite(self, expr: Expr) -> Expr:
        return self.assuming(expr)[0]

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        return self.assuming(expr)[1]

    def assuming(self, expr: Expr) -> tuple[Expr, tuple[Hypothesis, ...]]:
        places = Places(self, expr)
        return self.rewrite_at(expr, places), tuple(places.assumed)


def bound_symbols(expr: Expr) -> set[Basic]:
    """Symbols that sums, products, means and minima inside of an expression run over."""
    found: set[Basic] = set()
    for node in distinct_nodes(expr):
        if isinstance(node, (Sum, Product)):
            found.update(limit[0] for limit in node.limits)
        elif isinstance(node, Expectation):
            found.update(node.bound)
        elif isinstance(node, Minimum):
            found.add(node.variable)
    return found


def index_ranges(expr: Expr, bound: set[Basic]) -> dict[Basic, tuple[Expr, Expr]]:
    """(low, high) of each index that has one range throughout an expression, with ends that no index moves.

    Args:
        bound: the ``bound_symbols`` of the expression.
    """
    sums = (node for node in distinct_nodes(expr) if isinstance(node, (Sum, Product)))
    limits = {limit for node in sums for limit in node.limits if len(limit) == 3}
    indices = [limit[0] for limit in limits]
    free = expr.free_symbols | bound - set(indices)
    return {
        index: (low, high)
        for index, low, high in limits
        if indices.count(index) == 1 and index not in free and not (low.free_symbols | high.free_symbols) & set(indices)
    }


def bounds(place: Expr) -> tuple[Expr, Expr]:
    """(least, most) of a place; a remainder Mod(x, D) that does not occur linearly is left in both."""
    return _ends(place, _remainders(place))


def _remainders(place: Expr) -> dict[Basic, tuple[Expr, Expr]]:
    """Every remainder in a place with the least and the most that it can be."""
    return {r: (S.Zero, r.args[1] - 1) for r in place.atoms(Mod) if r.args[1].is_positive}


def _ends(place: Expr, ranges: Mapping[Basic, tuple[Expr, Expr]]) -> tuple[Expr, Expr]:
    """(least, most) of a place over the variables that occur linearly, where each runs from low to high."""
    least = most = place
    for variable, ends in ranges.items():
        slope = place.coeff(variable)
        if slope.is_number and slope.is_nonzero and not expand(place - slope * variable).has(variable):
            low, high = ends[:: int(sign(slope))]
            least, most = least.subs(variable, low), most.subs(variable, high)
    return expand(least), expand(most)


def _two_remainders(difference: Expr) -> tuple[Mod, Mod] | None:
    """The remainders r and s of one period, in either order, where an expanded difference is r - s."""
    remainders = difference.atoms(Mod)
    if len(remainders) != 2:
        return None
    first, second = sorted(remainders, key=str)
    if first.args[1] != second.args[1]:
        return None
    return (first, second) if difference in (first - second, second - first) else None
