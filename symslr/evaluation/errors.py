"""The exceptions raised where an expression has no number here."""

from __future__ import annotations


class CannotEvaluate(ValueError):
    """The expression is admissible, but no allowed backend reaches a number; the message says why."""


class OutOfDigits(CannotEvaluate):
    """The digits asked for are out of reach; fewer may be had."""


class FloatOnly(OutOfDigits):
    """Only float64 can compute the value, and more digits were asked for."""


class TooDear(OutOfDigits):
    """A mesh would be too large; another form of the same integral would need it as well."""


class NoLeastValue(CannotEvaluate):
    """No least value was found.

    The first argument is a text with ``{}`` for the others. Floats among these are scales, in the unit of the search.
    """

    def __str__(self) -> str:
        text, *parts = self.args
        return str(text).format(*(f"{part:.3g}" if isinstance(part, float) else part for part in parts))

    def times(self, unit: float) -> NoLeastValue:
        """The same error with its scales multiplied by ``unit``, the size of the unit of the search."""
        text, *parts = self.args
        return NoLeastValue(text, *(unit * part if isinstance(part, float) else part for part in parts))


class NotProved(CannotEvaluate):
    """No proof was found that a function is analytic or bounded on a region; on another region there may be one.

    Args:
        reason: what is missing.
        function: the function; written only when the message is read, as thousands of regions are tried.
    """

    def __init__(self, reason: str, function: object | None = None) -> None:
        super().__init__(reason)
        self.reason, self.function = reason, function

    def __str__(self) -> str:
        return self.reason if self.function is None else f"{self.reason} {self.function}"


class TooManyDigits(NotProved, OutOfDigits):
    """No proof was found for so many digits; for fewer there may be one."""


def beside(refusal: Exception, other: Exception) -> Exception:
    """``refusal``, to which another method's refusal is attached, as it came before it."""
    if refusal is not other:
        vars(refusal).setdefault(MET_BEFORE, []).append(other)
    return refusal


def fewer_digits_may_do(refusal: BaseException) -> bool:
    """Whether a refusal, one of its causes, or one attached to these, is an ``OutOfDigits``."""
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
"""The attribute in which a refusal holds those of other methods."""
