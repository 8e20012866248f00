"""The law of iid standard normals does not change under a rotation: scores that mix several of them need fewer."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from sympy import Expr, Indexed, IndexedBase, Ne, S, Sum, exp, expand, simplify, sqrt

from symslr.algebra.bodies import is_whole, rewrite_sequences
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.polynomial import expand_polynomial, gathered
from symslr.algebra.rule import Rule
from symslr.algebra.rules.gaussian.cameron_martin import gaussian_shift
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Posterior
from symslr.expression.scored import FAMILIES, ScoredActivation
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import BOUND_IN_SEQUENCE, OTHERS, chi, epsilon, eta, m, z

Coefficients = dict[IndexedBase, Expr]


@final
class RotateNoise(Rule):
    """Rotate (z_l, eta_l) so that the scores depend on z_l and no longer on eta_l."""

    name = "rotation of the noise"
    statement = (
        r"\mathbb{E}\left[F(z_l,\eta_l)\right] ="
        r" \mathbb{E}\left[F\Big(\tfrac{b z_l + c\,\eta_l}{r},\tfrac{c z_l - b\,\eta_l}{r}\Big)\right],"
        r"\qquad r=\sqrt{b^2+c^2}"
    )
    conditions = r"scores $a\chi_l+b z_l+c\,\eta_l$; $z_l,\eta_l$ iid standard normal, independent of $(\epsilon,\chi)$"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_sequences(expr, self._rotate, self)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        return _not_all_zero(expr, (z, eta), self)

    def _rotate(self, node: SequenceExpectation) -> Expr:
        found = score_coefficients(node.body, self)
        if found is None or found[eta] == 0:
            return node
        b, c = found[z], found[eta]
        r = sqrt(simplify(b**2 + c**2))

        def turned(item: Indexed) -> Expr:
            i = item.indices[0]
            if item.base == z:
                return (b * z[i] + c * eta[i]) / r
            return (c * z[i] - b * eta[i]) / r if item.base == eta else item

        score = found[chi] * chi[m] + r * z[m]
        return node.with_body(gathered(_with_tokens(node.body, turned, lambda sigma: sigma.with_score(score))))


@final
class TurnTowardsKey(Rule):
    """Take the direction of k for that of k*: the scores become one Gaussian a token, under a weaker shift.

    A shift of the relevant token along k* is one along k, seen by the attention, and one across, which moves z_epsilon.
    """

    name = "frame of the key"
    statement = (
        r"\mathbb{E}_{s}\left[F(\chi_l,z_l)\right] = \mathbb{E}_{s a/r}\left[F\Big(\tfrac{a\chi_l - b\hat z_l}{r},"
        r"\tfrac{b\chi_l+a\hat z_l}{r}\Big)\right],\qquad \hat z_l = z_l - \tfrac{s b}{r}\,\delta_{l\epsilon},"
        r"\quad r=\sqrt{a^2+b^2}"
    )
    conditions = r"scores $a\chi_l+b z_l$; $\mathbb{E}_s$ has $g=e^{s\chi_\epsilon-s^2/2}$ over standard normal tokens"

    def rewrite(self, expr: Expr) -> Expr:
        return rewrite_sequences(expr, self._turn, self)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        return _not_all_zero(expr, (chi, z), self)

    def _turn(self, node: SequenceExpectation) -> Expr:
        found = score_coefficients(node.body, self)
        if found is None:
            return node
        if found[eta] != 0:
            raise self.refuse("the scores depend on eta; rotate the noise first")
        if node.body.has(Activation, Posterior, ConditionalMean, IsLargest):
            raise self.refuse(f"{node.body} holds functions of all tokens by name; write them out first")
        if node.law.base != STANDARD_NORMAL:
            raise self.refuse(f"the tokens are not standard normal but have density {node.law.base.density}")
        self._check_tokens(node.body, node.law.length)
        shift = gaussian_shift(node.law, self)
        a, b = found[chi], found[z]
        r = sqrt(simplify(a**2 + b**2))
        across = shift * b / r

        def turned(item: Indexed, moved: Expr) -> Expr:
            i = item.indices[0]
            if item.base == chi:
                return (a * chi[i] - b * (z[i] - moved)) / r
            return (b * chi[i] + a * (z[i] - moved)) / r if item.base == z else item

        def plain(sigma: ScoredActivation) -> Activation:
            return Activation(*sigma.args[:4], r, sigma.args[5])

        def resting(item: Indexed) -> Expr:
            return turned(item, across if item.indices[0] == epsilon else S.Zero)

        def summed(total: Sum) -> Expr:
            """The relevant token is moved, so it is taken out and put back."""
            index = total.variables[0]
            rest = _with_tokens(total.function, resting, plain)
            added = _with_tokens(total.function, lambda item: turned(item, across), plain) - rest
            return Sum(rest, *total.limits) + expand_polynomial(added).subs(index, epsilon)

        sums = {total: summed(total) for total in node.body.atoms(Sum)}
        if any(total.function.has(Sum) for total in sums):
            raise self.refuse("a sum over tokens stands inside another; write the loss as a polynomial in single sums")
        letters = {total: IndexedBase(f"sum{i}")[0] for i, total in enumerate(sums)}
        body = _with_tokens(node.body.xreplace(letters), resting, plain)
        body = body.xreplace({letter: sums[total] for total, letter in letters.items()})
        slope = shift * a / r
        weight = exp(slope * chi[epsilon] - slope**2 / 2) if shift != 0 else S.One
        return SequenceExpectation(gathered(body), SequenceLaw(weight, node.law.length, node.law.base))

    def _check_tokens(self, body: Expr, length: Expr) -> None:
        """The relevant token is the only one that is moved: every sum holds it, and no token may be it or not."""
        for total in body.atoms(Sum):
            if not is_whole(total, length):
                raise self.refuse(f"{total} does not run over the tokens 1, ..., {length}")
        summed = {index for total in body.atoms(Sum) for index in total.variables}
        for item in body.atoms(Indexed):
            if item.indices[0] not in {epsilon, m, *OTHERS, *summed}:
                raise self.refuse(f"{item} may belong to the relevant token or not")


def _not_all_zero(expr: Expr, families: tuple[IndexedBase, ...], rule: Rule) -> tuple[Hypothesis, ...]:
    """The part of the score that is turned is not zero."""
    hypotheses = []
    for node in sorted(expr.atoms(SequenceExpectation), key=str):
        found = score_coefficients(node.body, rule)
        size = simplify(sum(found[family] ** 2 for family in families)) if found else S.One
        size = -size if size.could_extract_minus_sign() else size
        if not size.is_nonzero:
            hypotheses.append(Hypothesis.of(Ne(size, 0)))
    return tuple(dict.fromkeys(hypotheses))


def score_coefficients(body: Expr, rule: Rule) -> Coefficients | None:
    """The coefficients of the scores of a body in chi, z and eta; None where no attention has such scores.

    Raises:
        RuleRefused: in the name of ``rule``, where two attentions have different scores or a score is not linear with
            coefficients that are fixed.
    """
    scores = {sigma.score for sigma in body.atoms(ScoredActivation)}
    if not scores:
        return None
    if len(scores) > 1:
        raise rule.refuse(f"found {len(scores)} different scores; expected one")
    score = expand(scores.pop())
    found = {family: score.coeff(family[m]) for family in FAMILIES}
    if expand(score - sum(factor * family[m] for family, factor in found.items())) != 0:
        raise rule.refuse(f"the score {score} is not linear in chi, z and eta")
    if any(factor.free_symbols & BOUND_IN_SEQUENCE for factor in found.values()):
        raise rule.refuse(f"the coefficients of the score {score} depend on the tokens")
    return found


def _with_tokens(expr: Expr, token: Callable[[Indexed], Expr], attention: Callable[[ScoredActivation], Expr]) -> Expr:
    """``expr`` with its tokens and its attentions replaced."""
    if isinstance(expr, ScoredActivation):
        return attention(expr)
    if isinstance(expr, Indexed):
        return token(expr)
    if not expr.args:
        return expr
    return expr.func(*(_with_tokens(arg, token, attention) for arg in expr.args))
