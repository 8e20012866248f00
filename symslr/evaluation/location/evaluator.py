"""The risk of an attention at its best value vectors, as a function of its place, at a fixed length or under a law of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from symslr.evaluation.location.attend import Attend, Place
from symslr.evaluation.location.bayes import Part
from symslr.evaluation.location.moments import Moments, residual
from symslr.evaluation.location.points import mixed
from symslr.evaluation.location.posterior import posterior
from symslr.evaluation.location.setting import Setting
from symslr.expression.value import Kind
from symslr.model.length_law import LengthLaw
from symslr.model.location.attention import LocatedAttention
from symslr.model.location.task import LocationTask


@dataclass(frozen=True)
class Evaluator:
    """The risk above Delta^2 of an attention whose value vectors are the same at every length.

    Attributes:
        parts: the probability of every length, and the moments there.
    """

    parts: tuple[tuple[float, Moments], ...]

    @classmethod
    def of(cls, attention: LocatedAttention, task: LocationTask, seconds: float) -> Evaluator:
        """For a task whose symbols all have their values.

        Args:
            seconds: processor time of one value that is sampled.
        """
        law = tuple(task.length) if isinstance(task.length, LengthLaw) else ((task.length, 1),)
        plain = [(float(share), Setting.of(replace(task, length=length, noise=0).at({}))) for length, share in law]
        return cls(tuple((share, Moments(Attend(attention, at), seconds / len(law))) for share, at in plain))

    @property
    def attend(self) -> Attend:
        """The attention at one of the lengths."""
        return self.parts[-1][1].attend

    @property
    def setting(self) -> Setting:
        return self.attend.setting

    @property
    def place_error(self) -> float:
        """How far, relative to 1 + its size, the place of a least risk may be off that a search found."""
        return max(moments.place_error for _, moments in self.parts)

    def check(self) -> None:
        """Refuse a law that is to be sampled but has no posterior, before any place is tried.

        Raises:
            CannotEvaluate: with the reason.
        """
        for _, moments in self.parts:
            if not moments.is_exact:
                posterior(moments.setting)

    def search(self, place: Place) -> float:
        """The risk for a search, up to a constant: quick, and smooth in the place."""
        return residual(sum(share * moments.search(place) for share, moments in self.parts))

    def value(self, place: Place) -> Part:
        """The risk with its error."""
        found = [(share, *moments.means(place)) for share, moments in self.parts]
        means = mixed([(share, rows) for share, rows, _ in found])
        excess, error = means.number(residual)
        beside = [part.scaled(share) for share, _, part in found if part.method]
        if not beside:
            return Part(excess, error, means.kind, means.method)
        statistical = Kind.STATISTICAL in (means.kind, *(part.kind for part in beside))
        method = "; ".join(dict.fromkeys(part.method for part in beside))
        return Part(
            _sum(part.value for part in beside) + excess,
            _sum(part.error for part in beside) + error,
            Kind.STATISTICAL if statistical else Kind.ESTIMATED,
            f"Bayes risk by {method}; excess by {means.method}",
        )


def _sum(numbers: Iterable[Any]) -> float:
    return float(sum(numbers))
