"""Requests made of odd pieces: each ends with a status of its own, in at most one line of complaint, within its limit of time.

A few are tried by default; ``make fuzz`` tries a thousand, or as many as SYMSLR_FUZZ says.
"""

from __future__ import annotations

import os
import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.forked import answered

MANY = int(os.environ.get("SYMSLR_FUZZ", "0"))
SECONDS = 1.0
"""What every request is given."""

HANGS = 120.0
"""Seconds of processor time after which a request counts as one that its limit does not end. What no signal enters is short."""

number = st.one_of(
    st.integers(-3, 12).map(str),
    st.sampled_from(
        ["1/3", "0.25", "1e-9", "1e-300", "1e6", "1e300", "-0", "007", "1e", "--", "nan", "inf", "2,5", "²", " "]
    ),
    st.floats(allow_nan=True).map(repr),
    st.text("0123456789./e-+:, x", max_size=8),
)
length = st.one_of(
    number,
    st.integers(1, 10**18).map(str),
    st.sampled_from(["1:1/3,2:2/3", "2:1/2,1000000:1/2", "2:1", "1:0,2:1", ":", "3:1/2;4:1/2"]),
)


FUNCTIONS = ["exp", "log", "sqrt", "abs", "tanh", "erf", "erfc", "cosh", "sin", "sign", "atan", "max", "min", "gamma"]


def joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    function = st.sampled_from(FUNCTIONS)
    return st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**"]), inner).map("({0[0]}){0[1]}({0[2]})".format),
        st.tuples(function, inner).map("{0[0]}({0[1]})".format),
        st.tuples(inner, inner).map("max({0[0]}, {0[1]})".format),
    )


kernel = st.one_of(
    st.recursive(st.sampled_from(["x", "-x", "2*x", "x**2", "1", "1/2", "x/3", "7"]), joined, max_leaves=5),
    st.text("x0123456789+-*/()., explogE", max_size=12),
    st.text(max_size=6),
)


def option(name: str, value: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    return st.one_of(st.just([]), value.map(lambda text: [f"{name}={text}"]))


def request(command: str, *options: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    return st.tuples(*options).map(lambda parts: [command, *(word for part in parts for word in part)])


task = option("--task", st.sampled_from(["max", "spiked", "none", "x.toml", ""]))
common = (task, length.map(lambda n: [f"--length={n}"]), number.map(lambda n: [f"--nu={n}"]), option("--noise", number))
attention = (
    st.one_of(
        kernel.map(lambda text: [f"--kernel={text}"]),
        option("--attention", st.sampled_from(["softmax", "softmax1", "linear", "erf", "softplus", "soft"])),
    ),
    option("--normalise", st.sampled_from(["sum", "none", "mean"])),
    option("--offset", number),
)
digits = option("--digits", st.sampled_from(["1", "6", "15", "40", "0", "x", "99999"]))
requests = st.one_of(
    request("bayes", *common, digits),
    request("risk", *common, *attention, digits, option("--scale", number)),
    request("risk", *common, *attention, option("--bounds", st.tuples(number, number).map("a:{0[0]}:{0[1]}".format))),
    request(
        "landscape",
        *common,
        *attention,
        option("--at", st.tuples(number, number).map("m_kk={0[0]},q_kk={0[1]}".format)),
    ),
    request("finite", *common, option("--alpha", number), option("--rk", number), option("--rv", number)),
)


@settings(
    max_examples=MANY or 12,
    deadline=None,
    derandomize=not MANY,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(arguments=requests)
def test_a_request_is_answered_or_refused_in_one_line(arguments: list[str]) -> None:
    began = sum(os.times()[2:4])
    status, out, err = answered([*arguments, f"--seconds={SECONDS}"])
    assert sum(os.times()[2:4]) - began < HANGS
    assert status in (0, 2), err
    if status == 0:
        assert err == ""
        assert re.search(r"\d", out)
    else:
        assert err.startswith("symslr: ")
        assert err.count("\n") == 1
        assert len(err) < 2000
