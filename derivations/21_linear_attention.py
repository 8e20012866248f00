"""Linear attention's least risk in closed form, for fixed and random length (Corollaries 4.3 and 4.4)."""

from collections.abc import Iterator

from sympy import Expr, Function, Rational, S, oo

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rule import Rule
from symslr.algebra.rules import (
    AverageHiddenIndex,
    CameronMartin,
    ChangeOfMeasure,
    Exchangeability,
    GaussianMoments,
    GeometricSeries,
    Independence,
    Linearity,
    MeanOne,
    Minimise,
    OneIsLargest,
    Reweight,
    SelectedMean,
    Selection,
    Stein,
    Unfold,
)
from symslr.check.collect import neighbour
from symslr.expression.expectation import LengthExpectation, ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, Posterior
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import P_L, Delta, L, R_v, a, chi, epsilon, m_v, nu, x
from symslr.model.task import Task
from symslr.theory.bayes import BayesRisk
from symslr.theory.definitions import over_length, predictor, squared_loss
from symslr.theory.population import MinimalRisk, PopulationRisk

SOURCE = ("duranthon2025, App. on linear attention",)
SPIKED, MAX = SpikedSLR(), MaxSLR()
KEY = SequenceExpectation(chi[epsilon], MAX.law)

bayes = neighbour(__file__, "10_bayes_risk.py")
matched = neighbour(__file__, "12_softmax_attains_bayes.py")
population = neighbour(__file__, "20_population_risk.py")


def at_scale(task: Task, length: Expr, shift: Rule, name: str, where: str) -> Derivation:
    """The risk of linear attention at key a k*, best value vector: a rational function of a.

    ``shift`` is what takes the weight away from functions of single tokens.
    """
    sigma = Activation.of(epsilon, linear, a)
    return (
        Derivation(
            PopulationRisk(sigma, task.law, Delta, length),
            title=f"Risk of linear attention at key scale $a$ on {where}",
            name=name,
            symbol=r"\min_v\mathcal{E}_{\mathrm{lin}}",
            sources=SOURCE,
        )
        .apply(Unfold(PopulationRisk))
        .apply(Cite(population.best_value(length), {population.g: task.law.weight, population.sigma: sigma}))
        .apply(Unfold(Activation))
        .apply(Linearity())
        .apply(shift)
        .apply(Exchangeability())
        .apply(Independence())
        .apply(GaussianMoments())
    )


def least(risk: Derivation, where: str) -> Derivation:
    """The minimum of a risk over the scale a."""
    return (
        Derivation(
            MinimalRisk(*risk.start.args, a),
            title=f"Least risk of linear attention on {where}",
            name=f"{risk.name}-least",
            symbol=r"\mathsf{E}_{\mathrm{lin}}",
            sources=SOURCE,
        )
        .apply(Unfold(MinimalRisk))
        .apply(Cite(risk))
        .apply(Minimise())
    )


def derive_spiked() -> Iterator[Derivation]:
    risk = at_scale(SPIKED, L, CameronMartin(), "linear-spiked", "spiked-SLR")
    yield risk
    best = least(risk, "spiked-SLR")
    yield best.claim(Delta**2 + L * (L - 1) / (L**2 + nu * (L - 1)), "duranthon2025, App. on linear attention")
    strong = {"symbol": r"\mathsf{E}_{\mathrm{lin}}", "ranges": {L: [2, 3, 4], nu: (Rational(400), Rational(900))}}
    yield (
        Derivation(
            best.start,
            title="Least risk of linear attention on spiked-SLR: expansion at strong signal",
            name="asymptotics-linear-spiked",
            introduction=r"For $L\ge2$. The expansion parameter is $L^2/((L-1)\nu)$: at large length linear attention needs "
            r"$\nu\gg L$, where softmax attention needs $\nu>2\log L$.",
            **strong,
        )
        .apply(Cite(best))
        .apply(GeometricSeries(nu, 4))
    )
    yield (
        Derivation(
            best.start,
            title="Least risk of linear attention on spiked-SLR: leading term at strong signal",
            name="linear-spiked-limit",
            introduction=r"For $L\ge2$; a single token is found without error. A note quotes Eq. (12) of the paper as "
            r"$\frac{L}{L-1}\frac1\nu+o(1)$, and a summary has $\frac{L-1}{\nu}$. With an additive $o(1)$, at fixed $L$ and "
            r"$\nu\to\infty$, both hold, as any multiple of $1/\nu$ does: they then say no more than "
            r"$\mathsf{E}_{\mathrm{lin}}\to\Delta^2$. As leading terms they do not hold for every $L$: ours is $L/\nu$, which "
            r"agrees with Eq. (12) at $L=2$ and differs from $L=3$ on, and with $L-1$ up to a factor that tends to 1 as $L$ grows.",
            **strong,
        )
        .apply(Cite(best))
        .apply(GeometricSeries(nu, 1))
        .claim(Delta**2 + L / (L - 1) / nu, "duranthon2025, Eq. (12) as a note quotes it", label="quoted")
        .claim(Delta**2 + (L - 1) / nu, "duranthon2025, Cor. 4.3 as a summary has it", label="quoted")
    )


def derive_max() -> Iterator[Derivation]:
    risk = at_scale(MAX, L, Selection(), "linear-max", "max-SLR")
    yield risk
    best = least(risk, "max-SLR")
    yield best.claim(Delta**2 + 1 - (1 + KEY**2) / L, "duranthon2025, App. on linear attention")
    yield (
        Derivation(
            KEY,
            title=r"Mean key projection of the relevant token in max-SLR: $\nu$ times the noiseless Bayes risk",
            name="linear-max-overlap",
            symbol=r"\mu",
            introduction="Stein's lemma ties the mean to the Bayes risk without noise: "
            "$\\mu=\\nu\\,\\mathcal{E}_{\\mathrm{Bayes}}$.",
        )
        .apply(ChangeOfMeasure())
        .apply(Stein())
        .apply(Reweight(MAX.law))
        .claim(
            nu * SequenceExpectation(1 - Posterior(epsilon, MAX.law), MAX.law), "symslr, by Stein's lemma", label="own"
        )
    )
    yield (
        Derivation(
            best.start,
            title="Linear attention on long max-SLR sequences is no better than a constant predictor, at any signal",
            name="linear-max-long",
            symbol=r"\mathsf{E}_{\mathrm{lin}}",
            ranges={L: [6, 8, 60, 150, 400], nu: (Rational(1, 5), Rational(4, 5))},
            introduction=r"What is left out is at most $2\log(L)/L$ for every $\nu$, $\nu=\infty$ included: as $L$ grows linear "
            r"attention does no better than the constant predictor, whose risk is $\Delta^2+1$.",
        )
        .apply(Cite(best))
        .apply(SelectedMean(), "The selected token's key projection is of order $\\sqrt{\\log L}$ only.")
        .claim(Delta**2 + 1 - 1 / L, "duranthon2025, Cor. 4.3")
    )
    clear = MaxSLR(oo)
    yield (
        Derivation(
            BayesRisk(clear.law, Delta),
            title="Bayes risk of max-SLR at infinite signal: the noise alone",
            name="bayes-risk-max-infinite",
            symbol=r"\mathcal{E}_{\mathrm{Bayes}}\big|_{\nu=\infty}",
            introduction=r"The relevant token is the largest, so it is known. Softmax attention attains the Bayes risk at every "
            r"finite $\nu$ with scale $\nu$, so its risk without noise falls to 0 where linear attention's tends to 1.",
        )
        .apply(Cite(bayes.any_weight, {bayes.g: clear.law.weight}))
        .apply(ChangeOfMeasure())
        .apply(Unfold(Posterior))
        .apply(AverageHiddenIndex())
        .apply(OneIsLargest())
        .claim(Delta**2, "duranthon2025, Cor. 4.3")
    )


def derive_random_length() -> Iterator[Derivation]:
    mean = LengthExpectation(L, P_L)
    risk = at_scale(SPIKED, P_L, CameronMartin(), "linear-spiked-random", "spiked-SLR, random length").apply(
        Linearity()
    )
    yield risk
    yield least(risk, "spiked-SLR, random length").claim(
        Delta**2 + mean * (mean - 1) / (mean**2 + nu * (mean - 1)), "duranthon2025, Cor. 4.4"
    )
    risk = at_scale(MAX, P_L, Selection(), "linear-max-random", "max-SLR, random length")
    yield risk
    yield least(risk, "max-SLR, random length").claim(
        Delta**2 + 1 - (1 + LengthExpectation(KEY, P_L) ** 2) / mean, "duranthon2025, Cor. 4.4"
    )


def derive_what_length_costs() -> Iterator[Derivation]:
    w, kappa = Function("w", real=True), Function("kappa", real=True)
    law = SequenceLaw(w(chi[epsilon]), L)
    sigma = Activation(epsilon, kappa(x), S.Zero, S.Zero, a, L)
    theorem = population.on_the_manifold(P_L)

    def one_token(body: Expr) -> Expr:
        return ScalarExpectation(body, x, STANDARD_NORMAL)

    hit = one_token(w(x) * kappa(a * x))
    norm = one_token(w(x) * kappa(a * x) ** 2) + (LengthExpectation(L, P_L) - 1) * one_token(kappa(a * x) ** 2)
    yield (
        Derivation(
            over_length(squared_loss(predictor(sigma), law, Delta), P_L),
            title="Random length: the risk of an element-wise attention depends on the mean length alone",
            name="element-wise-random-length",
            symbol=r"\mathbb{E}_L\,\mathcal{E}_\sigma",
            introduction=r"For any element-wise kernel $\kappa$ and any weight $w(\chi_\epsilon)$ of the relevant token alone the "
            r"risk is affine in $L$: every token adds its square, whatever the others are. So the risk under a law of $L$ is "
            r"that at $\mathbb{E}[L]$. Minimised over $k$ and $v$, functions affine in $L$ become a concave one, and Jensen's "
            r"inequality gives $\mathsf{E}_\sigma(\text{law of }L)=\mathsf{E}_\sigma(\mathbb{E}[L])\ge"
            r"\mathbb{E}_L\,\mathsf{E}_\sigma(L)$: one scale has to serve all lengths.",
            sources=("duranthon2025, Cor. 4.4",),
        )
        .apply(Cite(theorem, {population.g: w(chi[epsilon]), population.sigma: sigma}))
        .apply(Unfold(Activation))
        .apply(Exchangeability())
        .apply(Independence())
        .apply(MeanOne(law))
        .apply(Linearity())
        .claim(Delta**2 + 1 - 2 * m_v * hit + (m_v**2 + R_v) * norm, "symslr, any element-wise kernel", label="own")
    )
    for task, scale, symmetric in matched.TASKS:
        yield (
            Derivation(
                LengthExpectation(BayesRisk(task.law, Delta), P_L),
                title=f"Random length: one softmax attention attains the Bayes risk of {task.name}-SLR at every length",
                name=f"softmax-random-length-{task.name}",
                symbol=r"\mathbb{E}_L\,\mathcal{E}_{\mathrm{Bayes}}",
                introduction=r"The matched key and value do not depend on $L$: one softmax attention attains the Bayes risk at "
                "every length at once, because its normaliser counts the tokens for it.",
            )
            .apply(Cite(matched.any_weight, {matched.c_nu: scale, matched.s: symmetric.subs(matched.c_nu, scale)}))
            .claim(LengthExpectation(matched.softmax_loss(task.law, scale), P_L), "duranthon2025, Cor. 4.4")
        )
