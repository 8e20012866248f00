"""The attention that is optimal under a law of location, a_l = E[r_l | chi], as the rules write it out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

from sympy import Dummy, Expr, Indexed, IndexedBase, Product, Sum, Symbol, cosh, expand_log, latex, log, powsimp, sqrt

from symslr.algebra.fresh import fresh
from symslr.expression.configuration import ConfigurationMean, ElementarySymmetric, Precision
from symslr.model.attention import Attention
from symslr.model.exact import check_is
from symslr.model.length_law import LengthLaw
from symslr.model.location.covariance import Equicorrelated
from symslr.model.location.where import Independent, OnePosition
from symslr.model.symbols import L, chi, l, x
from symslr.model.task import Task
from symslr.theory.configurations import optimal_location_attention, position_weight

PRECISION = IndexedBase("K", real=True)
"""K = C^-1 where the covariance of the keys has no structure that gives its inverse."""
PRIOR = IndexedBase("pi", positive=True)
"""The prior where it is given as a list."""
INDICES = tuple(Symbol(name, integer=True, positive=True) for name in ("m", "n", "q"))
"""What the positions that are summed over are called."""


@dataclass(frozen=True, repr=False)
class OptimalAttention:
    """E[y | X] = sum_l a_l z_l.

    Attributes:
        task: any.
        weight: a_l, in ``chi[l]`` (``chi[l, k]`` for keys along several directions), sums over m and the parameters.
        reading: what kind of attention it is, in words.
        where: what the letters in it that the task does not name stand for.
        sources: key and place of what it rests on, for ``symslr.cite``.
    """

    task: Task
    weight: Expr
    reading: str
    where: tuple[str, ...]
    sources: ClassVar[tuple[str, ...]] = ("duranthon2025, Sec. 4",)

    def __repr__(self) -> str:
        from symslr.algebra.derivation import as_text

        return f"a[l] = {as_text(self.weight)}"

    @property
    def attention(self) -> Attention:
        """It as an attention with a kernel, for token laws their likelihood ratio p1/p0; risks take it.

        Raises:
            ValueError: where it is none of single keys.
        """
        law = self.task.law
        return Attention(law.posterior_kernel, name="optimal", tokens=law.base.support)

    @property
    def kernel(self) -> Expr:
        """The kernel kappa of p_l = kappa(chi_l)/sum_m kappa(chi_m), as ``attention``."""
        return self.attention.kernel

    def latex(self) -> str:
        """The formula as LaTeX."""
        words = {
            symbol: _as_one_word(latex(symbol)) for symbol in self.weight.free_symbols if isinstance(symbol, Symbol)
        }
        return f"a_l = {latex(self.weight, symbol_names=words)}"

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle {self.latex()}$"


def optimal_attention(task: Task) -> OptimalAttention:
    """The attention that attains the Bayes risk, as a formula that prints; risks take it where it has a kernel.

    Raises:
        ValueError: when the posterior of a task by its weight is no ratio of token functions, so that no attention of the
            family attains the Bayes risk.
    """
    check_is(task, Task, "task", "SpikedSLR()")
    return located_attention(task) if task.is_located else weighed_attention(task)


def located_attention(task: Task) -> OptimalAttention:
    """The optimal attention of a law of location; of a random length that of every length L.

    Several relevant tokens among correlated keys leave a mean over all configurations, E_h, as no rule sums it.
    """
    if isinstance(task.length, LengthLaw):
        return replace(located_attention(replace(task, length=L)), task=task)
    plain = task.without_common_shift()
    weight = _named(optimal_location_attention(plain) if plain == task else _with_common_shift(plain, task), task)
    return OptimalAttention(
        task, weight, _reading(task, weight, plain.key_covariance is not None), _where(task, weight)
    )


def weighed_attention(task: Task) -> OptimalAttention:
    """The optimal attention of a task with any weight or token laws; of a random length that of every length L.

    Raises:
        ValueError: where the posterior of the task is no ratio of token functions.
    """
    kernel = task.law.posterior_kernel
    if kernel is None:
        raise ValueError(
            f"task {task.name}: the posterior under the weight {task.law.weight} is no function of a token over its sum over all"
        )
    kernel = powsimp(kernel)
    length = task.length if isinstance(task.length, Expr) else L
    index = fresh("m", kernel.free_symbols, integer=True, positive=True)
    every = Sum(kernel.subs(x, chi[index]), (index, 1, length))
    is_softmax = x not in expand_log(log(kernel), force=True).diff(x).free_symbols
    reading = "softmax" if is_softmax else "ratio of the laws of a relevant token and of another, normalised"
    return OptimalAttention(task, kernel.subs(x, chi[l]) / every, reading, ())


def _with_common_shift(plain: Task, task: Task) -> Expr:
    """The formula of a task whose keys share a shift, from that of the task without it, in units of the own deviation of keys.

    The variance that keys do not share is a positive letter on the way, so that its roots cancel.
    """
    assert task.key_covariance is not None
    structure = task.key_covariance.structure
    assert isinstance(structure, Equicorrelated)
    own = Dummy("v", positive=True)
    derived = optimal_location_attention(replace(plain, nu=task.nu / own))
    in_units = derived.replace(lambda e: isinstance(e, Indexed) and e.base == chi, lambda e: e / sqrt(own))
    return in_units.subs(own, structure.own_variance)


def _named(weight: Expr, task: Task) -> Expr:
    """The formula with letters for a prior that is a list and for an inverse without structure; sums run over m, n, q."""
    if isinstance(task.prior, tuple):
        own = position_weight(task)
        places = {l} | {symbol for node in weight.atoms(Sum, ElementarySymmetric) for symbol in node.free_symbols}
        places |= {variable for node in weight.atoms(Sum, Product) for variable in node.variables}
        weight = weight.xreplace({own.subs(l, place): PRIOR[place] for place in places if place.is_integer})
    weight = weight.replace(lambda node: isinstance(node, Precision), lambda node: PRECISION[node.places])
    taken = set(map(str, weight.free_symbols))
    return _with_indices(weight, tuple(name for name in INDICES if str(name) not in taken))


def _with_indices(expr: Expr, names: tuple[Symbol, ...]) -> Expr:
    """Every sum over positions with the first of these names that no other symbol inside it has."""
    if isinstance(expr, Sum):
        inner = _with_indices(expr.function, names[1:])
        (old, low, high) = expr.limits[0]
        others = inner.free_symbols - {old}
        free = (name for name in names if str(name) not in set(map(str, others)))
        new = next(free, None) or fresh("m", others, integer=True, positive=True)
        return Sum(inner.subs(old, new), (new, low, high))
    if not expr.args or not expr.has(Sum) or isinstance(expr, ElementarySymmetric):
        return expr
    return expr.func(*(_with_indices(arg, names) for arg in expr.args))


def _as_one_word(symbol: str) -> str:
    """A name of several letters typeset as one, so that it is not read as a product of letters."""
    return re.sub(r"^[A-Za-z]{2,}", lambda word: rf"\mathit{{{word.group()}}}", symbol)


def _reading(task: Task, weight: Expr, correlated: bool) -> str:
    """What kind of attention it is."""
    kinds = len(task.signal.support)
    if weight.has(ConfigurationMean):
        own = "" if kinds == 1 else " and their signals"
        return f"posterior mean over all sets of relevant positions{own}, coupled by the filter over positions"
    if isinstance(task.location, Independent):
        return (
            "sigmoid with a bias, without a normaliser"
            if kinds == 1
            else "element-wise ratio of weights, without a normaliser"
        )
    if not isinstance(task.location, OnePosition):
        return f"subset attention, s = {task.location.size}: elementary symmetric polynomials"
    reading = "softmax" if kinds == 1 else f"Bayes-softmax over {kinds} heads and tokens"
    if any(node.has(chi) for node in weight.atoms(cosh)):  # and not in the prior
        reading = "attention with kernel cosh, normalised"
    covariance = task.key_covariance
    uneven = covariance is not None and not isinstance(covariance.structure, Equicorrelated)
    reading += " with a positional bias" * (task.prior is not None or uneven)
    return reading + " after a linear filter over positions" * correlated


def _where(task: Task, weight: Expr) -> tuple[str, ...]:
    found = []
    if weight.has(ConfigurationMean):
        own = "" if task.signal.is_one else f", and over their signals, theta[l] from {task.signal}, each by itself"
        found.append(
            f"E_h the mean over the relevant positions, r[l] = 1 where l is one and 0 elsewhere, under their prior{own}"
        )
    if isinstance(task.prior, tuple):
        found.append(f"pi = ({', '.join(map(str, task.prior))})")
    covariance = task.key_covariance
    if covariance is not None and any(node.base == PRECISION for node in weight.atoms(Indexed)):
        found.append(f"K the inverse of C, C[i, j] = {covariance.entry}")
    return tuple(found)
