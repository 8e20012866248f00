"""Several classes of data: the mark of one row stands in one of s columns, and one network tells in which.

Columns: s for marks, D = n/t for the classes of rows, a constant; d = D + s + 1. Data set g has its mark a1 in column g, and
beside each stands one with the small mark a0. The scores do not depend on g, so attention is that of one marked column. Output g
sums the neurons whose sign is +1 on column g and -1 on the other mark columns; it has to be > 0 on data set g alone, and 0
on all others and on those with the small mark. Linear attention must be 0 everywhere. At s = 1 this is the construction of the
paper without the neurons of sign -1 on the mark.

Source: symslr; arXiv 2310.11685 treats two classes.
"""

from __future__ import annotations

from math import comb

from sympy import Expr

from symslr.evaluation.separation.counts import binomial_mass
from symslr.evaluation.separation.law import SIGNS, NeuronLaw
from symslr.evaluation.separation.probability import Probability
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Separation


def marked_columns(
    parameters: Separation, columns: int, kernel: Expr = SOFTMAX_KERNEL, rival: Expr = LINEAR_KERNEL
) -> Probability:
    """P(every output is right on all 2 s data sets and the rival's are 0), one marked row, m neurons in all.

    What a neuron of group g sees of data set g is what w_1 = +1 sees of the one marked column, and of any other data set
    what w_1 = -1 sees. With P_bad and P_useful of one neuron within each group, sum_r (-1)^r C(s, r) P(no neuron is bad and
    none of r given groups has a useful one).

    Args:
        parameters: the construction with one marked column; its d counts that one.
        columns: s, at least 1.

    Raises:
        ValueError: for s < 1.
    """
    if columns < 1:
        raise ValueError(f"columns: found {columns}; expected at least 1 column for marks")
    law = NeuronLaw(parameters, kernel, rival)
    fires = law.sets(kernel, 1)
    bad = useful = 0
    for last in SIGNS:
        for marked in SIGNS:
            own, other = ((first, last) for first in SIGNS)
            spoiled = law.bad[own, marked]
            if columns > 1:
                spoiled |= law.bad[other, marked] | fires[other, marked]
            size = parameters.classes - 1
            bad += binomial_mass(size, spoiled)
            useful += binomial_mass(size, fires[own, marked] & ~spoiled)
    # a neuron whose signs on the mark columns are those of no group stands in no output
    bits = parameters.d + columns - 1
    good = (1 << bits) - columns * bad
    terms = tuple(((-1) ** r * comb(columns, r), good - r * useful) for r in range(columns + 1))
    return Probability(terms, bits, parameters.m)
