"""The catalogue is not looked at when it is loaded; here it is."""

from __future__ import annotations

import pytest
from sympy import Expr, Symbol, exp

from symslr.model import admissible
from symslr.model.attention import Attention
from symslr.model.catalogue import ATTENTIONS, TASKS
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import x
from symslr.model.task import Task


@pytest.fixture
def nothing_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admissible, "_HELD_WEIGHTS", set())
    monkeypatch.setattr(admissible, "_HELD_KERNELS", set())


@pytest.mark.usefixtures("nothing_held")
@pytest.mark.parametrize("name", TASKS)
def test_tasks_are_admissible(name: str) -> None:
    task = TASKS[name]()
    assert Task(task.law.weight, task.length, task.noise).law == task.law


@pytest.mark.usefixtures("nothing_held")
@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=str)
def test_attentions_are_admissible(attention: Attention) -> None:
    assert Attention(attention.kernel, attention.normaliser, attention.offset).kernel == attention.kernel


def test_what_is_held_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = 2 * TASKS["spiked"]().law.weight
    with pytest.raises(ValueError, match="found mean 2"):
        Task(weight)
    admissible.hold_admissible(weights=[weight])
    assert isinstance(Task(weight).law, SequenceLaw)
    admissible._HELD_WEIGHTS.discard(weight)


def test_a_kernel_is_looked_at_where_its_parameters_may_be() -> None:
    """A parameter takes a number of its own sign and kind; where the kernel is none there, one line says so."""
    depth, count = Symbol("s", negative=True), Symbol("c", integer=True, positive=True)
    assert Attention(exp(x) - depth).parameters == {depth}
    with pytest.raises(ValueError, match="negative at x"):
        Attention(exp(x) + depth)
    with pytest.raises(ValueError, match="divides by zero at c = 1; expected one that does not"):
        Attention(exp(x) + 1 / (count - 1) ** 2)


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        (exp(Symbol("a") * x), "mentions a, the scale of the key; expected a parameter of another name"),
        (exp(Symbol("a", positive=True) * x), "mentions a, the scale of the key; expected a parameter of another name"),
        (
            exp(Symbol("x", positive=True)),
            "expected symslr's own x, from symslr.model.symbols, or a parameter of another name",
        ),
    ],
)
def test_a_letter_of_symslr_is_reserved_by_its_name(kernel: Expr, told: str) -> None:
    """Regression: another symbol a passed, took the value of the scale, and ended in a fault of symslr."""
    with pytest.raises(ValueError, match=told):
        Attention(kernel)
