"""What tests of the comparison of lines share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def lines_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested is the comparison of lines; that typed lines are no rules is tested in test_replay."""
    monkeypatch.setattr("symslr.check.replay.HOUSES", ("symslr", "sympy", "tests"))


@pytest.fixture(scope="module")
def few_sequences() -> Iterator[None]:
    """First lines, which are right here, are not drawn eight times as often where their mean is small."""
    from symslr.check import start

    start._sampled.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(start, "MANY_SAMPLES", start.SAMPLES)
        yield
    start._sampled.cache_clear()


@pytest.fixture
def few_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no point satisfies the hypotheses, that is said after 41 tries of each kind: the ranges have widened by then."""
    monkeypatch.setattr("symslr.check.points.TRIES", 41)
