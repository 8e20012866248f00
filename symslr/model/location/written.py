"""A law of location as a model file writes it."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Expr

from symslr.model.length_law import LengthLaw
from symslr.model.location.covariance import Covariance
from symslr.model.location.signal import signal_from_text
from symslr.model.location.task import LocationTask
from symslr.model.location.where import where_from_text
from symslr.model.symbols import L, i, j, l, nu
from symslr.model.text import parse_expression


def location_task(
    table: Mapping[str, object],
    parameters: Mapping[str, Expr],
    *,
    length: Expr | LengthLaw,
    noise: Expr,
    name: str,
) -> LocationTask:
    """The task of a table [task] with ``strength``, ``location``, ``prior``, ``signal`` or a covariance.

    Args:
        table: the names of ``LocationTask`` with their text; ``prior`` may be a list.
        parameters: the free parameters, by name.
        length, noise, name: already read.

    Raises:
        ValueError: in one line, for text outside the whitelist and for a law that is none.
    """

    def expression(what: str, own: Mapping[str, Expr]) -> Expr:
        return parse_expression(str(table[what]), {**own, "L": L, "nu": nu, **parameters}, what=what)

    def covariance(what: str) -> Covariance | None:
        return Covariance(expression(what, {"i": i, "j": j}), what) if what in table else None

    return LocationTask(
        expression("strength", {}) if "strength" in table else nu,
        where_from_text(str(table.get("location", "one")), parameters),
        _prior(table.get("prior"), parameters),
        signal_from_text(str(table["signal"]), parameters) if "signal" in table else None,
        covariance("key_covariance"),
        covariance("value_covariance"),
        length,
        noise,
        name,
    )


def _prior(written: object, parameters: Mapping[str, Expr]) -> Expr | list[Expr] | None:
    if written is None:
        return None
    if isinstance(written, list):
        return [parse_expression(str(weight), parameters, what="prior") for weight in written]
    return parse_expression(str(written), {"l": l, "L": L, "nu": nu, **parameters}, what="prior")
