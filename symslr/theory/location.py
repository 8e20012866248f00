"""Bayes risk where the relevant tokens are a hidden configuration, and the laws of location as laws of configurations."""

from __future__ import annotations

from typing import ClassVar, final

from sympy import Basic, Expr, Sum
from sympy.printing.latex import LatexPrinter

from symslr.expression.configuration import ConfigurationExpectation
from symslr.expression.folded import ConditionalMean
from symslr.expression.instance import at_token
from symslr.expression.quantity import Quantity
from symslr.model.configuration import ConfigurationLaw
from symslr.model.symbols import epsilon, l, xi, z


def read_out(coefficient: Expr, law: ConfigurationLaw, noise: Expr) -> Expr:
    """y = sum_l c_l z_l + Delta xi, for c_l a function of the configuration, given for the token ``epsilon``."""
    return Sum(at_token(coefficient, l) * z[l], (l, 1, law.length)) + noise * xi


@final
class LocationBayesRisk(Quantity):
    """E_w (y - E[y|X])^2 for y = sum_l c_l z_l + Delta xi; ``args = (c_epsilon, law, noise)``."""

    source: ClassVar[str] = "duranthon2025, Sec. 2"

    @property
    def coefficient(self) -> Expr:
        return self.args[0]

    @property
    def law(self) -> ConfigurationLaw:
        return self.args[1]

    @property
    def noise(self) -> Expr:
        return self.args[2]

    @property
    def bound(self) -> frozenset[Basic]:
        return self.law.bound

    def definition(self) -> Expr:
        """E_w (y - E[y|X])^2."""
        label = read_out(self.coefficient, self.law, self.noise)
        return ConfigurationExpectation((label - ConditionalMean(label, self.law)) ** 2, self.law)

    def _latex(self, printer: LatexPrinter) -> str:
        return r"\mathcal{E}_{\mathrm{Bayes}}"

    def _sympystr(self, printer: object) -> str:
        return "LocationBayesRisk"
