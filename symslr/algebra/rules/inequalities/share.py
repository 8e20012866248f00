"""The share of one token in a sum of positive ones: small odds have small powers, and a large sum leaves a small share."""

from __future__ import annotations

from abc import abstractmethod
from typing import final

from sympy import Add, Expr, Gt, Le, Mul, S, Sum, exp

from symslr.algebra.bodies import is_whole
from symslr.algebra.bound import Bound, raised
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.positivity import is_positive
from symslr.algebra.tokens import NotSymmetric, summand
from symslr.expression.expectation import SequenceExpectation
from symslr.model.symbols import BOUND_IN_SEQUENCE, chi, epsilon, x


class ShareBound(Bound):
    """Abstract: an upper bound on what depends on one share kappa(chi_eps)/(o + sum_l kappa(chi_l)) with kappa > 0, o >= 0."""

    def upper(self, term: Expr) -> Expr | None:
        if not isinstance(term, SequenceExpectation):
            return None
        body = raised(term.body, lambda part: self._of_body(part, term.law.length), self.refuse)
        return None if body == term.body else term.with_body(body)

    @abstractmethod
    def of_share(self, own: Expr, total: Sum, offset: Expr) -> Expr:
        """A number that is at least the part which ``part_of`` finds, for the share own/(offset + total)."""

    @abstractmethod
    def part_of(self, term: Expr) -> Expr | None:
        """The share that a term of a body is a function of, or None."""

    def _of_body(self, term: Expr, length: Expr) -> Expr | None:
        share = self.part_of(term)
        found = None if share is None else self._read(share, length)
        return None if found is None else self.of_share(*found)

    def _read(self, share: Expr, length: Expr) -> tuple[Expr, Sum, Expr] | None:
        """(kappa(chi_eps), sum_l kappa(chi_l), o) of a share, or None."""
        own, below = share.as_numer_denom()
        totals = [term for term in Add.make_args(below) if isinstance(term, Sum)]
        if len(totals) != 1 or not is_whole(totals[0], length):
            return None
        offset = below - totals[0]
        try:
            kernel = summand(totals[0])
        except NotSymmetric:
            return None
        if own != kernel.subs(x, chi[epsilon]):
            return None
        if not is_positive(kernel):
            raise self.refuse(f"the kernel {kernel} is not known to be positive")
        if offset.free_symbols & BOUND_IN_SEQUENCE or not offset.is_nonnegative:
            raise self.refuse(f"the offset {offset} is not known to be a nonnegative number")
        return own, totals[0], offset


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

    def of_share(self, own: Expr, total: Sum, offset: Expr) -> Expr:
        t, r = self.power, self.outer
        terms = Sum(total.function**t, *total.limits)
        bias = S.Zero if offset == 0 else offset**t
        return (bias + terms - own**t) ** r * own ** (-t * r)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        return tuple(Hypothesis.of(Le(p, 1)) for p in dict.fromkeys((self.power, self.outer)) if not (1 - p).is_nonnegative)


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

    def of_share(self, own: Expr, total: Sum, offset: Expr) -> Expr:
        others = offset + total - own
        return own**self.power / self.level**self.power + exp(self.rate - self.rate / self.level * others)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        found = [] if (1 - self.power).is_nonnegative else [Hypothesis.of(Le(self.power, 1))]
        return (*found, *([] if self.level.is_positive else [Hypothesis.of(Gt(self.level, 0))]))
