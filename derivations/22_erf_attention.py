"""Erf attention on spiked-SLR in closed form: error functions and Owen's T."""

from sympy import Expr, sqrt
from sympy import erf as erf_

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    CameronMartin,
    Exchangeability,
    GaussianErf,
    Independence,
    Linearity,
    Unfold,
)
from symslr.check.collect import neighbour
from symslr.expression.folded import Activation
from symslr.expression.special import OwensT
from symslr.model.catalogue import SpikedSLR, erf
from symslr.model.symbols import Delta, L, a, c, epsilon, nu
from symslr.theory.population import PopulationRisk

population = neighbour(__file__, "20_population_risk.py")

WIDTH, SIGNAL = sqrt(1 + 2 * a**2), c + a * sqrt(nu)


def mean_square(shift: Expr) -> Expr:
    """E (1 + erf(shift + a x))^2."""
    return 2 + 2 * erf_(shift / WIDTH) - 8 * OwensT(sqrt(2) * shift / WIDTH, 1 / sqrt(1 + 4 * a**2))


def derive_erf() -> Derivation:
    task, sigma = SpikedSLR(), Activation.of(epsilon, erf, a)
    hit = 1 + erf_(SIGNAL / WIDTH)
    closed = Delta**2 + 1 - hit**2 / (mean_square(SIGNAL) + (L - 1) * mean_square(c))
    return (
        Derivation(
            PopulationRisk(sigma, task.law, Delta, L),
            title="Risk of erf attention on spiked-SLR at key scale $a$ and shift $c$",
            name="erf-spiked",
            symbol=r"\min_v\mathcal{E}_{\mathrm{erf}}",
            introduction="Element-wise activations need one token at a time, so their risk is a closed form "
            "wherever one Gaussian mean is.",
            sources=("duranthon2025, Sec. 4",),
        )
        .apply(Unfold(PopulationRisk))
        .apply(Cite(population.best_value(L), {population.g: task.law.weight, population.sigma: sigma}))
        .apply(Unfold(Activation))
        .apply(Linearity())
        .apply(CameronMartin())
        .apply(Exchangeability())
        .apply(Independence())
        .apply(GaussianErf())
        .claim(closed, "symslr, by Owen's integrals", label="own")
    )
