"""The task studied: single-location regression with any weight, token law, length law and noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Integer, S, latex, oo

from symslr.model.admissible import check_density, check_dominated, check_mean_one
from symslr.model.exact import NotExact, exact
from symslr.model.form import check_parameters
from symslr.model.length_law import LengthLaw
from symslr.model.pieces import without_pieces
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import Delta, L, chi, epsilon, x


@dataclass(frozen=True)
class Task:
    """Single-location regression: y = z_epsilon + Delta xi with epsilon hidden behind the weight g.

    Given (L, epsilon) the tokens have density g(epsilon, chi) prod_l N(x_l; 0, I_D) with chi = X k*/sqrt(D),
    z = X v*/sqrt(D). The risk of a predictor f is E (y - f(X))^2.

    Args:
        weight: g as an expression in ``chi[epsilon]``, ``Sum(h(chi[l]), (l, 1, L))`` and free parameters; mean 1.
        length: symbol ``L``, a positive integer, a ``LengthLaw`` or a mapping length -> probability.
        noise: Delta >= 0.
        base: law of a token's key projection before reweighting; N(0, 1) by default.
        name: what the task is called in print.

    Raises:
        ValueError: when the weight does not average to 1 or is negative somewhere, when a length is not a positive
            integer, when the noise is negative.

    Source: arXiv 2509.21936, section 2.
    """

    weight: Expr
    length: Expr | LengthLaw = L
    noise: Expr = Delta
    base: ScalarLaw = STANDARD_NORMAL
    name: str = "task"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", without_pieces(exact(self.weight, "weight"), "weight"))
        object.__setattr__(self, "noise", exact(self.noise, "noise"))
        object.__setattr__(self, "length", _length(self.length))
        check_parameters(self.noise, "noise")
        if self.noise.is_negative or self.noise.is_finite is False:
            raise ValueError(f"noise: found {self.noise}; expected a standard deviation Delta >= 0")
        if not isinstance(self.base, ScalarLaw):
            raise NotExact(f"base: found {type(self.base).__name__}; expected a ScalarLaw, such as normal()")
        check_mean_one(SequenceLaw(self.weight, L, self.base))

    @classmethod
    def from_token_laws(cls, relevant: ScalarLaw, others: ScalarLaw = STANDARD_NORMAL, **keywords: Any) -> Task:
        """The task in which the relevant token's key projection has law p1 and every other token's has law p0.

        Its weight is the likelihood ratio g = p1(chi_epsilon) / p0(chi_epsilon).

        Raises:
            ValueError: when the two laws have different supports, or that of the others is 0 where the relevant one is not,
                besides what ``Task`` refuses.
        """
        for law in (relevant, others):
            if not isinstance(law, ScalarLaw):
                raise NotExact(f"token law: found {type(law).__name__}; expected a ScalarLaw, such as normal()")
            check_density(law)
        if (relevant.lower, relevant.upper) != (others.lower, others.upper):
            raise ValueError(
                f"token laws: found supports {relevant.support} and {others.support}; expected the same for both"
            )
        check_dominated(relevant, others)
        ratio = (relevant.density / others.density).subs(x, chi[epsilon])
        return cls(ratio, base=others, **keywords)

    @property
    def law(self) -> SequenceLaw:
        """Law of the sequence at the symbolic length ``L``."""
        return SequenceLaw(self.weight, L, self.base)

    @property
    def keys(self) -> tuple[Expr, Expr]:
        """Where keys a chi are at every scale a > 0: a half line from 0 where all tokens have one sign, else the line."""
        lower, upper = self.base.support
        return S.Zero if lower.is_nonnegative else -oo, S.Zero if upper.is_nonpositive else oo

    def at(self, length: object) -> Task:
        """The same task at another length (symbol, integer or law)."""
        return Task(self.weight, length, self.noise, self.base, self.name)

    def _repr_latex_(self) -> str:
        parts = [rf"g(\epsilon,\chi)={latex(self.weight)}"]
        if self.base != STANDARD_NORMAL:
            parts.append(rf"\chi_l\text{{ with density }}{latex(self.base.density)}")
        if self.length != L:
            parts.append(rf"L={latex(self.length)}")
        if self.noise != Delta:
            parts.append(rf"\Delta={latex(self.noise)}")
        return r"$\displaystyle " + r",\quad ".join(parts) + "$"


def _length(value: object) -> Expr | LengthLaw:
    if isinstance(value, LengthLaw):
        return value
    if isinstance(value, Mapping):
        return LengthLaw({exact(length, "length"): exact(p, "probability") for length, p in value.items()})
    length = exact(value, "length")
    if length == L or (isinstance(length, Integer) and length >= 1):
        return length
    raise ValueError(
        f"length: found {length}; expected the symbol L, a positive integer or a law such as {{1: 1/3, 2: 2/3}}"
    )
