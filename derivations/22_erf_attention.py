"""erf attention on spiked-SLR in closed form: error functions and Owen's T."""

from collections.abc import Iterator

from sympy import erf as erf_
from sympy import sqrt

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    CameronMartin,
    Exchangeability,
    GaussianErf,
    Independence,
    Linearity,
    Unfold,
)
from symslr.expression.folded import Activation
from symslr.expression.special import OwensT
from symslr.model.catalogue import SpikedSLR, erf
from symslr.model.symbols import Delta, L, a, c, epsilon, nu
from symslr.theory.population import PopulationRisk


def derive_erf() -> Iterator[Derivation]:
    width, signal = sqrt(1 + 2 * a**2), c + a * sqrt(nu)
    wedge = 1 / sqrt(1 + 4 * a**2)

    def mean_square(shift):
        return 2 + 2 * erf_(shift / width) - 8 * OwensT(sqrt(2) * shift / width, wedge)

    hit = 1 + erf_(signal / width)
    published = Delta**2 + 1 - hit**2 / (mean_square(signal) + (L - 1) * mean_square(c))
    yield (
        Derivation(
            PopulationRisk(Activation.of(epsilon, erf, a), SpikedSLR().law, Delta, L),
            title="erf attention on spiked-SLR at scale $a$ and shift $c$",
            name="erf-spiked",
            symbol=r"\min_v\mathcal{E}_{\mathrm{erf}}",
            introduction="Element-wise activations need one token at a time, so their risk is a closed form "
            "wherever one Gaussian mean is.",
            sources=("duranthon2025, Sec. 4",),
        )
        .apply(Unfold())
        .apply(Unfold())
        .apply(Linearity())
        .apply(CameronMartin())
        .apply(Exchangeability())
        .apply(Independence())
        .apply(GaussianErf())
        .claim(published, "symslr, by Owen's integrals")
    )
