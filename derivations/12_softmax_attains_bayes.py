"""Softmax attention attains the Bayes risk (Proposition 4.2)."""

from collections.abc import Iterator

from sympy import Expr, Rational, Sum, Symbol, exp, latex, sqrt

from symslr.algebra.cite import Cite
from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Conditioning, KeyScale, LikelihoodRatio, Unfold
from symslr.expression.folded import Activation
from symslr.model.catalogue import MaxSLR, SpikedSLR, softmax
from symslr.model.open_function import OpenFunction
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import Delta, L, R_v, chi, epsilon, l, m_v, nu
from symslr.theory.bayes import BayesRisk
from symslr.theory.definitions import predictor, squared_loss

c_nu = Symbol("c_nu", real=True)
s = OpenFunction.of("s")
law = SequenceLaw(exp(c_nu * chi[epsilon]) * s, L)

SHIFT = exp(-(c_nu**2) / 2)
SELECTION = L / Sum(exp(c_nu * chi[l]), (l, 1, L))
BOTH = Rational(3, 7) * SHIFT + Rational(4, 7) * SELECTION

TASKS = ((SpikedSLR(), sqrt(nu), SHIFT), (MaxSLR(), nu, SELECTION))
"""Each task with its slope and the part of its weight that is symmetric in the tokens."""


def softmax_loss(law: SequenceLaw, scale: Expr) -> Expr:
    """The risk of softmax attention with k = scale k*, v = v*."""
    attention = predictor(Activation.of(epsilon, softmax, scale)).subs({R_v: 0, m_v: 1})
    return squared_loss(attention, law, Delta)


any_weight = (
    Derivation(
        BayesRisk(law, Delta),
        title="Softmax attention attains the Bayes risk where posterior odds are exponential in the keys",
        name="softmax-attains-bayes",
        symbol=r"\mathcal{E}_{\mathrm{Bayes}}",
        introduction=r"$g(l,\chi)/g(m,\chi)=e^{c_\nu(\chi_l-\chi_m)}$ for all $l,m$ says that "
        r"$g(l,\chi)=e^{c_\nu\chi_l}s(\chi)$ with the same $s$ for every position. Then the posterior is a softmax, and the "
        r"Bayes predictor is softmax attention with key $c_\nu k^\star$ and value $v^\star$: the last line is its risk.",
        sources=("duranthon2025, Sec. 4",),
        ranges={c_nu: (Rational(1, 5), Rational(6, 5)), s: [SHIFT, SELECTION, BOTH]},
    )
    .apply(Unfold(BayesRisk))
    .apply(Conditioning())
    .apply(LikelihoodRatio(), "The factor $s$ is the same for every position and cancels.")
    .apply(KeyScale(softmax.kernel), r"The scale is read off the kernel $e^{c_\nu x}$.")
    .claim(softmax_loss(law, c_nu), "duranthon2025, Prop. 4.2")
)


def derive_tasks() -> Iterator[Derivation]:
    for task, scale, symmetric in TASKS:
        yield (
            Derivation(
                BayesRisk(task.law, Delta),
                title=f"Softmax attention attains the Bayes risk of {task.name}-SLR",
                name=f"softmax-attains-bayes-{task.name}",
                symbol=r"\mathcal{E}_{\mathrm{Bayes}}",
                introduction=rf"An instance, with $c_\nu={latex(scale)}$.",
            )
            .apply(Cite(any_weight, {c_nu: scale, s: symmetric.subs(c_nu, scale)}))
            .claim(softmax_loss(task.law, scale), "duranthon2025, Prop. 4.2")
        )
