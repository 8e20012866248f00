"""Gradient flow on (m, q): k and v follow dk/dt = -D dE/dk, dv/dt = -D dE/dv, which closes on the order parameters.

    dm/dt = -(E_m + 2 E_q m),    dq/dt = -(E_m m^T + m E_m^T + 2 E_q q + 2 q E_q)

with E_m = dE/dm and E_q = dE/dq symmetrised: take dk/dt = -(E_m (k*, v*) + 2 E_q (k, v))_k times k*, v*, k and v. The kernel's own
parameters c follow dc/dt = -dE/dc.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import solve_ivp

from symslr.evaluation.landscape.kernel import Array
from symslr.evaluation.landscape.landscape import Landscape
from symslr.evaluation.landscape.order import OrderParameters, matrices, order_of
from symslr.extras import need

if TYPE_CHECKING:
    import pandas as pd

RELATIVE, ABSOLUTE = 1e-7, 1e-10
"""Relative and absolute tolerance of the integrator: the end of a flow moves by less than 1e-6 when both are divided by 100."""

ROUGH = 1e-3, 1e-5
COARSE = 0.6
NEAR_REST = 2e-3
"""For ``basin`` and ``time_to_risk``: ``ROUGH`` are the two tolerances, the mesh has ``COARSE`` times the usual number of points,
and a flow counts as at rest where no velocity exceeds ``NEAR_REST``."""

AT_REST = 1e-6
"""A flow counts as at rest where no order parameter moves faster than this.

Softmax saturates, and its slowest relaxation with it: from keys of norm 6 at L = 10 on spiked-SLR flows arrived at
t = 2e2 to 7e3 (nu = 2), 9e3 to 2e4 (nu = 16) and 6e5 to 1.4e6 (nu = 32, where the key's norm is still 0.3 per cent off).
"""

LONGEST = 1e7
"""Default time limit of a flow, seven times the longest time above."""


@dataclass(frozen=True)
class Flow:
    """A trajectory of the gradient flow.

    Attributes:
        names: of the order parameters and of the kernel's own.
        times: shape (n,).
        states: order parameters and the kernel's own parameters at each time, shape (n, 7 + parameters).
        risks: E at these times, shape (n,).
        arrived: whether the flow came to rest before the time limit.
    """

    names: tuple[str, ...]
    times: Array
    states: Array
    risks: Array
    arrived: bool

    @property
    def end(self) -> Array:
        return self.states[-1]

    def to_dataframe(self) -> pd.DataFrame:
        """A pandas DataFrame with a row for every time: ``time``, the order parameters by name, ``risk``."""
        columns = {"time": self.times, **dict(zip(self.names, self.states.T)), "risk": self.risks}
        return need("pandas", "a DataFrame").DataFrame(columns)


def velocity(landscape: Landscape, state: Array) -> Array:
    """d(m, q, own parameters)/dt, in the order of ``names``."""
    _, gradient = landscape.risk_and_gradient(state)
    by_m, by_q = matrices(gradient)
    m_kk, m_vv, m_kv, m_vk, q_kk, q_vv, q_kv = state[:7]
    m, q = np.array([[m_kk, m_kv], [m_vk, m_vv]]), np.array([[q_kk, q_kv], [q_kv, q_vv]])
    dm = -(by_m + 2 * by_q @ m)
    half = by_m @ m.T + 2 * by_q @ q
    dq = -(half + half.T)
    return np.array([dm[0, 0], dm[1, 1], dm[0, 1], dm[1, 0], dq[0, 0], dq[1, 1], dq[0, 1], *-gradient[7:]])


def gradient_flow(landscape: Landscape, start: Array, time: float = LONGEST, at: Array | None = None) -> Flow:
    """The flow from ``start`` until it is at rest or ``time`` is over.

    The integration runs over coordinates of k and v, as in m and q its errors would violate q >= m m^T.

    Args:
        start: order parameters and the kernel's own, in the order of ``landscape.names``.
        time: the time limit.
        at: increasing times in [0, ``time``] at which the trajectory is returned; by default the integrator's own. Times after the
            flow has come to rest are left out; where all are, the state at rest is returned.

    Raises:
        ValueError: for a start of another shape or with overlaps that no vectors have, for invalid times, and where the integrator
            fails.
    """
    begin = _checked(landscape, start, time, at)
    vectors = np.append(OrderParameters.of(begin[:7]).vectors, begin[7:])

    def rest(_: float, point: Array) -> float:
        return float(np.max(np.abs(velocity(landscape, order_of(point))))) - AT_REST

    rest.terminal, rest.direction = True, -1.0  # type: ignore[attr-defined]
    if rest(0.0, vectors) <= 0:  # at rest from the start: the event would not be triggered
        return Flow(landscape.names, np.zeros(1), begin[None, :], np.array([landscape.risk(begin)]), True)
    found = _followed(landscape, vectors, time, "LSODA", (RELATIVE, ABSOLUTE), events=rest, t_eval=at)
    times, points = (found.t, found.y.T) if len(found.t) else (found.t_events[0], found.y_events[0])
    states = np.array([order_of(point) for point in points])
    risks = np.array([landscape.risk(state) for state in states])
    return Flow(landscape.names, times, states, risks, bool(found.status == 1))


def _checked(landscape: Landscape, start: Array, time: float, at: Array | None) -> Array:
    """The start as an array, after a check of it and of the times.

    Raises:
        ValueError: as ``gradient_flow``.
    """
    begin = np.asarray(start, dtype=float)
    if begin.shape != (len(landscape.names),):
        raise ValueError(
            f"start: found the shape {begin.shape}; expected a number for each of {', '.join(landscape.names)}"
        )
    if not 0 <= time < np.inf:
        raise ValueError(f"time: found {time:g}; expected a finite number >= 0")
    if at is not None and not (np.ndim(at) == 1 and np.size(at) and np.all(np.diff([0.0, *at, time]) >= 0)):
        raise ValueError(f"at: found {np.asarray(at)}; expected increasing times from 0 to {time:g}".replace("\n", " "))
    return begin


def basin(landscape: Landscape, start: Array, time: float = 3200.0) -> Array:
    """The point near which the gradient flow from ``start`` comes to rest, in coordinates of k and v (see
    ``Landscape.in_vectors``).

    Coarse: the mesh is right to 1e-5 and the steps to 1e-3. A minimiser is meant to refine the result.

    Args:
        start: coordinates of k and v, then the kernel's own parameters; the result has the same shape.
        time: the time limit.

    Raises:
        ValueError: where the integrator fails.
    """
    coarse = landscape.refine(COARSE)
    point, now, length = np.asarray(start, dtype=float), 0.0, 100.0
    while now < time:
        found = _followed(coarse, point, length, "BDF", ROUGH)
        point, now, length = found.y[:, -1], now + length, 2 * length
        if float(np.max(np.abs(coarse.in_vectors(point)[1]))) < NEAR_REST:
            break
    return point


def time_to_risk(landscape: Landscape, start: Array, level: float, time: float = 1e3) -> float:
    """The time at which the risk along the flow from ``start`` reaches ``level``, to 1e-2; infinite where that is after ``time``.

    Args:
        start: coordinates of k and v, then the kernel's own parameters.

    Raises:
        ValueError: where the integrator fails.
    """
    coarse = landscape.refine(COARSE)

    def above(_: float, state: Array) -> float:
        return coarse.in_vectors(state)[0] - level

    above.terminal = True  # type: ignore[attr-defined]
    if above(0.0, start) <= 0:
        return 0.0
    found = _followed(coarse, start, time, "BDF", ROUGH, events=above)
    return float(found.t[-1]) if found.status == 1 else float("inf")


def _followed(
    landscape: Landscape, start: Array, time: float, method: str, tolerances: tuple[float, float], **options: Any
) -> Any:
    """The flow over coordinates of k and v, as SciPy's ``solve_ivp`` returns it.

    Raises:
        ValueError: where the integrator fails.
    """
    relative, absolute = tolerances
    found = solve_ivp(
        lambda _, point: -landscape.in_vectors(point)[1],
        (0.0, time),
        start,
        method,
        rtol=relative,
        atol=absolute,
        **options,
    )
    if found.status < 0:
        raise ValueError(f"gradient flow: the integrator stopped at t = {found.t[-1]:.4g}: {found.message}")
    return found
