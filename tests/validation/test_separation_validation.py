"""Named comparisons, and the separation's validation files that run in seconds."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from symslr.validation.validation import NamedComparison, by_frequency, by_z_score, states

FOLDER = Path(__file__).parents[2] / "validation"


def test_agreement() -> None:
    assert NamedComparison("x", 1.0, 1.1, 0.2).agrees
    assert not NamedComparison("x", 1.0, 1.1, 0.05).agrees
    assert not NamedComparison("x", 1.0, float("nan"), 0.05).agrees
    assert by_z_score("x", 0.0, 0.039, 0.01).agrees
    assert not by_z_score("x", 0.0, 0.041, 0.01).agrees
    assert states("x", True, "").agrees
    assert not states("x", False, "").agrees


def test_frequency_at_the_ends() -> None:
    assert by_frequency("x", 1 - 3e-7, 1000, 1000).agrees
    assert by_frequency("x", 0.0, 0, 1000).agrees
    assert not by_frequency("x", 0.0, 1, 1000).agrees
    assert not by_frequency("x", 0.5, 430, 1000).agrees
    assert by_frequency("x", 0.5, 470, 1000).agrees


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["separation_region"])
def test_validation_file(name: str) -> None:
    comparisons = load(name).validate()
    assert len({item.name for item in comparisons}) == len(comparisons)
    assert [item for item in comparisons if not item.agrees] == []


@pytest.mark.needs("torch")
def test_linear_attention_with_a_hand_set_interaction() -> None:
    assert load("separation_training")._set_by_hand().agrees
