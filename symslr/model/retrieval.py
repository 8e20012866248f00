"""The parameters that theory takes from a trained recall layer: moments of its scores and of its read-out.

It is single-location regression: the position whose value answers the query is the relevant one, scores are its key
projections, and what the layer reads from a position is its value.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ScoreLaw:
    """Moments of the scores of one layer and of its read-out.

    Positions before a query are of three kinds: the one whose value answers it, those of the other keys' values, and the
    rest. Scores of one query share a shift; the spreads are what is left without it.

    Attributes:
        keys: pairs in a sequence, K; the other keys' values stand at K - 1 positions.
        relevant, others, rest: mean score of each kind.
        relevant_spread: standard deviation of the relevant score, the shift included.
        others_spread, rest_spread: standard deviations about the mean of the query.
        shift_spread: standard deviation of the shift that the other keys' scores of a query share.
        shift_covariance: of that shift and the relevant score.
        rest_count: positions of the rest, mean over queries.
        trained_shift: the number that the attention adds to its scores.
        read: mean of R on the token's own value.
        read_spread, rest_read_spread: root mean square of R between two values, and between a value and a token of the rest,
            as often as it occurs, each less its mean over values, which moves all logits alike.
    """

    keys: int
    relevant: float
    others: float
    rest: float
    relevant_spread: float
    others_spread: float
    rest_spread: float
    shift_spread: float
    shift_covariance: float
    rest_count: float
    trained_shift: float
    read: float
    read_spread: float
    rest_read_spread: float

    @property
    def apart_spread(self) -> float:
        """Standard deviation of the relevant score less the shift."""
        return max(0.0, self.relevant_spread**2 - 2 * self.shift_covariance + self.shift_spread**2) ** 0.5

    @property
    def strength(self) -> float:
        """nu: the squared distance between the relevant score and those of other keys, in units of the latter's variance."""
        return ((self.relevant - self.others) / self.others_spread) ** 2

    @property
    def correlation(self) -> float:
        """Of two other keys' scores for one query."""
        return self.shift_spread**2 / (self.shift_spread**2 + self.others_spread**2)

    @property
    def positions(self) -> int:
        """Positions before a query, on average, rounded."""
        return self.keys + round(self.rest_count)
