"""Corollaries 4.3 and 4.4: linear attention's least risk in closed form, for fixed and random length."""

from collections.abc import Iterator

from sympy import Expr, Limit, Rational, oo

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    CameronMartin,
    ChangeOfMeasure,
    Exchangeability,
    GaussianMoments,
    GeometricSeries,
    Independence,
    Linearity,
    Minimise,
    Reweight,
    Selection,
    Stein,
    TakeLimit,
    Unfold,
)
from symslr.expression.expectation import LengthExpectation, SequenceExpectation
from symslr.expression.folded import Activation, Minimum, Posterior
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear
from symslr.model.symbols import P_L, Delta, L, a, chi, epsilon, nu
from symslr.model.task import Task
from symslr.theory.population import PopulationRisk

SOURCE = ("duranthon2025, App. on linear attention",)


def risk_at_scale(task: Task, length: Expr, name: str, title: str) -> Derivation:
    """The risk of linear attention at key a k*, best value: a rational function of a."""
    chain = (
        Derivation(
            PopulationRisk(Activation.of(epsilon, linear, a), task.law, Delta, length),
            title=title,
            name=name,
            symbol=r"\min_v\mathcal{E}_{\mathrm{lin}}",
            sources=SOURCE,
        )
        .apply(Unfold())
        .apply(Unfold())
        .apply(Linearity())
    )
    shift = Selection() if task.name == "max" else CameronMartin()
    chain = chain.apply(shift).apply(Exchangeability()).apply(Independence()).apply(GaussianMoments())
    return chain.apply(Linearity()) if chain.result.has(LengthExpectation) and task.name == "spiked" else chain


def least(risk: Derivation, name: str, title: str) -> Derivation:
    """The minimum of a risk over the scale a."""
    return Derivation(
        Minimum(risk.result, a), title=title, name=name, symbol=r"\mathsf{E}_{\mathrm{lin}}", sources=SOURCE
    ).apply(Minimise())


def derive_spiked() -> Iterator[Derivation]:
    risk = risk_at_scale(SpikedSLR(), L, "linear-spiked", "Linear attention on spiked-SLR at scale $a$")
    yield risk
    best = least(risk, "linear-spiked-least", "Least risk of linear attention on spiked-SLR")
    yield best.claim(Delta**2 + L * (L - 1) / (L**2 + nu * (L - 1)), "duranthon2025, App. on linear attention")
    yield (
        Derivation(
            best.result,
            title="Least risk of linear attention on spiked-SLR at strong signal, as a series",
            name="asymptotics-linear-spiked",
            symbol=r"\mathsf{E}_{\mathrm{lin}}",
            ranges={L: [2, 3, 4], nu: (Rational(400), Rational(900))},
            introduction=r"For $L\ge2$. The expansion parameter is $L^2/((L-1)\nu)$: at large length linear attention needs "
            r"$\nu\gg L$, where softmax attention needs $\nu>2\log L$.",
        ).apply(GeometricSeries(nu, 4))
    )
    scaled = nu * (best.result - Delta**2)
    yield (
        Derivation(
            Limit(scaled, nu, oo),
            title="Linear attention on spiked-SLR at strong signal",
            name="linear-spiked-limit",
            symbol=r"\lim_{\nu\to\infty}\nu\,(\mathsf{E}_{\mathrm{lin}}-\Delta^2)",
            ranges={L: [2, 3, 4, 7]},
            introduction="For $L\\ge2$; a single token is found without error. What the summaries of the paper quote "
            "for Corollary 4.3 is put beside the limit that is derived: they disagree with it and with each other.",
        )
        .apply(TakeLimit())
        .claim(L / (L - 1), "duranthon2025, Cor. 4.3 as summarised", label="quoted")
        .claim(L - 1, "duranthon2025, Cor. 4.3 as summarised elsewhere", label="quoted")
    )


def derive_max() -> Iterator[Derivation]:
    task = MaxSLR()
    risk = risk_at_scale(task, L, "linear-max", "Linear attention on max-SLR at scale $a$")
    yield risk
    mean_key = SequenceExpectation(chi[epsilon], task.law)
    yield least(risk, "linear-max-least", "Least risk of linear attention on max-SLR").claim(
        Delta**2 + 1 - (1 + mean_key**2) / L, "duranthon2025, App. on linear attention"
    )
    yield (
        Derivation(
            mean_key,
            title="Mean key projection of the relevant token in max-SLR",
            name="linear-max-overlap",
            symbol=r"\mu",
            introduction="Stein's lemma ties the mean to the Bayes risk without noise: "
            "$\\mu=\\nu\\,\\mathcal{E}_{\\mathrm{Bayes}}$.",
        )
        .apply(ChangeOfMeasure())
        .apply(Stein())
        .apply(Reweight(task.law))
        .claim(nu * SequenceExpectation(1 - Posterior(epsilon, task.law), task.law), "symslr, by Stein's lemma")
    )


def derive_random_length() -> Iterator[Derivation]:
    for task in (SpikedSLR(), MaxSLR()):
        where = f"{task.name}-SLR, random length"
        risk = risk_at_scale(task, P_L, f"linear-{task.name}-random", f"Linear attention at scale $a$, {where}")
        yield risk
        mean = LengthExpectation(L, P_L)
        overlap = LengthExpectation(SequenceExpectation(chi[epsilon], task.law), P_L)
        published = {
            "spiked": mean * (mean - 1) / (mean**2 + nu * (mean - 1)),
            "max": 1 - (1 + overlap**2) / mean,
        }
        yield least(risk, f"linear-{task.name}-random-least", f"Least risk of linear attention, {where}").claim(
            Delta**2 + published[task.name], "duranthon2025, Cor. 4.4"
        )
