"""Kind ``erm``: regularised empirical risk minimisation on real samples, several training sets."""

from __future__ import annotations

from collections.abc import Mapping

from mpmath import mpf

from symslr.evaluation import Value
from symslr.expression.value import Kind
from symslr.simulate.erm import OPTIMISERS, erm_replicates
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
    """Refuse a task or an attention that is none."""
    kernel_attention(asked, files, problem(asked, files))


def compute(asked: Mapping[str, str], files: Mapping[str, str], seed: int) -> dict[str, Value]:
    """Test risk and order parameters with their standard errors over training sets, and the worst gradient norm."""
    found = problem(asked, files)
    chosen = kernel_attention(asked, files, found)
    seeds = asked["seeds"].split(",") if asked["seeds"] else [str(seed + i) for i in range(int(asked["replicates"]))]
    runs = erm_replicates(
        found.task,
        chosen,
        values_with_shift(asked, found, chosen),
        alpha=real(asked["alpha"]),
        dimension=int(asked["dimension"]),
        r_k=real(asked["r_k"]),
        r_v=real(asked["r_v"]),
        seeds=[int(item) for item in seeds],
        starts=[asked["start"]],
        optimiser=asked["optimiser"],
        dtype=asked["precision"],
        fresh=int(asked["fresh"]),
    )
    method = f"ERM, {asked['optimiser']} from {asked['start']} start, N = {runs.size}, {len(runs.runs)} training sets"
    method += "" if runs.converged else ", not all converged"
    answers = {"risk": _statistical(runs.risk, runs.standard_error, method)}
    for name in ("m_kk", "m_vv", "q_kk", "q_vv"):
        answers[name] = _statistical(*runs.order_parameter(name), method)
    answers["gradient_norm"] = Value(mpf(runs.worst_gradient_norm), mpf(0), Kind.ESTIMATED, 6, method)
    return answers


def _statistical(mean: float, error: float, method: str) -> Value:
    return Value(mpf(mean), mpf(error), Kind.STATISTICAL, 8, method)
