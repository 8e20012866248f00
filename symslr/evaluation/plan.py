"""From an expression to its plan: which node does what is read off the structure, never off a formula's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import islice
from typing import Any, final

from sympy import Dummy, Expr, Integral, Sum, Symbol, oo

from symslr.algebra.equal_forms import EqualForms
from symslr.algebra.reduction import reduce
from symslr.algebra.rule import RuleRefused
from symslr.evaluation.errors import CannotEvaluate, TooDear
from symslr.evaluation.laplace.form import laplace_form, together
from symslr.evaluation.laplace.node import LaplaceNode
from symslr.evaluation.largest_token.form import cumulative_form
from symslr.evaluation.largest_token.node import LargestTokenNode
from symslr.evaluation.minima.features import Attended
from symslr.evaluation.nodes.alone import by_tonelli
from symslr.evaluation.nodes.equal_forms import FormsNode
from symslr.evaluation.nodes.integral import IntegralNode
from symslr.evaluation.nodes.minimum import MinimumNode
from symslr.evaluation.nodes.node import Context, Node, Pair, ordered
from symslr.evaluation.nodes.product import ProductNode
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.numbers.logarithm import kept_from_cancelling
from symslr.evaluation.numbers.running import Formula, Lazy, compiled_formula, in_numbers
from symslr.evaluation.open_kernel import feels_parity, with_kernel, with_open_kernel
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
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import L
from symslr.model.symbols import x as law_variable

SPECIAL = (Expectation, Integral, Sum, Minimum, EqualForms)
STANDING_APART = (ScalarExpectation, SequenceExpectation, Sum)
"""Nodes whose plan looks at their kernel."""


@lru_cache(maxsize=512)
def reduced_form(expr: Expr) -> tuple[Expr, Expr | None]:
    """``expr`` conditioned and reduced with its kernel left open, and that kernel; with its kernel, and None, where it helps.

    Quantities are conditioned, names unfolded, sums kept from cancelling, sequence expectations reduced where a rule takes them.
    """
    opened, kernel = with_open_kernel(expr)
    if kernel is None:
        opened, kernel = with_open_kernel(conditioned(expr))
    found = reduced(conditioned(opened))
    if kernel is None:
        return found, None
    return (reduced(conditioned(expr)), None) if feels_parity(found, kernel) else (found, kept_from_cancelling(kernel))


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


def _reduced_sequence(node: Expectation) -> Expr:
    """The reduction of a sequence expectation, or itself where no rule takes it."""
    try:
        return reduce(node)
    except (RuleRefused, ValueError):
        return node


def _why_not(node: Expr) -> str:
    try:
        reduce(node)
    except (RuleRefused, ValueError) as refusal:
        return f"no reduction to one-token integrals: {refusal}"
    return "its reduction holds a sequence expectation again"


@lru_cache(maxsize=512)
def plan(expr: Expr) -> Node:
    """The plan of an expression, kept for the next call; that of another kernel differs in its integrals alone.

    Raises:
        CannotEvaluate: when a node is of a kind that no quadrature here takes.
    """
    found, kernel = reduced_form(expr)
    node = open_plan(found) if kernel is None else open_plan(found).closed(kernel)
    return node.beside(Attended.of(expr)) if isinstance(node, MinimumNode) else node


@lru_cache(maxsize=512)
def open_plan(expr: Expr) -> Node:
    """The node of a reduced expression, kept: one for all kernels."""
    return build(expr)


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


def _minimum(expr: Expr) -> Node:
    """Nested minima are one minimum over several variables."""
    variables = []
    while isinstance(expr, Minimum):
        variables.append(expr.variable)
        expr = expr.body
    return MinimumNode(build(expr), tuple(variables))


def _formula(expr: Expr) -> Node:
    children = {node: Dummy(f"I{i}") for i, node in enumerate(special_nodes(expr))}
    formula = expr.xreplace(children)
    if formula.has(OpenKernel):
        return OpenNode(expr)
    nodes = {symbol: build(node) for node, symbol in children.items()}
    return FormulaNode(compiled_formula(formula), nodes, _shared(nodes))


def _shared(nodes: Mapping[Symbol, Node]) -> list[tuple[LaplaceNode, tuple[Symbol, ...]]]:
    """Laplace integrals of like kernels as one node, with their symbols."""
    own = {s: node for s, node in nodes.items() if isinstance(node, LaplaceNode) and not node.is_correlated}
    symbols = list(own)
    found = []
    for form, places in together([own[s].form for s in symbols]) if len(own) > 1 else []:
        members = tuple(symbols[place] for place in places)
        parameters = {parameter for s in members for parameter in own[s].parameters}
        if len(members) > 1:
            found.append((LaplaceNode(form, ordered(parameters)), members))
    return found


def special_nodes(expr: Any) -> list[Expr]:
    """Outermost nodes that need a quadrature, a sum or a minimum."""
    if isinstance(expr, SPECIAL):
        return [expr]
    found: dict[Expr, None] = {}
    for arg in expr.args:
        found.update(dict.fromkeys(special_nodes(arg)))
    return list(found)


def _hoisted(expr: Expr, variables: tuple[Symbol, ...]) -> tuple[Expr, dict[Symbol, Node]]:
    """``expr`` with inner nodes that do not depend on the variables replaced by parameters of their own."""
    constants = {n: Dummy(f"C{i}") for i, n in enumerate(special_nodes(expr)) if not n.free_symbols & set(variables)}
    return expr.xreplace(constants), {symbol: build(node) for node, symbol in constants.items()}


def _integral(expr: Integral) -> Node:
    variables = tuple(limit[0] for limit in expr.limits)
    if any(len(limit) != 3 for limit in expr.limits):
        raise CannotEvaluate(f"{expr}: an integral without limits has no value")
    body, constants = _hoisted(expr.function, variables)
    form = laplace_form(Integral(body, *expr.limits))
    is_alone = form is not None and len(form.moments) == len(form.terms) and not all(form.are_exponential)
    if expr.has(OpenKernel) and (form is None or form.is_open_outside or is_alone):
        return OpenNode(expr)
    if is_alone and (alone := by_tonelli(expr)) is not None:
        return build(alone)
    if form is not None:
        free = body.free_symbols - set(variables)
        node: Node = LaplaceNode(form, ordered(free))
        return HoistedNode(node, constants) if constants else node
    conditioned_form = cumulative_form(Integral(body, *expr.limits))
    if conditioned_form is not None:
        node = LargestTokenNode(conditioned_form, ordered(body.free_symbols - set(variables)))
        return HoistedNode(node, constants) if constants else node
    if len(expr.limits) > 1:
        inner = Dummy("inner", real=True)
        outer = Integral(inner, *expr.limits[1:])
        return _line_of(outer, {inner: Integral(expr.function, expr.limits[0])})
    variable, low, high = expr.limits[0]
    return _line(expr.function, variable, low, high)


def _line_of(outer: Integral, inner: Mapping[Symbol, Expr]) -> Node:
    """An iterated integral; SymPy would merge it into one with several limits."""
    if len(outer.limits) > 1:
        middle = Dummy("inner", real=True)
        return _line_of(Integral(middle, *outer.limits[1:]), {middle: Integral(*inner.values(), outer.limits[0])})
    ((symbol, body),) = inner.items()
    variable, low, high = outer.limits[0]
    free = {s for s in (low.free_symbols | high.free_symbols) if s != variable}
    return IntegralNode(symbol, variable, (low, high), ordered(free), {symbol: build(body)})


def _line(body: Expr, variable: Symbol, low: Expr, high: Expr) -> Node:
    body, constants = _hoisted(body, (variable,))
    inner = {node: Dummy(f"F{i}", real=True) for i, node in enumerate(special_nodes(body))}
    children = {symbol: build(node) for node, symbol in inner.items()}
    body = body.xreplace(inner)
    parameters = (body.free_symbols | low.free_symbols | high.free_symbols) - {variable} - set(children)
    node: Node = IntegralNode(body, variable, (low, high), ordered(parameters), children)
    return HoistedNode(node, constants) if constants else node


@final
class OpenNode(Node):
    """An expression with an open kernel whose plan is made when the kernel is known."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def closed(self, kernel: Expr) -> Node:
        return build(with_kernel(self.expr, kernel))

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        raise CannotEvaluate(f"found the open kernel of {self.expr}; expected a kernel")


@final
class FormulaNode(Node):
    """An elementary formula of parameters and of finished nodes; ``shared`` are those of its integrals that share a table."""

    def __init__(
        self,
        formula: Formula,
        children: Mapping[Symbol, Node],
        shared: Sequence[tuple[LaplaceNode, tuple[Symbol, ...]]],
    ) -> None:
        self.formula, self.children, self.shared = formula, dict(children), shared
        self.axes = max((node.axes for node in self.children.values()), default=1)
        self.is_elementary = all(node.is_elementary for node in self.children.values())

    def closed(self, kernel: Expr) -> FormulaNode:
        children = {symbol: node.closed(kernel) for symbol, node in self.children.items()}
        return FormulaNode(self.formula, children, [(family.closed(kernel), own) for family, own in self.shared])

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        if not self.children:
            return in_numbers(self.formula, context.arithmetic, scope)
        if self.is_elementary:
            known = {symbol: node.evaluate(context, scope) for symbol, node in self.children.items()}
            return in_numbers(self.formula, context.arithmetic, {**scope, **known})
        for node in self.children.values():  # a refusal comes before what takes long
            if node.is_float_only and context.arithmetic != FLOAT:
                node.evaluate(context, scope)
        unfinished = {symbol: partial(node.evaluate, context, scope) for symbol, node in self.children.items()}
        for family, symbols in self.shared:
            together = cache(partial(_all_or_none, family, context, scope))
            unfinished |= {s: partial(_one_of, together, n, unfinished[s]) for n, s in enumerate(symbols)}
        return self.formula(context.arithmetic, Lazy(scope, unfinished))

    def at(self, context: Context, scopes: Sequence[Mapping[Symbol, Pair]]) -> list[Callable[[], Pair]]:
        if self.shared or len(scopes) == 1 or context.arithmetic != FLOAT:
            return super().at(context, scopes)
        children = {symbol: node.at(context, scopes) for symbol, node in self.children.items()}
        unfinished = [{symbol: own[i] for symbol, own in children.items()} for i in range(len(scopes))]
        return [partial(self.formula, context.arithmetic, Lazy(scope, own)) for scope, own in zip(scopes, unfinished)]


def _all_or_none(family: LaplaceNode, context: Context, scope: Mapping[Symbol, Pair]) -> list[Pair] | None:
    """All integrals of a family; None where one of them has no value, or the arithmetic shares nothing.

    Raises:
        TooDear: where one alone would be too dear as well.
    """
    try:
        return family.all(context, scope)
    except TooDear:
        raise
    except (CannotEvaluate, ArithmeticError):
        return None


def _one_of(together: Callable[[], list[Pair] | None], n: int, alone: Callable[[], Pair]) -> Pair:
    """The n-th of several numbers that are found together, or by itself where they are not."""
    found = together()
    return alone() if found is None else found[n]


@final
class HoistedNode(Node):
    """A node with parameters that are finished integrals; their errors pass through by a finite difference."""

    def __init__(self, node: Node, constants: Mapping[Symbol, Node]) -> None:
        self.node, self.constants = node, dict(constants)
        self.axes, self.is_float_only = node.axes, node.is_float_only

    def closed(self, kernel: Expr) -> HoistedNode:
        constants = {symbol: node.closed(kernel) for symbol, node in self.constants.items()}
        return HoistedNode(self.node.closed(kernel), constants)

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        known = {symbol: node.evaluate(context, scope) for symbol, node in self.constants.items()}
        value, error = self.node.evaluate(context, {**scope, **known})
        for symbol, (constant, uncertainty) in known.items():
            if uncertainty > 0:
                step = max(uncertainty, abs(constant) * 1e-6)
                moved = {**scope, **known, symbol: (constant + step, uncertainty)}
                shifted, _ = self.node.evaluate(context, moved)
                error = error + 2 * abs(shifted - value) * (uncertainty / step)
        return value, error


@final
class LengthNode(Node):
    """sum_l P(l) body(l)."""

    def __init__(self, body: Node, law: Any) -> None:
        self.body, self.law, self.axes, self.is_elementary = body, law, body.axes, body.is_elementary

    def closed(self, kernel: Expr) -> LengthNode:
        return LengthNode(self.body.closed(kernel), self.law)

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        (value,) = self.at(context, [scope])
        return value()

    def at(self, context: Context, scopes: Sequence[Mapping[Symbol, Pair]]) -> list[Callable[[], Pair]]:
        number, zero = context.arithmetic.number, context.arithmetic.number(0)
        laws: list[Any] = [self.law if isinstance(self.law, LengthLaw) else scope[self.law] for scope in scopes]
        own = [{**scope, L: (number(n), zero)} for scope, law in zip(scopes, laws) for n, _ in law]
        values = iter(self.body.at(context, own))

        def mean(law: Any, bodies: list[Callable[[], Pair]]) -> Pair:
            value, error = zero, zero
            for (_, probability), body in zip(law, bodies):
                weight = number(probability)
                v, e = body()
                value, error = value + weight * v, error + weight * (e + 2 * context.arithmetic.eps * abs(v))
            return value, error

        return [partial(mean, law, list(islice(values, len(law.args)))) for law in laws]


@final
class SumNode(Node):
    """A finite sum over integers."""

    def __init__(self, body: Node, limit: Any) -> None:
        self.body, (self.index, low, high) = body, limit
        if not (low.is_number or low.free_symbols) or high in (oo, -oo) or low in (oo, -oo):
            raise CannotEvaluate(f"sum over {self.index} from {low} to {high}: expected finite limits")
        self.limits = (compiled_formula(low), compiled_formula(high))

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        number = context.arithmetic.number
        low, high = (int(limit(context.arithmetic, scope)[0]) for limit in self.limits)
        if high - low > 1_000_000:
            raise CannotEvaluate(f"a sum of {high - low} terms; expected at most a million")
        value, error = number(0), number(0)
        for index in range(low, high + 1):
            v, e = self.body.evaluate(context, {**scope, self.index: (number(index), number(0))})
            value, error = value + v, error + e + context.arithmetic.eps * abs(value + v)
        return value, error
