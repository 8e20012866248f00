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
        holds: of what is asked, a task, a ``Setting`` or an ``AttentionFunction``, whether it has the structure.
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
        numbers: (what is asked, seconds) -> its numbers; None where it is given up, as where they are too poor.
    """

    needs: tuple[Need, ...]
    method: str
    digits: str
    numbers: Callable[..., Any]

    def lacks(self, asked: Any) -> str | None:
        """The first of the needs that is not met, in words; None where the route applies."""
        return next((need.words for need in self.needs if not need.holds(asked)), None)


def tried(routes: Iterable[Route], asked: Any, seconds: float) -> Any:
    """The numbers of the first route that applies and gives some; None where none does."""
    for route in routes:
        if route.lacks(asked) is None and (found := route.numbers(asked, seconds)) is not None:
            return found
    return None


def as_markdown() -> str:
    """The tables of all routes, in the order in which they are tried."""
    from symslr.evaluation.location.bayes import BAYES, FORMULA
    from symslr.evaluation.location.moments import MOMENTS

    head = "| {} | route | digits |\n|---|---|---|"
    from symslr.evaluation.location.weighed import WEIGHED

    tables = (("Bayes risk of", (FORMULA, *BAYES)), ("risk of an attention with", (*MOMENTS, WEIGHED)))
    lines = [
        [head.format(title), *(f"| {_needs(route)} | {route.method} | {route.digits} |" for route in routes)]
        for title, routes in tables
    ]
    return "\n\n".join("\n".join(own) for own in lines)


def _needs(route: Route) -> str:
    return ", ".join(need.words for need in route.needs) or "anything else"
