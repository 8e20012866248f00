"""What a stranger found, with the right values: hidden variables without noise, starts at a balance, jumps, large alpha."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from symslr.evaluation.errors import CannotEvaluate
from symslr.face.sequence import SequenceModel

SIGNS = {"s": "1:1/2,-1:1/2"}
ERF = "erf({0}[1]/sqrt(2))+erf({1}[1]/sqrt(2))"
COMMITTEE = SequenceModel(
    ["u", "v"],
    1,
    ERF.format("u", "v"),
    student={"fields": ["a", "b"], "predictor": ERF.format("a", "b"), "loss": "square"},
)


def test_a_function_that_depends_on_a_hidden_variable_is_not_taken_off() -> None:
    """s u tells what u^2 does; u + s, with two peaks, was taken for u, and a flipped sign for one that is not."""
    flipped = SequenceModel(["u"], 1, "s*u[1]", hidden=SIGNS).thresholds()[0].value
    assert abs(float(flipped) - 0.5) < 4 * float(flipped.error)
    shifted = SequenceModel(["u"], 1, "u[1]+s", hidden=SIGNS).bayes_optimal(0.7).overlaps["u"]
    assert abs(float(shifted) - 0.364602) < 1e-5
    with pytest.raises(CannotEvaluate, match="expected noise > 0"):
        SequenceModel(["u"], 1, "s*sign(u[1])", hidden={"s": "1:3/4,-1:1/4"}).bayes_optimal(2.0)


def test_a_common_sign_hides_only_odd_functions() -> None:
    assert float(SequenceModel(["u"], 1, "u[1]+2", invariant="sign").thresholds()[0].value) == 0
    assert abs(float(SequenceModel(["u"], 1, "3*tanh(u[1])", invariant="sign").thresholds()[0].value) - 0.5) < 1e-3
    with pytest.raises(ValueError, match="expected noise > 0"):
        SequenceModel(["u"], 1, "exp(u[1])", invariant="sign").thresholds()


def test_paths_that_leave_a_balance_by_chance_are_no_state() -> None:
    """The exact loss in the symmetric subspace is .0147 at t = 100; an average over eight ways out is none."""
    assert COMMITTEE.dynamics([0]).M.ravel().tolist() == [0.01] * 4
    with pytest.raises(CannotEvaluate, match="different states"):
        COMMITTEE.dynamics([100, 400], gamma=0.5)


def test_errors_are_not_below_the_tolerance_of_the_fixed_point() -> None:
    found = SequenceModel(["u"], 1, "tanh(2*u[1])", noise="1/2").bayes_optimal(1e4)
    assert found.risk is not None
    for value, exact in ((found.overlaps["u"], 0.9999755733), (found.risk, 0.2500250071)):
        assert abs(float(value) - exact) < 4 * float(value.error)


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (
            lambda: SequenceModel(
                ["u"], 1, "u[1]", student={"fields": ["w"], "predictor": "w[1]", "loss": "max(0,1-y*w[1])"}
            ).fitted(alpha=2.0, ridge=1.0),
            "a jump or a kink",
        ),
        (
            lambda: SequenceModel(
                ["u"], 1, "u[1]", student={"fields": ["w"], "predictor": "sign(w[1])", "loss": "square"}
            ).dynamics([0, 1]),
            "that jumps",
        ),
        (lambda: SequenceModel(["u"], 1, float("nan")), "unknown name"),  # type: ignore[arg-type]
        (lambda: SequenceModel(["u"], 1, "u[1]", student={"fields": ["w", "w"], "predictor": "w[1]"}), "names"),
        (lambda: SequenceModel(["u"], 1, "u[1]", student={}), "fields"),
    ],
)
def test_what_has_no_equations_gets_one_line(made: Callable[[], object], line: str) -> None:
    with pytest.raises((ValueError, CannotEvaluate), match=line) as refusal:
        made()
    assert "\n" not in str(refusal.value)


def test_labels_of_one_field_that_no_rule_takes_off_have_thresholds_by_bins() -> None:
    """And a weight that jumps is no exponential."""
    (found,) = SequenceModel(["u"], 1, "u[1]**4-3*u[1]**2").thresholds()
    assert abs(float(found.value) - 0.577) < 0.01
    (tilted,) = SequenceModel(["u"], 1, "u[1]", noise="1/2", weight="1+sign(u[1])/2").thresholds()
    assert float(tilted.value) == 0


def test_a_student_that_hardly_moves_is_that_of_small_fields_or_refused() -> None:
    """At large ridges lambda^2 Q = (alpha/2)^2 + alpha E y^2/4 with E y^2 = 5/4; a length of e^-27 was printed for less."""
    student = {"fields": ["w"], "predictor": "w[1]", "loss": "logistic"}
    model = SequenceModel(["u"], 1, "u[1]", noise="1/2", student=student)
    assert float(model.fitted(2.0, 1e4).Q[0, 0]) * 1e8 == pytest.approx(1 + 2 * 5 / 16, rel=5e-3)
    with pytest.raises(CannotEvaluate, match="hardly moves"):
        model.fitted(2.0, 1e9)
