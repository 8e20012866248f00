r"""The manifold $m_{kv^\star}=m_{vk^\star}=q_{kv}=0$: invariant under gradient flow; components outside the hidden directions."""

from collections.abc import Iterator

from sympy import Derivative, S, Symbol, exp, sqrt, symbols

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    AverageValues,
    CameronMartin,
    ChainRule,
    Conditioning,
    Differentiate,
    FlipSigns,
    GaussianErf,
    GaussianMoments,
    LikelihoodRatio,
    Linearity,
    SlopeOfOddPart,
    SplitVariance,
    Unfold,
)
from symslr.check.collect import neighbour
from symslr.expression.at import At
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.scored import ScoredActivation
from symslr.model.catalogue import MaxSLR, SpikedSLR, erf, linear, softmax
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import (
    Delta,
    c,
    eta,
    m_kk,
    m_kv,
    m_vk,
    m_vv,
    nu,
    q_kk,
    q_kv,
    q_vv,
    x,
    xi,
    z,
    zeta,
)
from symslr.theory.definitions import bayes_loss
from symslr.theory.landscape import ADMISSIBLE, ANY_ELEMENTWISE, ANY_NORMALISED, ON_MANIFOLD, LandscapeRisk

landscape = neighbour(__file__, "25_landscape.py")

TASKS = (SpikedSLR(), MaxSLR())
ATTENTIONS = ((ANY_NORMALISED, "normalised"), (ANY_ELEMENTWISE, "element-wise"))


def derive_sign_symmetry() -> Iterator[Derivation]:
    mirrored = {parameter: -parameter for parameter in ON_MANIFOLD}
    for task in TASKS:
        for sigma, kind in ATTENTIONS:
            risk = LandscapeRisk.of(task, sigma)
            yield (
                Derivation(
                    LandscapeRisk.of(task, sigma, mirrored),
                    title=f"Population risk is even in the cross-overlaps of key and value: {task.name}-SLR, any {kind} attention",
                    name=f"landscape-even-{kind}-{task.name}",
                    symbol=r"\mathcal{E}(-m_{kv^\star},-m_{vk^\star},-q_{kv})",
                    introduction=r"The values $(z,\zeta)$ and the noise are symmetric whatever the weight is. With their signs "
                    r"the label and the prediction change theirs, and their difference is squared.",
                    ranges=ADMISSIBLE,
                )
                .apply(Unfold(LandscapeRisk))
                .apply(FlipSigns(z, zeta, xi), r"This is $(z,v^\star,v)\to-(z,v^\star,v)$.")
                .claim(risk.definition(), "symslr, by symmetry", label="own")
            )


def derive_slopes_on_the_manifold() -> Iterator[Derivation]:
    t = Symbol("t", real=True)
    u_kv, u_vk, u_q = symbols("u_kv u_vk u_q", real=True)
    curve = {m_kv: u_kv * t, m_vk: u_vk * t, q_kv: u_q * t, m_vv: m_vv + t}
    for task in TASKS:
        risk = LandscapeRisk.of(task, ANY_NORMALISED)
        yield (
            Derivation(
                At.of(Derivative(risk.subs(curve, simultaneous=True), t), {t: S.Zero}),
                title=f"Gradient flow keeps zero cross-overlaps of key and value at zero: {task.name}-SLR, any "
                "normalised attention",
                name=f"landscape-invariant-{task.name}",
                symbol=r"\frac{\mathrm{d}\mathcal{E}}{\mathrm{d}t}\Big|_{t=0}",
                introduction=r"A curve leaves the manifold with speeds $u$ in $m_{kv^\star}$, $m_{vk^\star}$, $q_{kv}$ and speed 1 "
                r"in $m_{vv^\star}$. Only the last matters for the risk: the other three slopes vanish on the manifold, and with "
                r"them, by the equations of the flow, $\mathrm{d}m_{kv^\star}/\mathrm{d}t$, $\mathrm{d}m_{vk^\star}/\mathrm{d}t$ "
                r"and $\mathrm{d}q_{kv}/\mathrm{d}t$.",
                ranges=ADMISSIBLE,
            )
            .apply(ChainRule(risk, curve))
            .apply(
                SlopeOfOddPart(*ON_MANIFOLD),
                "The three slopes come from the part of the risk that is odd in the three together.",
            )
            .apply(Unfold(LandscapeRisk))
            .apply(FlipSigns(z, zeta, xi), "That part is zero.")
            .claim(
                At.of(Derivative(risk.definition(), m_vv), ON_MANIFOLD),
                "symslr, the slope along the manifold",
                label="own",
            )
        )


def derive_part_of_the_value() -> Iterator[Derivation]:
    for task in TASKS:
        for sigma, kind in ATTENTIONS:
            risk = LandscapeRisk.of(task, sigma)
            chain = landscape.in_seven_order_parameters(task, sigma, kind)
            yield (
                Derivation(
                    Derivative(risk, q_vv),
                    title=f"Population risk grows with the value component outside the hidden directions: {task.name}-SLR, "
                    f"any {kind} attention",
                    name=f"landscape-value-{kind}-{task.name}",
                    symbol=r"\frac{\partial\mathcal{E}}{\partial q_{vv}}",
                    introduction=r"At given other order parameters $q_{vv}$ is what $R_{vv}$ adds. The slope is a mean square, "
                    r"positive: at every minimum $R_{vv}=R_{kv}^2/R_{kk}$, its least value, which is $0$ on the manifold.",
                    ranges=ADMISSIBLE,
                )
                .apply(Cite(chain))
                .apply(Differentiate())
            )


def derive_noise_in_the_key() -> Iterator[Derivation]:
    for task in TASKS:
        yield (
            Derivation(
                LandscapeRisk.of(task, ANY_ELEMENTWISE, ON_MANIFOLD),
                title="Key component outside the hidden directions: a smoothed kernel and added variance, "
                f"{task.name}-SLR, element-wise",
                name=f"landscape-key-element-wise-{task.name}",
                symbol=r"\mathcal{E}\big|_{\mathcal{M}}",
                introduction=r"Let $\bar\kappa(y)=\mathbb{E}_t\,\kappa(y+\sqrt{R_{kk}}\,t)$. The risk is that of the kernel "
                r"$\bar\kappa$ at $R_{kk}=0$, and a mean variance that is not negative. So $R_{kk}=0$ is optimal on the manifold "
                r"wherever $\bar\kappa$ belongs to the kernels that are allowed, up to scale, shift and a factor that the value "
                r"takes up: for linear attention, for erf with a free shift, for exponentials. For normalised attentions the "
                r"argument fails, since the normaliser is smoothed too: except for those that attain the Bayes "
                r"risk, such as softmax, "
                r"$R_{kk}=0$ is found numerically and not proved.",
                ranges=ADMISSIBLE,
            )
            .apply(Unfold(LandscapeRisk))
            .apply(GaussianMoments())
            .apply(Linearity())
            .apply(Unfold(ScoredActivation))
            .apply(AverageValues(eta))
            .apply(SplitVariance())
        )


def derive_smoothed_kernels() -> Iterator[Derivation]:
    y, r = Symbol("y", real=True), Symbol("r", positive=True)
    t = Symbol("t", real=True)
    width = sqrt(1 + 2 * r)
    kernels = (
        (linear.kernel, "linear", (GaussianMoments(),), linear.kernel.subs(x, y)),
        (
            erf.kernel,
            "erf",
            (Linearity(), GaussianErf()),
            erf.kernel.subs({x: y / width, c: c / width}, simultaneous=True),
        ),
        (exp(x), "exp", (CameronMartin(), Linearity()), exp(r / 2) * exp(y)),
    )
    for kernel, name, rules, known in kernels:
        chain = Derivation(
            ScalarExpectation(kernel.subs(x, y + sqrt(r) * t), t, STANDARD_NORMAL),
            title=f"Gaussian smoothing of the {name} kernel gives a kernel of the same family",
            name=f"landscape-smoothed-{name}",
            symbol=r"\bar\kappa(y)",
            introduction=r"Smoothed by noise of variance $r=R_{kk}$ the kernel is one of its kind: "
            r"$R_{kk}=0$ is optimal on the manifold for this element-wise attention.",
        )
        for rule in rules:
            chain = chain.apply(rule)
        yield chain.claim(known, "symslr, by Gaussian integrals", label="own")


def derive_bayes_optimal_without_outside() -> Iterator[Derivation]:
    for task, scale in ((SpikedSLR(), sqrt(nu)), (MaxSLR(), nu)):
        place = {m_kk: scale, m_vv: S.One, q_kk: scale**2, q_vv: S.One, **ON_MANIFOLD}
        yield (
            Derivation(
                bayes_loss(task.law, Delta),
                title=f"Softmax attains the Bayes risk with key and value along the hidden directions: {task.name}-SLR",
                name=f"landscape-key-softmax-{task.name}",
                symbol=r"\mathcal{E}_{\mathrm{Bayes}}",
                introduction=r"No predictor has a smaller risk, so that no other order parameters, inside or outside of the "
                r"manifold, do better than $k=c_\nu k^\star$, $v=v^\star$.",
            )
            .apply(Conditioning())
            .apply(LikelihoodRatio())
            .claim(LandscapeRisk.of(task, softmax, place), "duranthon2025, Prop. 4.2")
        )
