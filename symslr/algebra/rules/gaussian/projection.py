"""A function of one linear combination of Gaussian tokens needs one Gaussian variable."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, Indexed, Ne, S, Sum, expand, simplify

from symslr.algebra.bodies import rewrite_sequences, tokens_exist
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.algebra.rules.gaussian.cameron_martin import gaussian_shift
from symslr.algebra.tokens import unfolded
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.model.scalar_law import STANDARD_NORMAL, normal
from symslr.model.symbols import BOUND_IN_SEQUENCE, OTHERS, chi, epsilon, x


@final
class WriteTokensOut(Rule):
    """At a numeric length, write every sum over tokens as the relevant token plus the named others."""

    name = "tokens written out"
    statement = r"\sum_{l=1}^{2} h(\chi_l) = h(\chi_\epsilon) + h(\chi_j)"
    conditions = r"the length is 1, 2 or 3"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_sequences(expr, self._write, self)

    def _write(self, node: SequenceExpectation) -> Expr:
        tokens = (epsilon, *OTHERS)
        length = node.law.length
        if not length.is_Integer or length > len(tokens):
            raise self.refuse(f"the length is {length}; expected a number up to {len(tokens)}")
        body = unfolded(node.body, length)
        present = tokens[: int(length)]
        if node.body.free_symbols & set(tokens[int(length) :]):
            raise self.refuse(f"{node.body} names a token that {length} tokens do not have")
        sums = {
            total: Add(*(total.function.subs(total.variables[0], token) for token in present))
            for total in body.atoms(Sum)
        }
        return node.with_body(simplify(body.xreplace(sums)))


@final
class GaussianProjection(Rule):
    """Replace independent Gaussian tokens by the one combination that the body depends on."""

    name = "Gaussian projection"
    statement = (
        r"\mathbb{E}\left[h(c_\epsilon\chi_\epsilon + c_j\chi_j)\right] = \mathbb{E}_x[h(x)],\qquad"
        r" x\sim\mathcal{N}\left(c_\epsilon s,\ c_\epsilon^2+c_j^2\right)"
    )
    conditions = r"$\chi_\epsilon\sim\mathcal{N}(s,1)$ and $\chi_j\sim\mathcal{N}(0,1)$, independent"
    source = "duranthon2025"

    def __init__(self, combination: Expr) -> None:
        self.combination = expand(combination)

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_sequences(expr, self._project, self)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """The tokens exist, and the coefficient of the relevant one is not zero."""
        own = self.combination.coeff(chi[epsilon])
        nonzero = () if own.is_nonzero else (Hypothesis.of(Ne(own, 0)),)
        return (*nonzero, *tokens_exist(expr, self))

    def _project(self, node: SequenceExpectation) -> Expr:
        law, own = node.law, chi[epsilon]
        if law.weight == S.One and law.base != STANDARD_NORMAL:
            raise self.refuse(f"the tokens are not Gaussian but have density {law.base.density}")
        mean = gaussian_shift(law, self)
        coefficients = {token: self.combination.coeff(token) for token in self.combination.atoms(Indexed)}
        linear = Add(*(coefficient * token for token, coefficient in coefficients.items()))
        if linear.subs(dict.fromkeys(coefficients, S.One)).free_symbols & BOUND_IN_SEQUENCE:
            raise self.refuse(f"{self.combination} has a random coefficient")
        if expand(self.combination - linear) != 0 or not coefficients.keys() <= {chi[i] for i in (epsilon, *OTHERS)}:
            raise self.refuse(f"{self.combination} is not a linear combination of chi_epsilon, chi_j and chi_k")
        if coefficients.get(own, S.Zero) == 0:
            raise self.refuse(f"{self.combination} does not contain the relevant token")
        rest = self.combination - coefficients[own] * own
        body = simplify(node.body.subs(own, (x - rest) / coefficients[own]))
        if body.free_symbols & BOUND_IN_SEQUENCE:
            raise self.refuse(f"{node.body} is not a function of {self.combination} alone")
        variance = Add(*(coefficient**2 for coefficient in coefficients.values()))
        return ScalarExpectation(body, x, normal(coefficients[own] * mean, variance))
