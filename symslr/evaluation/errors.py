"""What the evaluators raise when a formula has no number here."""

from __future__ import annotations


class CannotEvaluate(ValueError):
    """The expression is admissible, but no backend that was allowed reaches a number: the message says why."""


class OutOfDigits(CannotEvaluate):
    """So many digits are out of reach; fewer may be had."""


class FloatOnly(OutOfDigits):
    """Only float64 has a way to the value, and it is not asked."""


class TooDear(OutOfDigits):
    """A mesh would be larger than is worth while; another form of the same integral would meet it again."""


class NoLeastValue(CannotEvaluate):
    """No least value was found, in a text with ``{}`` for its parts; numbers among them are scales, in the unit of the search."""

    def __str__(self) -> str:
        text, *parts = self.args
        return str(text).format(*(f"{part:.3g}" if isinstance(part, float) else part for part in parts))

    def times(self, unit: float) -> NoLeastValue:
        """The same with the scales in units of which ``unit`` makes one."""
        text, *parts = self.args
        return NoLeastValue(text, *(unit * part if isinstance(part, float) else part for part in parts))


class NotProved(CannotEvaluate):
    """No proof was found that a function is analytic or bounded on a region; another region may do.

    Args:
        reason: what is missing.
        function: of which; written only where it is read, as thousands of regions are halved and tried again.
    """

    def __init__(self, reason: str, function: object | None = None) -> None:
        super().__init__(reason)
        self.reason, self.function = reason, function

    def __str__(self) -> str:
        return self.reason if self.function is None else f"{self.reason} {self.function}"


class TooManyDigits(NotProved, OutOfDigits):
    """No proof of so many digits was found; one of fewer may be."""


def beside(refusal: Exception, other: Exception) -> Exception:
    """A refusal, which from now on knows of another way's refusal that was met before it."""
    if refusal is not other:
        vars(refusal).setdefault(MET_BEFORE, []).append(other)
    return refusal


def fewer_digits_may_do(refusal: BaseException) -> bool:
    """Whether a refusal, or one of those that it was raised from or met beside, is for want of digits."""
    todo, seen = [refusal], {id(refusal)}
    while todo:
        one = todo.pop()
        if isinstance(one, OutOfDigits):
            return True
        for other in (one.__cause__, *vars(one).get(MET_BEFORE, ())):
            if other is not None and id(other) not in seen:
                seen.add(id(other))
                todo.append(other)
    return False


MET_BEFORE = "met_before"
"""Where a refusal keeps the refusals of other ways."""
