"""The way of one number: from the command's function to the innermost call at most thirteen files, and none twice."""

from __future__ import annotations

import pytest

from benchmarks.walk import chains, longest, turns

MOST = 13


@pytest.mark.parametrize(
    "command",
    [
        "risk --attention softplus --length 3 --nu 2 --scale 7/5",
        "risk --kernel 2+x**4 --length 10 --nu 1/2 --scale 2",
        "risk --task max --attention softplus --length 3 --nu 2 --scale 7/5",
    ],
)
def test_a_number_passes_thirteen_files_and_comes_back_to_none(command: str) -> None:
    found = chains(command.split())
    chain = longest(found)
    assert chain[0] == "cli/numbers.py"
    assert "evaluation/laplace/node.py" in chain
    assert len(set(chain)) <= MOST, chain
    assert not {turn for one in found for turn in turns(one)}


def test_a_way_that_comes_back_shows() -> None:
    assert list(turns(("a", "b", "c", "b"))) == [("b", "c")]
    assert not list(turns(("a", "evaluation/quadrature/scan.py", "a")))  # a search calls what it is given
