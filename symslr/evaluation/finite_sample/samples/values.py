"""Fields of the values and the label, with the relevant token first: jointly Gaussian, so z* itself is never drawn.

With omega = m z* + sqrt(q - m^2) xi and y = z*_eps + Delta noise, the label given its token's field is Gaussian,
y = (m/q) omega_eps + c g, c^2 = 1 + Delta^2 - m^2/q, and the means of z* and xi given (omega, y) are linear.
"""

from __future__ import annotations

import numpy as np

from symslr.evaluation.finite_sample.samples.keys import Fields, ShiftedKeys
from symslr.evaluation.finite_sample.samples.points import Array


def value_fields(normals: Array, m: float, q: float, noise: float) -> tuple[Fields, Array]:
    """(fields, labels) from L + 1 rows of normals.

    Args:
        noise: Delta, the label noise.
    """
    fields, label_normal = ShiftedKeys(0.0, normals[:-1]).fields(m, q), normals[-1]
    left = np.sqrt(max(1 + noise**2 - m * m / q, 1e-14))
    # The label says more about its own token: its part g outside the field is correlated with z* and with xi.
    fields.hidden[0] += (1 - m * m / q) / left * label_normal
    fields.push[0] -= m / (q * left) * label_normal
    return fields, (m / q) * fields.omega[0] + left * label_normal
