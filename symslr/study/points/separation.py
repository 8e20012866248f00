"""Kind ``separation``: the law of the data sets that one kernel tells apart and its rival does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from symslr.study.parameter import Parameter, Raw, count, kernel, number
from symslr.study.points.asked import DIGITS

if TYPE_CHECKING:
    from symslr.expression.value import Value
    from symslr.model.separation import Separation

_SIZES = ("n", "d", "t", "m")
_MARKS = ("a0", "a1", "b", "c")


def _kernel(value: Raw, what: str) -> str:
    return str(value) if value in ("exp", "linear") else kernel(value, what)


PARAMETERS = (
    *(Parameter(name, count) for name in _SIZES),
    *(Parameter(name, number) for name in _MARKS),
    Parameter("margin", number, "1/10"),
    Parameter("beta", number, "1"),
    Parameter("kernel", _kernel, "exp"),
    Parameter("rival", _kernel, "linear"),
    DIGITS,
)


def _construction(asked: Mapping[str, str]) -> Separation:
    from symslr.model.separation import separation as construction
    from symslr.model.text import parse_number

    sizes = {name: int(asked[name]) for name in _SIZES}
    return construction(**sizes, **{name: parse_number(asked[name], what=name) for name in (*_MARKS, "margin", "beta")})


def check(asked: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Refuse sizes that do not fit."""
    _construction(asked)


def compute(asked: Mapping[str, str], files: Mapping[str, str], seed: int) -> dict[str, Value]:
    """P(separates) for one marked row and for all, 1 - P for one, and P(the rival separates instead)."""
    from symslr.evaluation.separation import separation_report
    from symslr.model.separation import kernel_of

    chosen, rival = (kernel_of(asked[name], name) for name in ("kernel", "rival"))
    found = separation_report(_construction(asked), chosen, rival, int(asked["digits"]))
    return {
        "fixed_row": found.fixed_row,
        "fixed_row_failure": found.fixed_row_failure,
        "all_rows": found.all_rows,
        "rival_wins": found.rival_wins,
    }
