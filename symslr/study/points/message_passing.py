"""Kind ``message_passing``: Bayes-optimal message passing on real samples, several training sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from symslr.study.parameter import Parameter, count, number, positive
from symslr.study.points.asked import TASK, problem, real

if TYPE_CHECKING:
    from symslr.expression.value import Value
    from symslr.model.written import Problem

PARAMETERS = (
    *TASK,
    Parameter("alpha", positive),
    Parameter("dimension", count),
    Parameter("damping", number, "1/2"),
    Parameter("replicates", count, "4"),
)


def check(asked: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Refuse weights without levels, and fewer than two training sets, which have no spread."""
    from symslr.simulate.position_levels import position_levels

    _, found = _passed(asked, files, 0)
    position_levels(found.task.law, found.values)


def _passed(asked: Mapping[str, str], files: Mapping[str, str], seed: int) -> tuple[Any, Problem]:
    """What is asked, and of which task."""
    from symslr.face.samples import message_passing

    found = problem(asked, files)
    own = {"dimension": int(asked["dimension"]), "seeds": int(asked["replicates"]), "seed": seed}
    return message_passing(found.task, damping=real(asked["damping"]), **own), found


def compute(asked: Mapping[str, str], files: Mapping[str, str], seed: int) -> dict[str, Value]:
    """Overlaps q_k = k.k*/D and q_v = v.v*/D at the end, with standard errors over training sets."""
    passed, found = _passed(asked, files, seed)
    return dict(passed(found.values, alpha=real(asked["alpha"])).at)
