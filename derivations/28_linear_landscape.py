"""Linear attention: its least risk over all seven order parameters, from the loss."""

from collections.abc import Iterator
from functools import cache

from sympy import Expr, Sum, sqrt, symbols

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule
from symslr.algebra.rules import (
    CameronMartin,
    Collect,
    Exchangeability,
    GaussianMoments,
    Independence,
    Linearity,
    Minimise,
    OddMeans,
    Selection,
    SplitSquare,
    Unfold,
)
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Minimum
from symslr.expression.scored import ScoredActivation
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear
from symslr.model.symbols import Delta, L, chi, epsilon, l, m_kk, m_vv, nu, q_kk, q_vv, z
from symslr.model.task import Task
from symslr.theory.definitions import label
from symslr.theory.landscape import ADMISSIBLE, ON_MANIFOLD, LandscapeRisk, attention_at_key, prediction

w_1, w_2 = symbols("w_1 w_2", real=True)

Y, F = label(Delta), prediction(attention_at_key(linear))
P = Sum((w_1 + w_2 * chi[l]) * z[l], (l, 1, L))
"""The label, linear attention's prediction, and a predictor linear in the features sum z_l and sum chi_l z_l."""

RULES: dict[str, tuple[Rule, ...]] = {
    name: (
        Unfold(ScoredActivation),
        OddMeans(),
        GaussianMoments(),
        Linearity(),
        shift,
        Exchangeability(),
        Independence(),
        GaussianMoments(),
        Collect(),
    )
    for name, shift in (("spiked", CameronMartin()), ("max", Selection()))
}
"""Signs, values, tokens: in this order every mean of polynomials is a polynomial."""

STEM = (
    r"$P=w_1\sum_{l=1}^L z_l+w_2\sum_{l=1}^L\chi_l z_l$ is the linear predictor from the two features that correlate "
    "with the label. "
)


def best_weights(task: Task) -> dict[Expr, Expr]:
    """The weights at which P is the best: a witness, whose optimality the chains show."""
    if task.name == "spiked":
        scale = L**2 + nu * (L - 1)
        return {w_1: L / scale, w_2: sqrt(nu) * (L - 1) / scale}
    return {w_1: 1 / L, w_2: SequenceExpectation(chi[epsilon], task.law) / L}


def least(task: Task) -> Expr:
    """Linear attention's least risk."""
    if task.name == "spiked":
        return Delta**2 + L * (L - 1) / (L**2 + nu * (L - 1))
    return Delta**2 + 1 - (1 + SequenceExpectation(chi[epsilon], task.law) ** 2) / L


@cache
def mean(task: Task, body: Expr, name: str, title: str) -> Derivation:
    """A mean of products of linear attention, of P and of the label, as a polynomial in their parameters."""
    chain = Derivation(
        SequenceExpectation(body, task.law),
        title=f"{title}, {task.name}-SLR",
        name=f"linear-landscape-{name}-{task.name}",
        introduction=STEM
        + r"$F$ is linear attention with all seven order parameters: of the products only those survive that "
        r"are even in each of $z$, $\eta$, $\zeta$ and $\xi$.",
        ranges=ADMISSIBLE,
    )
    for rule in RULES[task.name]:
        if rule.match(chain.result):
            chain = chain.apply(rule)
    return chain


def products(task: Task) -> tuple[Derivation, ...]:
    return (
        mean(task, (Y - P) ** 2, "distance", "Risk of the two-feature linear predictor"),
        mean(task, Y * P, "label-predictor", "Cross moment of the label and the two-feature predictor"),
        mean(task, P**2, "predictor", "Second moment of the two-feature predictor"),
        mean(task, Y * F, "label-attention", "Cross moment of the label and linear attention"),
        mean(task, P * F, "predictor-attention", "Cross moment of the two-feature predictor and linear attention"),
    )


def derive_products() -> Iterator[Derivation]:
    for task in (SpikedSLR(), MaxSLR()):
        yield from products(task)


def derive_best_predictor() -> Iterator[Derivation]:
    for task in (SpikedSLR(), MaxSLR()):
        risk = products(task)[0]
        yield (
            Derivation(
                Minimum(Minimum(risk.start, w_2), w_1),
                title=f"Least risk of the two-feature linear predictor, {task.name}-SLR",
                name=f"linear-landscape-features-{task.name}",
                symbol=r"\min_w\mathbb{E}_g(y-P)^2",
                introduction=STEM,
                ranges={L: [2, 3, 5, 4]},
            )
            .apply(Cite(risk))
            .apply(Minimise())
            .apply(Minimise())
            .claim(least(task), "duranthon2025, App. on linear attention")
        )


def derive_global_minimum() -> Iterator[Derivation]:
    for task in (SpikedSLR(), MaxSLR()):
        best = best_weights(task)
        distance, *crossed = products(task)
        through = P.subs(best)
        chain = (
            Derivation(
                LandscapeRisk.of(task, linear),
                title="Risk of linear attention: least risk plus the squared distance to the best two-feature "
                f"predictor, {task.name}-SLR",
                name=f"linear-landscape-{task.name}",
                symbol=r"\mathcal{E}(m,q)",
                introduction=r"The best predictor $P$ from the features $\sum_{l=1}^L z_l$ and $\sum_{l=1}^L\chi_l z_l$ "
                "leaves a residual that "
                r"is orthogonal to every prediction of linear attention. By Pythagoras the risk is the least risk plus "
                r"the mean square distance to $P$. It is never below, and attains it where $F=P$, which asks for "
                r"$m_{kv^\star}=m_{vk^\star}=q_{kv}=R_{kk}=R_{vv}=0$.",
                sources=("duranthon2025, App. on linear attention",),
                ranges=ADMISSIBLE,
            )
            .apply(Unfold(LandscapeRisk))
            .apply(SplitSquare(F, through))
        )
        for product in crossed:
            weights = {w: value for w, value in best.items() if w in product.start.free_symbols}
            chain = chain.apply(Cite(product, weights))
        chain = chain.apply(Cite(distance, best))
        chain = chain.apply(Collect(), "The residual is orthogonal to linear attention and to $P$.")
        far = SequenceExpectation((F - through) ** 2, task.law)
        yield chain.claim(least(task) + far, "duranthon2025, App. on linear attention")


def derive_attained() -> Iterator[Derivation]:
    for task in (SpikedSLR(), MaxSLR()):
        best = best_weights(task)
        size, scale = best[w_1], best[w_2] / best[w_1]
        place = {**ON_MANIFOLD, m_vv: size, q_vv: size**2, m_kk: scale, q_kk: scale**2}
        chain = Derivation(
            LandscapeRisk.of(task, linear, place),
            title=f"Linear attention attains the least risk of the two-feature predictor, {task.name}-SLR",
            name=f"linear-landscape-attained-{task.name}",
            symbol=r"\mathsf{E}_{\mathrm{lin}}",
            introduction=r"At $k=\frac{w_2}{w_1}k^\star$, $v=w_1v^\star$ linear attention is the best predictor from two features.",
            ranges={L: [2, 3, 5, 4]},
        ).apply(Unfold(LandscapeRisk))
        for rule in RULES[task.name]:
            if rule.match(chain.result):
                chain = chain.apply(rule)
        yield chain.claim(least(task), "duranthon2025, App. on linear attention")
