"""What the evaluators raise when a formula has no number here."""

from __future__ import annotations


class CannotEvaluate(ValueError):
    """The expression is admissible, but no backend that was allowed reaches a number: the message says why."""


class FloatOnly(CannotEvaluate):
    """Only float64 has a way to the value, and it is not asked."""


class TooDear(CannotEvaluate):
    """A mesh would be larger than is worth while; another form of the same integral would meet it again."""
