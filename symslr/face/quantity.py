"""What is asked of a task and an attention: a formula, or a number that no formula gives; both are called with values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from mpmath import mpf
from sympy import Expr, Rational, S, latex, oo

from symslr.algebra.derivation import Derivation
from symslr.evaluation import engine
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.location.samples.points import SECONDS
from symslr.expression.quantity import Quantity as Definition
from symslr.expression.quantity import sources_of
from symslr.expression.value import Kind, Value
from symslr.face import numbers
from symslr.face.curve import Curve
from symslr.face.numbers import Wanted
from symslr.model.exact import NUMBERS, NotExact, check_is, check_not_negative, exact
from symslr.model.ranges import real_number
from symslr.model.symbols import NAMES, L, by_name
from symslr.model.task import Task, without_fixed

Answer = Callable[[dict[Any, Any], Wanted], Value]
"""(values by name, how it is wanted) -> the value."""


@dataclass(frozen=True, repr=False)
class Quantity:
    """What ``bayes_risk``, ``least_risk``, ``fitted``, ``separation`` and the like return.

    It is called with values, has curves and derivatives, and is added to and multiplied by numbers and others.

    Attributes:
        title: what is asked, in words.
        expr: its definition as a SymPy expression, where there is one.
        answer: the value at values by name, where it is more than the value of ``expr``.
        names: its parameters, where ``expr`` does not tell them.
        given: values that are known already.
        cited: keys of the papers that it is from, where it has no expression.
        task: of which it is asked.
        has_proofs: whether the error of a value may be proved.
        slope: its derivative by a parameter, where it is known.
    """

    title: str
    expr: Expr | None = None
    answer: Answer | None = None
    names: frozenset[str] | None = None
    given: Mapping[str, Any] = field(default_factory=dict, hash=False)
    cited: tuple[str, ...] = ("duranthon2025",)
    task: Task | None = None
    has_proofs: bool = True
    slope: Callable[[str], Quantity] | None = None

    @classmethod
    def of(cls, expr: Expr, task: Task | None = None, title: str = "", names: frozenset[str] | None = None) -> Quantity:
        """What a formula is worth; ``names`` that it has not are heard, as those of what it is a derivative of."""
        return cls(title or str(expr), expr, names=names, task=task)

    @property
    def sources(self) -> tuple[str, ...]:
        """Key and place of what it rests on, for ``symslr.cite``."""
        return self.cited if self.expr is None else sources_of(self.expr)

    @property
    def parameters(self) -> frozenset[str]:
        """The names of its parameters."""
        if self.names is not None:
            return self.names
        return frozenset(str(symbol) for symbol in self._sympy_().free_symbols)

    def __call__(
        self,
        values: Mapping[Any, object] = {},
        *,
        digits: int | None = None,
        certified: bool = False,
        seconds: float = SECONDS,
        **named: object,
    ) -> Value:
        """The value at parameters by name or symbol; ``length`` and ``noise`` stand for L and Delta.

        Of a least value, ``at`` says where it is attained; ``exact`` is the number where a closed form gives it.

        Args:
            digits: significant ones; by default those that the route to the number gives.
            certified: whether its error has to be proved.
            seconds: processor time after which sampling stops, where nothing else gives the number.

        Raises:
            CannotEvaluate: where there is no value, or no proof of one that is asked for, with the reason.
            ValueError: for a value that is missing, unknown or inadmissible.
        """
        check_is(values, Mapping, "values", 'nu=2 or {"nu": 2}')
        found = self._value(self._numbers(by_name({**values, **named})), Wanted(digits, certified, seconds))
        return replace(found, sources=found.sources or self.sources)

    def _numbers(self, values: dict[str, Any]) -> dict[str, Any]:
        """Values of which those that are formulas of others, such as 2*log(L), have numbers for them."""
        length = self.task.length if self.task is not None and isinstance(self.task.length, Expr) else L
        known = {"L": length} | {name: own for name, own in values.items() if isinstance(own, NUMBERS)}
        found = dict(values)
        for name, own in values.items():
            if isinstance(own, str | Expr):
                number = exact(own, name)
                others = {symbol: exact(known[symbol.name]) for symbol in number.free_symbols if symbol.name in known}
                found[name] = number.subs(others) if others else own
        check_not_negative(found)
        return found

    def _value(self, values: dict[str, Any], wanted: Wanted) -> Value:
        if wanted.certified and not self.has_proofs:
            raise CannotEvaluate(f"certified: not available for the {self.title}; leave it out")
        given = {**self.given, **values}
        if self.task is not None:
            given = without_fixed(given, L=self.task.length, Delta=self.task.noise)
        if self.answer is None:
            return numbers.value_of(self._sympy_(), given, wanted, self.names or frozenset())
        for name, own in given.items():
            if hasattr(own, "__len__") and not isinstance(own, str | Mapping):
                raise ValueError(f"{name}: found {len(own)} numbers; expected one, or a curve: curve({name}=[...])")
        return self.answer(given, wanted)

    def curve(
        self,
        *,
        digits: int | None = None,
        certified: bool = False,
        seconds: float = SECONDS,
        progress: Callable[[int, int], None] | None = None,
        **axes: Any,
    ) -> Curve:
        """The values over the outer product of axes, each a number or a list: ``curve(nu=[1, 2], length=3)``.

        Raises:
            ValueError: for a parameter that is missing or unknown; a point without a value is kept with its reason.
        """
        how: dict[str, Any] = {"digits": digits, "certified": certified, "seconds": seconds}
        return Curve.over(lambda point: self(point, **how), axes, progress=progress)

    def _sympy_(self) -> Expr:
        """The definition as an expression of the toolkit, with which SymPy computes.

        Raises:
            ValueError: where there is none.
        """
        if self.expr is None:
            raise ValueError(f"{self.title}: no formula; expected a call with values")
        return self.expr

    def formula(self) -> Expr:
        """What rules have derived from the definition.

        Raises:
            ValueError: where there is no definition that prints.
        """
        return self._sympy_().doit()

    def latex(self) -> str:
        """The formula as LaTeX: what rules have derived, under the derivative or the mean over lengths that is asked."""
        shown = self._sympy_().replace(lambda node: isinstance(node, Definition), lambda node: node.formula())
        return str(latex(shown))

    def as_integral(self) -> Expr:
        """The formula in SymPy's own functions and integrals alone.

        Raises:
            ValueError: where it is not reduced to integrals over single tokens.
        """
        return numbers.as_integral(self._sympy_())

    def compare_with(self, formula: Expr | str) -> Any:
        """Whether a formula, an expression or its text, is this one: an ``Agreement``, which agrees, differs or is unknown.

        The referee compares both at some points, as ``symslr check`` does of a claim.

        Raises:
            ValueError: for text that is no formula, and for a symbol on which the quantity does not depend.
        """
        from symslr.face.agreement import compare

        return compare(self._sympy_(), formula)

    def derivation(self) -> Derivation:
        """The chain of rules from the definition to the formula.

        Raises:
            ValueError: where there is none.
        """
        expr = self._sympy_()
        if not isinstance(expr, Definition):
            raise ValueError(
                f"derivation: {self.title} has none; expected a Bayes risk, or a risk at a scale, of one length"
            )
        found: Derivation = expr.derivation()
        return found

    def series(self, x: Any = "nu", x0: Any = oo, n: int = 2) -> Expr:
        """The first terms at a strong signal, where a rule expands the formula.

        Raises:
            ValueError: elsewhere.
        """
        return numbers.series(self._sympy_(), NAMES.get(str(x), str(x)), x0, n)

    def limit(self, x: Any, xlim: Any) -> Quantity:
        """The limit, where a rule derives it: of a risk as its scale grows, or of max-SLR as nu does.

        Raises:
            ValueError: elsewhere.
        """
        found = numbers.limit(self._sympy_(), NAMES.get(str(x), str(x)), xlim)
        return Quantity.of(found, self.task, f"limit of the {self.title}", self.parameters)

    def diff(self, *names: Any) -> Quantity:
        """The derivative with respect to parameters, by name or symbol; a number after one is its order.

        Of a number that no formula gives it comes from values at Chebyshev points around it, and its error is estimated: what
        half of the points say otherwise, and the errors of the values, enlarged.

        Raises:
            ValueError: for what is no parameter, for the length, and at a point of numbers that are known by sampling.
        """
        asked: list[Any] = [name if isinstance(name, int) else NAMES.get(str(name), str(name)) for name in names]
        if not asked or isinstance(asked[0], int):
            raise ValueError("diff: found no name; expected that of a parameter")
        if "L" in asked:
            raise ValueError("diff: found L, which is a whole number; expected another parameter")
        for name in asked:
            if not isinstance(name, int) and name not in self.parameters:
                expected = f"expected one of {', '.join(sorted(self.parameters)) or 'none, as none is open'}"
                raise ValueError(f"diff: found {name}; {expected}")
        if self.answer is None:
            own = {str(symbol): symbol for symbol in self._sympy_().free_symbols}
            found = self._sympy_().diff(*(own.get(name, name) for name in asked))
            return Quantity.of(found, self.task, f"derivative of the {self.title}", self.parameters)
        once: Quantity = self
        for name in [one for k, one in enumerate(asked) for _ in range(_order(asked[k + 1 :])) if isinstance(one, str)]:
            once = once._by_values(name) if once.slope is None else once.slope(name)
        return once

    def _by_values(self, name: str) -> Quantity:
        def answer(values: dict[Any, Any], wanted: Wanted) -> Value:
            values = {**self.given, **values}
            if name not in values:
                raise ValueError(f"no value for {name}; give one as {name}=2")
            at = real_number(exact(values[name], name), name)
            return _slope(lambda x: self._value({**values, name: x}, wanted), at, name)

        title = f"d/d{name} of {self.title}"
        return Quantity(title, None, answer, self.parameters, self.given, self.sources, self.task, has_proofs=False)

    def _with(self, other: Any, sign: str, *, swapped: bool = False) -> Any:
        """With a number or another quantity: the values of both are put together, and their derivatives."""
        if isinstance(other, Value):
            number = other
            other = Quantity(str(other), None, lambda *_: number, frozenset(), cited=other.sources)
        if not isinstance(other, Quantity):
            try:
                other = Quantity.of(exact(other))
            except NotExact:
                return NotImplemented
        left, right = (other, self) if swapped else (self, other)
        if ZERO in (left, right) and sign in "+-*" and (left, sign) != (ZERO, "-"):
            return ZERO if sign == "*" else left if right == ZERO else right
        made, slope = OPERATIONS[sign]
        names = left.parameters | right.parameters
        tasks = [own for own in dict.fromkeys((left.task, right.task)) if own is not None]

        def part(own: Quantity, values: dict[Any, Any], wanted: Wanted) -> Any:
            fixed = FIXED - names if own.task is not None else set()
            given = {name: one for name, one in values.items() if name in own.parameters | fixed}
            if own.answer is None and own.task is None:
                expr = own._sympy_()
                known = expr.subs({s: exact(given[str(s)], str(s)) for s in expr.free_symbols if str(s) in given})
                if known.is_Rational:
                    return Fraction(int(known.p), int(known.q))
            return own._value(given, wanted)

        def answer(values: dict[Any, Any], wanted: Wanted) -> Value:
            if unknown := sorted(values.keys() - names - FIXED):
                raise ValueError(f"values: found {unknown[0]}; expected {', '.join(sorted(names)) or 'none'}")
            found: Value = made(part(left, values, wanted), part(right, values, wanted))
            return found

        def differentiated(name: str) -> Quantity:
            of_left, of_right = (own.diff(name) if name in own.parameters else ZERO for own in (left, right))
            found: Quantity = slope(left, right, of_left, of_right)
            return found

        return Quantity(
            f"{_in_brackets(left.title)} {sign} {_in_brackets(right.title)}",
            None if left.expr is None or right.expr is None else made(left.expr, right.expr),
            answer,
            names,
            cited=tuple(dict.fromkeys((*left.sources, *right.sources))),
            task=tasks.pop() if len(tasks) == 1 else None,
            has_proofs=left.has_proofs and right.has_proofs,
            slope=differentiated,
        )

    def __add__(self, other: object) -> Quantity:
        return self._with(other, "+")

    def __radd__(self, other: object) -> Quantity:
        return self._with(other, "+", swapped=True)

    def __sub__(self, other: object) -> Quantity:
        return self._with(other, "-")

    def __rsub__(self, other: object) -> Quantity:
        return self._with(other, "-", swapped=True)

    def __mul__(self, other: object) -> Quantity:
        return self._with(other, "*")

    def __rmul__(self, other: object) -> Quantity:
        return self._with(other, "*", swapped=True)

    def __truediv__(self, other: object) -> Quantity:
        return self._with(other, "/")

    def __rtruediv__(self, other: object) -> Quantity:
        return self._with(other, "/", swapped=True)

    def __pow__(self, power: object) -> Quantity:
        if not isinstance(power, int | Fraction | Rational):
            return NotImplemented
        return self._with(power, "**")

    def __neg__(self) -> Quantity:
        return ZERO - self

    _op_priority = 100
    """Above SymPy's: its numbers and symbols leave sums and products with a quantity to the quantity."""
    __array_ufunc__ = None

    def __repr__(self) -> str:
        return self.title if self.answer is not None else repr(self.expr)

    def _latex(self, printer: Any) -> str:
        return str(printer._print(self._sympy_()))

    def _repr_latex_(self) -> str | None:
        if self.answer is not None:
            return None
        return f"$\\displaystyle {latex(self)} = {self.latex()}$"


OPERATIONS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any, Any, Any], Any]]] = {
    "+": (operator.add, lambda left, right, of_left, of_right: of_left + of_right),
    "-": (operator.sub, lambda left, right, of_left, of_right: of_left - of_right),
    "*": (operator.mul, lambda left, right, of_left, of_right: of_left * right + left * of_right),
    "**": (operator.pow, lambda left, right, of_left, of_right: right * left ** (right.expr - 1) * of_left),
    "/": (
        operator.truediv,
        lambda left, right, of_left, of_right: (of_left * right - left * of_right) / (right * right),
    ),
}
"""What two quantities make, and the derivative of it from both and their derivatives."""
ZERO = Quantity.of(S.Zero)
FIXED = {"L", "Delta"}
"""What a task that has it may be told again."""


def evaluate(
    asked: Quantity | Expr,
    values: Mapping[Any, object] | None = None,
    digits: int | None = None,
    backend: str | None = None,
    seconds: float | None = None,
    **named: object,
) -> Value:
    """The value of a quantity or an expression at given parameters; its error is proved or estimated, as its ``kind`` says.

    Args:
        asked: any expression of the toolkit: elementary functions of expectations, definitions, integrals, sums, minima; or a
            quantity, such as ``least_risk(task, "softmax")``.
        values: a number for every free symbol, by name or symbol: integers, fractions, decimal floats, SymPy numbers;
            lists or arrays (broadcast) in float64; ``"P_L"`` takes a ``LengthLaw``.
        digits: significant digits. By default what float64 gives where that is ten digits or more (its error and digits
            are in the result), else 15.
        backend: ``"numpy"`` (float64), ``"mpmath"`` (any digits), ``"arb"`` (certified), ``"arb-exponential"`` (certified,
            for exponential kernels under Gaussian laws only, where it takes milliseconds). By default numpy for arrays and up
            to 13 digits where it reaches them, else Arb for exponential kernels, else mpmath.
        seconds: processor time after which it is given up; without limit by default, on Windows, and in threads other than
            the first.

    The Bayes risk at a signal too strong for any mesh comes from its expansion, as ``method`` says.

    Raises:
        CannotEvaluate: when the digits are out of reach, with the reason, when the first number of a task differs from its
            definition, or when the seconds are used up.
        ValueError: for missing, unknown or inadmissible values, digits or backends.
    """
    is_made = isinstance(asked, Quantity) and asked.slope is not None and asked.expr is not None
    if not isinstance(asked, Quantity) or asked.answer is None or (is_made and backend is not None):
        expr = asked._sympy_() if isinstance(asked, Quantity) else asked
        return engine.evaluate(expr, values, digits, backend, seconds, **named)
    if backend not in (None, "arb"):
        raise ValueError(
            f"backend: found {backend!r} for the {asked!r}, which chooses its own; expected none, or 'arb'"
        )
    time = SECONDS if seconds is None else seconds
    return asked(values or {}, digits=digits, certified=backend == "arb", seconds=time, **named)


NOT_NEGATIVE = ("nu", "Delta", "alpha")
"""Parameters whose range ends at 0."""
POINTS = 16
"""Intervals between the Chebyshev points of a derivative; every second point gives the estimate of its error."""
WIDTH = 0.1
"""Half the width of these, relative to 1 + |x|; where x > 0 they stay positive, as a strength or a number of samples does. Least
risks of softmax and softplus have errors of 1e-11 by these; by a width of .25 they had 1e-8."""


def _order(after: list[Any]) -> int:
    """Of the derivative by a name, from what is typed behind it."""
    return after[0] if after and isinstance(after[0], int) else 1


def _in_brackets(title: str) -> str:
    return title if title.replace("/", "").replace("_", "").isalnum() else f"({title})"


def _slope(value: Callable[[float], Value], at: float, name: str) -> Value:
    """The derivative of a function of one number, with an estimate of its error."""
    reach = WIDTH * (1 + abs(at))
    if at == 0 and name in NOT_NEGATIVE:
        raise ValueError(f"diff: found {name} = 0, at the end of its range; expected a larger number")
    reach = min(reach, abs(at) / 2) if at != 0 and name != "a" else reach
    points = -np.cos(np.pi * np.arange(POINTS + 1) / POINTS)
    found: list[Value] = []
    for point in points:
        found.append(value(at + reach * float(point)))
        if found[-1].kind is Kind.STATISTICAL:
            raise ValueError("diff: found a value known by sampling; expected differences of such values at wide steps")
    fine, coarse = (_combined(_weights(points[::step]) / reach, found[::step]) for step in (1, 2))
    gap = abs(fine.value - coarse.value)
    slope = fine + Value(mpf(0), gap, Kind.ESTIMATED, 0, "interpolation")
    return replace(
        slope,
        method=f"derivative of the interpolant at {POINTS + 1} points: {found[0].method}",
        sources=found[0].sources,
    )


def _combined(weights: np.ndarray, values: list[Value]) -> Value:
    first, *others = (float(weight) * value for weight, value in zip(weights, values))
    return sum(others, first)


def _weights(points: np.ndarray) -> np.ndarray:
    """Of the values at these points in the derivative at 0 of the polynomial through them."""
    weights: np.ndarray = scipy.interpolate.BarycentricInterpolator(points, np.eye(len(points))).derivative(0.0)
    return weights
