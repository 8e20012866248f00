"""How a scalar law is named in print: by its family where it is recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from sympy import Abs, Basic, Expr, Poly, PolynomialError, S, expand_log, log, simplify
from sympy.core.function import AppliedUndef

from symslr.model.configuration import ALIKE, ONE, ConfigurationLaw, Signals
from symslr.model.exponential import constant_value
from symslr.model.open_function import OpenFunction
from symslr.model.scalar_law import ScalarLaw, laplace, normal
from symslr.model.symbols import x


@lru_cache(maxsize=256)
def family(law: ScalarLaw) -> tuple[str, tuple[Expr, ...]] | None:
    """LaTeX name of the family and its parameters: N(mean, variance), Laplace(mean, scale); None for any other law."""
    absolute = law.density.atoms(Abs)
    if len(absolute) == 1:
        return _laplace(law, next(iter(absolute)))
    return _normal(law)


def _normal(law: ScalarLaw) -> tuple[str, tuple[Expr, ...]] | None:
    try:
        exponent = Poly(expand_log(log(law.density), force=True), x)
    except PolynomialError:
        return None
    if exponent.degree() != 2:
        return None
    variance = simplify(-1 / (2 * exponent.coeff_monomial(x**2)))
    mean = simplify(exponent.coeff_monomial(x) * variance)
    return (r"\mathcal{N}", (mean, variance)) if _same(law, normal(mean, variance)) else None


def _laplace(law: ScalarLaw, distance: Expr) -> tuple[str, tuple[Expr, ...]] | None:
    mean = x - distance.args[0]
    mean = mean if not mean.has(x) else x + distance.args[0]
    scale = simplify(-distance / expand_log(log(law.density), force=True).coeff(distance) / distance)
    found = not mean.has(x) and not scale.has(x) and _same(law, laplace(mean, scale))
    return (r"\mathrm{Laplace}", (mean, scale)) if found else None


def _same(one: ScalarLaw, other: ScalarLaw) -> bool:
    ends = one.args[1:] == other.args[1:]
    return bool(ends and (one == other or constant_value(one.density / other.density) == 1))


def parts(law: ConfigurationLaw, name: str, say: Callable[[Basic], str]) -> Iterator[tuple[str, str]]:
    """What a law of configurations is made of, each as (LaTeX of its name, its formula), but for what is left open: prior and
    law of the signal up to a factor, the weight that is called ``name``, covariances of keys and of dependent values.
    """
    signal = law.prior.signal
    found: list[tuple[str, Expr]] = [(r"P(r) \propto", law.prior.mass)]
    if isinstance(signal, Signals) and signal != ONE:
        points = ((point[0] if len(point) == 1 else point, weight) for point, weight in signal.support)
        found += [(rf"P(\theta = {say(point)}) \propto", weight) for point, weight in points]
    found += [(rf"{name}(h,\chi) =", law.weight)] if law.weight != S.One else []
    found += [("K_{lm} =", law.covariance)]
    found += [("C_{lm} =", law.values)] if law.values != ALIKE else []
    yield from ((left, say(right)) for left, right in found if not isinstance(right, (AppliedUndef, OpenFunction)))
