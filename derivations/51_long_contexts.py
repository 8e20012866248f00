r"""Long contexts: at $\nu=2\lambda\log(L-1)$ attention finds the relevant token above $\lambda=1$, at scales above a threshold."""

from collections.abc import Iterator, Mapping

from sympy import Expr, Function, Rational, S, Symbol, exp, log, sqrt

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    CameronMartin,
    CauchySchwarz,
    ChangeOfMeasure,
    ConstantEvenPart,
    GaussianMoments,
    Independence,
    JensenForOthers,
    LargestByExponentials,
    Linearity,
    OnePower,
    PowerBelowExponential,
    PowerOfOdds,
    ShareBelowLevel,
    TwoMoments,
    Unfold,
)
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, Posterior
from symslr.model.attention import Attention
from symslr.model.catalogue import SpikedSLR, softmax, softmax1, softplus
from symslr.model.largest import IsLargest
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import L, epsilon, nu, x
from symslr.theory.asymptotics import error

a, b, lamda, theta = (Symbol(name, positive=True) for name in ("a", "b", "lambda", "theta"))
r, s, t, u = (Symbol(name, nonnegative=True) for name in "rstu")
p, v = (Symbol(name, positive=True) for name in "pv")

OTHERS = L - 1
LONG = 2 * lamda * log(OTHERS)
"""The signal strength at which a context of this length is at the transition where lambda is 1."""
SCALE = b * sqrt(log(OTHERS))
"""The scale of a softmax whose temperature falls with the length."""
ODDS = b * sqrt(2 * lamda) - 1 - b**2 / 2
"""Of the relevant token against the sum of the others, as a power of L - 1, where no single one of these decides."""
GAP = (sqrt(lamda) - 1) ** 2
TAIL = (p - 1) * (1 - b**2 * p / 2)
"""How fast the law of large numbers sets in for the sum over the others, as a power of L - 1."""

SOURCES = ("derrida1981", "gallager1965")
SCALING = ("nakanishi2025", "giorlandino2025", "chen2026")
"""Where the question of a temperature that depends on the length comes from."""
MISSED, FOUND = r"\mathbb{E}[1-\sigma_\epsilon]", r"\mathbb{E}[\sigma_\epsilon]"
BAYES = r"\mathcal{E}_{\mathrm{Bayes}}\big|_{\Delta=0}"
LAW = SpikedSLR().law
SQUARE = Attention(1 + x**2, name="square")
"""Two features for each key projection."""


def of_weight(attention: Attention) -> Expr:
    """The attention that the relevant token gets, at scale a."""
    return Activation.of(epsilon, attention, a)


def called(attention: Attention) -> str:
    """The name that begins a title."""
    return attention.name.capitalize().replace("Softmax1", "Softmax-1")


def integrated(chain: Derivation) -> Derivation:
    """Powers of exponentials of single tokens, integrated."""
    return chain.apply(Linearity()).apply(CameronMartin()).apply(Independence()).apply(CameronMartin())


def located(attention: Attention) -> Derivation:
    """What a normalised attention with an exponential kernel withholds from the relevant token."""
    start = Derivation(
        SequenceExpectation(1 - of_weight(attention), LAW),
        title=f"{called(attention)} at any key scale: upper bound on the attention that misses the relevant token",
        name=f"long-located-{attention.name}",
        symbol=MISSED,
        introduction=r"For every length, $0\le t\le1$, $0\le r\le1$: Gallager's random-coding bound, whose best $t$ and $r$ "
        r"give the exponent. The risk with the best $v$ is at most $1-(\mathbb{E}\sigma_\epsilon)^2$, twice this or less."
        + (" The offset counts as one more token of score $0$." if attention.offset != 0 else ""),
        sources=SOURCES,
    )
    return integrated(start.apply(Unfold(Activation)).apply(PowerOfOdds(t, r)).apply(JensenForOthers()))


def lost(attention: Attention, level: Expr, power: Expr, order: Expr) -> Derivation:
    """What any normalised attention with a positive kernel gives to the relevant token."""
    return (
        Derivation(
            SequenceExpectation(of_weight(attention), LAW),
            title=f"{called(attention)} at any key scale: upper bound on the attention to the relevant token",
            name=f"long-lost-{attention.name}",
            symbol=FOUND,
            sources=SOURCES,
        )
        .apply(Unfold(Activation))
        .apply(ShareBelowLevel(level, power, u))
        .apply(Linearity())
        .apply(ChangeOfMeasure())
        .apply(Independence())
        .apply(PowerBelowExponential())
        .apply(TwoMoments(order), "The sum over the others is seldom far below its mean.")
        .apply(CameronMartin())
    )


soft = located(softmax)
gone = lost(softmax, theta, s, p).named(
    introduction=r"For every length, $\theta,u>0$, $0\le s\le1$ and $1\le p\le2$: either the sum over the others exceeds $\theta$, "
    "or it is rarely small. Moments of order $p$ near 1 reach every scale at which the sum obeys a law of large numbers.",
)


def at_long(theorem: Derivation, values: Mapping[Symbol, Expr], claim: Expr, **words: object) -> Derivation:
    """A theorem at nu = 2 lambda log(L - 1), as powers of the number of others."""
    cited = Cite(theorem, {nu: LONG, **values})
    start = theorem.start.subs(cited.values, simultaneous=True)
    return (
        Derivation(start, symbol=theorem.symbol, sources=(*SOURCES, *SCALING), **words)
        .apply(cited)
        .apply(OnePower(OTHERS))
        .claim(claim, "symslr, a power of the number of others", label="own")
    )


def derive_softmax() -> Iterator[Derivation]:
    yield soft
    yield located(softmax1)
    yield at_long(
        soft,
        {a: SCALE, t: sqrt(2) / b, r: sqrt(lamda) - 1},
        OTHERS**-GAP,
        title=r"Softmax above the transition: every key scale $b\ge\sqrt{2}$ finds the relevant token, with one exponent",
        name="long-large-scales",
        introduction=r"At $\nu=2\lambda\log(L-1)$ and $a=b\sqrt{\log(L-1)}$. The best scale, $a=\sqrt\nu$ (Proposition 4.2), is "
        r"$b=\sqrt{2\lambda}$: the coefficient of log-length scaling, scores $b\log L$ times keys in units of "
        r"$\sqrt{\log L}$. $b=\sqrt2$ needs no knowledge of $\lambda$ and has the same exponent, for $\lambda\le4$. No upper end: "
        r"$b\to\infty$ attends the largest key and has it too.",
    )
    yield at_long(
        soft,
        {a: SCALE, t: S.One, r: ODDS / b**2},
        OTHERS ** (-(ODDS**2) / (2 * b**2)),
        title="Softmax finds the relevant token at key scales above the lower threshold",
        name="long-window-above",
        introduction=r"$b\sqrt{2\lambda}>1+b^2/2$ is $b>\sqrt{2\lambda}-\sqrt{2\lambda-2}$, with $\lambda>1$, as long as "
        r"$b\le\sqrt2$; there the exponent is positive, and $0$ at the end.",
    )
    yield gone
    yield at_long(
        gone,
        {a: SCALE, theta: OTHERS ** (1 + b**2 / 2) / 2, s: -ODDS / b**2, u: OTHERS ** (TAIL / p) / 4},
        2 ** (-ODDS / b**2) * OTHERS ** (-(ODDS**2) / (2 * b**2)) + exp(2**-p - OTHERS ** (TAIL / p) / 4),
        title="Softmax does not find the relevant token at key scales below the lower threshold",
        name="long-window-below",
        introduction=r"For $b<\sqrt2$ take $1<p<2/b^2$: the second term falls faster than any power. The first one falls where "
        r"$b\sqrt{2\lambda}<1+b^2/2$: the attention to the relevant token vanishes below "
        r"$b=\sqrt{2\lambda}-\sqrt{2\lambda-2}$, and at every scale below $\sqrt2$ where $\lambda<1$.",
        ranges={b: (Rational(1, 5), Rational(6, 5)), lamda: (Rational(1, 5), Rational(7, 5))},
    )


def derive_bayes() -> Iterator[Derivation]:
    code = integrated(
        Derivation(
            error(LAW),
            title="Bayes risk of spiked-SLR at every length: random-coding bound",
            name="long-bayes-risk",
            symbol=BAYES,
            introduction=r"For every length and $0\le r\le1$: $(L-1)^re^{-\nu r/(2(1+r))}$.",
            sources=SOURCES,
        )
        .apply(Unfold(Posterior))
        .apply(PowerOfOdds(1 / (1 + r), r))
        .apply(JensenForOthers())
    )
    yield code.claim(OTHERS**r * exp(-nu * r / (2 * (1 + r))), "symslr, the exponent of a random code", label="own")
    yield at_long(
        code,
        {r: sqrt(lamda) - 1},
        OTHERS**-GAP,
        title="Bayes risk above the transition: power-law decay in the length",
        name="long-bayes-risk-above",
        introduction=r"$\nu=2\lambda\log(L-1)$, $1\le\lambda\le4$: the probability that a normal variable is below "
        r"$\sqrt{2\log L}-\sqrt\nu$, up to factors that are no powers.",
    )
    yield at_long(
        code,
        {r: S.One},
        OTHERS ** (1 - lamda / 2),
        title="Bayes risk far above the transition: a sharper power-law bound",
        name="long-bayes-risk-far-above",
        introduction=r"The better bound for $\lambda\ge4$: one competitor that is as close as a typical pair, $(L-1)e^{-\nu/4}$.",
    )
    below = sqrt(2 * lamda)
    yield at_long(
        gone,
        {
            a: sqrt(LONG),
            theta: OTHERS ** (1 + lamda) / 2,
            s: (1 - lamda) / (2 * lamda),
            u: OTHERS ** (TAIL.subs(b, below) / p) / 4,
        },
        2 ** ((1 - lamda) / (2 * lamda)) * OTHERS ** (-((1 - lamda) ** 2) / (4 * lamda))
        + exp(2**-p - OTHERS ** (TAIL.subs(b, below) / p) / 4),
        title="Below the transition no attention finds the relevant token",
        name="long-bayes-risk-below",
        introduction=r"Softmax at $a=\sqrt\nu$ is the posterior, so one minus this is the Bayes risk, and no attention has less. "
        r"With $1/3\le\lambda<1$ and $1<p<1/\lambda$ it falls like $(L-1)^{-(1-\lambda)^2/(4\lambda)}$. "
        r"Smaller $\lambda$ are worse.",
        ranges={lamda: (Rational(1, 3), Rational(19, 20))},
    )


def derive_sigmoid() -> Iterator[Derivation]:
    w, kernel = exp(sqrt(nu) * x - nu / 2), Function("kappa", real=True)(x)
    shifted = exp(sqrt(nu) * x + nu / 2)

    def one_token(body: Expr) -> Expr:
        return ScalarExpectation(body, x, STANDARD_NORMAL)

    yield (
        Derivation(
            one_token(w * kernel) ** 2 / one_token((w + OTHERS) * kernel**2),
            title=r"The best element-wise attention is a sigmoid with bias $-\log(L-1)$",
            name="long-element-wise",
            symbol=r"1+\Delta^2-\min_v\mathcal{E}_\kappa",
            introduction=r"What an element-wise attention explains, with the best value vector. Any kernel explains at most this, "
            r"and $\kappa\propto w/(w+L-1)$ attains it: the logistic function of $\sqrt\nu\chi-\nu/2-\log(L-1)$.",
            sources=("duranthon2025, Cor. 4.4",),
        )
        .apply(CauchySchwarz())
        .apply(CameronMartin())
        .claim(one_token(shifted / (OTHERS + shifted)), "symslr, the sigmoid", label="own")
    )
    annealed = (
        Derivation(
            error(LAW),
            title=r"The Bayes risk is at most that of a sigmoid with bias $-\log(L-1)$",
            name="long-sigmoid",
            symbol=BAYES,
            introduction=r"Jensen's inequality puts the mean in place of the sum over the others. The result is the risk of the "
            r"best element-wise attention, the sigmoid of $\sqrt\nu\chi-\nu/2-\log(L-1)$, which needs no normaliser.",
            sources=SOURCES,
        )
        .apply(Unfold(Posterior))
        .apply(JensenForOthers())
        .apply(CameronMartin())
        .apply(Independence())
    )
    yield annealed.claim(1 - one_token(shifted / (OTHERS + shifted)), "symslr, the sigmoid's risk", label="own")
    bound = (
        annealed.apply(PowerOfOdds(S.One, r))
        .apply(Linearity())
        .apply(CameronMartin())
        .apply(Linearity())
        .named(
            title="Risk of sigmoid attention: upper bound with a free exponent", name="long-sigmoid-power", symbol=BAYES
        )
    )
    yield bound
    yield at_long(
        bound,
        {r: (lamda - 1) / (2 * lamda)},
        OTHERS ** (-((lamda - 1) ** 2) / (4 * lamda)),
        title="Sigmoid attention finds the relevant token above the same transition, with a smaller exponent",
        name="long-sigmoid-above",
        introduction=r"$(\lambda-1)^2/(4\lambda)$ beside softmax's $(\sqrt\lambda-1)^2$, and $\lambda/2-1$ from $\lambda=4$ on: "
        r"the same threshold, and half the exponent at $\lambda\gg1$. The bound holds for the sigmoid's risk, which is on the way.",
    )
    yield (
        Derivation(
            error(LAW).subs(nu, 2 * log(OTHERS)),
            title="At the transition the Bayes risk is at most one half, at every length",
            name="long-transition",
            symbol=BAYES,
            introduction=r"At $\nu=2\log(L-1)$ the sigmoid's risk is exactly $1/2$. The Bayes risk is less, by an amount that "
            r"falls like $1/\sqrt{\log L}$ (an estimate): there the sum over the others is half its mean.",
            sources=SOURCES,
        )
        .apply(Cite(annealed, {nu: 2 * log(OTHERS)}))
        .apply(ConstantEvenPart())
        .claim(Rational(1, 2), "symslr, by symmetry", label="own")
    )


def derive_others() -> Iterator[Derivation]:
    hard = integrated(
        Derivation(
            SequenceExpectation(1 - IsLargest.of(epsilon, L), LAW),
            title="Attention to the largest key alone: upper bound on the probability of missing the relevant token",
            name="long-largest",
            symbol=r"\Pr(\epsilon\ne\operatorname{argmax}\chi)",
            introduction=r"Top-1, and the limit of softmax, sparsemax and entmax at large scale.",
            sources=SOURCES,
        )
        .apply(LargestByExponentials(v, r))
        .apply(JensenForOthers())
    )
    yield hard
    yield at_long(
        hard,
        {v: sqrt(2) * sqrt(log(OTHERS)), r: sqrt(lamda) - 1},
        OTHERS**-GAP,
        title="Attention to the largest key alone finds the relevant token above the same transition",
        name="long-largest-above",
    )
    yield lost(softplus, theta, S.One, S(2))
    square = (
        lost(SQUARE, theta, S.One, S(2)).apply(GaussianMoments()).named(ranges={theta: (Rational(3, 2), Rational(4))})
    )
    yield square
    yield (
        Derivation(
            square.start,
            title="Attention with a kernel of few features never finds the relevant token in a long context",
            name="long-few-features",
            symbol=FOUND,
            introduction=r"The kernel $1+x^2$, of two features, at any scale. At $\nu=2\lambda\log L$ and $u=\sqrt{L}/8$ this "
            r"falls like $(\log L)/L$ at every $\lambda$. With it goes the risk: since $\sum_{l=1}^L\sigma_l^2\ge1/L$, the best "
            r"$v$ leaves at least $1-L\,(\mathbb{E}\sigma_\epsilon)^2$, which tends to 1. The rules are those of softmax and serve "
            r"any positive kernel: what decides is $\mathbb{E}_g[\kappa(\chi_\epsilon)]/\mathbb{E}_0[\kappa]$, a power of $\log L$ "
            "where the kernel grows like a power.",
            sources=SOURCES,
        )
        .apply(Cite(square, {theta: OTHERS * (1 + a**2) / 2}))
        .claim(
            2 * (1 + a**2 * (1 + nu)) / (OTHERS * (1 + a**2)) + exp(-u + 12 * a**4 * u**2 / (OTHERS * (1 + a**2) ** 2)),
            "symslr, with twice the mean as the level",
            label="own",
        )
    )
