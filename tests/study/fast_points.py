"""A kind of point that takes milliseconds, fails or kills its process on request."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from mpmath import mpf

from symslr.evaluation.errors import TooDear
from symslr.expression.value import Kind, Value
from symslr.study.parameter import Parameter, count, name, number

PARAMETERS = (
    Parameter("n", count),
    Parameter("pause", number, "1/500"),
    Parameter("trouble", name, "none"),
)


def check(asked: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Nothing to refuse."""


def compute(asked: Mapping[str, str], files: Mapping[str, str], seed: int) -> dict[str, Value]:
    """n^2 and the point's seed; 'die' ends the process, a path fails until the file is there, 'dear' wants digits."""
    top, _, bottom = asked["pause"].partition("/")
    time.sleep(float(top) / float(bottom or 1))
    trouble = asked["trouble"]
    if trouble == "die":
        os._exit(3)
    if trouble == "dear" and not asked["digits"]:
        raise TooDear("many nodes")
    while trouble.startswith("work until ") and not Path(trouble.removeprefix("work until ")).exists():
        pass
    if trouble not in ("none", "dear") and not trouble.startswith("work until ") and not Path(trouble).exists():
        raise ArithmeticError(f"no\nfile {trouble}")
    square = Value(mpf(int(asked["n"]) ** 2), mpf("1e-30"), Kind.CERTIFIED, int(asked.get("digits") or 12), "squaring")
    return {"square": square, "seed": Value(mpf(seed), mpf(0), Kind.CERTIFIED, 25, "from the content")}
