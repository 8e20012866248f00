"""Laws of location: what is read, what is recognised, what is refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sympy import Abs, Expr, Integer, Min, Rational, S, Symbol, exp, sign, sqrt

from symslr import SpikedSLR, Task
from symslr.model.location import Covariance, Independent, OnePosition, SignalLaw, Subset
from symslr.model.location.covariance import AutoRegressive, Equicorrelated
from symslr.model.location.signal import signal_from_text
from symslr.model.location.where import where_from_text
from symslr.model.request import read_task
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, i, j, l, nu
from symslr.model.written import model_from_text, problem

rho = Symbol("rho", real=True)
HALF = Rational(1, 2)
WRITTEN = """
[task]
nu = "2*nu"
location = "one"
prior = "2**(-l)"
signal = "1:1/2,-1:1/2"
key_covariance = "rho**abs(i-j)"
value_covariance = "rho**sign(abs(i-j))"
length = "3"
noise = 0
[values]
nu = 2
rho = "1/2"
"""


def test_a_file_says_what_keyword_arguments_say() -> None:
    model = model_from_text(WRITTEN, "mine.toml")
    assert model.task == Task(
        nu=2 * nu,
        location="one",
        prior=2 ** (-l),
        signal={1: HALF, -1: HALF},
        key_covariance=Covariance(rho ** Abs(i - j), "key_covariance"),
        value_covariance=Covariance(rho ** sign(Abs(i - j)), "value_covariance"),
        length=3,
        noise=0,
        name="mine",
    )
    assert model.values == {nu: 2, rho: HALF}


def test_the_values_of_a_file_make_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(WRITTEN)
    found = problem(read_task(str(path), "4", "1/2", "1"))
    assert found.task.length == 4
    assert found.task.noise == 1
    assert found.values == {nu: HALF, rho: HALF}
    assert found.task.at(found.values).free_symbols == set()
    with pytest.raises(ValueError, match="tokens are not exchangeable, or more than one is relevant"):
        _ = found.task.law


def test_a_law_that_needs_no_location_is_the_task_it_reduces_to(tmp_path: Path) -> None:
    path = tmp_path / "plain.toml"
    path.write_text('[task]\nlocation = "one"\nlength = 3\n[values]\nnu = 2\n')
    found = problem(read_task(str(path), None, None, None)).task
    assert found == SpikedSLR(length=3, noise=0).named("plain")
    assert found.law == SequenceLaw(exp(sqrt(nu) * chi[epsilon] - nu / 2), L)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("one", OnePosition()),
        ("subset(2)", Subset(2)),
        ("independent(1/8)", Independent(Rational(1, 8))),
        ("independent(1/(1+l))", Independent(1 / (1 + l))),
    ],
)
def test_locations_are_read_and_print_as_they_are_read(text: str, where: object) -> None:
    assert where_from_text(text) == where
    assert where_from_text(str(where)) == where


def test_signals_are_read_and_print_as_they_are_read() -> None:
    vectors = signal_from_text("(1,0):1/4, (0,sqrt(2)):3/4")
    assert vectors.directions == 2
    assert vectors.support[1] == ((S.Zero, Integer(2) ** HALF), Rational(3, 4))
    for law in (vectors, signal_from_text("1:1/2,-1:1/2"), signal_from_text("(1+1)*2:1")):
        assert signal_from_text(str(law)) == law


STRUCTURES: dict[str, tuple[Expr, object]] = {
    "chain": (rho ** Abs(i - j), AutoRegressive(S.One, rho)),
    "exponential": (2 * exp(-Abs(i - j) / 3), AutoRegressive(Integer(2), exp(-Rational(1, 3)))),
    "one correlation": (3 * rho ** Min(1, Abs(i - j)), Equicorrelated(Integer(3), rho)),
    "sign": (rho ** sign(Abs(i - j)), Equicorrelated(S.One, rho)),
    "gaussian": (exp(-((i - j) ** 2)), None),
    "by position": (rho ** Abs(i - j) * i * j, None),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_are_those_of_the_matrix(name: str) -> None:
    entry, structure = STRUCTURES[name]
    found = Covariance(entry)
    assert found.structure == structure
    at = found.subs({rho: Rational(1, 3)})
    wanted = np.array([[float(at.at(first, second)) for second in range(1, 6)] for first in range(1, 6)])
    np.testing.assert_allclose(at.numbers(5), wanted, rtol=1e-14)


def test_nothing_said_is_spiked_slr_and_one_correlation_a_stronger_signal() -> None:
    assert Task() == SpikedSLR().named("location") == Task(name="location")
    shifted = Task(key_covariance=rho ** sign(Abs(i - j))).without_common_shift()
    assert shifted.law.weight.subs({rho: HALF, nu: 1}) == Task(nu=2).law.weight


def test_what_does_not_reduce_says_so() -> None:
    chain = rho ** Abs(i - j)
    equal = rho ** sign(Abs(i - j))
    others: list[dict[str, Any]] = [
        {"prior": 2 ** (-l)},
        {"location": "subset(2)"},
        {"location": "independent(1/2)"},
        {"key_covariance": chain},
        {"key_covariance": equal},
        {"value_covariance": equal},
        {"key_covariance": equal, "signal": {1: HALF, -1: HALF}},
        {"signal": {(1, 0): HALF, (0, 1): HALF}},
    ]
    for keywords in others:
        assert not Task(**keywords).has_weight


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"signal": "1:1/2"}, "probabilities that sum to 1/2"),
    ({"signal": "1:3/2,-1:-1/2"}, "probability -1/2 of -1"),
    ({"signal": "1:1/2,1:1/2"}, "the value 1 twice"),
    ({"signal": "1:1/2,(1,0):1/2"}, "length 1 and 2"),
    ({"signal": "1"}, "expected value:probability"),
    ({"location": "two"}, r"expected one, subset\(s\)"),
    ({"location": "subset(0)"}, "whole number"),
    ({"location": "subset(4)", "length": 3}, "s <= L"),
    ({"location": "independent(2)"}, "probability in"),
    ({"location": Independent(1 / l), "length": 3}, "probability 1 at l=1"),
    ({"location": "independent(1/2)", "prior": 2 ** (-l)}, "each has its own probability"),
    ({"prior": [1, -1, 1], "length": 3}, "weight -1 at l=2"),
    ({"prior": [1, 1], "length": 3}, "one for each position"),
    ({"prior": 3 - l, "length": 3}, "weight 0 at l=3"),
    ({"prior": 0}, "prior: found 0 at every position"),
    ({"prior": -1, "length": 3}, "prior: found -1 at every position"),
    ({"prior": Symbol("b")}, "prior: found b at every position"),
    ({"prior": [1, 2], "length": {2: HALF, 3: HALF}}, "expression in l"),
    ({"location": "subset(3)", "length": {2: HALF, 3: HALF}}, "shorter length"),
    ({"key_covariance": i - j}, "expected a symmetric one"),
    ({"key_covariance": exp(Abs(i - j)), "length": 3}, "not positive definite at L=3"),
    ({"value_covariance": S.One + 0 * i, "length": 3}, "not positive definite at L=3"),
    ({"nu": -1}, "nu: found -1"),
    ({"noise": -1}, "noise: found -1"),
    ({"length": 0}, "length: found 0"),
]


@pytest.mark.parametrize(("keywords", "match"), REFUSED, ids=[str(index) for index in range(len(REFUSED))])
def test_what_is_no_law_is_refused_in_one_line(keywords: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match) as refusal:
        Task(**keywords)
    assert "\n" not in str(refusal.value)


def test_values_that_make_it_no_task_are_refused() -> None:
    task = Task(key_covariance=rho ** Abs(i - j), length=3)
    assert task.at({rho: HALF}).free_symbols == Task(length=3).free_symbols
    with pytest.raises(ValueError, match="not positive definite"):
        task.at({rho: 2})
    with pytest.raises(ValueError, match="s <= L"):
        Task(location=Subset(3)).at({L: 2})


def test_a_law_of_location_and_a_weight_are_not_combined() -> None:
    with pytest.raises(ValueError, match="a law of location makes its own weight"):
        model_from_text('[task]\nprior = "2**(-l)"\nweight = "exp(chi[eps]-1/2)"\n', "both.toml")


@pytest.mark.parametrize("name", ["m", "k", "a", "xi", "x", "e", "K", "e_1", "chi_l", "z2"])
def test_a_parameter_has_a_name_of_its_own(name: str) -> None:
    """Two symbols of one name cannot be told apart in a printed formula."""
    with pytest.raises(ValueError, match=f"found the name '{name}', which has a meaning in formulas already"):
        model_from_text(f'[task]\nrelevant = "exp(-abs(x-{name}))/2"\n[values]\n{name} = 1\n', "mine.toml")


def test_two_parameters_are_not_typeset_alike() -> None:
    with pytest.raises(ValueError, match=r"found s1 and s_1, which are both typeset as s_\{1\}"):
        model_from_text('[task]\nprior = "s1**l+s_1"\n[values]\ns1 = 1\ns_1 = 2\n', "mine.toml")


def test_signal_laws_compare_by_what_they_say() -> None:
    assert SignalLaw(((1, 1),)) == SignalLaw((((1,), 1),))
    assert SignalLaw(((1, 1),)).is_one
