"""Kind ``separation``: the law of the data sets that one kernel tells apart and its rival does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from symslr.study.parameter import Parameter, Raw, count, kernel, number
from symslr.study.points.asked import DIGITS

if TYPE_CHECKING:
    from symslr.expression.value import Value

_SIZES = ("n", "d", "t", "m")
_MARKS = ("a0", "a1", "b", "c")


def _kernel(value: Raw, what: str) -> str:
    from symslr.model.separation import NAMED_KERNELS

    return str(value) if value in NAMED_KERNELS else kernel(value, what)


PARAMETERS = (
    *(Parameter(name, count) for name in _SIZES),
    *(Parameter(name, number) for name in _MARKS),
    Parameter("margin", number, "1/10"),
    Parameter("beta", number, "1"),
    Parameter("kernel", _kernel, "exp"),
    Parameter("rival", _kernel, "linear"),
    DIGITS,
)


def _numbers(asked: Mapping[str, str]) -> dict[str, Any]:
    from symslr.model.text import parse_number

    return {name: parse_number(asked[name], what=name) for name in (*_SIZES, *_MARKS, "margin", "beta")}


def check(asked: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Refuse sizes that do not fit."""
    from symslr.model.separation import Separation

    Separation(**_numbers(asked))


def compute(asked: Mapping[str, str], files: Mapping[str, str], seed: int) -> dict[str, Value]:
    """P(separates) for one marked row and for all, 1 - P for one, and P(the rival separates instead)."""
    from symslr.face.separation import separation

    value = separation(asked["kernel"], asked["rival"])(_numbers(asked), digits=int(asked["digits"]))
    others = ("fixed_row_failure", "all_rows", "rival_wins")
    return {"fixed_row": value, **{name: getattr(value.result, name) for name in others}}
