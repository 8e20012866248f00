"""Token laws with a narrow part, or with parts that lie far apart: equal steps over all tokens pass over them."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from sympy import Abs, Expr, Max, Rational, exp, log, sin, tanh

from symslr.evaluation import evaluate
from symslr.evaluation.errors import CannotEvaluate
from symslr.evaluation.laplace.form import LaplaceForm
from symslr.evaluation.laplace.tokens import ends_of_narrow_windows
from symslr.evaluation.nodes.integral import _check_tails
from symslr.evaluation.quadrature.scan import Window
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR
from symslr.model.scalar_law import ScalarLaw, normal
from symslr.model.symbols import x
from symslr.model.task import Task
from symslr.theory import population_risk

Parts = list[tuple[Fraction, int, Fraction]]
"""(Probability, mean, standard deviation) each."""

TENTH = Fraction(1, 10)
KERNELS = {
    "kinked": (Max(x, Rational(1, 10)), lambda t: np.maximum(t, 0.1), (0.1,)),
    "bounded": (1 / (1 + x**2), lambda t: 1 / (1 + t * t), ()),
    "valley": (Abs(x - Rational(1, 2)) + Rational(1, 100), lambda t: np.abs(t - 0.5) + 0.01, (0.5,)),
    "step": (2 + tanh(x), lambda t: 2 + np.tanh(t), ()),
}
MIXTURES: dict[str, Parts] = {
    **{f"width 1e-{k}": [(9 * TENTH, 0, Fraction(1)), (TENTH, 2, Fraction(1, 10**k))] for k in (3, 5)},
    "far": [(Fraction(1, 2), 0, Fraction(1)), (Fraction(1, 2), 200, Fraction(1))],
    "very far": [(Fraction(1, 2), 0, Fraction(1)), (Fraction(1, 2), 10**5, Fraction(1))],
}


def law(parts: Parts) -> ScalarLaw:
    """A mixture of normals."""
    return ScalarLaw(sum(Rational(w) * normal(m, Rational(s) ** 2).density for w, m, s in parts))


def tokens(parts: Parts, cuts: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and masses, each part on a mesh of its own."""
    nodes, weights = leggauss(14)
    places, masses = [], []
    for probability, mean, width in parts:
        inside = [(cut - mean) / float(width) for cut in cuts]
        edges = np.unique([*np.linspace(-9.5, 9.5, 40), *(cut for cut in inside if abs(cut) < 9.5)])
        half = np.diff(edges)[:, None] / 2
        t = edges[:-1, None] + half * (1 + nodes)
        places.append((mean + float(width) * t).ravel())
        masses.append((float(probability) * half * weights * np.exp(-t * t / 2) / np.sqrt(2 * np.pi)).ravel())
    return np.concatenate(places), np.concatenate(masses)


def risk_of_a_pair(kernel: str, relevant: Parts, others: Parts) -> float:
    """From the definition for two tokens, without noise."""
    _, function, cuts = KERNELS[kernel]
    (first, p1), (second, p0) = tokens(relevant, cuts), tokens(others, cuts)
    own, other = function(first)[:, None], function(second)[None, :]
    share = own / (own + other)
    mean, norm = p1 @ share @ p0, p1 @ (share**2 + (1 - share) ** 2) @ p0
    return float(1 - mean * mean / norm)


@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_no_part_is_passed_over(kernel: str, mixture: str) -> None:
    """Regression: at a width of 1e-5 the risk was 0.654 for 0.569, with an error of 5e-14."""
    task = Task.from_token_laws(law(MIXTURES[mixture]), normal(), noise=0)
    attention = Attention(KERNELS[kernel][0], name=kernel)
    value = evaluate(population_risk(task, attention), {"L": 2, "a": 1}, backend="numpy", digits=4)
    expected = risk_of_a_pair(kernel, MIXTURES[mixture], [(Fraction(1), 0, Fraction(1))])
    assert abs(float(value.value) - expected) <= float(value.error) + 3e-14
    assert float(value.error) < 1e-3


def test_spikes_of_one_weight_are_each_seen() -> None:
    """Beside a narrower window the spikes at 0 and 1 looked wide, and the risk was 0.334 for 0.273."""
    spike = Fraction(1, 1500)
    relevant: Parts = [(Fraction(1, 2), 1, spike), (Fraction(1, 2), -2, spike)]
    others: Parts = [(Fraction(1, 3), 0, spike), (Fraction(2, 3), 1, spike)]
    task = Task.from_token_laws(law(relevant), law(others), noise=0)
    value = evaluate(population_risk(task, Attention(KERNELS["valley"][0], name="valley")), {"L": 2, "a": 1}, digits=6)
    assert abs(float(value.value) - risk_of_a_pair("valley", relevant, others)) <= float(value.error) + 3e-14


def test_a_tail_that_overflows_is_looked_at_nearer() -> None:
    """Regression: x^10 to the power -4 "falls as |x|^(nan)"."""
    with np.errstate(all="ignore"):
        _check_tails(lambda t: -4 * np.log1p(t**10), -np.inf, np.inf)
    with pytest.raises(CannotEvaluate, match=r"falls as \|x\|\^\(-1\)"), np.errstate(all="ignore"):
        _check_tails(lambda t: np.log(np.abs(t**10) / np.abs(t**11)), -np.inf, np.inf)
    with pytest.raises(CannotEvaluate, match="no number in float64 far out"):
        _check_tails(lambda t: t * np.nan, -np.inf, np.inf)


@pytest.mark.parametrize("kernel", [1 + Abs(x), 2 + sin(x), log(1 + exp(x)), 1 / (1 + x**2)], ids=str)
def test_powers_of_the_kernel_are_not_looked_at_twice(kernel: Expr, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for the bumps of kappa^2 beside those of kappa took as long as the integrals."""
    seen: list[tuple[tuple[Expr, ...], ...]] = []
    turns = LaplaceForm.turns_of_weights.func

    def listened(form: LaplaceForm) -> tuple[tuple[Expr, ...], ...]:
        seen.append(turns(form))
        return seen[-1]

    listening = cached_property(listened)
    listening.__set_name__(LaplaceForm, "turns_of_weights")
    monkeypatch.setattr(LaplaceForm, "turns_of_weights", listening)
    evaluate(population_risk(SpikedSLR(noise=0), Attention(kernel), 1), {"L": 3, "nu": 1}, backend="numpy")
    assert seen
    assert not any(equations for form in seen for equations in form)


def test_windows_beside_a_heavy_tail_are_cut_off_only_where_they_are_narrow() -> None:
    """Steps under a power tail are longer further out: a window as wide as it is far is none to cut off."""
    heavy = Window(-1e6, 1e6, 0.0, 5.0, 30.0)
    wide, narrow = Window(-1e6, 1e6, 3e5, 2e5, 30.0), Window(3e5 - 10, 3e5 + 10, 3e5, 2.0, 30.0)
    assert ends_of_narrow_windows([heavy, wide], 100.0) == []
    assert ends_of_narrow_windows([heavy, narrow], 100.0) == [3e5 - 10, 3e5 + 10]
    assert ends_of_narrow_windows([Window(-7.0, 7.0, 0.0, 4.0, 30.0), Window(1.0, 1.4, 1.2, 0.08, 30.0)], 2e4) == [
        1.0,
        1.4,
    ]
