"""Nodes made of other nodes: formulas, sums, means over the length, and the best of equal formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from typing import Any, final

from sympy import Expr, Symbol, oo

from symslr.evaluation.errors import CannotEvaluate, TooDear, beside
from symslr.evaluation.laplace.node import LaplaceNode
from symslr.evaluation.nodes.node import Context, Node, Pair
from symslr.evaluation.numbers.arithmetic import FLOAT
from symslr.evaluation.numbers.running import Formula, compiled_formula, in_numbers
from symslr.model.length_law import LengthLaw
from symslr.model.symbols import L


@final
class FormulaNode(Node):
    """An elementary formula of parameters and other nodes.

    ``shared`` are the groups of its integrals that share a table: (the node of all of them, their symbols).
    """

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
        return self._of_asked(context, scope, unfinished)

    def at(self, context: Context, scopes: Sequence[Mapping[Symbol, Pair]]) -> list[Callable[[], Pair]]:
        if self.shared or len(scopes) == 1 or context.arithmetic != FLOAT:
            return super().at(context, scopes)
        children = {symbol: node.at(context, scopes) for symbol, node in self.children.items()}
        unfinished = [{symbol: own[i] for symbol, own in children.items()} for i in range(len(scopes))]
        return [partial(self._of_asked, context, scope, own) for scope, own in zip(scopes, unfinished)]

    def _of_asked(
        self, context: Context, scope: Mapping[Symbol, Pair], unfinished: Mapping[Symbol, Callable[[], Pair]]
    ) -> Pair:
        """The formula, of numbers that are computed when it first asks for them: those beside a factor 0 are not."""
        known = dict(scope)
        while True:
            try:
                return in_numbers(self.formula, context.arithmetic, known)
            except KeyError as asked:
                (symbol,) = asked.args
                known[symbol] = unfinished[symbol]()


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
    """The n-th of several numbers computed together, or computed alone where that fails."""
    found = together()
    return alone() if found is None else found[n]


@final
class HoistedNode(Node):
    """A node some of whose parameters are integrals, computed once; their errors are propagated by a finite difference."""

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
    """The mean over the length, sum_l P(l) body(l)."""

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


MOST_TOLERANCES = 30.0
"""A value with a relative error of more than so many tolerances is computed by another formula as well."""


@final
class FormsNode(Node):
    """The value with the smallest error among equal ``forms``, which are tried in order until one is good."""

    def __init__(self, forms: Sequence[Node]) -> None:
        self.forms, self.axes = tuple(forms), max(form.axes for form in forms)

    def closed(self, kernel: Expr) -> FormsNode:
        return FormsNode([form.closed(kernel) for form in self.forms])

    def evaluate(self, context: Context, scope: Mapping[Symbol, Pair]) -> Pair:
        (value,) = self.at(context, [scope])
        return value()

    def at(self, context: Context, scopes: Sequence[Mapping[Symbol, Pair]]) -> list[Callable[[], Pair]]:
        best: list[Pair | Exception] = [CannotEvaluate("no formula gives a number")] * len(scopes)
        todo, poor = list(range(len(scopes))), MOST_TOLERANCES * context.tolerance
        if self.axes > 1 and context.enough is not None:
            poor = max(poor, context.enough)
        for form in self.forms:
            for i, get in zip(todo, form.at(context, [scopes[i] for i in todo])):
                best[i] = _better(best[i], get)
            todo = [i for i in todo if _is_poor(best[i], poor)]
            if not todo:
                break
        return [partial(_given, pair) for pair in best]


def _better(known: Pair | Exception, get: Callable[[], Pair]) -> Pair | Exception:
    try:
        value, error = get()
    except (CannotEvaluate, ArithmeticError) as fault:
        return beside(fault, known) if isinstance(known, Exception) else known
    return (value, error) if isinstance(known, Exception) or not error >= known[1] else known


def _is_poor(pair: Pair | Exception, tolerance: Any) -> bool:
    if isinstance(pair, Exception):
        return not isinstance(pair, TooDear)
    return bool(not pair[1] <= tolerance * abs(pair[0]))


def _given(pair: Pair | Exception) -> Pair:
    if isinstance(pair, Exception):
        raise pair
    return pair
