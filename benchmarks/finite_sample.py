"""One fixed point at finite alpha beside a straightforward code: Newton over (chi, z), 2 L variables, no reduction.

``python benchmarks/finite_sample.py``; seconds of one core. The plain code draws (chi*, z*, xi) by Monte Carlo, writes
gradient and Hessian of the unreduced proximal objective out, solves 2 L x 2 L systems with ``numpy.linalg.solve``, and
iterates with damping 1/2 until no order parameter moves by 1e-4. Both codes run in turn; the plain one with as many
samples as bring its risk near 0.2 per cent.
"""

from __future__ import annotations

import time

import numpy as np

from symslr import SpikedSLR, linear, softmax
from symslr.evaluation.finite_sample import finite_sample

LENGTH, NU, ALPHA, RIDGE = 3, 2.0, 4.0, (0.1, 0.3)
SAMPLES = 100_000
"""At this size the plain Monte Carlo risk scatters by about 0.3 per cent between seeds."""


def plain_proximal(omega: np.ndarray, label: np.ndarray, widths: np.ndarray, start: np.ndarray) -> np.ndarray:
    """argmin over (chi, z) of sum (u - omega)^2/(2 V) + (y - softmax(chi).z)^2/2, all samples at once."""
    u, n, L = start.copy(), len(label), LENGTH
    inverse = np.repeat(1 / widths, L)
    value = plain_objective(u, omega, label, inverse)
    damping = np.zeros(n)
    for _ in range(60):
        sigma = np.exp(u[:, :L] - u[:, :L].max(axis=1, keepdims=True))
        sigma /= sigma.sum(axis=1, keepdims=True)
        z = u[:, L:]
        mean = (sigma * z).sum(axis=1)
        residual = label - mean
        slope = np.concatenate([sigma * (z - mean[:, None]), sigma], axis=1)
        gradient = (u - omega) * inverse - residual[:, None] * slope
        hessian = slope[:, :, None] * slope[:, None, :]
        eye = np.eye(L)
        centred = z - mean[:, None]
        outer = sigma[:, :, None] * sigma[:, None, :]
        second = eye * (sigma * centred)[:, :, None] - outer * (centred[:, :, None] + centred[:, None, :])
        mixed = eye * sigma[:, :, None] - outer
        hessian[:, :L, :L] -= residual[:, None, None] * second
        hessian[:, :L, L:] -= residual[:, None, None] * mixed
        hessian[:, L:, :L] -= residual[:, None, None] * mixed
        hessian += np.eye(2 * L) * (inverse + damping[:, None])[:, :, None]
        step = -np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        trial = plain_objective(u + step, omega, label, inverse)
        falls = trial <= value
        u, value = np.where(falls[:, None], u + step, u), np.where(falls, trial, value)
        damping = np.where(falls, damping / 10, np.maximum(10 * damping, 0.1))
        if np.max(np.abs(gradient)) < 1e-7:
            break
    return u


def plain_objective(u: np.ndarray, omega: np.ndarray, label: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    sigma = np.exp(u[:, :LENGTH] - u[:, :LENGTH].max(axis=1, keepdims=True))
    sigma /= sigma.sum(axis=1, keepdims=True)
    return ((u - omega) ** 2 * inverse).sum(axis=1) / 2 + (label - (sigma * u[:, LENGTH:]).sum(axis=1)) ** 2 / 2


def plain(seed: int, samples: int = SAMPLES, steps: int = 60) -> float:
    """The test risk by damped iteration of the six scalars, as one would write it first."""
    rng = np.random.default_rng(seed)
    hidden, noise = rng.normal(size=(2, samples, 2, LENGTH))
    hidden[:, 0, 0] += np.sqrt(NU)
    label = hidden[:, 1, 0]
    m, q, V = np.array([1.0, 0.9]), np.array([1.5, 1.2]), np.array([1.0, 0.5])
    ridge, start = np.array(RIDGE), None
    for _ in range(steps):
        spread = np.sqrt(q - m**2)
        omega = (m[:, None] * hidden + spread[:, None] * noise).reshape(samples, -1)
        u = plain_proximal(omega, label, V, omega if start is None else start)
        start = u
        force = ((u - omega) / np.repeat(V, LENGTH)).reshape(samples, 2, LENGTH)
        qhat = ALPHA * (force**2).sum(axis=2).mean(axis=0)
        vhat = -ALPHA * (force * noise).sum(axis=2).mean(axis=0) / spread
        mhat = ALPHA * (force * hidden).sum(axis=2).mean(axis=0) + vhat * m
        wide = 1 / (ridge + vhat)
        new = wide * mhat, wide**2 * (mhat**2 + qhat), wide
        change = max(float(np.max(np.abs(a - b))) for a, b in zip(new, (m, q, V), strict=True))
        m, q, V = ((a + b) / 2 for a, b in zip(new, (m, q, V), strict=True))
        if change < 1e-4:
            break
    omega = (m[:, None] * hidden + np.sqrt(q - m**2)[:, None] * noise).reshape(samples, -1)
    sigma = np.exp(omega[:, :LENGTH])
    sigma /= sigma.sum(axis=1, keepdims=True)
    return float(np.mean((label - (sigma * omega[:, LENGTH:]).sum(axis=1)) ** 2))


def main() -> None:
    task = SpikedSLR(2, length=LENGTH, noise=0)
    for attention, ridge in ((softmax, RIDGE), (linear, (0.6, 12.0))):
        for precision in (0.002, 0.001):
            began = time.process_time()
            found = finite_sample(task, attention, {}, alpha=ALPHA, ridge=ridge, precision=precision, branch="informed")
            ours = time.process_time() - began
            print(
                f"{attention.name:8} asked for {precision:.1%}: {found.risk!r}  change {found.change:.0e}  {ours:.2f} s"
            )
            if (attention, precision) == (softmax, 0.002):
                reduced = ours
    began = time.process_time()
    risk = plain(0)
    theirs = time.process_time() - began
    print(f"softmax  plain code, {SAMPLES} samples: {risk:.4f}  {theirs:.1f} s   ratio {theirs / reduced:.0f}")


if __name__ == "__main__":
    main()
