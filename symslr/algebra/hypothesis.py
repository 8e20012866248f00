"""A hypothesis: what a rule assumed of an expression and could not decide, printed beside the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sympy import Basic, Expr, Le, S, latex
from sympy.logic.boolalg import Boolean

from symslr.algebra.readable import readable
from symslr.expression.configuration import count_in, is_density
from symslr.expression.expectation import Expectation
from symslr.expression.instance import open_functions
from symslr.expression.quantity import Quantity
from symslr.model.configuration import ConfigurationLaw, ConfigurationPrior
from symslr.model.open_function import OpenFunction
from symslr.model.sequence_law import SequenceLaw


@dataclass(frozen=True)
class Hypothesis:
    """One condition under which a line equals the line before it.

    Attributes:
        text: as a mathematician would print it, LaTeX text with mathematics between dollar signs.
        condition: a relation in the free symbols that every point of a check satisfies; true where the hypothesis is about
            something else, such as a function left open.
        law: the law whose weight is assumed to be one, a nonnegative function with mean 1; None for any other hypothesis.
        means: expectations of functions left open that are assumed to exist.
        positive: means of squares that are assumed not to vanish. What stands in the last three fields is decided where a
            citation gives the open functions formulas.
    """

    text: str
    condition: Boolean = S.true
    law: SequenceLaw | ConfigurationLaw | None = None
    means: tuple[Expectation, ...] = ()
    positive: tuple[Expr, ...] = ()

    @classmethod
    def of(cls, condition: Boolean) -> Hypothesis:
        """The condition, printed in its shortest form."""
        return cls(f"${readable(condition)}$", condition)

    @classmethod
    def of_weight(cls, law: SequenceLaw | ConfigurationLaw) -> Hypothesis:
        """The weight of ``law``, which is left open, makes E_g a mean over sequences."""
        g = latex(law.weight)
        if isinstance(law, ConfigurationLaw):
            return cls(rf"${g}\ge0$ with $\mathbb{{E}}_0[{g}]=1$", law=law)
        equal = "" if isinstance(law.weight, OpenFunction) else r"g(\epsilon,\chi) = "
        return cls(
            rf"${equal}{g}\ge0$ with $\mathbb{{E}}_0[g]=1$, so that $\sum_{{l=1}}^L g(l,\chi)>0$ almost surely under "
            r"$\mathbb{E}_g$",
            law=law,
        )

    @classmethod
    def of_means(cls, means: Sequence[Expectation]) -> Hypothesis:
        """The functions left open have the means that are written."""
        names = sorted({name for mean in means for name in _in_body(mean)})
        said = ", ".join(name if len(name) == 1 else rf"\{name}" for name in names)
        return cls(rf"${said}$ with finite means where they are written", means=tuple(means))

    @classmethod
    def of_positive(cls, means: Sequence[Expr]) -> tuple[Hypothesis, ...]:
        """No square whose mean divides vanishes, where it is one of functions left open."""
        return tuple(cls(f"${latex(mean)}>0$", positive=(mean,)) for mean in means if open_functions(mean))

    def __str__(self) -> str:
        return self.text


def holds(condition: Basic, at: Mapping[Basic, Expr]) -> bool:
    """Whether a relation is true at values of its symbols; one between sides that are not real, as log 0, is not."""
    try:
        return bool(condition.subs(at) == S.true)
    except TypeError:
        return False


def of_weights(expr: Basic) -> tuple[Hypothesis, ...]:
    """The hypotheses on the weights that an expression leaves open."""
    laws = sorted((law for law in expr.atoms(SequenceLaw) if open_functions(law.weight)), key=str)
    hidden = sorted(expr.atoms(ConfigurationLaw), key=str)
    assumed = [hypothesis for law in hidden for hypothesis in of_configurations(law)]
    return (*map(Hypothesis.of_weight, laws), *dict.fromkeys(assumed))


@lru_cache(maxsize=2**8)
def of_open_means(expr: Basic) -> tuple[Expectation, ...]:
    """The means in an expression, or in the definitions of its quantities, of functions left open other than their weights."""
    lines = [expr, *(quantity.definition() for quantity in sorted(expr.atoms(Quantity), key=str))]
    nodes = {node for line in lines if open_functions(line) for node in line.atoms(Expectation)}
    return tuple(node for node in sorted(nodes, key=str) if _in_body(node))


def _in_body(mean: Expectation) -> set[str]:
    """Names of the functions that are left open in what is averaged, other than those of laws."""
    laws = mean.atoms(SequenceLaw, ConfigurationLaw, ConfigurationPrior)
    return open_functions(mean.body) - {name for law in laws for name in open_functions(law)}


def of_configurations(law: ConfigurationLaw) -> tuple[Hypothesis, ...]:
    """The hypotheses on what a law of configurations leaves open: its weight, its prior, its covariances."""
    found = [Hypothesis.of_weight(law)] if open_functions(law.weight) and not is_density(law) else []
    count, _ = count_in(law.prior.mass, law.length)
    if count is not None and count.free_symbols:
        found.append(Hypothesis.of(Le(count, law.length)))
    if isinstance(law.prior.mass, OpenFunction):
        found.append(Hypothesis(rf"${latex(law.prior.mass)}\ge0$, not $0$ for all $h$", law=law))
    for covariance, what in ((law.covariance, "keys"), (law.values, "values")):
        if open_functions(covariance):
            found.append(Hypothesis(rf"the covariance ${latex(covariance)}$ of the {what} positive definite", law=law))
    return tuple(found)
