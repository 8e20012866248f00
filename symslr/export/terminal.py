"""Chains and formulas as a terminal shows them: in ASCII, each weight with a letter of its own, and what the letters mean."""

from __future__ import annotations

from sympy import Expr, S

from symslr.algebra.derivation import AsciiPrinter, Derivation
from symslr.export.printing import HousePrinter
from symslr.export.typed import text_to_terminal
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import Activation, Posterior
from symslr.model.symbols import l


class _Typed(AsciiPrinter):
    """Functions as one types them; means as the LaTeX has them: E_g under the first weight that is met, E_g' under the next."""

    def __init__(self) -> None:
        super().__init__()
        self.house = HousePrinter()

    def _print(self, expr: object, **kwargs: object) -> str:
        if isinstance(expr, SequenceExpectation) and expr.law.weight != S.One:
            return f"E_{self.house.weight_name(expr.law)}[{self._print(expr.body)}]"
        return str(super()._print(expr, **kwargs))

    def _print_Max(self, expr: Expr) -> str:
        written = sorted(expr.args, key=lambda arg: (arg.is_number, str(arg)))
        return f"{type(expr).__name__.lower()}({', '.join(map(self._print, written))})"

    _print_Min = _print_Abs = _print_Max

    def said(self) -> list[str]:
        """What the weights are, where several were met."""
        met = [f"{letter} = {self.doprint(weight)}" for (weight, _), letter in self.house.weights.items()]
        return [f"  with {text}" for text in met] if len(met) > 1 else []


def formula_to_terminal(expr: Expr) -> str:
    """A formula as ``as_text``, with functions as one types them."""
    return _Typed().doprint(expr)


def chain_to_terminal(item: Derivation) -> str:
    """A derivation line by line, as ``str`` of it; where several weights meet, it says which mean is under which."""
    printer = _Typed()
    heading = ": ".join(part for part in (item.name, text_to_terminal(item.title)) if part)
    lines = [heading] if heading else []
    lines += [f"    {printer.doprint(item.start)}"]
    lines += [f"  {step.relation} {printer.doprint(step.after)}    [{step.rule.name}]" for step in item.steps]
    lines += [f"  for {text_to_terminal(hypothesis.text)}" for hypothesis in item.hypotheses]
    lines += [f"  {claim.label}: {printer.doprint(claim.formula)}    [{claim.source}]" for claim in item.claims]
    return "\n".join([*lines, *printer.said()])


def letters(expr: Expr) -> dict[str, Expr]:
    """What the letters of a formula stand for: attention sigma, posterior p, weight g."""
    folded = {node.at(l) for node in expr.atoms(Activation, Posterior)}
    house = HousePrinter()
    means = sorted(expr.atoms(SequenceExpectation), key=str)
    weights = {house.weight_name(mean.law): mean.law.weight for mean in means if mean.law.weight != S.One}
    return {**{str(node): node.doit() for node in sorted(folded, key=str)}, **weights}
