"""The risk in all seven order parameters of key and value, for every kernel and both tasks."""

from collections.abc import Iterator
from functools import cache

from sympy import Expr, Sum, sqrt

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Unfold
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation
from symslr.expression.scored import ScoredActivation
from symslr.model.catalogue import MaxSLR, SpikedSLR
from symslr.model.symbols import Delta, L, chi, epsilon, l, m, m_kk, m_kv, m_vk, m_vv, nu, q_kk, q_kv, q_vv, z
from symslr.model.task import Task
from symslr.theory.landscape import ADMISSIBLE, ANY_ELEMENTWISE, ANY_NORMALISED, ON_MANIFOLD, LandscapeRisk, reduced

WORDS = {
    "spiked": "The shift of the relevant token turns with the key, so that one Gaussian a token is left: each overlap stands "
    r"beside the centred score $x_l=(\chi_l-\mathbb{E}\chi_l)/\sqrt{q_{kk}}$ that it multiplies.",
    "max": r"The weight needs $\chi^\star$ itself, so that two Gaussians a token are left.",
}


@cache
def in_seven_order_parameters(task: Task, sigma: ScoredActivation, kind: str) -> Derivation:
    """From the definition to expectations over as few Gaussians a token as the weight allows."""
    return reduced(
        Derivation(
            LandscapeRisk.of(task, sigma),
            title=f"Population risk in all seven order parameters: {task.name}-SLR, any {kind} attention",
            name=f"landscape-{kind}-{task.name}",
            symbol=r"\mathcal{E}(m,q)",
            introduction=r"Beside $\chi^\star$ a score depends on $z^\star$ and on $\eta$, the projection on the part "
            r"of $k$ outside $\mathrm{span}(k^\star,v^\star)$; $\zeta$ belongs to the part of $v$ outside "
            r"$\mathrm{span}(k^\star,v^\star,k)$. No rule looks into $\sigma$: the kernel is left open. "
            + WORDS[task.name],
            sources=("duranthon2025, Sec. 4",),
            ranges=ADMISSIBLE,
        ).apply(Unfold(LandscapeRisk))
    )


def derive_seven_order_parameters() -> Iterator[Derivation]:
    for sigma, kind in ((ANY_NORMALISED, "normalised"), (ANY_ELEMENTWISE, "element-wise")):
        for task, known in ((SpikedSLR(), around_the_shift), (MaxSLR(), beside_the_weight)):
            chain = in_seven_order_parameters(task, sigma, kind)
            yield chain.claim(known(sigma), "symslr, in centred scores", label="own")


def around_the_shift(attention: ScoredActivation) -> Expr:
    """Spiked-SLR: the label is tied to the scores by m_kv, the values by q_kv, and m_vk moves the relevant value."""
    root, shift = sqrt(q_kk), sqrt(nu) * m_kk / sqrt(q_kk)
    law = SpikedSLR(nu * m_kk**2 / q_kk).law
    law = law.subs(sqrt(m_kk**2), m_kk)
    sigma = Activation(*attention.args[:4], root, L)
    own = chi[epsilon] - shift
    total = Sum(sigma.at(l) * chi[l], (l, 1, L)) - shift * sigma

    def mean(body: Expr) -> Expr:
        return SequenceExpectation(body, law)

    return (
        Delta**2
        + 1
        - 2 * (m_vv - m_kv * q_kv / q_kk) * mean(sigma)
        + (q_vv - q_kv**2 / q_kk) * mean(Sum(sigma.at(l) ** 2, (l, 1, L)))
        - 2 * m_kv * q_kv / q_kk * mean(own * total)
        - 2 * m_kv * m_vk * sqrt(nu / q_kk) * mean(own * sigma)
        + q_kv**2 / q_kk * mean(total**2)
        + 2 * q_kv * m_vk * sqrt(nu / q_kk) * mean(sigma * total)
        + nu * m_vk**2 * mean(sigma**2)
    )


def beside_the_weight(attention: ScoredActivation) -> Expr:
    """Max-SLR: label and values regressed on the part of the score that chi* leaves open, s z_l."""
    s = sqrt(q_kk - m_kk**2)
    label_slope, value_slope = m_kv / s, (q_kv - m_kk * m_vk) / s
    law = MaxSLR().law
    sigma = attention.with_score(m_kk * chi[m] + s * z[m])
    carried = Sum(sigma.at(l) * (m_vk * chi[l] + value_slope * z[l]), (l, 1, L))

    def mean(body: Expr) -> Expr:
        return SequenceExpectation(body, law)

    return (
        Delta**2
        + 1
        - 2 * (m_vv - label_slope * value_slope) * mean(sigma)
        + (q_vv - m_vk**2 - value_slope**2) * mean(Sum(sigma.at(l) ** 2, (l, 1, L)))
        - 2 * label_slope * mean(z[epsilon] * carried)
        + mean(carried**2)
    )


def derive_on_the_manifold() -> Iterator[Derivation]:
    for task in (SpikedSLR(), MaxSLR()):
        if task.name == "spiked":
            sigma, law = Activation(*ANY_NORMALISED.args[:4], sqrt(q_kk), L), SpikedSLR(nu * m_kk**2 / q_kk).law
            law = law.subs(sqrt(m_kk**2), m_kk)
        else:
            sigma, law = ANY_NORMALISED.with_score(m_kk * chi[m] + sqrt(q_kk - m_kk**2) * z[m]), task.law
        hit, norm = (SequenceExpectation(body, law) for body in (sigma, Sum(sigma.at(l) ** 2, (l, 1, L))))
        yield reduced(
            Derivation(
                LandscapeRisk.of(task, ANY_NORMALISED, ON_MANIFOLD),
                title="Population risk with zero cross-overlaps of key and value, key partly orthogonal to "
                f"$k^\\star$: {task.name}-SLR",
                name=f"landscape-manifold-{task.name}",
                symbol=r"\mathcal{E}\big|_{\mathcal{M}}",
                introduction=r"At $m_{kv^\star}=m_{vk^\star}=q_{kv}=0$ the same rules give the risk of Section 4, for a key "
                r"with a part of squared norm $R_{kk}=q_{kk}-m_{kk^\star}^2$ outside $k^\star$.",
                sources=("duranthon2025, Sec. 4",),
                ranges=ADMISSIBLE,
            ).apply(Unfold(LandscapeRisk))
        ).claim(Delta**2 + 1 - 2 * m_vv * hit + q_vv * norm, "duranthon2025, Sec. 4")
