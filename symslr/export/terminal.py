"""Chains and formulas as a terminal shows them: in ASCII, weights and laws with letters of their own, and what the letters mean."""

from __future__ import annotations

from textwrap import wrap

from sympy import Expr, S

from symslr.algebra.derivation import AsciiPrinter, Derivation
from symslr.check.points import restrictions
from symslr.export.arrange import falling
from symslr.export.laws import family, parts
from symslr.export.lines import rests_on
from symslr.export.printing import HousePrinter
from symslr.export.typed import text_to_terminal
from symslr.expression.configuration import ConfigurationExpectation
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Minimum, Posterior
from symslr.model.scalar_law import ScalarLaw
from symslr.model.symbols import l

COLUMNS = 80
"""Of running text; formulas are not broken."""


class TerminalPrinter(AsciiPrinter):
    """Functions as one types them; means as the LaTeX has them: E_g under the first weight that is met, E_g' under the next,
    E_{x ~ N(0, 1)} over one variable.
    """

    def __init__(self) -> None:
        super().__init__()
        self.house = HousePrinter()
        self.met: dict[str, Activation] = {}

    def _print(self, expr: object, **kwargs: object) -> str:
        if isinstance(expr, ScalarExpectation):
            return f"E_{{{self._print(expr.variable)} ~ {self.law_name(expr.law)}}}[{self._print(expr.body)}]"
        if isinstance(expr, Activation):
            name = r"\softmax" if expr.is_softmax else self.house.attention_name(expr)
            self.met |= {} if expr.is_softmax else {name: expr}
            return f"{name[1:]}{f'({self._print(expr.scores)})' * expr.is_softmax}[{self._print(expr.index)}]"
        if isinstance(expr, ConfigurationExpectation) or (
            isinstance(expr, SequenceExpectation) and expr.law.weight != S.One
        ):
            return f"E_{self.house.weight_name(expr.law)}[{self._print(expr.body)}]"
        return str(super()._print(expr, **kwargs))

    def _as_ordered_terms(self, expr: Expr, order: str | None = None) -> list[Expr]:
        return sorted(super()._as_ordered_terms(expr, order), key=falling)

    def law_name(self, law: ScalarLaw) -> str:
        """N(mean, variance), Laplace(mean, scale), or phi_i for a law that has no name."""
        found = family(law)
        if found is None:
            return text_to_terminal(f"${self.house.law_name(law)}$")
        name, parameters = found
        return f"{text_to_terminal(f'${name}$')}({', '.join(map(self._print, parameters))})"

    def _print_Max(self, expr: Expr) -> str:
        written = sorted(expr.args, key=lambda arg: (arg.is_number, str(arg)))
        return f"{type(expr).__name__.lower()}({', '.join(map(self._print, written))})"

    _print_Min = _print_Abs = _print_Max

    def _print_Symbol(self, expr: Expr) -> str:
        return text_to_terminal(f"${expr}$")

    def _print_ConditionalMean(self, expr: ConditionalMean) -> str:
        return f"E[{self._print(expr.label)} | X]"

    def _print_Minimum(self, expr: Minimum) -> str:
        return f"min_{{{self._print(expr.variable)}}}({self._print(expr.body)})"

    def said(self) -> list[str]:
        """What the weights are, where several were met, the densities of the laws without a name, and attentions."""
        met = [f"{letter} = {self.doprint(weight)}" for (weight, _), letter in self.house.weights.items()]
        met = met if len(met) > 1 else []
        for law, name in self.house.configurations.items():
            given = [f"{text_to_terminal(f'${left}$')} {right}" for left, right in parts(law, name, self.doprint)]
            met += [f"E_{name}: {', '.join(given)}"] * bool(given)
        laws = [f"{self.law_name(law)}(x) = {self.doprint(law.density)}" for law in self.house.laws]
        shares = [f"{name[1:]}[l] = {self.doprint(node.at(l).doit())}" for name, node in self.met.items()]
        return [f"  with {text}" for text in (*met, *laws, *shares)]


def formula_to_terminal(expr: Expr) -> str:
    """A formula as ``as_text``, with functions as one types them."""
    return TerminalPrinter().doprint(expr)


def chain_to_terminal(item: Derivation) -> str:
    """A derivation line by line: what a reader should know first, the steps with their rules, what is assumed of symbols and
    weights, the postulates it rests on, where it was compared; where several weights meet, which mean is under which.
    """
    printer = TerminalPrinter()
    heading = ": ".join(part for part in (item.name, text_to_terminal(item.title)) if part)
    lines = [heading] if heading else []
    lines += wrap(text_to_terminal(item.introduction), COLUMNS, initial_indent="  ", subsequent_indent="  ")
    lines += [f"    {printer.doprint(item.start)}"]
    for step in item.steps:
        lines += [f"  {step.relation} {printer.doprint(step.after)}    [{step.rule.name}]"]
        lines += [f"    error at most {printer.doprint(step.remainder)}"] if step.remainder != 0 else []
    lines += [f"  for {text_to_terminal(', '.join(item.assumptions))}"] if item.assumptions else []
    lines += [f"  for {text_to_terminal(hypothesis.text)}" for hypothesis in item.hypotheses]
    postulates = dict.fromkeys(
        text_to_terminal(quantity.postulate) for quantity in rests_on(item) if quantity.postulate
    )
    lines += [
        line
        for each in postulates
        for line in wrap(each, COLUMNS, initial_indent="  postulate: ", subsequent_indent="  ")
    ]
    lines += [f"  compared for {', '.join(compared)}"] if (compared := restrictions(item)) else []
    lines += [f"  {claim.label}: {printer.doprint(claim.formula)}    [{claim.source}]" for claim in item.claims]
    return "\n".join([*lines, *printer.said()])


def letters(expr: Expr) -> dict[str, Expr]:
    """What the letters of a formula stand for: attention sigma, posterior p, weight g."""
    folded = {node.at(l) for node in expr.atoms(Activation, Posterior)}
    house = HousePrinter()
    means = sorted(expr.atoms(SequenceExpectation), key=str)
    weights = {house.weight_name(mean.law): mean.law.weight for mean in means if mean.law.weight != S.One}
    say = TerminalPrinter().doprint
    return {**{say(node): node.doit() for node in sorted(folded, key=str)}, **weights}
