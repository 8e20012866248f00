"""sigma(chi) of an attention as a NumPy function, stable at scores of any size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symslr.model.attention import Attention
from symslr.model.catalogue import kernel_attention_of
from symslr.model.symbols import x
from symslr.simulate.log_domain import Array, plain, signed_log
from symslr.simulate.values import Values, fixed

Activation = Callable[[Array], Array]


def activation(attention: Attention, values: Values) -> Activation:
    """chi (..., L) -> sigma(chi) (..., L): kappa(chi_l) / N with N = 1 or N = offset + sum_m kappa(chi_m).

    A normalised kernel is evaluated by its logarithm, so exp at a score of 1000 is harmless.

    Raises:
        ValueError: when a parameter of the kernel has no value; on use, where sigma is not finite.
    """
    attention = kernel_attention_of(attention)
    kernel = fixed(attention.kernel, values, frozenset({x}))
    if not attention.is_normalised:
        return _element_wise(attention.name, plain(kernel, (x,)))
    logarithm, offset = signed_log(kernel, (x,)), float(fixed(attention.offset, values))
    if offset < 0:
        raise ValueError(f"offset of {attention.name}: found {offset:g}; expected a number >= 0")

    def normalised(chi: Array) -> Array:
        sign, size = logarithm(chi)
        top = size.max(axis=-1, keepdims=True)
        if offset > 0:
            top = np.maximum(top, np.log(offset))
        scaled = sign * np.exp(size - top)
        total = scaled.sum(axis=-1, keepdims=True)
        if offset > 0:
            total = total + offset * np.exp(-top)
        return _finite(attention.name, scaled / total)

    return normalised


def _element_wise(name: str, function: Callable[..., Array]) -> Activation:
    return lambda chi: _finite(name, np.broadcast_to(function(chi), chi.shape))


def _finite(name: str, sigma: Array) -> Array:
    if not np.all(np.isfinite(sigma)):
        raise ValueError(f"attention {name}: sigma is not finite at a sampled score; lower the scale or normalise")
    return sigma
