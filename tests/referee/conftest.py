"""What tests of the referee share."""

from __future__ import annotations

import pytest

from symslr.referee.work import Memory


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    """No test is answered by what another one asked: one may replace a route."""
    Memory.forget_all()
