"""The optimal attention when the relevant token is not shifted but wider: its kernel is the likelihood ratio."""

from sympy import Rational, Symbol, exp

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import Conditioning, LikelihoodRatio, Unfold
from symslr.expression.folded import Activation
from symslr.model.attention import Attention
from symslr.model.scalar_law import normal
from symslr.model.symbols import Delta, R_v, epsilon, m_v, x
from symslr.model.task import Task
from symslr.theory.bayes import BayesRisk
from symslr.theory.definitions import predictor, squared_loss

s = Symbol("s", positive=True)

wider = Task.from_token_laws(normal(0, s**2), name="wider")
expected = Attention(exp(x**2 * (1 - s**-2) / 2), name="expected")


def derive_optimal_attention() -> Derivation:
    guess = predictor(Activation.of(epsilon, expected, 1)).subs({R_v: 0, m_v: 1})
    return (
        Derivation(
            BayesRisk(wider.law, Delta),
            title="Optimal attention for a relevant token of another variance",
            name="optimal-attention-wider",
            symbol=r"\mathcal{E}_{\mathrm{Bayes}}",
            introduction="The claim was typed in by hand; the chain above it was not.",
            ranges={s: (Rational(3, 5), Rational(13, 10))},
        )
        .apply(Unfold(BayesRisk))
        .apply(Conditioning())
        .apply(LikelihoodRatio())
        .claim(squared_loss(guess, wider.law, Delta), "by hand", label="own")
    )
