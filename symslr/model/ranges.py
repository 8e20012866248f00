"""Ranges of what may be asked for: commands refuse what lies outside before SymPy is loaded, the library whenever it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MOST_DIGITS = 10_000
"""Of a number: more would take days, as 30 digits take a second and the work grows with their square at least."""
LONGEST_FITTED = 10
"""Tokens of a sequence at finite alpha: a proximal minimum is searched over all its keys for every sample."""
MOST_ABUNDANT = 1e4
"""Samples per dimension: beyond, the fixed point is too steep for the samples to hold, and its risk within 1/alpha of the
population's."""
NOISIEST = 1e6
"""Standard deviation of the label noise of a fit: beyond, nothing but the noise is left of the risk in float64."""
FINEST, COARSEST = 1e-5, 0.2
"""Relative standard errors of the risk of a fit."""
USUAL_PRECISION = 0.002
"""That of a fit where none is asked for."""


def check_length(length: Any, most: int, where: str) -> None:
    """Refuse what is no integer from 1 to ``most``, the longest that is possible ``where`` it is asked for."""
    if not (getattr(length, "is_Integer", isinstance(length, int)) and 1 <= length <= most):
        raise ValueError(f"length: found {length}; expected an integer from 1 to {most} {where}")


def check_noise(noise: float) -> None:
    """Refuse a standard deviation of the label noise under which a fit has no risk in float64."""
    if not 0 <= noise <= NOISIEST:
        raise ValueError(f"noise: found {noise:g}; expected a standard deviation Delta from 0 to {NOISIEST:g}")


def real_number(value: Any, what: str) -> float:
    """A number as float64 has it: no truth value and no text, which Python reads as numbers, and nothing masked or complex.

    Raises:
        ValueError: in one line.
    """
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    if not isinstance(value, (bool, str, bytes)) and kind in "iufO" and not getattr(value, "ndim", 0):
        try:
            if not hasattr(value, "mask"):
                return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise ValueError(f"{what}: found {' '.join(repr(value).split())[:60]}; expected a real number")


def check_abundance(alpha: float) -> None:
    """Refuse a number of samples per dimension that is not positive, or so large that the population's risk is meant."""
    alpha = real_number(alpha, "alpha")
    if not 0 < alpha < float("inf"):
        raise ValueError(f"alpha: found {alpha:g}; expected a positive number")
    if alpha > MOST_ABUNDANT:
        raise ValueError(
            f"alpha: found {alpha:g}; expected at most {MOST_ABUNDANT:g}, as beyond it the test risk is that of"
            " alpha -> infinity (`symslr risk`) to four digits"
        )


def check_alphas(alphas: Sequence[float]) -> None:
    """Refuse no alpha, the same one twice, and one that ``check_abundance`` refuses."""
    alphas = [real_number(alpha, "alpha") for alpha in alphas]
    if not alphas or len(set(alphas)) < len(alphas):
        raise ValueError(f"alpha: found {', '.join(f'{a:g}' for a in alphas) or 'none'}; expected distinct numbers")
    for alpha in alphas:
        check_abundance(alpha)


def check_precision(precision: float) -> None:
    """Refuse a relative standard error that is out of reach or says nothing."""
    if not FINEST <= real_number(precision, "precision") <= COARSEST:
        raise ValueError(f"precision: found {precision:g}; expected a relative standard error from 1e-5 to 0.2")
