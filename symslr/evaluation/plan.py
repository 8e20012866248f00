"""From an expression to its plan: the kind of each node is decided by its structure, never by a formula's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, final

from sympy import Add, Derivative, Dummy, Expr, Integral, S, Sum, Symbol, gamma, oo
from sympy import exp as exp_

from symslr.algebra.equal_forms import EqualForms
from symslr.algebra.reduction import reduce
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.form import grouped, laplace_form
from symslr.evaluation.laplace.node import LaplaceNode
from symslr.evaluation.largest_token.form import cumulative_form
from symslr.evaluation.largest_token.node import LargestTokenNode
from symslr.evaluation.minima.node import MinimumNode
from symslr.evaluation.nodes.composed import FormsNode, FormulaNode, HoistedNode, LengthNode, SumNode
from symslr.evaluation.nodes.integral import IntegralNode
from symslr.evaluation.nodes.node import Context, Node, Pair, ordered, outermost
from symslr.evaluation.nodes.product import ProductNode
from symslr.evaluation.numbers.exponent import slope, split
from symslr.evaluation.numbers.logarithm import kept_from_cancelling
from symslr.evaluation.numbers.running import compiled_formula
from symslr.evaluation.open_kernel import feels_parity, with_kernel, with_open_kernel
from symslr.evaluation.routes import Need, Route, tried
from symslr.expression.expectation import (
    Expectation,
    LengthExpectation,
    ScalarExpectation,
    SequenceExpectation,
    rewrite_expectations,
)
from symslr.expression.folded import FOLDED, Minimum
from symslr.expression.open_functions import OpenKernel
from symslr.expression.quantity import conditioned
from symslr.model.symbols import x as law_variable
from symslr.theory.population import MinimalRisk

SPECIAL = (Expectation, Integral, Sum, Minimum, EqualForms)
STANDING_APART = (ScalarExpectation, SequenceExpectation, Sum)
"""Nodes whose plan depends on their kernel."""


@lru_cache(maxsize=512)
def reduced_form(expr: Expr) -> tuple[Expr, Expr | None]:
    """(``expr`` conditioned and reduced with its kernel left open, that kernel); with its own kernel and None where that
    reduces further.

    Quantities are conditioned, names unfolded, sums kept from cancelling, and sequence expectations reduced where a rule
    applies.
    """
    opened, kernel = with_open_kernel(expr)
    if kernel is None:
        opened, kernel = with_open_kernel(conditioned(expr))
    found = reduced(conditioned(opened))
    if kernel is None:
        return found, None
    return (reduced(conditioned(expr)), None) if feels_parity(found, kernel) else (found, kept_from_cancelling(kernel))


def with_derivatives(expr: Expr) -> Expr:
    """Derivatives of quantities carried out on their reduced formulas; they carry none out by themselves."""
    return expr.replace(
        lambda node: isinstance(node, Derivative), lambda node: canonical(node.expr).diff(*node.variable_count)
    )


@lru_cache(maxsize=512)
def canonical(expr: Expr) -> Expr:
    """``expr`` conditioned and reduced."""
    return with_kernel(*reduced_form(expr))


@lru_cache(maxsize=512)
def reduced(expr: Expr) -> Expr:
    """A conditioned expression reduced."""
    if expr.has(*FOLDED):
        expr = expr.replace(lambda node: isinstance(node, FOLDED), lambda node: node.doit())
    expr = kept_from_cancelling(expr)
    if expr.has(SequenceExpectation):
        expr = rewrite_expectations(expr, _reduced_sequence, SequenceExpectation)
    return expr


@lru_cache(maxsize=512)
def _reduced_sequence(node: Expectation) -> Expr:
    """The reduction of a sequence expectation; itself where no rule applies."""
    try:
        return reduce(node)
    except ValueError:
        return node


def _why_not(node: Expr) -> str:
    try:
        reduce(node)
    except ValueError as refusal:
        return f"no reduction to one-token integrals: {refusal}"
    return "its reduction holds a sequence expectation again"


@lru_cache(maxsize=512)
def plan(expr: Expr) -> Node:
    """The plan of an expression, cached. Plans for different kernels differ in their integrals alone.

    Raises:
        CannotEvaluate: for a node of a kind that no quadrature here evaluates.
    """
    least = [] if isinstance(expr, MinimalRisk) else sorted(expr.atoms(MinimalRisk), key=str)
    if least:
        names = {one: Dummy(f"M{i}") for i, one in enumerate(least)}
        return HoistedNode(plan(expr.xreplace(names)), {name: plan(one) for one, name in names.items()})
    found, kernel = reduced_form(expr)
    node = open_plan(found) if kernel is None else open_plan(found).closed(kernel)
    if isinstance(node, MinimumNode):
        return MinimumNode(node.body, node.variables, expr.risk if isinstance(expr, MinimalRisk) else None, plan)
    return node


def build(expr: Expr) -> Node:
    """The node of a reduced expression."""
    if isinstance(expr, Integral):
        return _integral(expr)
    if isinstance(expr, STANDING_APART) and expr.has(OpenKernel):
        return OpenNode(expr)
    if isinstance(expr, ScalarExpectation):
        law = expr.law
        body = expr.body * law.density.xreplace({law_variable: expr.variable})
        return _line(body, expr.variable, law.lower, law.upper)
    if isinstance(expr, LengthExpectation):
        return LengthNode(build(expr.body), expr.law)
    if isinstance(expr, Sum):
        inner = build(expr.function)
        for limit in expr.limits:
            inner = SumNode(inner, limit)
        return inner
    if isinstance(expr, Minimum):
        return _minimum(expr)
    if isinstance(expr, EqualForms):
        return FormsNode([build(form) for form in expr.args])
    if isinstance(expr, SequenceExpectation):
        return ProductNode(expr, _why_not(expr))
    if isinstance(expr, SPECIAL):
        raise CannotEvaluate(f"found {type(expr).__name__}; expected a reduced expression")
    return _formula(expr)


open_plan = lru_cache(maxsize=512)(build)
"""``build`` with a cache: one plan for all kernels."""


def _minimum(expr: Expr) -> Node:
    """Nested minima as one minimum over several variables."""
    variables = []
    while isinstance(expr, Minimum):
        variables.append(expr.variable)
        expr = expr.body
    return MinimumNode(build(expr), tuple(variables))


def _formula(expr: Expr) -> Node:
    children = {node: Dummy(f"I{i}") for i, node in enumerate(outermost(expr, SPECIAL))}
    formula = expr.xreplace(children)
    if formula.has(OpenKernel):
        return OpenNode(expr)
    nodes = {symbol: build(node) for node, symbol in children.items()}
    return FormulaNode(compiled_formula(formula), nodes, _shared(nodes))


def _shared(nodes: Mapping[Symbol, Node]) -> list[tuple[LaplaceNode, tuple[Symbol, ...]]]:
    """Laplace integrals with the same kernels as one node, with their symbols."""
    own = {s: node for s, node in nodes.items() if isinstance(node, LaplaceNode) and not node.is_correlated}
    symbols = list(own)
    found = []
    for form, places in grouped([own[s].form for s in symbols]) if len(own) > 1 else []:
        members = tuple(symbols[place] for place in places)
        parameters = {parameter for s in members for parameter in own[s].parameters}
        if len(members) > 1:
            found.append((LaplaceNode(form, ordered(parameters)), members))
    return found


def _hoisted(expr: Expr, variables: tuple[Symbol, ...]) -> tuple[Expr, dict[Symbol, Node]]:
    """(``expr`` with inner nodes that do not depend on the variables replaced by parameters, {parameter: node})."""
    constants = {
        n: Dummy(f"C{i}") for i, n in enumerate(outermost(expr, SPECIAL)) if not n.free_symbols & set(variables)
    }
    return expr.xreplace(constants), {symbol: build(node) for node, symbol in constants.items()}


def _integral(expr: Integral) -> Node:
    variables = tuple(limit[0] for limit in expr.limits)
    if any(len(limit) != 3 for limit in expr.limits):
        raise CannotEvaluate(f"{expr}: an integral without limits has no value")
    body, constants = _hoisted(expr.function, variables)
    integral = Integral(body, *expr.limits)
    form = laplace_form(integral)
    is_alone = form is not None and len(form.moments) == len(form.terms) and not all(form.are_exponential)
    if expr.has(OpenKernel) and (form is None or form.is_open_outside or is_alone):
        return OpenNode(expr)
    if is_alone and (alone := _by_tonelli(expr)) is not None:
        return build(alone)
    node: Node = tried(INTEGRALS, integral)
    return HoistedNode(node, constants) if constants else node


def _one_after_the_other(integral: Integral) -> Node:
    """SymPy would merge the inner integral and the outer one into one again."""
    variable, low, high = integral.limits[-1]
    inner = Dummy("inner", real=True)
    children = {inner: build(Integral(integral.function, *integral.limits[:-1]))}
    return IntegralNode(
        inner, variable, (low, high), ordered((low.free_symbols | high.free_symbols) - {variable}), children
    )


def _noded(kind: Callable[..., Node], form: Callable[[Expr], Any]) -> Callable[[Expr], Node]:
    return lambda integral: kind(form(integral), ordered(integral.free_symbols))


INTEGRALS = (
    Route(
        (Need("u, or u and t, in (0, oo), in powers, exponentials and means of single tokens", laplace_form),),
        "meshes in log u and log t beside one table of tokens for every kernel",
        "10 to 14 in float64, any in balls",
        _noded(LaplaceNode, laplace_form),
    ),
    Route(
        (Need("u in (0, oo), and means over the tokens below the largest", cumulative_form),),
        "running integrals over the mesh of the largest token",
        "10 to 14 in float64, any in balls",
        _noded(LargestTokenNode, cumulative_form),
    ),
    Route(
        (Need("several variables", lambda integral: len(integral.limits) > 1),),
        "one variable after the other",
        "10 to 14 in float64, any with mpmath",
        _one_after_the_other,
    ),
    Route(
        (),
        "trapezoid rule between breakpoints",
        "10 to 14 in float64, any with mpmath",
        lambda integral: _line(integral.function, *integral.limits[0]),
    ),
)
"""Plans of an integral."""


def _by_tonelli(integral: Integral) -> Expr | None:
    """A Laplace integral with one moment per term, to the power one, integrated over u (and t) first; None for another.

    It occurs for a sequence of length 1, and for a mean that was never multiplied.

        int_0^oo u^{k-1} e^{-u o} E[f(x) e^{-u kappa(x)}] du = Gamma(k) E[f(x) (o + kappa(x))^{-k}]

    for f >= 0 and o + kappa > 0 (Tonelli). On a mesh such an integral is the hardest of all. No other token ends it, so that at
    large u tokens contribute whose weight f is negligible at small u.
    """
    variables = tuple(limit[0] for limit in integral.limits)
    if any(limit[1:] != (S.Zero, oo) for limit in integral.limits):
        return None
    found = [_of_one_token(term, variables) for term in Add.make_args(integral.function)]
    return None if None in found else Add(*found)


def _of_one_token(term: Expr, variables: tuple[Symbol, ...]) -> Expr | None:
    outside, inside = term.as_independent(ScalarExpectation)
    if not isinstance(inside, ScalarExpectation):
        return None
    logs: dict[Expr, Expr] = {u: Dummy(f"log_{u}") for u in variables}
    outer, inner = split(outside, logs), split(inside.body)
    constant, body = outer.rest, inner.rest
    exponents = [outer.exponent, inner.exponent]
    for u, log_u in logs.items():
        power = exponents[0].coeff(log_u) + 1
        exponents[0] = exponents[0] - (power - 1) * log_u
        ends = [slope(exponent, u) for exponent in exponents]
        if None in ends or not power.is_positive:
            return None
        constant, body = constant * gamma(power), body * Add(*ends) ** -power
        exponents = [exponent.xreplace({u: S.Zero}) for exponent in exponents]
    mean = ScalarExpectation(body * exp_(exponents[1]), inside.variable, inside.law)
    made = constant * exp_(exponents[0]) * mean
    return None if made.free_symbols & {*logs, *logs.values()} else made


def _line(body: Expr, variable: Symbol, low: Expr, high: Expr) -> Node:
    body, constants = _hoisted(body, (variable,))
    inner = {node: Dummy(f"F{i}", real=True) for i, node in enumerate(outermost(body, SPECIAL))}
    children = {symbol: build(node) for node, symbol in inner.items()}
    body = body.xreplace(inner)
    parameters = (body.free_symbols | low.free_symbols | high.free_symbols) - {variable} - set(children)
    node: Node = IntegralNode(body, variable, (low, high), ordered(parameters), children)
    return HoistedNode(node, constants) if constants else node


@final
class OpenNode(Node):
    """An expression with an open kernel, whose plan is made when the kernel is known."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def closed(self, kernel: Expr) -> Node:
        return build(with_kernel(self.expr, kernel))

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        raise CannotEvaluate(f"found the open kernel of {self.expr}; expected a kernel")
