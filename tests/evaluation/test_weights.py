"""The catalogue of weights: each ends in a right number or in a refusal with the true reason."""

from __future__ import annotations

import pytest
from sympy import Heaviside, Integer, S, Sum, Symbol, exp, floor, tanh

from symslr.evaluation import CannotEvaluate, evaluate
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR, linear, softmax
from symslr.model.scalar_law import ScalarLaw, normal
from symslr.model.symbols import L, chi, epsilon, l, m, x
from symslr.model.task import Task
from symslr.model.written import model_from_text, weight_from_text
from symslr.theory import bayes_risk, population_risk
from tests.evaluation.by_grid import bayes_by_grid
from tests.evaluation.weights import REFUSED, WEIGHTS

s = Symbol("s", real=True)


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_weight_of_the_catalogue_has_its_bayes_risk(name: str) -> None:
    """At two tokens every second of them, as what differs from three is the power of one mean alone."""
    item = WEIGHTS[name]
    risk = bayes_risk(Task(item.weight, noise=0, base=item.base))
    for length, known in ((3, item.three), (2, item.two))[: 1 + list(WEIGHTS).index(name) % 2]:
        found = evaluate(risk, {"L": length, **item.values})
        assert abs(float(found) - known) <= item.grid + float(found.error)


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_table_is_the_definition_on_a_grid(name: str) -> None:
    item = WEIGHTS[name]
    assert bayes_by_grid(item.weight, 2, item.values, item.base) == pytest.approx(item.two, abs=item.grid)


@pytest.mark.parametrize("text", REFUSED)
def test_a_weight_that_is_none_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(ValueError, match=REFUSED[text]):
        Task(weight_from_text(text, {"s": s}))


def test_cosh_in_a_model_file() -> None:
    """Regression: cosh overflowed where the density underflows, and the mean was said to be infinite."""
    text = '[task]\nweight = "cosh(s*chi[eps])*exp(-s**2/2)"\nlength = "2"\nnoise = "0"\n[values]\ns = "1.3"\n'
    model = model_from_text(text, "model.toml")
    assert model.task is not None
    assert float(evaluate(bayes_risk(model.task), model.values)) == pytest.approx(WEIGHTS["cosh"].two, abs=1e-10)


@pytest.mark.parametrize(
    ("weight", "values", "reason"),
    [
        (1 + s * tanh(chi[epsilon]), {"L": 2, "s": 2}, r"found the negative value .* \(L=2, s=2\)"),
        (1 + s * tanh(chi[epsilon]), {"L": 2, "s": [0.1, 0.9, 1.7]}, r"found the negative value .* \(L=2, s=1.7\)"),
        (exp(chi[epsilon] - S.Half) * (1 + (L - 2) * (L - 3)), {"L": 5}, r"found mean 7 \(L=5\)"),
        ((chi[epsilon] - Sum(chi[l], (l, 1, L)) / L) ** 2 * L / (L - 1), {"L": 1}, "not a number at L=1"),
    ],
)
def test_values_at_which_a_weight_is_none_are_refused(weight: object, values: dict[str, object], reason: str) -> None:
    """A task is made before its values are known; they are looked at when a number is asked for."""
    with pytest.raises(ValueError, match=reason):
        evaluate(bayes_risk(Task(weight, noise=0)), values)


MIXED = """[task]
relevant = "s*exp(-(x-3)**2/2)/sqrt(2*pi) + (1-s)*exp(-(x+1)**2/2)/sqrt(2*pi)"
length = "2"
noise = "0"
[values]
s = "{}"
"""


def test_the_share_of_a_mixture_may_be_a_parameter() -> None:
    """Regression: one was refused as negative, whatever its share, as it is at the share 1.3."""
    model = model_from_text(MIXED.format("3/10"), "model.toml")
    assert model.task is not None
    assert float(evaluate(bayes_risk(model.task), model.values)) == pytest.approx(0.28964271447, abs=1e-11)
    beyond = model_from_text(MIXED.format("1.3"), "model.toml")
    with pytest.raises(ValueError, match=r"found the negative value .* \(L=2, s=1.3\)"):
        evaluate(bayes_risk(model.task), beyond.values)


def test_values_at_which_the_law_of_the_others_is_none_are_refused() -> None:
    """Regression: it was looked at where its parameters are about 1 alone, so a risk under a negative density was printed."""
    others = ScalarLaw(normal().density * (1 + s * (x**2 - 1) / 2))
    risk = bayes_risk(Task(L * exp(chi[epsilon]) / Sum(exp(chi[l]), (l, 1, L)), 2, 0, others))
    assert float(evaluate(risk, {"s": 1}, digits=6)) > 0
    with pytest.raises(ValueError, match=r"token law .* found the negative value .* \(s=3\)"):
        evaluate(risk, {"s": 3})


def test_a_weight_of_one_does_not_hide_a_law_that_is_none() -> None:
    """Regression: the Bayes risk 1/2 was printed as certified, and the risk of linear attention was sought in vain."""
    others = ScalarLaw(normal().density * (1 + s * (x**2 - 1) / 2))
    for task in (Task(S.One, 2, 0, others), Task.from_token_laws(others, others, length=2, noise=0)):
        assert float(evaluate(bayes_risk(task), {"s": 1})) == 0.5
        for risk in (bayes_risk(task), population_risk(task, linear, S.One), population_risk(task, softmax, S.One)):
            with pytest.raises(ValueError, match=r"token law .* found the negative value .* \(s=3\)"):
                evaluate(risk, {"s": 3})


def test_a_law_of_the_length_is_looked_at_length_by_length() -> None:
    task = Task(exp(chi[epsilon] - S.Half) * (1 + (L - 2) * (L - 3)), length={2: S.Half, 4: S.Half}, noise=0)
    with pytest.raises(ValueError, match=r"found mean 3 \(L=4\)"):
        evaluate(bayes_risk(task))


def test_a_negative_offset_is_named() -> None:
    risk = population_risk(SpikedSLR(length=2, noise=0), Attention(exp(x), offset=s), Integer(1))
    assert float(evaluate(risk, {"nu": 1, "s": 0.5}, digits=6)) > 0
    with pytest.raises(ValueError, match=r"offset s: found -0.5.*; expected a number >= 0"):
        evaluate(risk, {"nu": 1, "s": -0.5})


def test_what_direct_quadrature_cannot_resolve_is_named() -> None:
    """Regression: the reason was said to be the number of digits."""
    ranked = Task(2 * Sum(Heaviside(chi[epsilon] - chi[l], S.Half), (l, 1, L)) / L, length=3, noise=0)
    with pytest.raises(CannotEvaluate, match="not smooth where two tokens meet"):
        evaluate(bayes_risk(ranked))


def test_jumps_without_end_are_refused() -> None:
    """Regression: the evaluation did not end."""
    with pytest.raises(ValueError, match="jumps at infinitely many places"):
        Task(floor(chi[epsilon]) ** 2)
    with pytest.raises(ValueError, match="jumps at infinitely many places"):
        Attention(2 + floor(x), None)


def test_a_long_law_is_not_repeated_whole_where_it_is_refused() -> None:
    """Regression: a line of 335 characters, most of them the weight; a mixture of six laws took 500."""
    long = Sum((chi[l] - Sum(chi[m], (m, 1, L)) / L) ** 2 * exp(chi[l] ** 2 / 7 - chi[l] / 5), (l, 1, L)) / L
    for weight in (long * exp(chi[epsilon] - S.Half), chi[epsilon] * long, chi[0] + long):
        with pytest.raises(ValueError, match=r"^weight .*\.\.\..*; expected .*") as refused:
            Task(weight, 5, 0)
        assert len(str(refused.value)) <= 200
    with pytest.raises(ValueError, match=r"^token law .*\.\.\..*; expected a density") as refused:
        Task.from_token_laws(ScalarLaw(sum(normal(n).density for n in range(6)) / 5), normal())
    assert len(str(refused.value)) <= 200
