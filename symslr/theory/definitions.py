"""The definitions: the label, the prediction of an attention, the losses. No rule is applied here."""

from __future__ import annotations

from sympy import Expr, Sum, sqrt

from symslr.expression.expectation import LengthExpectation, SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Minimum
from symslr.model.length_law import LengthLaw
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, R_v, epsilon, l, m_v, xi, z, zeta


def label(noise: Expr) -> Expr:
    """y = z_epsilon + Delta xi."""
    return z[epsilon] + noise * xi


def predictor(activation: Activation) -> Expr:
    """f(X) = sum_l sigma_l (m_v z_l + sqrt(R_v) zeta_l): the value vector is m_v v* plus a part orthogonal to v*.

    Source: arXiv 2509.21936, section 2, on the manifold m_kv* = m_vk* = q_kv = 0.
    """
    return Sum(activation.at(l) * (m_v * z[l] + sqrt(R_v) * zeta[l]), (l, 1, L))


def squared_loss(prediction: Expr, law: SequenceLaw, noise: Expr) -> Expr:
    """The risk E_g (y - f(X))^2 of a predictor."""
    return SequenceExpectation((label(noise) - prediction) ** 2, law)


def bayes_loss(law: SequenceLaw, noise: Expr) -> Expr:
    """The risk E_g (y - E[y|X])^2 of the Bayes predictor."""
    return squared_loss(ConditionalMean(label(noise), law), law, noise)


def least_over_values(loss: Expr) -> Expr:
    """The loss at the best value vector: its minimum over the overlap m_v and over the part R_v outside v*."""
    return Minimum(Minimum(loss, R_v), m_v)


def over_length(expr: Expr, length: Expr | LengthLaw) -> Expr:
    """``expr``, a formula in ``L``, at the given length: averaged over a law, substituted for a number."""
    if isinstance(length, LengthLaw) or (length.is_Symbol and length != L):
        return LengthExpectation(expr, length)
    return expr.subs(L, length)
