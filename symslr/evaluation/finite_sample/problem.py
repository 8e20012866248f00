"""The problem of a fit, checked and with numbers for all symbols: task, attention, parameters, alpha, ridges.

Also the six order parameters of its fixed point, with two starting points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sympy import DiracDelta

from symslr.evaluation.admission.inputs import lengths_of, numbers_of, values_by_name
from symslr.evaluation.finite_sample.fields import Array
from symslr.evaluation.routes import WEIGHT, check
from symslr.evaluation.sampling.points import sub_seed
from symslr.evaluation.sequence.state_evolution import INFORMED
from symslr.model.attention import Attention
from symslr.model.catalogue import kernel_attention_of
from symslr.model.exact import exact
from symslr.model.length_law import LengthLaw
from symslr.model.ranges import LONGEST_FITTED, check_abundance, check_noise, real_number
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, x
from symslr.model.task import Task


@dataclass(frozen=True)
class LengthComponent:
    """One component of the mixture over lengths: L from 1 to 10, P(L), and the law of a sequence of that length."""

    length: int
    probability: float
    law: SequenceLaw


@dataclass(frozen=True)
class FitProblem:
    """Data model and attention of a fit, with numbers for all parameters.

    Attributes:
        shares: one component per length that occurs.
        noise: Delta.
        attention: kernel and normaliser.
    """

    shares: tuple[LengthComponent, ...]
    noise: float
    attention: Attention

    def with_seeds(self, seed: int) -> list[tuple[LengthComponent, int]]:
        """(component, seed) for every length: each has a scrambling of its own."""
        return [(share, sub_seed(seed, number) if number else seed) for number, share in enumerate(self.shares)]


@dataclass(frozen=True)
class Training:
    """alpha = N/D and the ridges of sum_mu (y - f)^2/2 + r_k |k|^2/2 + r_v |v|^2/2."""

    alpha: float
    r_k: float
    r_v: float


def numeric_problem(task: Task, attention: Attention, values: Mapping[object, object]) -> FitProblem:
    """The problem with numbers for every symbol.

    Args:
        values: symbol or name -> number: nu, Delta, L or P_L (a LengthLaw) if the task has none, parameters of the kernel.

    Raises:
        ValueError: for a task without a weight, a missing or an unknown value, a length outside 1..10, a negative noise, or a
            kernel that is not smooth.
    """
    check(f"task {task.name} at finite alpha", task, WEIGHT)
    attention = kernel_attention_of(attention)
    given = values_by_name(task, attention, values)
    named = {name: v if isinstance(v, LengthLaw) else exact(v, name) for name, v in given.items()}
    law = task.law.subs(numbers_of(task.law.free_symbols - {L}, named, f"task {task.name}"))
    shares = tuple(
        LengthComponent(n, p, law.subs(L, n)) for n, p in lengths_of(task, named, LONGEST_FITTED, "at finite alpha")
    )
    noise = float(task.noise.subs(numbers_of(task.noise.free_symbols, named, "noise")))
    check_noise(noise)
    fixed = numbers_of(attention.parameters | attention.offset.free_symbols, named, f"attention {attention.name}")
    fitted = replace(attention, kernel=attention.kernel.subs(fixed), offset=attention.offset.subs(fixed), bounds={})
    if fitted.kernel.diff(x, 2).has(DiracDelta):
        raise ValueError(
            f"kernel {fitted.kernel}: is not smooth (abs, sign, max, min, step), and at finite alpha the proximal points are "
            "found from two derivatives; expected a smooth kernel, such as log(1 + exp(x))"
        )
    return FitProblem(shares, noise, fitted)


def training(alpha: float, ridge: Any) -> Training:
    """alpha and the ridges, a pair or one number for both, checked.

    Raises:
        ValueError: unless all are positive finite numbers, alpha at most 10000.
    """
    check_abundance(alpha)
    r_k, r_v = ridge_pair(ridge)
    for name, number in (("r_k", r_k), ("r_v", r_v)):
        if not 0 < number < math.inf:
            raise ValueError(f"{name}: found {number:g}; expected a positive number")
    return Training(float(alpha), r_k, r_v)


def ridge_pair(ridge: Any) -> tuple[float, float]:
    """(r_k, r_v) of a pair, or of one number for both."""
    pair = (ridge, ridge)
    if isinstance(ridge, tuple | list) or (isinstance(ridge, np.ndarray) and ridge.ndim):
        pair = tuple(ridge)
    if len(pair) != 2:
        raise ValueError(f"ridge: found {ridge!r}; expected a pair of numbers, or one for both")
    return float(real_number(pair[0], "r_k")), float(real_number(pair[1], "r_v"))


@dataclass(frozen=True)
class ReplicaState:
    """The order parameters of a fit with key k and value v; k*, v* are the true vectors.

    Attributes:
        m_k, m_v: overlaps with the truth, k.k*/D and v.v*/D.
        q_k, q_v: squared lengths, |k|^2/D and |v|^2/D; at least m^2.
        V_k, V_v: responses (susceptibilities) > 0: how strongly one more sample moves the fit; they tend to 0 as alpha grows.
    """

    m_k: float
    q_k: float
    V_k: float
    m_v: float
    q_v: float
    V_v: float

    @property
    def R_k(self) -> float:
        """q_k - m_k^2, the squared length outside k*."""
        return self.q_k - self.m_k**2

    @property
    def R_v(self) -> float:
        """q_v - m_v^2, the squared length outside v*."""
        return self.q_v - self.m_v**2

    def coordinates(self) -> Array:
        """(m_k, log R_k, log V_k, m_v, log R_v, log V_v), unconstrained real numbers."""
        return np.array(
            [self.m_k, math.log(self.R_k), math.log(self.V_k), self.m_v, math.log(self.R_v), math.log(self.V_v)]
        )

    @classmethod
    def from_coordinates(cls, point: Array) -> ReplicaState:
        m_k, m_v = float(point[0]), float(point[3])
        R_k, V_k, R_v, V_v = (float(np.exp(point[i])) for i in (1, 2, 4, 5))
        return cls(m_k, m_k**2 + R_k, V_k, m_v, m_v**2 + R_v, V_v)

    def with_samples(self, factor: float) -> ReplicaState:
        """A guess for ``factor`` times as many samples: V and q - m^2 decrease like 1/alpha at large alpha."""
        less = math.log(factor)
        return self.from_coordinates(self.coordinates() - np.array([0.0, less, less, 0.0, less, less]))


def start(name: str, alpha: float) -> ReplicaState:
    """Starting order parameters, near the truth ("informed") or nearly orthogonal to it ("uninformed"); V goes like 1/alpha.

    m = 0 exactly would be a symmetric point that an iteration cannot leave, so the uninformed start has m = 0.02.
    """
    shrink = min(1.0, 4 / alpha)
    if name == INFORMED:
        return ReplicaState(m_k=1.0, q_k=1.1, V_k=0.5 * shrink, m_v=0.9, q_v=0.9, V_v=0.3 * shrink)
    return ReplicaState(m_k=0.02, q_k=0.2, V_k=shrink, m_v=0.02, q_v=0.2, V_v=shrink)
