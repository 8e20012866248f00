"""Reads the integrand of an expectation over sequences: sums over all tokens, tokens by name, constants."""

from __future__ import annotations

from collections.abc import Callable

from sympy import Add, Basic, Dummy, Expr, Ge, Indexed, Integral, Mul, S, Sum
from sympy.concrete.expr_with_limits import ExprWithLimits

from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule
from symslr.expression.expectation import Expectation, SequenceExpectation, rewrite_expectations
from symslr.expression.folded import ConditionalMean
from symslr.model.symbols import OTHERS, epsilon, l, m, x

INDICES = (l, m)
"""Summation indices; outside of a sum they mean nothing."""


def rewrite_sequences(expr: Expr, rewrite: Callable[[SequenceExpectation], Expr], rule: Rule) -> Expr:
    """``expr`` with every expectation over sequences rewritten, innermost first.

    An expectation that stands inside another is a constant there, and a letter to ``rewrite``.

    Raises:
        RuleRefused: in the name of ``rule``, for a summation index outside of its sum, the argument ``x`` of kernels
            outside of a kernel, or an inner expectation that depends on the outer tokens.
    """

    def checked(node: SequenceExpectation) -> Expr:
        inner = {item: Dummy(real=True) for item in node.body.atoms(Expectation)}
        for item in inner:
            if item.free_symbols & node.bound:
                raise rule.refuse(f"{item} stands inside another expectation and depends on its tokens")
        free = node.body.free_symbols
        for symbol in (*INDICES, x):
            if symbol in free:
                raise rule.refuse(f"{symbol} stands free in {node.body}; it is bound by a sum or by a kernel")
        if not inner:
            return rewrite(node)
        return rewrite(node.with_body(node.body.xreplace(inner))).xreplace({d: item for item, d in inner.items()})

    return rewrite_expectations(expr, checked, SequenceExpectation)


def is_whole(total: Sum, length: Expr) -> bool:
    """Whether a sum runs over the tokens 1, ..., length."""
    return len(total.limits) == 1 and tuple(total.limits[0][1:]) == (1, length)


def check_whole(expr: Expr, length: Expr, rule: Rule) -> None:
    """Refuse a sum over some of the tokens.

    Raises:
        RuleRefused: in the name of ``rule``.
    """
    for total in expr.atoms(Sum):
        if not is_whole(total, length):
            raise rule.refuse(f"{total} does not run over the tokens 1, ..., {length}")


def at_token(summand: Expr, index: Basic, token: Basic, rule: Rule) -> Expr:
    """``summand`` with another token for its index, or with a formula for a variable.

    Raises:
        RuleRefused: in the name of ``rule``, where ``check_not_caught`` does.
    """
    check_not_caught(summand, index, token, rule)
    return summand.subs(index, token)


def check_not_caught(expr: Expr, old: Basic, new: Basic, rule: Rule) -> None:
    """Refuse to put ``new`` in for ``old`` under a sum, an integral or a mean that runs over a symbol in ``new``.

    Raises:
        RuleRefused: in the name of ``rule``.
    """
    for node in expr.atoms(ExprWithLimits, Expectation):
        bound = node.bound if isinstance(node, Expectation) else set(node.variables)
        if new.free_symbols & bound and old in node.free_symbols:
            raise rule.refuse(f"{node} would catch {new}; write it with another variable")


def named_tokens(expr: Expr) -> set[Basic]:
    """Tokens that ``expr`` names outside of sums over them: epsilon, j, k or numbers."""
    if isinstance(expr, ConditionalMean):
        return set()
    if isinstance(expr, Indexed):
        return set(expr.indices)
    inside = {token for arg in expr.args for token in named_tokens(arg)}
    if isinstance(expr, Sum):
        inside -= set(expr.variables)
    return inside | (expr.free_symbols & {epsilon, *OTHERS})


def check_marked(expr: Expr, rule: Rule) -> None:
    """Refuse a token that is chosen by its number: the relevant one may be that token or another.

    Raises:
        RuleRefused: in the name of ``rule``.
    """
    for token in sorted(named_tokens(expr) - {epsilon, *OTHERS}, key=str):
        raise rule.refuse(f"the token {token} in {expr} may be the relevant token or another")


def tokens_exist(expr: Expr, rule: Rule) -> tuple[Hypothesis, ...]:
    """L >= 2 where an expectation names a token j beside the relevant one, L >= 3 where it names k.

    An expectation that names a token which is not there has no meaning, except where a factor beside it vanishes:
    (L - 1) E[h(chi_j)] is 0 at L = 1.

    Raises:
        RuleRefused: in the name of ``rule``, where the length is a number and the token does not exist.
    """
    return tuple(dict.fromkeys(_wanted_in(expr, S.One, rule)))


def _wanted_in(expr: Expr, beside: Expr, rule: Rule) -> list[Hypothesis]:
    """What the expectations in ``expr`` need, where ``beside`` is the product of the factors around it."""
    if not expr.args or not expr.has(SequenceExpectation):
        return []
    if isinstance(expr, SequenceExpectation):
        return _wanted(expr, beside, rule)
    if isinstance(expr, Mul):
        return [item for arg in expr.args for item in _wanted_in(arg, beside * expr / arg, rule)]
    around = beside if isinstance(expr, (Add, Expectation, Integral)) else S.One
    return [item for arg in expr.args for item in _wanted_in(arg, around, rule)]


def _wanted(node: SequenceExpectation, beside: Expr, rule: Rule) -> list[Hypothesis]:
    length = node.law.length
    for needed, token in zip((3, 2), reversed(OTHERS), strict=True):
        if token not in node.body.free_symbols:
            continue
        if length.is_Integer and length < needed and beside != 0:
            raise rule.refuse(f"{node} names the token {token}, which {length} tokens do not have")
        missing = range(1, needed) if length.is_Symbol else ()
        if any(beside.subs(length, number) != 0 for number in missing):
            return [Hypothesis(rf"${length}\ge{needed}$", Ge(length, needed))]
        return []
    return []
