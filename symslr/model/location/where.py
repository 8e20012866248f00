"""Which positions are relevant (one, exactly s, or each independently), and their coefficients in the label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Expr, Integer, S

from symslr.model.exact import exact
from symslr.model.form import check_parameters
from symslr.model.symbols import L, l
from symslr.model.text import parse_expression

EXPECTED = "one, subset(s) with a whole number s >= 1, or independent(pi) with a probability pi"


@dataclass(frozen=True)
class OnePosition:
    """One position epsilon is relevant; y = z_epsilon + Delta xi."""

    def __str__(self) -> str:
        return "one"


@dataclass(frozen=True)
class Subset:
    """Exactly ``size`` positions S are relevant; y is the mean of their values, y = sum_{l in S} z_l / size + Delta xi.

    Without a prior every subset is as likely as another; with prior pi, P(S) is proportional to prod_{l in S} pi_l.

    Raises:
        ValueError: for a size that is no positive integer.
    """

    size: Expr

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", exact(self.size, "subset"))
        if not (isinstance(self.size, Integer) and self.size >= 1):
            raise ValueError(f"location: found subset({self.size}); expected a whole number s >= 1")

    def __str__(self) -> str:
        return f"subset({self.size})"


@dataclass(frozen=True)
class Independent:
    """Position l is relevant with ``probability``, independently of the others; y is the sum of the relevant values.

    The probability may depend on the position ``l`` and on ``L``.

    Raises:
        ValueError: for a number outside (0, 1).
    """

    probability: Expr

    def __post_init__(self) -> None:
        object.__setattr__(self, "probability", exact(self.probability, "independent"))
        check_parameters(self.probability, "independent", allowed={l})
        if self.probability.is_number and not (S.Zero < self.probability < S.One):
            raise ValueError(f"location: found independent({self.probability}); expected a probability in (0, 1)")

    def __str__(self) -> str:
        return f"independent({self.probability})"


Where = OnePosition | Subset | Independent


def where_from_text(text: str, parameters: Mapping[str, Expr] = {}) -> Where:
    """``"one"``, ``"subset(2)"`` or ``"independent(1/8)"``, where pi may depend on l, L and the parameters.

    Raises:
        ValueError: in one line, for anything else.
    """
    name, opened, rest = text.strip(" ").partition("(")
    inside = rest[:-1] if rest.endswith(")") else None
    if not opened and name == "one":
        return OnePosition()
    if name == "subset" and inside is not None:
        return Subset(parse_expression(inside, parameters, what="location subset"))
    if name == "independent" and inside is not None:
        return Independent(parse_expression(inside, {"l": l, "L": L, **parameters}, what="location independent"))
    raise ValueError(f"location: found {text[:40]!r}; expected {EXPECTED}")
