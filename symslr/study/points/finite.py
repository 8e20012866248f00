"""Kind ``finite``: the fit of N = alpha D samples by the replica-symmetric theory, at given ridges or the best ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from symslr.study.parameter import Parameter, count, flag, one_of, positive
from symslr.study.points.asked import ATTENTION, SHIFT, TASK, kernel_attention, problem, real, values_with_shift

if TYPE_CHECKING:
    from symslr.expression.value import Value

PARAMETERS = (
    *TASK,
    *ATTENTION,
    SHIFT,
    Parameter("alpha", positive),
    Parameter("r_k", positive, ""),
    Parameter("r_v", positive, ""),
    Parameter("tuned", flag, "false"),
    Parameter("branch", one_of("lowest", "informed", "uninformed"), "lowest"),
    Parameter("precision", positive, "1/500"),
    Parameter("seed", count, "0"),
)


def check(asked: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Refuse a task or an attention that is none, and ridges that are missing or one too many."""
    given = bool(asked["r_k"]), bool(asked["r_v"])
    if given != ((False, False) if asked["tuned"] == "true" else (True, True)):
        raise ValueError("r_k, r_v: expected both, or tuned = true without them")
    kernel_attention(asked, files, problem(asked, files))


def compute(asked: Mapping[str, str], files: Mapping[str, str], seed: int) -> dict[str, Value]:
    """Test risk, training loss, order parameters; tuned ridges too.

    The scramblings come from the parameter ``seed`` and are the same at every point, so that curves are smooth.
    """
    from mpmath import mpf

    from symslr.expression.value import Kind, Value
    from symslr.face.samples import fitted

    check(asked, files)
    found = problem(asked, files)
    chosen = kernel_attention(asked, files, found)
    ridge = "tuned" if asked["tuned"] == "true" else (real(asked["r_k"]), real(asked["r_v"]))
    how: dict[str, Any] = {"precision": real(asked["precision"]), "branch": asked["branch"], "seed": int(asked["seed"])}
    fit = fitted(found.task, chosen, ridge=ridge, **how)
    value = fit(values_with_shift(asked, found, chosen), alpha=real(asked["alpha"]))
    tuned = value.result.tuned
    answers = {"risk": value, "training_loss": value.result.fit.training_loss, **value.at}
    if asked["tuned"] == "true":
        method = "ridges of least test risk; the error of the risk says how flat it is there"
        method += "".join(f"; {remark}" for remark in tuned.remarks)
        named = zip(("r_k", "r_v"), tuned.ridge, strict=True)
        answers |= {name: Value(mpf(value), mpf(0), Kind.ESTIMATED, 6, method) for name, value in named}
    return answers
