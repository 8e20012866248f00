"""The weights that a theorist would try, as a model file writes them: what their Bayes risk is, or why they are refused.

The numbers at two and three tokens are those of ``by_grid.py`` (``python -m tests.evaluation.weights`` prints them, at
other panels too); fractions are by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sympy import Expr, S, Symbol, oo

from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw, laplace, student
from symslr.model.symbols import x
from symslr.model.text import parse_expression
from symslr.model.written import weight_from_text
from tests.evaluation.by_grid import PANELS, bayes_by_grid

s = Symbol("s", real=True)
LOGISTIC = ScalarLaw(parse_expression("exp(-x)/(1+exp(-x))**2", {"x": x}, what="density"))
UNIFORM = ScalarLaw(S.Half, -1, 1)
EXPONENTIAL = ScalarLaw(parse_expression("exp(-x)", {"x": x}, what="density"), 0, oo)


@dataclass(frozen=True)
class Weight:
    """A weight, its Bayes risk at two and at three tokens (Delta = 0), and how far the grid may be off."""

    text: str
    two: float
    three: float
    values: Mapping[str, float] = field(default_factory=dict)
    base: ScalarLaw = STANDARD_NORMAL
    grid: float = 1e-9

    @property
    def weight(self) -> Expr:
        return weight_from_text(self.text, {"s": s})


WEIGHTS = {
    # of the relevant token alone
    "cosh": Weight("cosh(s*chi[eps])*exp(-s**2/2)", 0.37605419378, 0.52961082120, {"s": 1.3}),
    "cosh, strong": Weight("cosh(3*chi[eps])*exp(-9/2)", 0.04996669156, 0.08479956471),
    "cosh squared": Weight("2*cosh(chi[eps])**2/(1+exp(2))", 0.25332029574, 0.37065139086),
    "1 + tanh": Weight("1+tanh(chi[eps])", 0.39298066013, 0.57107068734),
    "1 - tanh": Weight("1+tanh(s*chi[eps])", 0.36696417557, 0.54625907241, {"s": -1.3}),
    "1 + s tanh": Weight("1+s*tanh(chi[eps])", 0.47495230209, 0.64435167869, {"s": -0.5}),
    "1 + erf": Weight("1+erf(chi[eps])", 0.37282034273, 0.55239880656),
    "square": Weight("chi[eps]**2", 1 / 4, 2 / 5, grid=1e-7),
    "square and constant": Weight("(1+chi[eps]**2)/2", 0.42545657971, 0.59069444675),
    "polynomial with a sign": Weight("(1+s*chi[eps]**2)/(1+s)", 0.44654260675, 0.61288311503, {"s": 0.7}),
    "mixture": Weight("exp(chi[eps]-1/2)/3+2*exp(-2*chi[eps]-2)/3", 0.28085884728, 0.40336922584),
    "damped": Weight("sqrt(3)*exp(-chi[eps]**2)", 0.39872317722, 0.57878136855),
    "step": Weight("2*step(chi[eps])", 1 / 4, 5 / 12),
    "1 + sign": Weight("1+sign(chi[eps])", 1 / 4, 5 / 12),
    "1 + sign/2": Weight("1+sign(chi[eps])/2", 7 / 16, 0.60952380952),
    "absolute value": Weight("sqrt(pi/2)*abs(chi[eps])", 0.37677476253, 0.55052436479, grid=1e-6),
    # of several tokens
    "nearness": Weight("sum(exp(-(chi[l]-chi[eps])**2), l)/(1+(L-1)/sqrt(5))", 1 / 2, 0.65891938682),
    "squared distances": Weight("sum((chi[l]-chi[eps])**2, l)/(2*(L-1))", 1 / 2, 5 / 8),
    "distance from the mean": Weight("(chi[eps]-sum(chi[l], l)/L)**2*L/(L-1)", 1 / 2, 1 / 2),
    "higher than the others": Weight("1+sum(tanh(chi[eps]-chi[l]), l)/L", 0.43500303179, 0.61066791998),
    "own and mean square": Weight("(chi[eps]**2+sum(chi[l]**2, l)/L)/2", 7 / 16, 3 / 5, grid=1e-8),
    "symmetric alone": Weight("sum(chi[l], l)**2/L", 1 / 2, 2 / 3),
    "product of a token and a sum": Weight("chi[eps]**2*sum(chi[l], l)**2/(L+2)", 1 / 4, 2 / 5, grid=1e-8),
    "selection by exp": Weight("L*exp(s*chi[eps])/sum(exp(s*chi[l]), l)", 0.31806623118, 0.46078174784, {"s": -1.3}),
    "selection by 1 + x^2": Weight("L*(1+chi[eps]**2)/sum(1+chi[l]**2, l)", 0.44726052174, 0.60777775937),
    "selection by softplus": Weight("L*softplus(chi[eps])/sum(softplus(chi[l]), l)", 0.41251712822, 0.58351364323),
    "two selections": Weight(
        "(L*softplus(chi[eps])/sum(softplus(chi[l]), l)+L*exp(chi[eps])/sum(exp(chi[l]), l))/2",
        0.38963226001,
        0.55401171446,
    ),
    # under other token laws
    "Laplace tokens": Weight("3*exp(chi[eps]/2)/4", 0.38192902221, 0.53982059692, base=laplace()),
    "Student tokens": Weight("1+tanh(chi[eps])", 0.38190118314, 0.56100840247, base=student(5), grid=1e-6),
    "logistic tokens": Weight("2*exp(chi[eps]/2)/pi", 0.33333333333, 0.48546153206, base=LOGISTIC),
    "uniform tokens": Weight("1+chi[eps]", 0.40913709259, 0.58636299731, base=UNIFORM, grid=1e-7),
    "exponential tokens": Weight("chi[eps]", 1 / 3, 1 / 2, base=EXPONENTIAL, grid=1e-3),
}

REFUSED = {
    # text -> what the message says
    "chi[eps]": "found the negative value",
    "1+2*tanh(chi[eps])": "found the negative value",
    "1+chi[eps]**3": "found the negative value",
    "exp(chi[eps])": "found mean 1.64872",
    "cosh(chi[eps])": "found mean 1.64872",
    "sum(exp(-(chi[l]-chi[eps])**2), l)": "found mean 1.44721",
    "exp(chi[eps]**2)": "found no finite mean",
    "1/chi[eps]**2": "found no finite mean",
    "exp(chi[eps]-1/2)*(1+chi[l])": "found the index 'l' outside its sum",
}

if __name__ == "__main__":
    for name, item in WEIGHTS.items():
        numbers = []
        for tokens, (panels, order) in dict(PANELS).items():
            first = bayes_by_grid(item.weight, tokens, item.values, item.base)
            PANELS[tokens] = (panels - 2, order)
            numbers += [first, bayes_by_grid(item.weight, tokens, item.values, item.base) - first]
            PANELS[tokens] = (panels, order)
        print(f"{name:30s} {numbers[0]:.11f} ({numbers[1]:.0e}) {numbers[2]:.11f} ({numbers[3]:.0e})", flush=True)
