"""Values and noise of a sequence integrated out of a polynomial of second degree: E z_i z_j = 1 where i = j and 0 elsewhere.

A body is read as c + (a form linear in z, zeta, eta and xi) + (its products, of which the means are kept). What is left looks at
the tokens alone, so that a law of a sum over tokens can be built up for it at any length.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sympy import Add, Basic, Dummy, Expr, Indexed, Mul, Pow, S, Sum

from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import ConditionalMean, Posterior
from symslr.model.symbols import OTHERS, chi, epsilon, eta, xi, z, zeta

FAMILIES = (z, zeta, eta)
TOKENS = frozenset({chi.label, epsilon, *OTHERS})


class _Refused(Exception):
    """The body is no polynomial of second degree in values and noise."""


@dataclass(frozen=True)
class _Form:
    """One term of a linear form: ``factor`` times the variable of ``family`` at ``index``, summed over ``index`` up to ``length``.

    Attributes:
        family: z, zeta, eta or xi.
        index: a token, or the variable of the sum; None for xi.
        length: the end of the sum; None where there is none.
    """

    family: Basic
    index: Expr | None
    length: Expr | None
    factor: Expr

    def times(self, factor: Expr) -> _Form:
        return _Form(self.family, self.index, self.length, factor * self.factor)


@dataclass(frozen=True)
class _Read:
    """What is free of values and noise, the linear form, the mean of the products, and whether there are products."""

    free: Expr = S.Zero
    linear: tuple[_Form, ...] = ()
    mean: Expr = S.Zero
    second: bool = False


@lru_cache(maxsize=512)
def paired(node: SequenceExpectation) -> Expr | None:
    """The mean of the body over values and noise, a function of the tokens; None for a body of another kind."""
    if node.law.weight.has(*FAMILIES, xi):
        return None
    try:
        found = _read(node.body)
    except _Refused:
        return None
    return found.free + found.mean


def _has(node: Basic) -> bool:
    return node.has(*FAMILIES, xi) or any(isinstance(f, Basic) and f.label in node.free_symbols for f in FAMILIES)


def _read(node: Expr) -> _Read:
    if isinstance(node, ConditionalMean):
        return _conditional_mean(node)
    if not _has(node):
        return _Read(free=node)
    if node == xi:
        return _Read(linear=(_Form(xi, None, None, S.One),))
    if isinstance(node, Indexed) and node.base in FAMILIES:
        return _Read(linear=(_Form(node.base, node.indices[0], None, S.One),))
    if isinstance(node, Add):
        parts = [_read(arg) for arg in node.args]
        return _Read(
            Add(*(p.free for p in parts)),
            tuple(form for p in parts for form in p.linear),
            Add(*(p.mean for p in parts)),
            any(p.second for p in parts),
        )
    if isinstance(node, Mul):
        return _product([_read(arg) for arg in node.args])
    if isinstance(node, Pow) and node.exp == 2:
        base = _read(node.base)
        return _product([base, base])
    if isinstance(node, Sum):
        return _sum(node)
    raise _Refused


def _sum(node: Sum) -> _Read:
    """A sum over all tokens of a linear form."""
    (index, low, high), *more = node.limits
    inside = _read(node.function)
    if more or low != 1 or inside.second:
        raise _Refused
    forms = []
    for form in inside.linear:
        if form.length is not None or form.index != index:
            raise _Refused
        forms.append(_Form(form.family, index, high, form.factor))
    free = S.Zero if inside.free == 0 else Sum(inside.free, (index, low, high))
    return _Read(free, tuple(forms))


def _product(parts: list[_Read]) -> _Read:
    total = _Read(free=S.One)
    for part in parts:
        if sum((total.second, part.second)) + bool(total.linear) * 0.5 + bool(part.linear) * 0.5 > 1:
            raise _Refused
        total = _Read(
            total.free * part.free,
            tuple(f.times(part.free) for f in total.linear) + tuple(f.times(total.free) for f in part.linear),
            total.mean * part.free + part.mean * total.free + _together(total.linear, part.linear),
            total.second or part.second or bool(total.linear and part.linear),
        )
    return total


def _together(left: tuple[_Form, ...], right: tuple[_Form, ...]) -> Expr:
    """The mean of the product of two linear forms."""
    return Add(*(_pair(a, b) for a in left for b in right if a.family == b.family))


def _pair(a: _Form, b: _Form) -> Expr:
    if a.index is None or b.index is None:
        return a.factor * b.factor
    if a.length is None and b.length is None:
        if a.index == b.index:
            return a.factor * b.factor
        if {a.index, b.index} <= {epsilon, *OTHERS}:  # different tokens by their names
            return S.Zero
        raise _Refused
    if a.length is not None and b.length is not None:
        if a.length != b.length:
            raise _Refused
        fresh = Dummy("i", integer=True, positive=True)
        return Sum(_at(a, fresh) * _at(b, fresh), (fresh, 1, a.length))
    total, one = (a, b) if a.length is not None else (b, a)
    assert one.index is not None
    return one.factor * _at(total, one.index)


def _at(form: _Form, index: Expr) -> Expr:
    """The factor of a sum's form at a token; the sums inside of it get letters of their own, so that none captures it."""
    assert form.index is not None
    free: dict[Expr, Expr] = {}
    for inner in form.factor.atoms(Sum):
        if not inner.function.has(Sum) and len(inner.limits) == 1:
            (own, low, high) = inner.limits[0]
            fresh = Dummy("i", integer=True, positive=True)
            free[inner] = Sum(inner.function.xreplace({own: fresh}), (fresh, low, high))
    return form.factor.xreplace(free).subs(form.index, index)


def _conditional_mean(node: ConditionalMean) -> _Read:
    """sum_e p_e E_xi[label at e]: Bayes' rule, for a label that is linear in values and noise."""
    inside = _read(node.label)
    if inside.second or node.law.weight.has(*FAMILIES, xi):
        raise _Refused
    index = Dummy("e", integer=True, positive=True)
    forms = []
    for form in inside.linear:
        if form.family == xi:
            continue
        if form.length is not None or form.index != epsilon:
            raise _Refused
        forms.append(
            _Form(form.family, index, node.law.length, Posterior(index, node.law) * form.factor.subs(epsilon, index))
        )
    free = inside.free
    if free.has(epsilon):
        free = Sum(Posterior(index, node.law) * free.subs(epsilon, index), (index, 1, node.law.length))
    return _Read(free, tuple(forms))


@lru_cache(maxsize=512)
def separate_numbers(body: Expr) -> tuple[tuple[Expr, Expr], ...]:
    """A body as terms (what no token enters, the rest), so that a mean is taken once for every value of a parameter."""
    result: dict[Expr, Expr] = {}
    for term in Add.make_args(body.expand(power_base=False, power_exp=False, log=False)):
        plain: list[Expr] = []
        rest: list[Expr] = []
        for factor in Mul.make_args(term):
            (rest if factor.free_symbols & TOKENS or factor.has(Sum) else plain).append(factor)
        key = Mul(*rest)
        result[key] = result.get(key, S.Zero) + Mul(*plain)
    return tuple((number, body) for body, number in result.items() if number != 0)
