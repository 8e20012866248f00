"""Law of one real random variable, given by its density: the key projection of a token."""

from __future__ import annotations

from sympy import Abs, Basic, Expr, gamma, oo, pi, sqrt
from sympy import exp as exp_

from symslr.model.exact import exact
from symslr.model.symbols import x


class ScalarLaw(Basic):
    """A density in the symbol ``x`` on the interval ``(lower, upper)``.

    Args:
        density: expression in ``x`` (and free parameters), nonnegative with integral 1.
        lower, upper: ends of the support, ``-oo`` and ``oo`` by default.
    """

    def __new__(cls, density: Expr, lower: Expr = -oo, upper: Expr = oo) -> ScalarLaw:
        return super().__new__(cls, exact(density), exact(lower), exact(upper))

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
    def free_symbols(self) -> set[Basic]:
        return {s for arg in self.args for s in arg.free_symbols} - {x}

    def _eval_subs(self, old: Basic, new: Basic) -> Basic | None:
        return self if x in old.free_symbols else None


def normal(mean: Expr = 0, variance: Expr = 1) -> ScalarLaw:
    """N(mean, variance)."""
    mean, variance = exact(mean), exact(variance)
    return ScalarLaw(exp_(-((x - mean) ** 2) / (2 * variance)) / sqrt(2 * pi * variance))


def laplace(mean: Expr = 0, scale: Expr = 1) -> ScalarLaw:
    """Density exp(-|x - mean|/scale) / (2 scale)."""
    mean, scale = exact(mean), exact(scale)
    return ScalarLaw(exp_(-Abs(x - mean) / scale) / (2 * scale))


def student(dof: Expr, mean: Expr = 0) -> ScalarLaw:
    """Student's t with ``dof`` degrees of freedom, shifted by ``mean``."""
    dof, mean = exact(dof), exact(mean)
    scale = gamma((dof + 1) / 2) / (sqrt(pi * dof) * gamma(dof / 2))
    return ScalarLaw(scale * (1 + (x - mean) ** 2 / dof) ** (-(dof + 1) / 2))


STANDARD_NORMAL = normal()
