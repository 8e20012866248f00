"""The mass of densities with parts that are narrow or far out, which no fixed grid sees."""

from __future__ import annotations

import pytest
from sympy import Abs, Expr, Heaviside, Integer, Max, Rational, S, Sum, cosh, exp, factorial, log, oo, pi, sqrt, tanh

from symslr.model.admissible import NoDensity, check_density, check_weight_at
from symslr.model.scalar_law import ScalarLaw, laplace, normal
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, m, x
from symslr.model.task import Task
from symslr.model.weight_mean import Mean, weight_mean

STEEP = 10**8
SPIKES = {
    "normal": normal(Rational(24137, 10000), Rational(1, STEEP**2)).density,
    "wider normal": normal(Rational(24137, 10000), Rational(1, 10**6)).density,
    "at an irrational place": normal(sqrt(2), Rational(1, STEEP**2)).density,
    "at two roots": sqrt(2) * STEEP * exp(-(STEEP**2) * (x**2 - 2) ** 2) / sqrt(pi),
    "of an exponential": 2 * STEEP * exp(-(STEEP**2) * (exp(x) - 2) ** 2) / sqrt(pi),
    "power of a number": STEEP * sqrt(log(10)) * 10 ** (-(STEEP**2) * (x - 1) ** 2) / sqrt(pi),
    "Cauchy": STEEP / (1 + STEEP**2 * (x - 1) ** 2) / pi,
    "hyperbolic": STEEP / cosh(STEEP * (x - 1)) ** 2 / 2,
    "tanh": STEEP * (1 - tanh(STEEP * (x - 1)) ** 2) / 2,
    "Laplace": laplace(Rational(1, 3), Rational(1, STEEP)).density,
    "hat": STEEP * Max(0, 1 - STEEP * Abs(x - 1)),
    "box": STEEP * Heaviside(x - 1) * Heaviside(1 + Rational(1, STEEP) - x),
}


def mass(density: Expr, low: Expr = -oo, high: Expr = oo) -> Mean:
    """The integral of a density as the check of a token law finds it."""
    return weight_mean(SequenceLaw(S.One, Integer(2), ScalarLaw(density, low, high)), {})


@pytest.mark.parametrize("name", SPIKES)
def test_no_spike_is_passed_over(name: str) -> None:
    """Regression: a law of mass 2 was taken for a density, as half of it was narrower than 7e-4."""
    found = mass(normal().density + SPIKES[name])
    assert abs(found.value - 2) <= 1e-11 + found.error < 1e-7
    half = mass((normal().density + SPIKES[name]) / 2)
    assert abs(half.value - 1) <= 1e-11 + half.error < 1e-7


@pytest.mark.parametrize("width", [Rational(1, 10**k) for k in (3, 5, 8, 12)])
@pytest.mark.parametrize("place", [-4, 200, 10**6, 10**12])
def test_a_narrow_or_distant_part_is_a_law(place: int, width: Rational) -> None:
    """Regression: at width 1e-5 these had "total mass 0.5", and beyond 1e6 no mean."""
    law = ScalarLaw((normal().density + normal(place, width**2).density) / 2)
    found = mass(law.density)
    assert abs(found.value - 1) <= 1e-13 + found.error < 1e-11
    check_density(law)


def test_two_mixtures_of_spikes_make_a_task() -> None:
    """Regression: their ratio had the mean 0.5, and it was advised to divide by it."""

    def spike(place: int) -> Expr:
        return normal(place, Rational(1, 2 * 10**12)).density

    task = Task.from_token_laws(ScalarLaw((spike(1) + spike(-2)) / 2), ScalarLaw(spike(0) / 3 + 2 * spike(1) / 3))
    assert abs(weight_mean(SequenceLaw(task.weight, Integer(2), task.base), {}).value - 1) <= 1e-12


@pytest.mark.parametrize("power", [4, 8, 11])
def test_a_mass_that_is_nearly_one_is_not_one(power: int) -> None:
    """Regression: 1 + 1e-8 was taken for 1, and 19 digits of a risk were certified."""
    with pytest.raises(ValueError, match=r"found total mass 1.0+1;"):
        check_density(ScalarLaw(normal().density * (1 + Rational(1, 10**power))))


@pytest.mark.parametrize("density", [4 * (exp(x) - 1 - x) * exp(-2 * x), 12 * (exp(-x) - 1 + x) * exp(-2 * x) / 3])
def test_what_rounding_makes_negative_is_nonnegative(density: Expr) -> None:
    """Regression: beside 0 these were found to be -4e-16."""
    found = mass(density, Integer(0), oo)
    assert found.lowest >= 0
    check_density(ScalarLaw(density / Rational(round(found.value * 24), 24), Integer(0), oo))


def test_a_narrow_dip_below_zero_is_found() -> None:
    dip = normal(2, Rational(1, 10**18)).density / 10**6
    with pytest.raises(ValueError, match="negative value"):
        check_density(ScalarLaw(normal().density * (1 + Rational(1, 10**6)) - dip))


def test_where_factors_balance_there_is_a_peak() -> None:
    """Gamma and beta laws of a large order, whose logarithms alone float64 holds."""
    order = 1000
    assert (
        abs(mass(S(order) ** (order + 1) * x**order * exp(-order * x) / factorial(order), S.Zero, oo).value - 1) < 1e-11
    )
    beta = factorial(2 * order + 1) / factorial(order) ** 2 * (x * (1 - x)) ** order
    assert abs(mass(beta, S.Zero, S.One).value - 1) < 1e-11


def test_a_weight_of_several_tokens_is_not_judged_where_a_part_of_their_law_is_not_seen() -> None:
    """Its mean is not found, whatever the rest of the law gives."""
    base = ScalarLaw((normal().density + normal(2, Rational(1, 10**12)).density) / 2)
    weight = Sum(chi[m] ** 2, (m, 1, L)) / L * Rational(2, 5)
    with pytest.raises(NoDensity, match="its mean is not found"):
        check_weight_at(SequenceLaw(weight, L, base), 2, ())


@pytest.mark.parametrize(
    "density",
    [
        exp(-Abs(x)) / (2 * sqrt(pi * Abs(x))),
        1 / (2 * pi * sqrt(Abs(x)) * (1 + Abs(x))),
        exp(-Abs(x - 1)) / (2 * sqrt(pi * Abs(x - 1))),
    ],
    ids=str,
)
def test_a_density_may_be_infinite_at_a_place(density: Expr) -> None:
    """As at an inverse root: a place without a finite height was no peak, and the density had no mass."""
    check_density(ScalarLaw(density))
    found = mass(density)
    assert abs(found.value - 1) <= 1e-12 + found.error < 1e-6


@pytest.mark.parametrize("power", [1, 2, 4])
def test_a_pole_without_a_mass_is_refused(power: int) -> None:
    with pytest.raises(ValueError, match=r"no finite mass|mass is not found"):
        check_density(ScalarLaw(exp(-(x**2) / 2) / Abs(x) ** power))
