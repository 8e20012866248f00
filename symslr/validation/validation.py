"""What a validation file returns: named comparisons of two independent routes to one number."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.stats import binomtest

LARGEST_Z = 4.0
SMALLEST_TAIL = 6e-5
"""Two-sided tail of a normal beyond 4 standard errors."""


@dataclass(frozen=True)
class NamedComparison:
    """One number by two routes.

    Attributes:
        name: what is compared: plain text, mathematics in it between dollar signs.
        expected: by the theory.
        found: by the independent route.
        tolerance: the largest |found - expected| that agrees.
        note: sizes and seeds, or what the number means.
    """

    name: str
    expected: float
    found: float
    tolerance: float
    note: str = ""

    @property
    def agrees(self) -> bool:
        return bool(abs(self.found - self.expected) <= self.tolerance)


def by_z_score(name: str, expected: float, found: float, standard_error: float, note: str = "") -> NamedComparison:
    """Agreement within 4 standard errors; the note ends with the z-score."""
    said = f"z = {(found - expected) / standard_error:+.2f}"
    return NamedComparison(name, expected, found, LARGEST_Z * standard_error, f"{note}; {said}" if note else said)


def by_frequency(name: str, probability: float, successes: int, size: int, note: str = "") -> NamedComparison:
    """Agreement of a count with a probability by the exact binomial test, which also holds near 0 and 1.

    The tolerance is the measured distance where the two-sided tail is at least that of 4 standard errors, else 0.
    """
    tail = float(binomtest(successes, size, probability).pvalue)
    tolerance = abs(successes / size - probability) if tail > SMALLEST_TAIL else 0.0
    return NamedComparison(name, probability, successes / size, tolerance, f"{note}; {size} networks, tail {tail:.2g}")


def states(name: str, holds: bool, note: str) -> NamedComparison:
    """A statement that is true or false; the numbers behind it stand in the note."""
    return NamedComparison(name, 1.0, float(holds), 0.0, note)
