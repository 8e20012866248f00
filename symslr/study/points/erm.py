"""Kind ``erm``: regularised empirical risk minimisation on real samples, several training sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpmath import mpf

from symslr.expression.value import Kind, Value
from symslr.simulate.erm import OPTIMISERS
from symslr.study.parameter import Parameter, count, counts, number, one_of, positive
from symslr.study.points.asked import ATTENTION, SHIFT, TASK, kernel_attention, problem, real, values_with_shift

PARAMETERS = (
    *TASK,
    *ATTENTION,
    SHIFT,
    Parameter("alpha", positive),
    Parameter("dimension", count),
    Parameter("r_k", number),
    Parameter("r_v", number),
    Parameter("seeds", counts, ""),
    Parameter("replicates", count, "4"),
    Parameter("start", one_of("informed", "random"), "informed"),
    Parameter("optimiser", one_of(*OPTIMISERS), "L-BFGS-B"),
    Parameter("precision", one_of("float64", "float32"), "float64"),
    Parameter("fresh", count, "1000000"),
)
"""seeds: "0..3"; where unset, ``replicates`` seeds that belong to the point."""


def check(asked: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Refuse a task or an attention that is none, and fewer than two training sets, which have no spread."""
    _fits(asked, files, 0)


def _fits(asked: Mapping[str, str], files: Mapping[str, str], seed: int) -> tuple[Any, dict[Any, Any]]:
    """What is asked, and the values at which it is."""
    from symslr.face.samples import simulate_fit

    found = problem(asked, files)
    chosen = kernel_attention(asked, files, found)
    fits = simulate_fit(
        found.task,
        chosen,
        dimension=int(asked["dimension"]),
        ridge=(real(asked["r_k"]), real(asked["r_v"])),
        seeds=[int(own) for own in asked["seeds"].split(",")] if asked["seeds"] else int(asked["replicates"]),
        seed=seed,
        start=asked["start"],
        optimiser=asked["optimiser"],
        dtype=asked["precision"],
        fresh=int(asked["fresh"]),
    )
    return fits, values_with_shift(asked, found, chosen)


def compute(asked: Mapping[str, str], files: Mapping[str, str], seed: int) -> dict[str, Value]:
    """Test risk and order parameters with their standard errors over training sets, and the worst gradient norm."""
    fits, values = _fits(asked, files, seed)
    value = fits(values, alpha=real(asked["alpha"]))
    norm = Value(mpf(value.result.worst_gradient_norm), mpf(0), Kind.ESTIMATED, 6, value.method)
    return {"risk": value, **value.at, "gradient_norm": norm}
