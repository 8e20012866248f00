"""Drop positive terms from a denominator: a/(b + r) = a/b up to (a/b)(r/b)^theta."""

from __future__ import annotations

from contextlib import suppress
from typing import final

from sympy import Abs, Expr, Indexed, Integer, Mul, Pow, Rational, Sum

from symslr.algebra.polynomial import OPAQUE
from symslr.algebra.rule import RuleRefused
from symslr.algebra.rules.gaussian.cameron_martin import CameronMartin
from symslr.algebra.rules.measure.independence import Independence
from symslr.algebra.tokens import summand
from symslr.algebra.truncation import Truncation
from symslr.expression.expectation import SequenceExpectation
from symslr.model.largest import IsLargest
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import OTHERS, chi, epsilon, x


@final
class DropFromDenominator(Truncation):
    """Keep of a sum over tokens in a denominator the tokens that the numerator names, and the relevant one.

    With b the terms kept and r_k >= 0 those left out, a/b - a/(b + sum r_k) = (a/b) r/(b + r), and
    r/(b + r) <= min(1, r/b) <= (r/b)^theta <= sum_k (r_k/b)^theta for 0 < theta <= 1; b lies above n times the geometric
    mean of its n terms, so that the bound is a product over tokens. Tokens that no longer occur integrate out: what is
    kept is an expectation over as many tokens as are named.

    Args:
        power: theta; a smaller one weakens the bound where r << b and strengthens it where r >> b.
    """

    name = "terms left out of a denominator"
    statement = (
        r"\mathbb{E}\left[\frac{a}{b+\sum_k r_k}\right] = \mathbb{E}\left[\frac{a}{b}\right] + R,\qquad"
        r" |R|\le\sum_k\mathbb{E}\left[\frac{|a|\,r_k^{\theta}}{b^{1+\theta}}\right],\qquad"
        r" b=\sum_{i\le n}b_i\ge n\,(b_1\cdots b_n)^{1/n}"
    )
    conditions = (
        r"$b_i>0$, $r_k>0$, $0<\theta\le1$; the weight is a function of the relevant token alone, so that the tokens are "
        r"independent"
    )

    def __init__(self, power: Expr) -> None:
        self.power = Rational(power)
        if not 0 < self.power <= 1:
            raise ValueError(f"power: found {power}; expected 0 < theta <= 1")

    def truncate(self, term: Expr) -> tuple[Expr, Expr] | None:
        if not isinstance(term, SequenceExpectation):
            return None
        total = self._denominator(term.body)
        if total is None:
            return None
        law, numerator = term.law, term.body * total
        kappa = self._positive(total, law)
        named = (epsilon, *(token for token in OTHERS if token in numerator.free_symbols))
        others = {index for item in numerator.atoms(Indexed) for index in item.indices} - set(named)
        if (
            others
            or numerator.has(IsLargest, *OPAQUE)
            or named != (epsilon, *OTHERS)[: len(named)]
            or len(named) > len(OTHERS)
        ):
            raise self.refuse(f"{numerator} names {', '.join(map(str, named))}; expected functions of epsilon and j")
        kept = [kappa.subs(x, chi[token]) for token in named]
        short = SequenceLaw(law.weight, Integer(len(named)), law.base)
        body = numerator / total.func(total.function, (*total.limits[0][:2], Integer(len(named))))
        return SequenceExpectation(body, short), self._bound(numerator, kept, kappa, law)

    def _bound(self, numerator: Expr, kept: list[Expr], kappa: Expr, law: SequenceLaw) -> Expr:
        n, another = len(kept), OTHERS[len(kept) - 1]
        mean = n * Mul(*(Pow(b, Rational(1, n)) for b in kept))
        worst = Abs(numerator) * kappa.subs(x, chi[another]) ** self.power / mean ** (1 + self.power)
        bound: Expr = SequenceExpectation(worst, SequenceLaw(law.weight, Integer(n + 1), law.base))
        with suppress(RuleRefused):
            bound = CameronMartin().rewrite(Independence().rewrite(bound))
        return (law.length - n) * bound

    def _denominator(self, body: Expr) -> Sum | None:
        found = [f.base for f in Mul.make_args(body) if f.is_Pow and f.exp == -1 and isinstance(f.base, Sum)]
        return found[0] if len(found) == 1 else None

    def _positive(self, total: Sum, law: SequenceLaw) -> Expr:
        """kappa(x) of a sum of kappa(chi_l) over all tokens."""
        kappa = summand(total)
        if tuple(total.limits[0][1:]) != (1, law.length) or not kappa.is_positive:
            raise self.refuse(f"{total} is no sum over all tokens of terms known to be positive")
        if law.relevant_factor is None or law.length in law.weight.free_symbols:
            raise self.refuse(f"the weight {law.weight} is no function of the relevant token alone")
        return kappa
