"""Law of one real random variable, given by its density: the key projection of a token."""

from __future__ import annotations

from sympy import Abs, Basic, Expr, S, gamma, oo, pi, sqrt
from sympy import exp as exp_

from symslr.model.exact import exact
from symslr.model.pieces import density_without_pieces
from symslr.model.symbols import x


class ScalarLaw(Basic):
    """A density in the symbol ``x`` on the interval ``(lower, upper)``.

    Args:
        density: expression in ``x`` (and free parameters), nonnegative with integral 1.
        lower, upper: ends of the support, ``-oo`` and ``oo`` by default.

    Raises:
        ValueError: when the support is empty or depends on ``x``, or a Piecewise has cases that are not intervals of ``x``.
    """

    def __new__(cls, density: Expr, lower: Expr = -oo, upper: Expr = oo) -> ScalarLaw:
        ends = exact(lower, "support"), exact(upper, "support")
        if x in ends[0].free_symbols | ends[1].free_symbols or (ends[0] < ends[1]) == S.false:
            raise ValueError(f"support: found ({ends[0]}, {ends[1]}); expected lower < upper")
        return super().__new__(cls, density_without_pieces(exact(density, "density"), *ends, "density"), *ends)

    @property
    def density(self) -> Expr:
        return self.args[0]

    @property
    def lower(self) -> Expr:
        return self.args[1]

    @property
    def upper(self) -> Expr:
        return self.args[2]

    @property
    def support(self) -> tuple[Expr, Expr]:
        return (self.lower, self.upper)

    @property
    def free_symbols(self) -> set[Basic]:
        return {s for arg in self.args for s in arg.free_symbols} - {x}

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return self if x in old.free_symbols else None


def normal(mean: Expr = 0, variance: Expr = 1) -> ScalarLaw:
    """N(mean, variance).

    Raises:
        ValueError: when the mean is infinite or the variance is not a positive finite number.
    """
    mean, variance = _place(mean, "mean"), _width(variance, "variance")
    return ScalarLaw(exp_(-((x - mean) ** 2) / (2 * variance)) / sqrt(2 * pi * variance))


def laplace(mean: Expr = 0, scale: Expr = 1) -> ScalarLaw:
    """Density exp(-|x - mean|/scale) / (2 scale).

    Raises:
        ValueError: when the mean is infinite or the scale is not a positive finite number.
    """
    mean, scale = _place(mean, "mean"), _width(scale, "scale")
    return ScalarLaw(exp_(-Abs(x - mean) / scale) / (2 * scale))


def student(dof: Expr, mean: Expr = 0) -> ScalarLaw:
    """Student's t with ``dof`` degrees of freedom, shifted by ``mean``.

    Raises:
        ValueError: when the mean is infinite or ``dof`` is not a positive number up to 1e6 (use ``normal`` beyond).
    """
    dof, mean = _width(dof, "dof"), _place(mean, "mean")
    if dof.is_number and dof > 10**6:
        raise ValueError(f"dof: found {dof}; expected at most 1e6, beyond which the law is normal")
    scale = gamma((dof + 1) / 2) / (sqrt(pi * dof) * gamma(dof / 2))
    return ScalarLaw(scale * (1 + (x - mean) ** 2 / dof) ** (-(dof + 1) / 2))


def _place(value: object, what: str) -> Expr:
    place = exact(value, what)
    if place.is_finite is False or x in place.free_symbols:
        raise ValueError(f"{what}: found {place}; expected a finite number or a parameter other than x")
    return place


def _width(value: object, what: str) -> Expr:
    width = _place(value, what)
    if width.is_positive is False:
        raise ValueError(f"{what}: found {width}; expected a positive number")
    return width


STANDARD_NORMAL = normal()
