"""Does an expectation exist? The growth of a function of tokens against the decay of their density."""

from __future__ import annotations

from sympy import Abs, Add, And, Basic, Dummy, Expr, Indexed, Mul, Pow, S, Sum, Symbol, exp, expand, latex
from sympy.logic.boolalg import Boolean

from symslr.algebra.bodies import is_whole
from symslr.algebra.growth import Growth, Undecided, growth, is_integrable
from symslr.algebra.hypothesis import Hypothesis
from symslr.algebra.positivity import is_nonnegative, is_open
from symslr.algebra.rule import Rule
from symslr.algebra.token_bounds import BOUNDED, RANDOM, at_most_exponential, is_away_from_zero
from symslr.expression.expectation import Expectation, ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Posterior
from symslr.expression.scored import ScoredActivation
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import BOUND_IN_SEQUENCE, OTHERS, chi, epsilon, x, xi

ANOTHER = Symbol("another", integer=True)
"""A token that the body does not name."""


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
        fixed, moving = base.as_independent(*RANDOM, as_Add=True)
        parts = (term.as_independent(*RANDOM, as_Add=False) for term in Add.make_args(moving))
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
