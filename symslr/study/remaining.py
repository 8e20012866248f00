"""An estimate of the time that a study still takes, with its uncertainty."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Costs:
    """Seconds per finished point, kept per kind: kinds differ by orders of magnitude."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, kind: str, seconds: float) -> None:
        """A point of this kind took so long."""
        self.seconds[kind].append(seconds)

    def remaining(self, waiting: Mapping[str, int], workers: int) -> tuple[float, float] | None:
        """(expected seconds, standard error) for so many points of each kind; None while a kind has fewer than two.

        The mean per kind times the number left, over the workers; the error has the scatter of the points to come and
        that of the mean. Points finished by an earlier run or another process do not enter.
        """
        mean, variance = 0.0, 0.0
        for kind, count in waiting.items():
            found = self.seconds.get(kind, [])
            if not count:
                continue
            if len(found) < 2:
                return None
            average = sum(found) / len(found)
            scatter = sum((item - average) ** 2 for item in found) / (len(found) - 1)
            mean += count * average
            variance += count * scatter + count**2 * scatter / len(found)
        return mean / workers, math.sqrt(variance) / workers


def in_words(remaining: tuple[float, float] | None) -> str:
    """'about 3 min (2 min to 5 min)' from an expectation and its standard error, two of them on each side.

    >>> in_words((200.0, 30.0)), in_words(None)
    ('about 3 min (2 min to 4 min)', 'time unknown yet')
    """
    if remaining is None:
        return "time unknown yet"
    expected, error = remaining
    low, high = max(0.0, expected - 2 * error), expected + 2 * error
    middle, ends = _duration(expected), (_duration(low), _duration(high))
    return f"about {middle}" if ends[0] == ends[1] else f"about {middle} ({ends[0]} to {ends[1]})"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86400:.1f} days"
