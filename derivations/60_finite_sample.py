"""Result 5.1: what of the finite-sample saddle point follows by stationarity and Gaussian integration."""

from collections.abc import Iterator

from sympy import Derivative, Limit, Symbol, latex, oo, solve, sqrt

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Envelope, GaussianMoments, Minimise, TakeLimit
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.folded import Minimum
from symslr.model.scalar_law import normal
from symslr.theory.finite_sample import FIELD, NORM, V_v, eliminate_values, y
from symslr.theory.finite_sample_saddle import ALPHA, VALUE, saddle_point_equations

SOURCE = "duranthon2025, Result 5.1"
TOKENS = (1, 2)
SIGMA = [Symbol(f"sigma_{i}", positive=True) for i in TOKENS]
OMEGA = [Symbol(f"omega_{i}", real=True) for i in TOKENS]
Z = [Symbol(f"z_{i}", real=True) for i in TOKENS]
H, XI = Symbol("h", real=True), Symbol("zeta", real=True)


def derive_proximal_values() -> Iterator[Derivation]:
    distance = sum((z - omega) ** 2 for z, omega in zip(Z, OMEGA, strict=True)) / (2 * V_v)
    residual = y - sum(s * z for s, z in zip(SIGMA, Z, strict=True))
    claim = eliminate_values()[2].subs(
        {FIELD: sum(s * o for s, o in zip(SIGMA, OMEGA, strict=True)), NORM: sum(s**2 for s in SIGMA)}
    )
    yield (
        Derivation(
            Minimum(Minimum(distance + residual**2 / 2, Z[0]), Z[1]),
            title="Finite samples: the values leave the proximal problem",
            name="finite-sample-values",
            introduction="One training sample asks for the attention and the values that pay least: the distance from "
            r"the fields $\omega$, in units of the response $V_v$, and the squared residual. At given attention "
            r"$\sigma_l$ the values stand in it quadratically and are minimised out, token by token; the result depends "
            r"on them only through $\sigma\cdot\omega$ and $|\sigma|^2$. Two tokens are shown.",
            sources=(SOURCE,),
        )
        .apply(Minimise())
        .apply(Minimise())
        .claim(claim, SOURCE)
    )


def derive_response() -> Iterator[Derivation]:
    """The force of one sample and how its energy moves with V: the equation of qhat."""
    z, omega, sigma = Z[0], OMEGA[0], SIGMA[0]
    objective = (z - omega) ** 2 / (2 * V_v) + (y - sigma * z) ** 2 / 2
    force = sigma * (y - sigma * omega) / (1 + V_v * sigma**2)
    yield (
        Derivation(
            Derivative(Minimum(objective, z), V_v),
            title="Finite samples: the energy of a sample falls with the response, by half the squared force",
            name="finite-sample-force",
            introduction=r"The replica-symmetric energy is stationary in $V_v$. Of the sample's energy only the distance "
            r"term depends on it, so its slope is $-f^2/2$ with the force $f=(z-\omega)/V_v$ at the proximal point: "
            r"$\hat q_v=\alpha\,\mathbb{E}\sum_l f_l^2$.",
            sources=(SOURCE,),
        )
        .apply(Envelope())
        .claim(-(force**2) / 2, SOURCE)
    )


def derive_stiffness() -> Iterator[Derivation]:
    """Vhat by Gaussian integration by parts at a given attention: minus alpha times the mean slope of the force."""
    t, sigma = VALUE, SIGMA[0]
    outside = Symbol("R_v", positive=True)
    omega = t.m * H + sqrt(outside) * XI
    force = sigma * (y - sigma * omega) / (1 + V_v * sigma**2)
    yield (
        Derivation(
            ScalarExpectation(-ALPHA * force * XI / sqrt(outside), XI, normal()),
            title="Finite samples: the stiffness of a sample at given attention",
            name="finite-sample-stiffness",
            symbol=r"\hat V_v",
            introduction=r"$\hat V=-\alpha\,\mathbb{E}\sum_l f_l\xi_l/\sqrt{q-m^2}$ is minus the mean slope of the force, by "
            "Gaussian integration by parts. Where the attention is given the force is linear in the field, and the slope "
            r"$\sigma^2/(1+V_v\sigma^2)$ depends on nothing else: each sample stiffens the values by its attention, less "
            "what it has already pulled.",
            sources=(SOURCE,),
        )
        .apply(GaussianMoments())
        .claim(ALPHA * sigma**2 / (1 + V_v * sigma**2), SOURCE)
    )


MEANING = (
    r"For $t=k$ (keys) and $t=v$ (values): $m_t$ is the overlap of the fitted vector with the true one, what was learnt; "
    r"$q_t$ its squared length, so that $q_t-m_t^2$ is what was fitted to noise; $V_t$ its response, how far one sample "
    r"left out could pull it, small where data abound and large where a weak ridge leaves directions free. Of the samples, "
    r"$\hat m_t$ is the pull along the true vector, $\hat q_t$ the variance of their pull across it, and $\hat V_t$ the "
    "stiffness with which they resist a change, which adds to the ridge."
)


COMPONENT = (
    "What the ridge contributes to that energy is derived here. "
    r"A component $u$ of the fitted vector is pulled along its true value $u_0\sim\mathcal N(0,1)$ with strength "
    r"$\hat m$ and at random with variance $\hat q$, and held by the ridge and by the stiffness $\hat V$ of the samples. "
    r"The slopes of this energy in the three are $-m$, $-V/2$ and $q/2$."
)


def equations() -> str:
    """The saddle-point equations of the values, as the engine derived them from the energy."""
    listed = ", ".join(f"${latex(equation)}$" for equation in saddle_point_equations(VALUE))
    return (
        "The saddle point of the replica-symmetric energy reads, with the force $f$, the true projection $h$ and the "
        rf"standard normal part $\xi$ of the field: {listed}; the same for the keys."
    )


def derive_prior() -> Iterator[Derivation]:
    t = VALUE
    component, true = Symbol("u", real=True), Symbol("u_0", real=True)
    cost = (t.ridge + t.Vhat) * component**2 / 2 - (t.mhat * true + sqrt(t.qhat) * XI) * component
    yield (
        Derivation(
            ScalarExpectation(ScalarExpectation(Minimum(cost, component), XI, normal()), true, normal()),
            title="Finite samples: what the ridge pays per component",
            name="finite-sample-ridge",
            introduction=f"{MEANING} {equations()} {COMPONENT}",
            sources=(SOURCE,),
        )
        .apply(Minimise())
        .apply(GaussianMoments())
        .claim(-(t.mhat**2 + t.qhat) / (2 * (t.ridge + t.Vhat)), SOURCE)
    )


def derive_many_samples() -> Iterator[Derivation]:
    t, sigma = VALUE, SIGMA[0]
    fixed = V_v * (t.ridge + ALPHA * sigma**2 / (1 + V_v * sigma**2)) - 1
    roots = solve(fixed, V_v)
    response = next(root for root in roots if root.subs({ALPHA: 1, sigma: 1, t.ridge: 1}).is_positive)
    yield (
        Derivation(
            Limit(ALPHA * response, ALPHA, oo),
            title="Finite samples: the response when data abound",
            name="finite-sample-many",
            symbol=r"\lim_{\alpha\to\infty}\alpha V_v",
            introduction=r"At given attention the equation $V_v(r_v+\hat V_v)=1$ is quadratic. As $\alpha\to\infty$ the "
            "response dies like $1/\\alpha$ whatever the ridge, the proximal point moves to the field, and the fixed point "
            "becomes the stationary point of the population risk.",
            sources=(SOURCE,),
        )
        .apply(TakeLimit())
        .claim(1 / sigma**2, SOURCE)
    )
