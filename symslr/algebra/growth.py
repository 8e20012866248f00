"""Does an expectation exist? The growth of a function of tokens against the decay of their density.

Growth is counted as C exp(q x^2 + r |x|) (1 + |x|)^d, on each side of the line, from the structure of a formula.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sympy import (
    Abs,
    Add,
    And,
    Basic,
    Dummy,
    Expr,
    Heaviside,
    Indexed,
    Lt,
    Max,
    Min,
    Mul,
    Poly,
    Pow,
    Rational,
    S,
    Sum,
    Symbol,
    atan,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    expand,
    latex,
    log,
    sign,
    sin,
    sinh,
    tanh,
)
from sympy.logic.boolalg import Boolean

from symslr.algebra.bodies import is_whole
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.positivity import bounded_below, holds_a_term, is_nonnegative, is_open, is_positive
from symslr.algebra.rule import Rule
from symslr.expression.expectation import Expectation, ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.expression.special import NormalCdf
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import BOUND_IN_SEQUENCE, OTHERS, chi, epsilon, x, xi

BOUNDED = (sin, cos, tanh, erf, erfc, sign, Heaviside, atan, NormalCdf, IsLargest, Posterior)
ANOTHER = Symbol("another", integer=True)
"""A token that the body does not name."""


class Undecided(ValueError):
    """The structure of a formula does not show how it grows."""


@dataclass(frozen=True)
class Growth:
    """|f| <= C exp(q t^2 + r t) (1 + t)^d as t -> oo; ``sharp`` where f does grow like that.

    q is infinite where f grows faster than every Gaussian falls.
    """

    q: Expr = S.Zero
    r: Expr = S.Zero
    d: Expr = S.Zero
    sharp: bool = False

    def __add__(self, other: Growth) -> Growth:
        return Growth(self.q + other.q, self.r + other.r, self.d + other.d, self.sharp and other.sharp)

    def times(self, power: Expr) -> Growth:
        return Growth(self.q * power, self.r * power, self.d * power, self.sharp)

    def join(self, other: Growth, *, sharp: bool) -> Growth:
        """The larger of the two, or what is larger than both where parameters decide."""
        for mine, theirs in ((self.q, other.q), (self.r, other.r), (self.d, other.d)):
            if (mine - theirs).is_extended_positive:
                return self
            if (mine - theirs).is_extended_negative:
                return other
            if mine != theirs:
                pairs = ((self.q, other.q), (self.r, other.r), (self.d, other.d))
                return Growth(*(Max(one, two) for one, two in pairs))
        return Growth(self.q, self.r, self.d, sharp and self.sharp and other.sharp)


def is_integrable(total: Growth) -> Boolean:
    """When the integral of a function of that growth converges at infinity, as a relation in its parameters."""
    if total.q is S.NaN:
        raise Undecided("both factors grow or fall faster than any Gaussian")
    if total.q.is_extended_negative:
        return S.true
    if total.q.is_extended_positive:
        return S.false
    if total.q != 0:
        return Lt(total.q, 0)
    if total.r.is_negative:
        return S.true
    if total.r.is_positive:
        return S.false
    return Lt(total.d, -1) if total.r == 0 else Lt(total.r, 0)


def growth(f: Expr, variable: Basic, side: int) -> Growth:
    """How f grows on one side of the line, ``variable`` = side * t.

    Raises:
        Undecided: where the structure does not show it, or where f may have a pole.
    """
    if variable not in f.free_symbols:
        return Growth(sharp=f.is_zero is not True)
    if f == variable:
        return Growth(d=S.One, sharp=True)
    if isinstance(f, Add):
        parts = [growth(arg, variable, side) for arg in f.args]
        alike = all(is_nonnegative(arg) for arg in f.args)
        largest = parts[0]
        for part in parts[1:]:
            largest = largest.join(part, sharp=alike)
        return largest
    if isinstance(f, Mul):
        total = Growth(sharp=True)
        for arg in f.args:
            total += growth(arg, variable, side)
        return total
    if isinstance(f, exp):
        return _exponent(f.exp, variable, side)
    if isinstance(f, Pow):
        return _power(f, variable, side)
    if isinstance(f, Abs):
        return growth(f.args[0], variable, side)
    if isinstance(f, (cosh, sinh)):
        return _exponent(Abs(f.args[0]), variable, side)
    if isinstance(f, (Max, Min)):
        parts = [growth(arg, variable, side) for arg in f.args]
        largest = parts[0]
        for part in parts[1:]:
            largest = largest.join(part, sharp=False)
        return Growth(largest.q, largest.r, largest.d)
    if isinstance(f, log) and is_positive(f.args[0]):
        inner = growth(f.args[0], variable, side)
        if inner.q.is_infinite or not (inner.sharp or at_least_exponential(f.args[0].xreplace({variable: x}))):
            raise Undecided(f"how {f} grows is not decided")
        if inner.q != 0:
            return Growth(d=2 * S.One)
        return Growth(d=Rational(1, 100) if inner.sharp and inner.r == 0 else S.One)
    if isinstance(f, BOUNDED):
        return Growth(sharp=isinstance(f, (tanh, erf, sign, atan)))
    raise Undecided(f"how {f} grows is not decided")


def _power(f: Expr, variable: Basic, side: int) -> Growth:
    base, power = f.args
    if power.free_symbols & {variable} or not power.is_real:
        raise Undecided(f"how {f} grows is not decided")
    inner = growth(base, variable, side)
    if power.is_nonnegative:
        return inner.times(power)
    if not (inner.sharp and bounded_below(base)):
        raise Undecided(f"{f} may have a pole")
    return inner.times(power)


def _exponent(f: Expr, variable: Basic, side: int) -> Growth:
    """exp(f), for f a polynomial of degree two in the variable and in absolute values of linear forms."""
    t = Dummy(positive=True)
    f = f.replace(lambda node: isinstance(node, Max), lambda node: _by_absolute(node, 1))
    f = f.replace(lambda node: isinstance(node, Min), lambda node: _by_absolute(node, -1))

    def outside(node: Expr) -> Expr:
        inner = expand(node.args[0])
        slope = inner.diff(variable)
        if slope.has(variable):
            raise Undecided(f"how exp({f}) grows is not decided")
        return Abs(slope) * side * variable

    f = expand(f.replace(lambda node: isinstance(node, Abs) and node.has(variable), outside))
    rest = Add(*(term for term in Add.make_args(f) if not (isinstance(term, BOUNDED) or term.func in BOUNDED)))
    rest = rest.xreplace({variable: side * t})
    if not rest.is_polynomial(t):
        rest = Add(*(term for term in Add.make_args(rest) if not _falls(term, t)))
    if not rest.is_polynomial(t):
        if is_nonnegative(-f):
            return Growth()
        if _outgrows_all(rest, t):
            return FASTEST
        raise Undecided(f"how exp({f}) grows is not decided")
    poly = Poly(rest, t)
    if poly.degree() > 2:
        if poly.LC().is_negative:
            return Growth(q=-S.One)  # faster than any Gaussian: a bound
        if poly.LC().is_positive:
            return FASTEST
        raise Undecided(f"how exp({f}) grows is not decided")
    return Growth(poly.coeff_monomial(t**2), poly.coeff_monomial(t), S.Zero, sharp=True)


FASTEST = Growth(q=S.Infinity, sharp=True)
"""Of exp(x^3) and exp(exp(x))."""


def _falls(term: Expr, t: Expr) -> bool:
    """Whether a term vanishes exponentially."""
    if term.is_polynomial(t):
        return False
    part = growth(term, t, 1)
    return bool(part.q.is_extended_negative or (part.q == 0 and part.r.is_negative))


def _outgrows_all(f: Expr, t: Expr) -> bool:
    """Whether a sum holds a positive term that grows exponentially, and no other that does."""
    parts = [(term, growth(term, t, 1)) for term in Add.make_args(f)]
    fast = [term for term, part in parts if part.q != 0 or part.r != 0]
    return (
        any(
            is_positive(term) and part.sharp and (part.q.is_extended_positive or (part.q == 0 and part.r.is_positive))
            for term, part in parts
        )
        and len(fast) == 1
    )


def _by_absolute(node: Expr, kind: int) -> Expr:
    one, *others = node.args
    two = node.func(*others) if len(others) > 1 else others[0]
    return (one + two + kind * Abs(one - two)) / 2


def exists(node: Expectation) -> Boolean | None:
    """Whether E|body| is finite: true, false, a sufficient relation in the parameters, or None where it is undecided."""
    if isinstance(node, SequenceExpectation):
        values = node.body.xreplace({share: S.One for share in node.body.atoms(Posterior)})
        if chi.label not in values.free_symbols:  # values, noise and shares do not feel the weight
            return S.true if at_most_exponential(node.body) else None
    if not isinstance(node, (ScalarExpectation, SequenceExpectation)):
        return S.true  # a finite sum
    if any(inner.free_symbols & node.bound for inner in node.body.atoms(Expectation)):
        return None  # how a mean grows with what is held fixed in it is not seen
    if node.law == STANDARD_NORMAL and at_most_exponential(node.body.xreplace({node.variable: x})):
        return S.true
    try:
        if isinstance(node, ScalarExpectation):
            return _scalar(node.body, node.variable, node.law)
        if node.law.base == STANDARD_NORMAL and at_most_exponential(node.body) and _is_mild(node.law):
            return S.true
        return _sequence(node)
    except Undecided:
        return None


def _is_mild(law: SequenceLaw) -> bool:
    """Whether a weight is at most exponential, or changes the law of the position alone."""
    return law.is_selection or at_most_exponential(law.weight)


def at_most_exponential(f: Expr) -> bool:
    """Whether |f| <= exp(C (1 + the sizes of all tokens)): then it has a mean under any Gaussian tokens."""
    if not f.args or isinstance(f, (Indexed, Expectation, *BOUNDED)):
        return True
    if isinstance(f, (Activation, ScoredActivation)):
        return bool(f.args[2] == 1) or at_most_exponential(f.args[1])
    if isinstance(f, ConditionalMean):
        return at_most_exponential(f.label)
    if isinstance(f, (Add, Mul, Abs, Max, Min)):
        return all(at_most_exponential(arg) for arg in f.args)
    if isinstance(f, Sum):
        return at_most_exponential(f.function)
    if isinstance(f, (exp, cosh, sinh)):
        return at_most_linear(f.args[0]) or (isinstance(f, exp) and is_nonnegative(-_random_part(f.args[0])))
    if isinstance(f, log):
        return at_least_exponential(f.args[0]) and at_most_exponential(f.args[0])
    if isinstance(f, Pow) and at_most_exponential(f.base) and not is_random(f.exp):
        return bool(f.exp.is_nonnegative) or not is_random(f.base) or at_least_exponential(f.base)
    return False


def at_least_exponential(f: Expr) -> bool:
    """Whether f >= exp(-C (1 + the sizes of all tokens))."""
    return _at_least(f, lambda exponent: at_most_linear(exponent) or is_nonnegative(_random_part(exponent)))


def is_away_from_zero(f: Expr) -> bool:
    """Whether f >= c at all tokens, for some c > 0."""
    return _at_least(f, lambda exponent: is_nonnegative(_random_part(exponent)))


def _at_least(f: Expr, enough: Callable[[Expr], bool]) -> bool:
    """Whether f has a lower bound of a kind that is closed under products and powers, as exp(u) has for ``enough`` of u."""
    if not is_random(f):
        return bool(f.is_positive)
    if isinstance(f, exp):
        return enough(f.args[0])
    if isinstance(f, Add):
        return all(map(is_nonnegative, f.args)) and any(_at_least(arg, enough) for arg in f.args)
    if isinstance(f, Mul):
        return all(_at_least(arg, enough) for arg in f.args)
    if isinstance(f, Max):
        return any(_at_least(arg, enough) for arg in f.args)
    if isinstance(f, Sum):
        return holds_a_term(f) and is_nonnegative(f.function) and _at_least(f.function, enough)
    if isinstance(f, Pow):
        return bool(f.exp.is_nonnegative) and not is_random(f.exp) and _at_least(f.base, enough)
    if isinstance(f, log):
        return _at_least(f.args[0] - 1, enough)  # log(1 + u) >= u/(1 + u)
    return isinstance(f, cosh)


def _random_part(f: Expr) -> Expr:
    return Add(*(term for term in Add.make_args(f) if is_random(term)))


def at_most_linear(f: Expr) -> bool:
    """Whether |f| <= C (1 + the sizes of all tokens)."""
    if not is_random(f) or isinstance(f, (Indexed, *BOUNDED)) or f == x:
        return True
    if isinstance(f, (Add, Abs, Max, Min)):
        return all(at_most_linear(arg) for arg in f.args)
    if isinstance(f, Mul):
        return sum(is_random(arg) and not isinstance(arg, BOUNDED) for arg in f.args) <= 1 and all(
            at_most_linear(arg) for arg in f.args
        )
    if isinstance(f, Sum):
        return at_most_linear(f.function)
    return isinstance(f, log) and at_most_exponential(f)  # which asks for both bounds of its argument


def is_random(f: Expr) -> bool:
    """Whether a formula depends on tokens, values, noise or the argument of a kernel."""
    return bool(f.free_symbols & _RANDOM)


_RANDOM = BOUND_IN_SEQUENCE | {x}


def _scalar(f: Expr, variable: Expr, law: ScalarLaw) -> Boolean:
    """The body beside the density, where the support has no end."""
    t = Dummy("t", real=True)
    conditions: list[Boolean] = []
    undecided: Undecided | None = None
    for side, end in ((-1, law.lower), (1, law.upper)):
        try:
            own = growth(f.xreplace({variable: t}), t, side)
            if end.is_infinite:
                conditions.append(_decided(own + growth(law.density.xreplace({x: t}), t, side)))
        except Undecided as reason:
            undecided = reason
    if undecided is not None and S.false not in conditions:
        raise undecided
    return And(*conditions)


def _decided(total: Growth) -> Boolean:
    """As ``is_integrable``, where divergence of a bound alone says nothing."""
    found = is_integrable(total)
    if found == S.false and not total.sharp:
        raise Undecided("a bound is too large")
    return found


def _sequence(node: SequenceExpectation) -> Boolean:
    law = node.law
    if _is_bounded(node.body):
        return S.true
    if not all(is_whole(total, law.length) for total in node.body.atoms(Sum)):
        raise Undecided("a sum over some of the tokens")
    conditions = []
    body = node.body.replace(lambda item: isinstance(item, Activation) and item.args[2] == 0, lambda item: item.doit())
    for term in Add.make_args(expand(body, deep=False)):
        weight = () if law.is_selection else Mul.make_args(law.weight)
        factors = [*weight, *Mul.make_args(term)]
        conditions.append(_product(factors, law.base))
    return And(*conditions)


def _is_bounded(body: Expr) -> bool:
    """Whether a body is a polynomial in bounded functions."""
    if isinstance(body, (Activation, ScoredActivation)):
        return body.args[2] == 1
    if isinstance(body, BOUNDED) or not body.free_symbols & BOUND_IN_SEQUENCE:
        return True
    if isinstance(body, (Add, Mul)) or (isinstance(body, Pow) and body.exp.is_nonnegative):
        return all(_is_bounded(arg) for arg in body.args)
    return isinstance(body, Sum) and _is_bounded(body.function)


def _product(factors: list[Expr], base: ScalarLaw) -> Boolean:
    """Existence for a product: what depends on one token is taken together, sums are bounded by their terms."""
    tokens = {epsilon, ANOTHER, *(s for s in OTHERS if any(s in f.free_symbols for f in factors))}
    single: dict[Basic, Expr] = {}
    shared: list[Expr] = []
    below: list[tuple[Expr, Expr]] = []
    for factor in factors:
        variables = _variables(factor)
        if _is_bounded(factor):
            continue
        elif len(variables) == 1 and not factor.has(Sum, Posterior, Activation, ScoredActivation, ConditionalMean):
            (variable,) = variables
            single[variable] = single.get(variable, S.One) * factor
        else:
            _many(factor, shared, below)
    values = {item.base[ANOTHER] for h in shared for item in h.atoms(Indexed)}
    variables = {*single, *values, *(chi[token] for token in tokens)}
    choices: list[Basic | None] = [None, *sorted(tokens, key=str)] if below else [None]
    conditions: list[Boolean] = []
    for choice in choices:
        found = []
        for variable in variables:
            f = single.get(variable, S.One)
            law = base if variable.is_Indexed and variable.base == chi else STANDARD_NORMAL
            f = f * Mul(*(_in(h, variable) for h in shared if _touches(h, variable)))
            for kernel, power in below:
                if choice is None and not is_away_from_zero(kernel):
                    f = None
                elif choice is not None and variable == chi[choice]:
                    f = f * _in(kernel, variable) ** power if kernel.has(Indexed) else f
                if f is None:
                    break
            if f is None:
                found.append(S.false)
                break
            found.append(_scalar(f, variable, law))
        conditions.append(And(*found))
        if conditions[-1] == S.true:
            return S.true
    possible = [condition for condition in conditions if condition != S.false]
    if not possible and (shared or below):
        raise Undecided("a bound is too large")
    return possible[0] if possible else S.false


def _variables(factor: Expr) -> set[Expr]:
    """The random variables in a factor; noise counts as one."""
    found: set[Expr] = set(factor.atoms(Indexed))
    return found | ({xi} & factor.free_symbols)


def _touches(h: Expr, variable: Expr) -> bool:
    return any(item.base == variable.base for item in h.atoms(Indexed)) if variable.is_Indexed else False


def _in(h: Expr, variable: Expr) -> Expr:
    """A summand with the variable for its token; bounded functions beside it leave."""
    items = {item: variable for item in h.atoms(Indexed) if item.base == variable.base}
    return h.xreplace(items)


def _many(factor: Expr, shared: list[Expr], below: list[tuple[Expr, Expr]]) -> None:
    """A factor with sums over tokens: 1 + |h| for a sum of h, exp of a summand, and the reciprocal of a normaliser."""
    if isinstance(factor, exp):
        for term in Add.make_args(expand(factor.exp)):
            sums = term.atoms(Sum)
            if len(sums) == 1 and (term / next(iter(sums))).free_symbols.isdisjoint(BOUND_IN_SEQUENCE):
                (total,) = sums
                shared.append(exp(_one_variable(total.function) * term / total))
            elif not is_nonnegative(-term):
                raise Undecided(f"how {factor} grows is not decided")
        return
    base, power = factor.as_base_exp()
    if isinstance(base, Sum) and power.is_nonnegative:
        for part in Mul.make_args(base.function):
            if not _is_bounded(part):
                shared.append((1 + Abs(_one_variable(part))) ** power)
        return
    if power.is_negative and all(map(is_nonnegative, Add.make_args(base))):  # at least each of its terms
        fixed, moving = base.as_independent(*_RANDOM, as_Add=True)
        parts = (term.as_independent(*_RANDOM, as_Add=False) for term in Add.make_args(moving))
        total = next((h for factor, h in parts if isinstance(h, Sum) and factor.is_positive), None)
        if fixed.is_positive or total is not None:
            below.append((S.One if total is None or fixed.is_positive else _one_variable(total.function), power))
            return
    raise Undecided(f"how {factor} grows is not decided")


def _one_variable(h: Expr) -> Expr:
    if len(_variables(h)) != 1 or h.has(Posterior, Sum):
        raise Undecided(f"{h} is no function of one token")
    return h


def check_existence(nodes: list[Expectation], rule: Rule) -> tuple[Hypothesis, ...]:
    """That each mean exists, as a hypothesis where it depends on parameters or is not decided.

    Raises:
        RuleRefused: in the name of ``rule``, for a mean that does not exist.
    """
    found = []
    open_means = []
    for node in nodes:
        known = S.true if node.is_number else exists(node)
        if known == S.false:
            raise rule.refuse(f"{node} does not exist")
        if known is None and is_open(node):
            open_means.append(node)
        elif known is None:
            found.append(Hypothesis(rf"the mean of ${latex(node.body)}$ finite (not decided)"))
        elif known != S.true:
            found.append(Hypothesis.of(known))
    assumed = (Hypothesis.of_means(open_means),) if open_means else ()
    return (*assumed, *dict.fromkeys(found))
