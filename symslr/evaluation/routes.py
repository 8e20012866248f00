"""Routes to a number: what each one needs, and why it does not apply; from the tables the manual's is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Need:
    """A structure that a route needs.

    Attributes:
        words: what it is called.
        holds: of what is asked, such as a task, a ``Request`` or an integral, whether it has the structure.
    """

    words: str
    holds: Callable[[Any], Any]


@dataclass(frozen=True)
class Route:
    """A way to make a number.

    Attributes:
        needs: all that it needs.
        method: what it does, as the method of its values begins.
        digits: how many it has, in words.
        numbers: (what is asked, seconds if it takes a time) -> its numbers, of an integral its plan; None where it is given up,
            as where they are too poor.
    """

    needs: tuple[Need, ...]
    method: str
    digits: str
    numbers: Callable[..., Any]

    def lacks(self, asked: Any) -> str | None:
        """The first of the needs that is not met, in words; None where the route applies."""
        return next((need.words for need in self.needs if not need.holds(asked)), None)


def tried(routes: Iterable[Route], asked: Any, *seconds: float) -> Any:
    """The numbers of the first route that applies and gives some; None where none does."""
    for route in routes:
        if route.lacks(asked) is None and (found := route.numbers(asked, *seconds)) is not None:
            return found
    return None


WEIGHT = Need(
    "a weight (one relevant position without a prior, independent keys along one direction, independent values)",
    lambda task: task.has_weight,
)


def check(what: str, asked: Any, *needs: Need) -> None:
    """Refuse what lacks one of the needs.

    Raises:
        ValueError: in one line, with the first need that is not met.
    """
    lacks = next((need.words for need in needs if not need.holds(asked)), None)
    if lacks is not None:
        raise ValueError(f"{what}: needs {lacks}")


def as_markdown() -> dict[str, str]:
    """The tables of all routes, in the order in which they are tried, by what is made."""
    from symslr.evaluation.engine import BACKENDS, EXPANSION
    from symslr.evaluation.location.bayes import BAYES, FORMULA
    from symslr.evaluation.location.moments import MOMENTS
    from symslr.evaluation.location.risk import OF_A_WEIGHT
    from symslr.evaluation.location.weighed import WEIGHED
    from symslr.evaluation.plan import INTEGRALS

    tables = {
        "Bayes risk of": (FORMULA, *BAYES),
        "risk of an attention with": (*OF_A_WEIGHT, *MOMENTS, WEIGHED),
        "value of an expression with": (EXPANSION, *BACKENDS.values()),
        "integral over": INTEGRALS,
    }
    return {
        title: "\n".join(
            [f"| {title} | route | digits |", "|---|---|---|"]
            + [f"| {_needs(route)} | {route.method} | {route.digits} |" for route in routes]
        )
        for title, routes in tables.items()
    }


def _needs(route: Route) -> str:
    return "; ".join(need.words for need in route.needs) or "anything else"
