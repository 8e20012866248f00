"""Parameters that several kinds of points share, and the task and attention that they describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from symslr.model.request import read_attention, read_task
from symslr.study.parameter import Parameter, count, kernel, length, name, number, one_of

if TYPE_CHECKING:
    from symslr.model.attention import Attention
    from symslr.model.written import Problem

TASK = (
    Parameter("task", name, "spiked", is_file=True),
    Parameter("length", length, ""),
    Parameter("nu", number, ""),
    Parameter("noise", number, ""),
)
"""task: spiked, max or MODEL.toml; length: 3 or "1:1/3,2:2/3"; nu; noise: Delta."""

ATTENTION = (
    Parameter("attention", name, "", is_file=True),
    Parameter("kernel", kernel, ""),
    Parameter("normalise", one_of("sum", "none"), "sum"),
    Parameter("offset", number, "0"),
)
"""attention: a known name or MODEL.toml; or kernel in x with normalise and offset; softmax where both are unset."""

DIGITS = Parameter("digits", count, "15")

SHIFT = Parameter("shift", number, "0")
"""The parameter c of erf attention, where it is not minimised over."""


def problem(asked: Mapping[str, str], files: Mapping[str, str]) -> Problem:
    """The task of a point.

    Raises:
        ValueError: in one line, for an unknown task or a missing value.
    """
    texts = (asked[item] or None for item in ("length", "nu", "noise"))
    wanted = read_task(asked["task"], *texts, files=files)
    from symslr.model import written as model

    return model.problem(wanted)


def attention(asked: Mapping[str, str], files: Mapping[str, str], found: Problem) -> Attention:
    """The attention of a point: its own, or that of the task's model file, or softmax.

    Raises:
        ValueError: in one line, for an unknown name or two attentions at once.
    """
    named, kernel = asked["attention"] or None, asked["kernel"] or None
    wanted = read_attention(named, kernel, asked["normalise"], asked["offset"], files=files)
    from symslr.model import written as model

    return model.attention(wanted, found.attention)


def kernel_attention(asked: Mapping[str, str], files: Mapping[str, str], found: Problem) -> Attention:
    """As ``attention``, of one kernel of single keys."""
    from symslr.model.catalogue import kernel_attention_of

    return kernel_attention_of(attention(asked, files, found))


def values_with_shift(asked: Mapping[str, str], found: Problem, chosen: Attention) -> dict[Any, Any]:
    """The problem's values, and those of the parameters that the kernel is minimised over (c of erf) from ``shift``."""
    return {**found.values, **dict.fromkeys(map(str, chosen.bounds), real(asked["shift"]))}


def real(text: str) -> float:
    """The float of a canonical number such as 1/3."""
    top, _, bottom = text.partition("/")
    return float(top) / float(bottom or 1)
