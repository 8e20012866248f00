"""Single-location regression as a sequence model: the label is the value of the token that the weight makes the relevant one."""

from __future__ import annotations

from sympy import Expr, IndexedBase, Integer, Sum, exp

from symslr.model.exponential import exponential_slope
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.sequence.hidden import Hidden
from symslr.model.sequence.model import SequenceModel
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, m

STEEP = Integer(10) ** 12
"""Rate from which on a softmax is 1 at the largest of numbers and 0 elsewhere, within float64."""


def single_location(law: SequenceLaw, noise: Expr) -> SequenceModel:
    """y = v[eps] + Delta xi of sequences under a law with numbers for its parameters and its length.

    Raises:
        ValueError: for tokens that are not standard normal before they are weighted.
    """
    if law.base != STANDARD_NORMAL:
        raise ValueError(
            f"Bayes-optimal curve: found tokens of law {law.base}; expected standard normal ones under a weight"
        )
    length = int(law.length)
    keys = IndexedBase("k", real=True)
    relevant = Hidden.from_text("eps", "1..L", length).symbol
    rate = STEEP if law.selects_largest else exponential_slope(law)
    weight = law.weight
    if law.is_selection and rate is not None:  # as it overflows at no rate
        weight = length / Sum(exp(rate * (keys[m] - keys[relevant])), (m, 1, L))
    weight = weight.xreplace({chi: keys, epsilon: relevant})
    name = "single-location regression"
    hidden = {"eps": "1..L"}
    return SequenceModel(["k", "v"], length, "v[eps]", noise, hidden=hidden, weight=weight, name=name, is_checked=True)
