"""Independence of signs and of vectors of signs."""

from __future__ import annotations

from typing import final

from sympy import Add, Expr, Mul, Product, S, Sum, Symbol, exp, expand, expand_mul

from symslr.algebra.rules.blocks.places import Places, PlacesRule
from symslr.expression.expectation import rewrite_expectations
from symslr.expression.signs import Sign, SignExpectation


@final
class IndependentVectors(PlacesRule):
    """The mean of a product over independent vectors of ``size`` signs each is a power of the mean over one of them."""

    name = "independent vectors"
    statement = r"\mathbb{E}\prod_{j=1}^{m}h(w^{(j)})=\bigl(\mathbb{E}\,h(w)\bigr)^m,\qquad w^{(j)}_k=w_{k+d(j-1)}"
    conditions = r"the $m$ vectors have $d$ signs each, none in common, and number $m$ in the product"

    def __init__(self, size: Expr) -> None:
        self.size = size

    def rewrite_at(self, expr: Expr, places: Places) -> Expr:
        return rewrite_expectations(expr, lambda node: self._power(node, places), SignExpectation)

    def _power(self, node: SignExpectation, places: Places) -> Expr:
        factors = Mul.make_args(node.body)
        if not all(isinstance(f, Product) for f in factors):
            raise self.refuse(f"found {node.body}; expected a product over independent vectors")
        (index, low, number), *others = {f.limits[-1] for f in factors}
        if others or low != 1 or expand(number * self.size - node.count) != 0:
            raise self.refuse(f"the factors do not run over all {node.count} / {self.size} vectors")
        body = Mul(*(f.func(f.function, *f.limits[:-1]) if len(f.limits) > 1 else f.function for f in factors))
        shift = self.size * (index - 1)
        for sign in body.atoms(Sign):
            place = expand(sign.place - shift)
            bound = {limit[0] for e in body.atoms(Sum, Product) for limit in e.limits}
            if place not in bound and place.free_symbols & bound:
                raise self.refuse(f"cannot decide which signs {sign} runs over")
            if place.has(index) or sign.vector != node.vector:
                raise self.refuse(f"{sign} belongs to no single vector number {index}")
            for end in self._ends(place, body):
                if not places.inside(end, S.One, self.size):
                    raise self.refuse(f"{sign} lies outside of its vector")
        own = body.xreplace({e: Sign(e.vector, expand(e.place - shift)) for e in body.atoms(Sign)})
        if own.has(index):
            raise self.refuse(f"{body} depends on {index} by more than its vector")
        return node.func(own, node.vector, self.size) ** number

    @staticmethod
    def _ends(place: Expr, body: Expr) -> tuple[Expr, ...]:
        """A place, or its values at both ends of the sum that it is an index of."""
        limits = {limit for e in body.atoms(Sum, Product) for limit in e.limits if limit[0] == place}
        return tuple(end for _, low, high in limits for end in (low, high)) or (place,)


@final
class IndependentSigns(PlacesRule):
    """The mean of a product of functions of one sign each: h(w_1) h(w_2) ... h(w_N) has mean ((h(1) + h(-1))/2)^N."""

    name = "independent signs"
    statement = r"\mathbb{E}\prod_{k=a}^{b}h(w_k)=\Bigl(\frac{h(1)+h(-1)}2\Bigr)^{b-a+1}"
    conditions = r"the signs are different"

    def rewrite_at(self, expr: Expr, places: Places) -> Expr:
        return rewrite_expectations(expr, lambda node: self._power(node, places), SignExpectation)

    def _power(self, node: SignExpectation, places: Places) -> Expr:
        product = next((f for f in Mul.make_args(node.body) if isinstance(f, Product)), None)
        fixed = node.body / product if product is not None else node.body
        if product is None or len(product.limits) != 1 or fixed.has(node.vector):
            raise self.refuse(f"found {node.body}; expected a product over signs")
        index, low, high = product.limits[0]
        signs = product.function.atoms(Sign)
        if len(signs) != 1:
            raise self.refuse(f"the factor {product.function} looks at {len(signs)} signs; expected one")
        (sign,) = signs
        if expand(sign.place - index).has(index) or sign.vector != node.vector:
            raise self.refuse(f"{sign} is not one sign for each {index}")
        if not places.inside(high - low + 1, S.Zero, node.count):
            raise self.refuse(f"{product} has {high - low + 1} factors; expected at most {node.count}")
        for end in (low, high):
            if not places.inside(sign.place.subs(index, end), S.One, node.count):
                raise self.refuse(f"{sign} is none of the signs 1..{node.count}")
        mean = (product.function.xreplace({sign: S.One}) + product.function.xreplace({sign: S.NegativeOne})) / 2
        if mean.has(index):
            raise self.refuse(f"the factors differ: {product.function} depends on {index}")
        return fixed * mean ** (high - low + 1)


@final
class ExponentialOfSum(PlacesRule):
    """Write exp of a multiple of a sum over ``index`` as a product of exponentials."""

    name = "exponential of a sum"
    statement = r"e^{\alpha+\beta\sum_k a_k}=e^{\alpha}\prod_k e^{\beta a_k}"
    conditions = r"the sum is finite"

    def __init__(self, index: Symbol) -> None:
        self.index = index

    def rewrite_at(self, expr: Expr, places: Places) -> Expr:
        return expr.replace(lambda e: isinstance(e, exp), self._split)

    def _split(self, node: Expr) -> Expr:
        result = S.One
        rest = []
        for term in Add.make_args(expand_mul(node.args[0])):
            inner = next((f for f in Mul.make_args(term) if isinstance(f, Sum) and f.limits[0][0] == self.index), None)
            if inner is None or len(inner.limits) != 1 or inner.limits[0].has(S.Infinity, S.NegativeInfinity):
                rest.append(term)
                continue
            if (term / inner).has(self.index):
                raise self.refuse(f"{self.index} has a meaning outside of {inner} in {term}")
            result *= Product(exp(term / inner * inner.function), *inner.limits)
        return exp(Add(*rest)) * result
