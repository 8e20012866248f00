"""The risk in all seven order parameters: scores that mix key projections, values and noise."""

from collections.abc import Iterator

from sympy import Expr, Matrix, Rational, Sum, sqrt, symbols

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Collect, Linearity
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.model.attention import Attention
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax1, softplus
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import (
    Delta,
    L,
    chi,
    epsilon,
    l,
    m_kk,
    m_kv,
    m_vk,
    m_vv,
    nu,
    q_kk,
    q_kv,
    q_vv,
)
from symslr.theory.landscape import (
    ON_MANIFOLD,
    R_KK,
    R_KV,
    R_VV,
    landscape_chain,
    landscape_loss,
    reduced,
    velocities,
)

ADMISSIBLE = {
    m_kk: (Rational(1, 5), Rational(3, 5)),
    m_vv: (Rational(1, 5), Rational(3, 5)),
    m_kv: (Rational(-2, 5), Rational(2, 5)),
    m_vk: (Rational(-2, 5), Rational(2, 5)),
    q_kv: (Rational(-1, 5), Rational(1, 5)),
    q_kk: (Rational(9, 10), Rational(3, 2)),
    q_vv: (Rational(3, 2), Rational(5, 2)),
}
"""Everywhere in this box q - m m^T is positive."""

MILD = {**ADMISSIBLE, nu: (Rational(1, 5), Rational(4, 5))}
ONE = {**MILD, L: [1]}
"""Three Gaussians a token are a grid of three axes at L = 1, where softmax1 is no constant."""


def derive_seven_order_parameters() -> Iterator[Derivation]:
    for task, attention in ((SpikedSLR(), softmax1), (MaxSLR(), softmax1)):
        yield reduced(
            Derivation(
                landscape_loss(task, attention),
                title=f"Risk in all seven order parameters, {attention.name} on {task.name}-SLR",
                name=f"landscape-{attention.name}-{task.name}",
                symbol=r"\mathcal{E}(m,q)",
                introduction=r"Beside $\chi^\star$ a score depends on $z^\star$ and on $\eta$, the projection on the part of "
                r"$k$ outside $\mathrm{span}(k^\star,v^\star)$; $\zeta$ belongs to the part of $v$ outside "
                r"$\mathrm{span}(k^\star,v^\star,k)$. "
                + (
                    r"The shift of the relevant token turns with the key, so that one Gaussian a token is left."
                    if task.name == "spiked"
                    else r"The weight needs $\chi^\star$ itself, so that two Gaussians a token are left."
                ),
                sources=("duranthon2025, Sec. 4",),
                ranges=ONE,
            )
        )


def derive_centred() -> Iterator[Derivation]:
    yield (
        Derivation(
            spiked_risk(softplus),
            title="Risk in all seven order parameters around the mean score, softplus on spiked-SLR",
            name="landscape-centred",
            symbol=r"\mathcal{E}(m,q)",
            introduction=r"Written around the mean of each score, every term is an overlap times what it multiplies: "
            r"$q_{kv}$ is all that ties values to scores, $m_{kv^\star}$ all that ties scores to the label, and "
            r"$m_{vk^\star}$ moves the value of the relevant token. The three stand "
            r"in pairs in every term, so where they vanish the slopes in them do: the flow never leaves the manifold.",
            ranges={**ADMISSIBLE, nu: (Rational(1, 2), 3)},
        )
        .apply(Linearity())
        .claim(landscape_chain(SpikedSLR(), softplus).result, "symslr, the same by rotations and Gaussian moments")
    )


def spiked_risk(attention: Attention) -> Expr:
    """Every overlap beside the centred score x_l = (chi_l - E chi_l)/sqrt(q_kk) that it multiplies."""
    shift = sqrt(nu) * m_kk / sqrt(q_kk)
    law = SequenceLaw(SpikedSLR(nu * m_kk**2 / q_kk).law.weight.subs(sqrt(m_kk**2), m_kk), L)
    sigma = Activation.of(epsilon, attention, sqrt(q_kk))
    own = chi[epsilon] - shift
    total = Sum(sigma.at(l) * chi[l], (l, 1, L)) - shift * sigma

    def mean(body: Expr) -> Expr:
        return SequenceExpectation(body, law)

    norm = mean(Sum(sigma.at(l) ** 2, (l, 1, L)))
    return (
        Delta**2
        + 1
        - 2 * (m_vv - m_kv * q_kv / q_kk) * mean(sigma)
        + (q_vv - q_kv**2 / q_kk) * norm
        - 2 * m_kv * q_kv / q_kk * mean(own * total)
        - 2 * m_kv * m_vk * sqrt(nu / q_kk) * mean(own * sigma)
        + q_kv**2 / q_kk * mean(total**2)
        + 2 * q_kv * m_vk * sqrt(nu / q_kk) * mean(sigma * total)
        + nu * m_vk**2 * mean(sigma**2)
    )


def derive_outside() -> Iterator[Derivation]:
    """R = 0 under the flow, whatever the risk is."""
    slopes_m = Matrix(2, 2, symbols("d_kk d_kv d_vk d_vv", real=True))
    e_kk, e_kv, e_vv = symbols("e_kk e_kv e_vv", real=True)
    slopes_q = Matrix([[e_kk, e_kv], [e_kv, e_vv]])
    m, q = Matrix([[m_kk, m_kv], [m_vk, m_vv]]), Matrix([[q_kk, q_kv], [q_kv, q_vv]])
    R = Matrix([[R_KK, R_KV], [R_KV, R_VV]])
    by_m, by_q = velocities(slopes_m, slopes_q, m, q)
    rate = by_q - by_m * m.T - m * by_m.T
    claimed = -2 * (slopes_q * R + R * slopes_q)
    for (i, j), label in (((0, 0), "kk"), ((0, 1), "kv"), ((1, 1), "vv")):
        yield (
            Derivation(
                rate[i, j],
                title=f"What lies outside the hidden directions, along the gradient flow: the entry {label}",
                name=f"landscape-flow-outside-{label}",
                symbol=rf"\frac{{\mathrm{{d}}R_{{{label}}}}}{{\mathrm{{d}}t}}",
                introduction=r"$k$ and $v$ follow minus the gradient of any risk that depends on them through $m$ and $q$;"
                r" $d$ are its slopes in $m$ and $e$ those in $q$, a symmetric matrix. The slopes in $m$ drop out of"
                r" $R=q-mm^\top$, and $\mathrm{d}R/\mathrm{d}t=-2(eR+Re)$ vanishes with $R$: vectors within"
                r" $\mathrm{span}(k^\star,v^\star)$ stay there, and how fast others come is the slope in $q$.",
                sources=("duranthon2025, Sec. 4",),
                ranges=ADMISSIBLE,
            )
            .apply(Collect())
            .claim(claimed[i, j], "symslr, -2 (e R + R e)")
        )


def derive_manifold() -> Iterator[Derivation]:
    task, attention = SpikedSLR(), softmax1
    yield reduced(
        Derivation(
            landscape_loss(task, attention).subs(ON_MANIFOLD),
            title=f"The seven order parameters on the manifold, {attention.name} on {task.name}-SLR",
            name=f"landscape-manifold-{task.name}",
            symbol=r"\mathcal{E}\big|_{\mathcal{M}}",
            introduction=r"At $m_{kv^\star}=m_{vk^\star}=q_{kv}=0$ the same rules give the risk on the manifold, for a key "
            r"with a part $R_{kk}=q_{kk}-m_{kk^\star}^2$ outside $k^\star$.",
            sources=("duranthon2025, Sec. 4",),
            ranges=ONE,
        )
    )
