r"""The Bayes-optimal attention of any pair of token laws: normalised, kernel $\varphi_1/\varphi_0$."""

from collections.abc import Iterator

from sympy import Rational, Symbol, exp

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Conditioning, LikelihoodRatio, Unfold
from symslr.expression.folded import Activation
from symslr.model.attention import Attention
from symslr.model.scalar_law import laplace, normal, student
from symslr.model.symbols import Delta, R_v, epsilon, m_v, x
from symslr.model.task import Task
from symslr.theory.bayes import BayesRisk
from symslr.theory.definitions import predictor, squared_loss

s = Symbol("s", positive=True)

WORDS = {
    "variance-spike": "Here $\\varphi_0=\\mathcal{N}(0,1)$ and $\\varphi_1=\\mathcal{N}(0,s^2)$: the sign of the projection "
    "says nothing, and a kernel that grows in one direction only cannot use its size.",
    "laplace-shift": "Here both laws are Laplace laws, $\\varphi_1$ shifted by 1: the likelihood ratio is constant outside the "
    "interval between the two centres, so a large projection is no stronger evidence than one of size 1.",
    "student-shift": "Here both laws are Student's with 3 degrees of freedom, $\\varphi_1$ shifted by 2. The likelihood ratio "
    "tends to 1 on both sides: a very large projection is no evidence at all, while softmax would give it all the attention.",
}

TITLES = {
    "variance-spike": "Gaussian keys, the relevant one of another variance",
    "laplace-shift": "Laplace-distributed keys, the relevant one shifted",
    "student-shift": "Student-distributed keys, the relevant one shifted",
}


def derive_optimal_attention() -> Iterator[Derivation]:
    spread = Task.from_token_laws(normal(0, s**2), name="variance-spike")
    shifted = Task.from_token_laws(laplace(1), laplace(), name="laplace-shift")
    heavy = Task.from_token_laws(student(3, 2), student(3), name="student-shift")
    known = {"variance-spike": exp(x**2 * (1 - s**-2) / 2)}
    for task in (spread, shifted, heavy):
        chain = (
            Derivation(
                BayesRisk(task.law, Delta),
                title=f"Bayes-optimal attention: {TITLES[task.name]}",
                name=f"optimal-attention-{task.name}",
                symbol=r"\mathcal{E}_{\mathrm{Bayes}}",
                introduction="The relevant token's key projection has law $\\varphi_1$, the others' $\\varphi_0$. The "
                "posterior of the position is a normalised attention with the likelihood ratio as kernel; softmax is the case "
                f"of a Gaussian shift. {WORDS[task.name]}",
                ranges={s: (Rational(3, 5), Rational(13, 10))},
                sources=("duranthon2025, Sec. 4",),
            )
            .apply(Unfold(BayesRisk))
            .apply(Conditioning())
            .apply(LikelihoodRatio())
        )
        if task.name in known:
            attention = predictor(Activation.of(epsilon, Attention(known[task.name]), 1)).subs({R_v: 0, m_v: 1})
            loss = squared_loss(attention, task.law, Delta)
            chain = chain.claim(loss, "symslr, by the likelihood ratio", label="own")
        yield chain
