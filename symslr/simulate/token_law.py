"""A token's key projection as a function of a standard normal: one draw serves both sampling paths."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sympy import Expr, S, nan, oo, zoo

from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import x
from symslr.simulate.log_domain import Array, log_of_product
from symslr.simulate.token_table import MASS_TOLERANCE, TabulatedToken, tabulate


@dataclass(frozen=True)
class GaussianToken:
    """N(mean, deviation^2), reached exactly: mean + deviation t."""

    mean: float
    deviation: float

    def transport(self, t: Array) -> Array:
        """A draw of the law from t ~ N(0, 1), of the same shape."""
        return self.mean + self.deviation * t


TokenLaw = GaussianToken | TabulatedToken


def token_law(base: ScalarLaw, factor: Expr = S.One) -> TokenLaw:
    """The law with density ``base.density * factor``, free of parameters.

    A density whose logarithm is quadratic on the whole line is a Gaussian (the spiked shift, a variance
    spike); any other is tabulated.

    Raises:
        ValueError: when the product does not have mass 1 or is not a density that a table can hold.
    """
    log_density = log_of_product(base.density * factor)
    if log_density.has(zoo, nan):
        raise ValueError(f"token density {base.density}, reweighted by {factor}: no positive value; expected mass 1")
    if base.lower == -oo and base.upper == oo and log_density.is_polynomial(x):
        quadratic = log_density.as_poly(x)
        if quadratic is not None and quadratic.degree() == 2:
            return _gaussian(*(float(quadratic.coeff_monomial(x**power)) for power in range(3)))
    return tabulate(log_density, float(base.lower), float(base.upper))


def _gaussian(constant: float, slope: float, bend: float) -> GaussianToken:
    """The Gaussian with log-density constant + slope x + bend x^2, refused where its mass is not 1."""
    if bend >= 0:
        raise ValueError(f"token density: found exp({bend:g} x^2 + ...), which has no finite mass; expected mass 1")
    mean, variance = -slope / (2 * bend), -1 / (2 * bend)
    log_mass = constant + mean**2 / (2 * variance) + math.log(2 * math.pi * variance) / 2
    if abs(log_mass) > MASS_TOLERANCE:
        raise ValueError(f"token density: found total mass exp({log_mass:.6g}); expected 1, so divide the weight by it")
    return GaussianToken(mean, math.sqrt(variance))
