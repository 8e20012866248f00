"""Bayes-optimal estimation of k* and v* from N = alpha D samples: free entropy and state evolution.

With components of k*, v* drawn from N(0, 1), Nishimori's identity makes overlap and squared length equal, so one overlap
q per vector is left. A sample's fields are omega_chi = q_k chi* + sqrt(q_k(1-q_k)) xi, omega_z likewise, and its
partition function is

    Z = (1/L) sum_l E[g(l, chi*) | omega_chi] N(y; omega_z,l, V),   V = 1 - q_v + Delta^2,

where chi*_l given its field is N(omega_l, 1 - q_k), independent over tokens. The posterior of the hidden position is
p_l, proportional to the l-th term. For the two tasks

    spiked   E[g(l, chi*) | omega] = exp(sqrt(nu) omega_l - nu q_k/2)
    max      E[g(l, chi*) | omega] = L E softmax_l(nu chi*), an integral over L normals that Gumbel's trick makes one:
             softmax_l(s) = P(s_l + G_l is largest) for independent standard Gumbel G, and s_m + G_m are independent
             given omega, so it is int psi'(t - nu omega_l) prod_{m != l} psi(t - nu omega_m) dt with
             psi(t) = E exp(-exp(-t + nu sqrt(1-q_k) xi)).

Source: arXiv 2509.21936, section 5 (Bayes-optimal curve of Figure 3); the channel of max-SLR is derived here.
"""

from __future__ import annotations

from functools import cache

from sympy import Eq, Expr, Function, Symbol, exp, log, pi, simplify, solve, sqrt

from symslr.theory.finite_sample_saddle import ALPHA, FORCE, Channel, TokenMean

Q_HAT = Symbol(r"\hat{q}", positive=True)
OVERLAP = Symbol("q", positive=True)


def prior_entropy() -> Expr:
    """E log E_k exp(-qhat k^2/2 + (qhat k* + sqrt(qhat) xi) k) for one component: (qhat - log(1 + qhat))/2.

    The integral over k ~ N(0, 1) is Gaussian, with pull b = qhat k* + sqrt(qhat) xi of mean square qhat^2 + qhat.
    """
    from sympy import integrate, oo

    component, pull = Symbol("component", real=True), Symbol("pull", real=True)
    weight = exp(-(1 + Q_HAT) * component**2 / 2 + pull * component) / sqrt(2 * pi)
    inner = log(simplify(integrate(weight, (component, -oo, oo)))).expand(force=True)
    return simplify(inner.expand().subs(pull**2, Q_HAT**2 + Q_HAT))


def free_entropy() -> Expr:
    """Phi = sum_t [(qhat - log(1 + qhat))/2 - q qhat/2] + alpha E log Z, with qhat_t at its stationary point.

    At qhat = q/(1-q) the bracket is (q + log(1-q))/2. Among the fixed points the one of largest Phi is the posterior.
    """
    inner = prior_entropy() - OVERLAP * Q_HAT / 2
    bracket = simplify(inner.subs(Q_HAT, solve(inner.diff(Q_HAT), Q_HAT)[0]))
    total = ALPHA * Function(r"\mathcal{L}")(*(t.q for t in _channels()))
    return sum((bracket.subs(OVERLAP, t.q) for t in _channels()), start=total)


@cache
def state_evolution() -> tuple[Eq, ...]:
    """qhat = alpha E sum_l f_l^2 and q = qhat/(1 + qhat), for keys and for values alike; f = grad_omega log Z."""
    inner = prior_entropy() - OVERLAP * Q_HAT / 2
    # d(E log Z)/dq = E|grad_omega log Z|^2/2, by Gaussian integration by parts in the field and Nishimori's identity.
    outer = inner.diff(OVERLAP) + ALPHA * TokenMean(FORCE**2) / 2
    return (
        Eq(Q_HAT, solve(outer, Q_HAT)[0], evaluate=False),
        Eq(OVERLAP, solve(inner.diff(Q_HAT), OVERLAP)[0].factor(), evaluate=False),
    )


def _channels() -> tuple[Channel, Channel]:
    return Channel("k"), Channel("v")
