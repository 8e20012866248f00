"""Jensen's inequality for the sum over the other tokens, given the relevant one."""

from __future__ import annotations

from typing import final

from sympy import Dummy, Expr, Le, Mul, S, Sum, simplify

from symslr.algebra.bodies import is_whole, named_tokens
from symslr.algebra.bound import Bound
from symslr.algebra.existence import check_existence
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.positivity import is_absolutely_continuous, is_nonnegative, is_positive
from symslr.algebra.tokens import summand
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.model.powers import factored
from symslr.model.symbols import chi, epsilon, x


@final
class JensenForOthers(Bound):
    """Replace the sum over the other tokens by its mean, where the body is concave in it."""

    name = "Jensen's inequality given the relevant token"
    statement = (
        r"\mathbb{E}_g\Big[F\Big(\chi_\epsilon,\sum_{l\ne\epsilon}h(\chi_l)\Big)\Big] \le"
        r" \mathbb{E}_g\left[F\left(\chi_\epsilon,(L-1)\,\mathbb{E}_x[h]\right)\right]"
    )
    conditions = (
        r"$s\mapsto F(\chi,s)$ is concave for $s\ge0$, $h\ge0$ has a mean, $g$ is a function of $\chi_\epsilon$ alone"
    )
    source = "jensen1906"

    def upper(self, term: Expr) -> Expr | None:
        total = _only_sum(term)
        if total is None:
            return None
        law, h = term.law, summand(total)
        self._curvature(term, total)
        if law.relevant_factor is None:
            raise self.refuse(f"the weight {law.weight} is not a function of the relevant token alone")
        mean = ScalarExpectation(h, x, law.base)
        check_existence([mean], self)
        return term.with_body(term.body.xreplace({total: h.subs(x, chi[epsilon]) + (law.length - 1) * mean}))

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """What concavity and the mean of h ask of the parameters."""
        found: list[Hypothesis] = []
        for node in sorted(expr.atoms(SequenceExpectation), key=str):
            total = _only_sum(node)
            if total is not None:
                sign = self._curvature(node, total)
                number, rest = sign.as_coeff_Add()
                found += [] if sign.is_nonpositive else [Hypothesis.of(Le(rest, -number))]
                found += check_existence([ScalarExpectation(summand(total), x, node.law.base)], self)
        return tuple(dict.fromkeys(found))

    def _curvature(self, node: SequenceExpectation, total: Sum) -> Expr:
        """A number of the sign that the second derivative in the sum has at every token."""
        h = summand(total)
        if not is_whole(total, node.law.length) or not is_nonnegative(h):
            raise self.refuse(f"{total} is no sum over all tokens of what is known to be nonnegative")
        own, s = Dummy(real=True), Dummy(positive=True)
        body = node.body.xreplace({total: h.subs(x, chi[epsilon]) + s}).xreplace({chi[epsilon]: own})
        if not named_tokens(body) <= {epsilon}:
            raise self.refuse(f"{node.body} names other tokens beside the sum over them")
        if not is_absolutely_continuous(body, s):
            raise self.refuse(f"{node.body} is not known to be continuous in {total}")
        second = factored(simplify(body.diff(s, 2)))
        if second == S.Zero:
            return S.Zero
        sign = S.One
        for part in Mul.make_args(second):
            if is_positive(part) or part.is_nonnegative:
                continue
            if part.has(own, s):
                raise self.refuse(f"{node.body} is not known to be concave in {total}")
            sign *= part
        if sign.is_positive:
            raise self.refuse(f"{node.body} is convex in {total}, so its mean lies above")
        return sign


def _only_sum(node: Expr) -> Sum | None:
    """The one sum over tokens in a mean."""
    found = node.body.atoms(Sum) if isinstance(node, SequenceExpectation) else set()
    return next(iter(found)) if len(found) == 1 else None
