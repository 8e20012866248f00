"""Bounds on the share of one token in a sum of positive terms, by powers of its odds or by the size of the sum."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import final

from sympy import Add, Expr, Gt, Le, Mul, S, Sum, exp, fraction, together

from symslr.algebra.bodies import is_whole
from symslr.algebra.bound import Bound, raised
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.positivity import is_nonnegative, is_positive
from symslr.algebra.tokens import summand
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.model.largest import IsLargest
from symslr.model.powers import factored
from symslr.model.symbols import BOUND_IN_SEQUENCE, chi, epsilon, m, x


class ShareBound(Bound):
    """Abstract: an upper bound on what depends on one share.

    The share is kappa(chi_eps)/(o + sum_l kappa(chi_l)) with kappa > 0 and o >= 0; or, where no sum over tokens stands, A/(A + o)
    with A > 0 and o >= 0 functions of one token: a share beside one other term.
    """

    def upper(self, term: Expr) -> Expr | None:
        if not isinstance(term, (SequenceExpectation, ScalarExpectation)):
            return None
        length = term.law.length if isinstance(term, SequenceExpectation) else None
        body = raised(term.body, lambda part: self._of_body(part, length), self.refuse)
        return None if body == term.body else term.with_body(body)

    @abstractmethod
    def of_share(self, own: Expr, others: Callable[[Expr], Expr]) -> Expr:
        """A number that is at least the part which ``part_of`` finds; ``others(t)`` is the sum of the other terms' powers t."""

    @abstractmethod
    def part_of(self, term: Expr) -> Expr | None:
        """The share that a term of a body is a function of, or None."""

    def _of_body(self, term: Expr, length: Expr | None) -> Expr | None:
        share = self.part_of(term)
        if share is None:
            return None
        own, below = fraction(share, exact=True)
        if not below.has(Sum):
            rest = factored(below - own)
            return self.of_share(own, lambda t: rest**t) if is_positive(own) and is_nonnegative(rest) else None
        totals = [part for part in Add.make_args(below) if isinstance(part, Sum)]
        if length is None or len(totals) != 1 or not is_whole(totals[0], length):
            return None
        (total,) = totals
        offset = below - total
        self._check(own, total, offset)

        def others(t: Expr) -> Expr:
            bias = S.Zero if offset == 0 else offset**t
            return bias + Sum(total.function**t, *total.limits) - own**t

        return self.of_share(own, others)

    def _check(self, own: Expr, total: Sum, offset: Expr) -> None:
        kernel = summand(total)
        if own != kernel.subs(x, chi[epsilon]):
            raise self.refuse(f"{own} is not the relevant token's term of {total}")
        if not is_positive(kernel):
            raise self.refuse(f"the kernel {kernel} is not known to be positive")
        if offset.free_symbols & BOUND_IN_SEQUENCE or not offset.is_nonnegative:
            raise self.refuse(f"the offset {offset} is not known to be a nonnegative number")


@final
class PowerOfOdds(ShareBound):
    """Bound what a share lacks of 1 by a power of the odds, taken of powers of the terms.

    1 - p = s/(1+s) <= min(1, s) for the odds s = (o + sum of the others)/own, and s <= (sum of the terms' powers t)^{1/t}
    because t <= 1; so 1 - p <= min(1, y) <= y^r for y = (sum of powers), as r <= 1.

    Args:
        power: t, nonnegative.
        outer: r, nonnegative.
    """

    name = "powers of the odds"
    statement = (
        r"1-\frac{\kappa_\epsilon}{o+\sum_l\kappa_l} \le "
        r"\left(\frac{o^t+\sum_{l\ne\epsilon}\kappa_l^t}{\kappa_\epsilon^t}\right)^{r}"
    )
    conditions = r"$\kappa>0$, $o\ge0$, $0\le t\le1$, $0\le r\le1$"
    source = "gallager1965"

    def __init__(self, power: Expr, outer: Expr) -> None:
        for value in (power, outer):
            if not value.is_nonnegative:
                raise self.refuse(f"found the power {value}; expected one that is nonnegative")
        self.power, self.outer = power, outer

    def part_of(self, term: Expr) -> Expr | None:
        if not isinstance(term, Add) or S.One not in term.args or len(term.args) != 2:
            return None
        return 1 - term

    def of_share(self, own: Expr, others: Callable[[Expr], Expr]) -> Expr:
        return others(self.power) ** self.outer * own ** (-self.power * self.outer)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        powers = dict.fromkeys((self.power, self.outer))
        return tuple(Hypothesis.of(Le(p, 1)) for p in powers if not factored(together(1 - p)).is_nonnegative)


@final
class ShareBelowLevel(ShareBound):
    """Bound a share by a power of own over a level, and by the exponential moment of the event that the others stay below it.

    Where the others exceed the level theta, the share is at most own/theta and at most 1; elsewhere it is at most
    1 <= e^{u - u others/theta}.

    Args:
        level: theta.
        power: s, nonnegative.
        rate: u, nonnegative.
    """

    name = "share below a level"
    statement = (
        r"\frac{\kappa_\epsilon}{o+\sum_l\kappa_l} \le \Big(\frac{\kappa_\epsilon}{\theta}\Big)^{s}"
        r" + e^{u-\frac u\theta\left(o+\sum_{l\ne\epsilon}\kappa_l\right)}"
    )
    conditions = r"$\kappa>0$, $o\ge0$, $\theta>0$, $0\le s\le1$, $u\ge0$"
    source = "symslr, by Markov's inequality"

    def __init__(self, level: Expr, power: Expr, rate: Expr) -> None:
        for value in (power, rate):
            if not value.is_nonnegative:
                raise self.refuse(f"found {value}; expected a number that is nonnegative")
        if level.free_symbols & BOUND_IN_SEQUENCE or level.is_nonpositive:
            raise self.refuse(f"found the level {level}; expected a positive number")
        self.level, self.power, self.rate = level, power, rate

    def part_of(self, term: Expr) -> Expr | None:
        return term if isinstance(term, Mul) else None

    def of_share(self, own: Expr, others: Callable[[Expr], Expr]) -> Expr:
        return own**self.power / self.level**self.power + exp(self.rate - self.rate / self.level * others(S.One))

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        found = [] if (1 - self.power).is_nonnegative else [Hypothesis.of(Le(self.power, 1))]
        return (*found, *([] if self.level.is_positive else [Hypothesis.of(Gt(self.level, 0))]))


@final
class LargestByExponentials(Bound):
    """Bound the probability that the relevant token is not the largest by a power of a sum of exponentials.

    The event that some chi_j >= chi_eps has an indicator that is at most min(1, sum_j e^{v(chi_j - chi_eps)}).

    Args:
        rate: v, nonnegative.
        outer: r, nonnegative.
    """

    name = "largest token by exponentials"
    statement = r"1-1[\chi_\epsilon\text{ largest}] \le \Big(\sum_{l\ne\epsilon}e^{v(\chi_l-\chi_\epsilon)}\Big)^{r}"
    conditions = r"$v\ge0$, $0\le r\le1$"
    source = "gallager1965"

    def __init__(self, rate: Expr, outer: Expr) -> None:
        for value in (rate, outer):
            if not value.is_nonnegative:
                raise self.refuse(f"found {value}; expected a number that is nonnegative")
        self.rate, self.outer = rate, outer

    def upper(self, term: Expr) -> Expr | None:
        if not isinstance(term, SequenceExpectation) or term.body != 1 - IsLargest.of(epsilon, term.law.length):
            return None
        own = exp(self.rate * chi[epsilon])
        others = Sum(exp(self.rate * chi[m]), (m, 1, term.law.length)) - own
        return term.with_body(others**self.outer * exp(-self.rate * self.outer * chi[epsilon]))

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        return () if (1 - self.outer).is_nonnegative else (Hypothesis.of(Le(self.outer, 1)),)
