"""One risk with its gradient in all seven order parameters, beside what one would otherwise run: ``make bench``.

The first alternative is torch's autograd through the product grid that one writes by hand at L = 2: Gauss-Hermite in
(chi*, rho) of both tokens. At L = 10 such a grid has 20 axes, and autograd through samples is left: its standard error
falls as n^(-1/2), so the time at which it would be as accurate as symslr is extrapolated from the time of one pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from symslr import MaxSLR, SpikedSLR, softmax, softmax1, softplus
from symslr.evaluation.landscape import Landscape
from symslr.model.attention import Attention

ROUNDS = 9
AT = np.array([0.8, 0.7, 0.3, -0.4, 1.6, 1.3, 0.35])
NU, SAMPLES = 2.0, 100_000
NODES = {"spiked": 16, "max": 40}
"""The fewest, to two, at which the gradient on the grid is right to 1e-8."""


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def fastest(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """The least of several times of both, taken in turn; on a shared machine all else is its other users' time."""
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def normalised(attention: Attention, scores: Any) -> Any:
    """sigma over the last axis, in torch."""
    import torch

    kappa = torch.nn.functional.softplus(scores) if attention is softplus else torch.exp(scores)
    return kappa / (float(attention.offset) + kappa.sum(dim=-1, keepdim=True))


def pieces(w: Any, attention: Attention, chi: Any, rho: Any) -> Any:
    """The squared error at (chi*, rho), token 0 relevant, its label and values averaged over what scores do not see."""
    import torch

    m_kk, m_vv, m_kv, m_vk, q_kk, q_vv, q_kv = w
    s = torch.sqrt(q_kk - m_kk**2)
    across = q_kv - m_kk * m_vk
    sigma = normalised(attention, m_kk * chi + s * rho)
    error = m_kv / s * rho[..., 0] - (sigma * (m_vk * chi + across / s * rho)).sum(dim=-1)
    rest = 1 - (m_kv / s) ** 2 - 2 * (m_vv - m_kv * across / s**2) * sigma[..., 0]
    return error**2 + rest + (q_vv - m_vk**2 - (across / s) ** 2) * (sigma**2).sum(dim=-1)


def placed(task: str, chi: Any) -> tuple[Any, Any]:
    """chi* with token 0 relevant, and the weight of each row."""
    import torch

    if task == "spiked":
        shifted = chi.clone()
        shifted[..., 0] += NU**0.5
        return shifted, torch.ones(chi.shape[:-1], dtype=torch.float64)
    return chi, chi.shape[-1] * torch.softmax(NU * chi, dim=-1)[..., 0]


def on_a_grid(task: str, attention: Attention) -> tuple[float, np.ndarray]:
    """Risk and gradient at L = 2 by autograd through four axes."""
    import torch

    w = torch.tensor(AT, requires_grad=True)
    nodes, weights = (torch.tensor(part) for part in np.polynomial.hermite_e.hermegauss(NODES[task]))
    axes = torch.stack(torch.meshgrid(*[nodes] * 4, indexing="ij"), dim=-1)
    mass = torch.stack(torch.meshgrid(*[weights / weights.sum()] * 4, indexing="ij"), dim=-1).prod(dim=-1)
    chi, weight = placed(task, axes[..., :2])
    risk = (mass * weight * pieces(w, attention, chi, axes[..., 2:])).sum()
    risk.backward()
    return float(risk.detach()), w.grad.numpy()


def on_samples(task: str, attention: Attention, length: int, seed: int) -> tuple[float, np.ndarray]:
    """Risk and gradient by autograd through ``SAMPLES`` sequences."""
    import torch

    w = torch.tensor(AT, requires_grad=True)
    draw = torch.tensor(np.random.default_rng(seed).standard_normal((2, SAMPLES, length)))
    chi, weight = placed(task, draw[0])
    risk = (weight * pieces(w, attention, chi, draw[1])).mean()
    risk.backward()
    return float(risk.detach()), w.grad.numpy()


def main() -> None:
    import torch

    torch.set_num_threads(1)
    print("risk and gradient in seven order parameters; least CPU time of each, errors in the gradient")
    for task, law in (("spiked", SpikedSLR()), ("max", MaxSLR())):
        for attention in (softmax, softmax1, softplus):
            here = Landscape.of(law, attention, {"L": 2, "nu": NU, "Delta": 0})
            exact = here.refine(1.6).risk_and_gradient(AT)[1]
            mine = np.max(np.abs(here.risk_and_gradient(AT)[1] - exact))
            grid = np.max(np.abs(on_a_grid(task, attention)[1] - exact))
            ours, theirs = fastest(partial(here.risk_and_gradient, AT), partial(on_a_grid, task, attention))
            print(
                f"  {task:6} {attention.name:8} L=2   symslr {ours * 1e3:6.2f} ms (error {mine:.0e})   autograd on a grid of "
                f"{NODES[task]}^4 {theirs * 1e3:8.1f} ms (error {grid:.0e})   ratio {ours / theirs:.2g}"
            )
            here = Landscape.of(law, attention, {"L": 10, "nu": NU, "Delta": 0})
            exact = here.refine(1.6).risk_and_gradient(AT)[1]
            mine = np.max(np.abs(here.risk_and_gradient(AT)[1] - exact))
            runs = [on_samples(task, attention, 10, seed)[1] for seed in range(5)]
            spread = float(np.max(np.sqrt(np.mean((np.array(runs) - exact) ** 2, axis=0))))
            ours, theirs = fastest(partial(here.risk_and_gradient, AT), partial(on_samples, task, attention, 10, 0))
            equal = theirs * (spread / 1e-8) ** 2
            print(
                f"  {task:6} {attention.name:8} L=10  symslr {ours * 1e3:6.2f} ms (error {mine:.0e})   autograd on "
                f"{SAMPLES} samples {theirs * 1e3:6.1f} ms (error {spread:.0e}), {equal / 31557600:.1g} years at 1e-8"
            )


if __name__ == "__main__":
    main()
