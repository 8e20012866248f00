"""Moments as derivatives of a known transform."""

from __future__ import annotations

from functools import cache
from typing import final

from sympy import (
    Abs,
    Add,
    Expr,
    Heaviside,
    I,
    Integer,
    Integral,
    Max,
    Min,
    Mul,
    Piecewise,
    S,
    Symbol,
    Wild,
    binomial,
    cos,
    cosh,
    exp,
    expand,
    expand_func,
    expand_log,
    factorial,
    gamma,
    log,
    oo,
    pi,
    powsimp,
    series,
    sign,
    simplify,
    sinh,
)

from symslr.algebra.derivation import Derivation
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.rule import Rule, RuleRefused
from symslr.algebra.rules.asymptotics.substitution import exponentials_split, with_exponents_expanded
from symslr.expression.expectation import ScalarExpectation, rewrite_expectations
from symslr.model.scalar_law import ScalarLaw


@final
class GammaIntegral(Rule):
    """Euler's integral."""

    name = "Euler's integral"
    statement = r"\int_0^\infty u^{a-1}e^{-u}\,\mathrm{d}u = \Gamma(a)"
    conditions = r"$a>0$"
    source = "dlmf"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, Integral), self._evaluate)

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """a > 0, where that depends on parameters."""
        found = filter(None, map(self._power, sorted(expr.atoms(Integral), key=str)))
        return tuple(Hypothesis.of(a > 0) for _, a in found if not a.is_positive)

    def _evaluate(self, node: Integral) -> Expr:
        found = self._power(node)
        if found is None:
            return node
        fixed, a = found
        if a.is_nonpositive:
            raise self.refuse(f"{node} diverges: found a = {a}")
        return fixed * gamma(a)

    def _power(self, node: Integral) -> tuple[Expr, Expr] | None:
        if len(node.limits) != 1 or tuple(node.limits[0][1:]) != (0, oo):
            return None
        u = node.variables[0]
        fixed, moving = exponentials_split(with_exponents_expanded(node.function)).as_independent(u, as_Add=False)
        power = Wild("power", exclude=[u])
        found = (moving / exp(-u)).match(u**power)
        return None if found is None else (fixed, found[power] + 1)


@final
class SechTransform(Rule):
    """Fourier transforms of 1/cosh and 1/cosh^2: classical pairs."""

    name = "Fourier transform of the hyperbolic secant"
    statement = (
        r"\int_{-\infty}^\infty \frac{\cos\omega x}{\cosh bx}\,\mathrm{d}x = \frac{\pi}{b\cosh(\pi\omega/2b)},\qquad"
        r" \int_{-\infty}^\infty \frac{\cos\omega x}{\cosh^2 bx}\,\mathrm{d}x = \frac{\pi\omega}{b^2\sinh(\pi\omega/2b)}"
    )
    conditions = r"$b>0$"
    source = "gradshteyn2007"

    def rewrite(self, expr: Expr) -> Expr:
        return expr.replace(lambda node: isinstance(node, Integral), self._evaluate)

    def _evaluate(self, node: Integral) -> Expr:
        v, *ends = node.limits[0]
        b, w = Wild("b", exclude=[v, 0]), Wild("w", exclude=[v, 0])
        fixed, moving = node.function.as_independent(v, as_Add=False)
        if len(node.limits) != 1 or ends != [-oo, oo]:
            return node
        for power in (1, 2):
            found = moving.match(cos(w * v) / cosh(b * v) ** power)
            if found is None:
                continue
            rate, frequency = found[b], found[w]
            if not rate.is_positive:
                raise self.refuse(f"the rate {rate} in {node} is not known to be positive")
            half = pi * frequency / (2 * rate)
            return fixed * (pi / (rate * cosh(half)) if power == 1 else pi * frequency / (rate**2 * sinh(half)))
        return node


@final
class TransformMoments(Rule):
    """Moments of a function or of a law as the derivatives at zero of its transform, which another derivation found.

    Args:
        theorem: a derivation of int cos(w x) h(x) dx, or of E[exp(w s)] for a law of s; other symbols in h are parameters.
        frequency: w.
    """

    name = "moments from a transform"
    statement = (
        r"\int x^{2k}h(x)\,\mathrm{d}x = (-1)^k\,\frac{\mathrm{d}^{2k}}{\mathrm{d}\omega^{2k}}\int\cos(\omega x)\,h(x)"
        r"\,\mathrm{d}x\Big|_{\omega=0},\qquad"
        r" \mathbb{E}[s^k] = \frac{\mathrm{d}^k}{\mathrm{d}\theta^k}\,\mathbb{E}[e^{\theta s}]\Big|_{\theta=0}"
    )
    conditions = r"$h\ge0$, and the transform is analytic at zero, so that all moments exist"

    def __init__(self, theorem: Derivation, frequency: Symbol) -> None:
        self.theorem, self.frequency = theorem, frequency
        self.law: ScalarLaw | None = None
        self.function: Expr | None = None
        start = theorem.start
        if isinstance(start, ScalarExpectation) and start.body == exp(frequency * start.variable):
            self.law = start.law
        elif isinstance(start, Integral) and len(start.limits) == 1:
            self.function = start.function / cos(frequency * start.variables[0])
        known = self.law is not None or (self.function is not None and self.function.is_nonnegative)
        moves = any(part is not None and part.has(frequency) for part in (self.law, self.function))
        if not known or moves or theorem.remainder != S.Zero:
            raise ValueError(
                f"theorem: found {start}; expected the exact mean of exp({frequency} s), or the integral of "
                f"cos({frequency} x) times a function known to be nonnegative"
            )
        for hypothesis in theorem.hypotheses:
            near = hypothesis.condition.subs(frequency, 0)
            if frequency in hypothesis.condition.free_symbols and near != S.true:
                raise ValueError(f"theorem: found the hypothesis {hypothesis.text}; expected one that holds near zero")

    def rewrite(self, expr: Expr) -> Expr:
        expr = rewrite_expectations(expr, self._of_law, ScalarExpectation)
        return powsimp(expr.replace(lambda node: isinstance(node, Integral), self._of_function))

    def hypotheses(self, expr: Expr) -> tuple[Hypothesis, ...]:
        """Those of the theorem that do not speak of the frequency."""
        return tuple(h for h in self.theorem.hypotheses if self.frequency not in h.condition.free_symbols)

    def moment(self, order: int, law: ScalarLaw) -> Expr:
        """E[s^order] under a law.

        Raises:
            RuleRefused: when the theorem is about another law.
        """
        if law != self.law:
            raise self.refuse(f"{self.theorem.name} is about another law than that of density {law.density}")
        return self._derivative(self.theorem.result, order)

    def _of_law(self, node: ScalarExpectation) -> Expr:
        base, power = node.body.as_base_exp()
        if node.law != self.law or base != node.variable or not _is_order(power):
            return node
        return self.moment(int(power), node.law)

    def _of_function(self, node: Integral) -> Expr:
        start = self.theorem.start
        if self.function is None or len(node.limits) != 1 or node.limits[0][1:] != start.limits[0][1:]:
            return node
        v = node.variables[0]
        if v in self.theorem.start.free_symbols:
            return node
        known = self.function.subs(start.variables[0], v)
        letters = {symbol: Wild(symbol.name, exclude=[v, 0]) for symbol in known.free_symbols - {v}}
        fixed, moving = node.function.as_independent(v, as_Add=False)
        powers = [f.as_base_exp()[1] for f in Mul.make_args(moving) if f.as_base_exp()[0] == v]
        order = powers[0] if powers else S.Zero
        found = (moving / v**order).match(known.xreplace(letters))
        if found is None:
            return node
        values = {symbol: found[letter] for symbol, letter in letters.items()}
        for symbol, value in values.items():
            if value.has(self.frequency):
                raise self.refuse(
                    f"{symbol} = {value} holds {self.frequency}, in which the transform is differentiated"
                )
            if symbol.is_positive and not value.is_positive:
                raise self.refuse(f"{symbol} = {value} is not known to be positive")
        if not _is_order(order) or order % 2:
            raise self.refuse(f"{node} is no even moment")
        return fixed * I**order * self._derivative(self.theorem.result.subs(values), int(order))

    def _derivative(self, transform: Expr, order: int) -> Expr:
        found = _derivative_at_zero(transform, self.frequency, order)
        if found is None:
            raise RuleRefused(f"{self.name}: {transform} is not analytic at {self.frequency} = 0")
        return found


@cache
def _derivative_at_zero(transform: Expr, w: Symbol, order: int) -> Expr | None:
    """None where the transform is not analytic at zero, which it is not seen to be where a kink or a jump stands in it.

    By the cumulants, the derivatives of the logarithm: m_n = sum_k binomial(n-1, k-1) kappa_k m_{n-k}. Where the formula is
    0/0 at zero, by its power series.
    """
    if transform.has(Abs, sign, Max, Min, Heaviside, Piecewise):
        return None
    value = transform.subs(w, 0)
    if order == 0 and value.is_positive:
        return value
    if value.is_positive:
        logarithm = expand_log(log(transform), force=True)
        cumulants = [logarithm.diff(w, k).subs(w, 0) for k in range(1, order + 1)]
        if all(c.is_finite for c in cumulants):
            lower = [_derivative_at_zero(transform, w, k) for k in range(order)]  # of finite cumulants as well
            terms = (binomial(order - 1, k) * c * lower[order - 1 - k] for k, c in enumerate(cumulants))
            return expand(expand_func(Add(*terms)))
    found, other = (series(transform, w, 0, order + 1, dir=side).removeO() for side in "+-")
    if not found.is_polynomial(w) or expand(found - other) != 0:
        return None
    return simplify(factorial(order) * found.coeff(w, order))


def _is_order(power: Expr) -> bool:
    return isinstance(power, Integer) and power >= 0
