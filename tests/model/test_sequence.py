"""Sequence models as they are written: what a formula means, and one line for what is none."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import exp, symbols

from symslr.model.sequence.model import SequenceModel

u_1, u_2, v_1, v_2 = symbols("u_1 u_2 v_1 v_2", real=True)
LAYERS = "sum(softmax(u[l]*u[m], m)*v[m], m) + c*v[l]"


def test_softmax_over_tokens_is_that_of_numpy() -> None:
    model = SequenceModel(["u", "v"], 3, "sum(softmax(u)[l]*v[l], l)", "1/2")
    z = np.random.default_rng(0).standard_normal((5, 3, 2))
    weights = np.exp(z[:, :, 0]) / np.exp(z[:, :, 0]).sum(axis=1, keepdims=True)
    assert model.labels_at(z)[0, 0] == pytest.approx((weights * z[:, :, 1]).sum(axis=1))


def test_a_free_token_index_gives_one_output_for_each_token() -> None:
    model = SequenceModel(["u", "v"], 2, LAYERS, values={"c": 2}, invariant="sign")
    z = np.random.default_rng(1).standard_normal((4, 2, 2))
    scores = np.exp(z[:, :, None, 0] * z[:, None, :, 0])
    layer = scores / scores.sum(axis=2, keepdims=True) + 2 * np.eye(2)
    expected = np.einsum("nlm,nm->ln", layer, z[:, :, 1])
    assert model.labels_at(z) == pytest.approx(np.array([expected, -expected]))


def test_a_hidden_position_is_an_index() -> None:
    model = SequenceModel(
        ["u", "v"], 2, "v[eps]", hidden={"eps": "1..L"}, weight="exp(s*u[eps]-s**2/2)", values={"s": 2}
    )
    assert model.labels == ((v_1,), (v_2,))
    assert model.weights == (exp(2 * u_1 - 2) / 2, exp(2 * u_2 - 2) / 2)


def test_the_loss_compares_student_and_teacher_of_one_name() -> None:
    student = {"fields": ["u"], "predictor": "u[1]**2", "loss": "square"}
    found = SequenceModel(["u"], 1, "u[1]", student=student).student
    assert found is not None
    s_u_1, y_1 = symbols("s_u_1 y_1", real=True)
    assert found.loss == (y_1 - s_u_1**2) ** 2 / 2


def test_a_file_and_python_say_the_same(tmp_path) -> None:
    path = tmp_path / "layers.toml"
    path.write_text(
        f'[model]\nteachers = ["u", "v"]\nlength = 2\nlabel = "{LAYERS}"\ninvariant = "sign"\n[values]\nc = 1'
    )
    assert SequenceModel.load(path) == SequenceModel(
        ["u", "v"], 2, LAYERS, values={"c": 1}, invariant="sign", name="layers"
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"label": "2"}, "label: found a constant"),
        ({"label": "sum(softmax(u)[l], l)"}, "label: found a constant"),
        ({"label": "log(u[1])"}, "label: found no number"),
        ({"teachers": ["a", "b", "c", "d"]}, "teachers: found 4 names; expected 1 to 3"),
        ({"length": 11}, "length: found 11; expected a whole number from 1 to 10"),
        ({"label": "sgn(u[1])"}, "did you mean sign?"),
        ({"label": "u[3]"}, "found the index 3; expected 1 to 2"),
        ({"label": "uu[1]"}, "those that do: u"),
        ({"label": "softmax(u)"}, "unknown function"),
        ({"label": "u[l]*softmax(u[m], m)"}, "the index 'm' outside its sum"),
        ({"label": "().__class__"}, "label"),
        ({"noise": -1}, "noise: found -1"),
        ({"weight": "2"}, "weight: found the mean 2; expected 1"),
        ({"weight": "u[1]"}, "weight: found the negative value"),
        ({"weight": "exp(u[1])"}, "weight: found the mean 1.64872"),
        ({"weight": "2*step(u[1]) + u[2]*0"}, None),
        ({"hidden": {"u": "1..L"}}, "found 'u' twice"),
        ({"hidden": {"e": "0:1/2,1:1/3"}}, "sum to 5/6"),
        ({"hidden": 3}, "hidden: found 3; expected a table"),
        ({"label": ["u[1]", 3]}, "expected a formula"),
        ({"invariant": "scale"}, "invariant: found 'scale'"),
        ({"student": {"field": ["s"]}}, "did you mean fields?"),
        ({"student": {"fields": ["s"], "loss": "square"}}, "found no predictor"),
        ({"student": {"fields": ["s"], "predictor": ["s[1]", "s[2]"]}}, "found 2 outputs; expected 1"),
    ],
)
def test_a_model_that_is_none_gets_one_line(given, told) -> None:
    words = {"teachers": ["u"], "length": 2, "label": "u[1]", **given}
    if told is None:
        SequenceModel(**words)
        return
    with pytest.raises(ValueError, match=r".") as refusal:
        SequenceModel(**words)
    assert told in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_unknown_name_in_a_file_is_told_with_what_was_meant() -> None:
    with pytest.raises(ValueError, match=r"^m\.toml: found the name in \[model\] 'noize'; .*did you mean noise\?$"):
        SequenceModel.from_text('[model]\nteachers = ["u"]\nlength = 1\nlabel = "u[1]"\nnoize = 3', "m.toml")
