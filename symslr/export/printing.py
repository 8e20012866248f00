"""The house's LaTeX printer: SymPy's, with the field's conventions for expectations, sums, fractions, exponentials."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature

from sympy import (
    Abs,
    Add,
    Basic,
    Derivative,
    Expr,
    Function,
    Indexed,
    Integral,
    Limit,
    Mul,
    Number,
    Piecewise,
    Pow,
    Product,
    Rational,
    S,
    Sum,
    Symbol,
    Tuple,
    log,
    powsimp,
)
from sympy import exp as exp_
from sympy.printing.conventions import requires_partial
from sympy.printing.latex import LatexPrinter

from symslr.export import arrange
from symslr.export.laws import family
from symslr.export.measure import width as measured
from symslr.export.text import name_to_tex
from symslr.expression.at import At
from symslr.expression.configuration import ConfigurationExpectation, PosteriorMean
from symslr.expression.expectation import Expectation, ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Minimum
from symslr.expression.joint import AtMinimiser, JointMinimum, Solution
from symslr.expression.scored import ScoredActivation
from symslr.expression.signs import Indicator, Relu
from symslr.model.configuration import ConfigurationLaw
from symslr.model.scalar_law import ScalarLaw
from symslr.model.sequence_law import SequenceLaw

TALL = (r"\frac", r"\sum", r"\int", r"\left", r"\min", r"\prod", r"\big", r"\exp", r"\sqrt{\frac")
SHORT_EXPONENT = 48
"""Longest argument, in characters of LaTeX, that is set as a superscript of e; a longer one goes behind ``exp``."""

LONG_PLACE = 12.0
"""Width in em of a place, such as ``m=0, q=1``, from which it has a name in a formula on several lines."""

NAMES = {"log": r"\log", "gamma": r"\Gamma", "NormalCdf": r"\Phi", "OpenKernel": r"\kappa"}
"""Functions whose LaTeX name is not that of their class."""
WORD = re.compile(r"([_^])\{([A-Za-z]{3,})\}")
"""A script that is a word; one of two letters is two indices."""
INDICATOR = r"\mathbf{1}"
"""What stands before the braces around a condition: 1 where it holds, 0 where it does not."""


def ends(pair: str) -> tuple[str, str]:
    """LaTeX of the two brackets of a pair."""
    return {"{}": (r"\{", r"\}"), "<>": (r"\langle ", r"\rangle")}.get(pair) or (pair[0], pair[1])


def brackets(tex: str, pair: str = "()") -> str:
    """``tex`` in brackets as tall as it is."""
    opening, closing = ends(pair)
    if pair == "<>" or any(command in tex for command in TALL):
        return rf"\left{opening}{tex}\right{closing}"
    return f"{opening}{tex}{closing}"


@dataclass(frozen=True)
class Frame:
    """A node as a body between signs: ``head``, an opening bracket, the body, a closing bracket, ``foot``.

    ``pair`` are the brackets, empty where the body runs on; ``inside`` is what stands within them around the body.
    """

    head: str
    body: Expr
    pair: str
    foot: str = ""
    inside: tuple[str, str] = ("", "")


class HousePrinter(LatexPrinter):
    """One printer per derivation: ``laws`` collects the token laws that have no name of their own, as phi_1, phi_2, ..., and
    ``weights`` the weights of sequences with their tokens' law, as g, g', ..., ``configurations`` laws of configurations,
    ``attentions`` those that are not softmax.

    Differences from SymPy: plain terms come before expectations and integrals; large factors stand after the fraction;
    1/sqrt(2 pi) is one root; a superscript of e has slashed fractions and a long one becomes exp(...); the law of a
    scalar expectation is printed; d is upright; brackets grow only where they must.
    """

    def __init__(self) -> None:
        super().__init__()
        self.laws: dict[ScalarLaw, str] = {}
        self.weights: dict[tuple[Expr, ScalarLaw], str] = {}
        self.configurations: dict[ConfigurationLaw, str] = {}
        self.attentions: dict[tuple[Basic, ...], str] = {}
        self._slashed = False
        self._named = False
        self._places: dict[tuple[Basic, ...], str] = {}
        self._prints: dict[tuple[Basic, bool, bool], str] = {}

    def _print(self, expr: object, **kwargs: object) -> str:
        # A formula is printed again each time it is opened to be broken, so prints are kept.
        key = (expr, self._slashed, self._named)
        if kwargs or not isinstance(expr, Basic):
            return self._printed(expr, **kwargs)
        if key not in self._prints:
            self._prints[key] = self._printed(expr)
        return self._prints[key]

    def _printed(self, expr: object, **kwargs: object) -> str:
        # SymPy asks the node's own _latex first; the house's way of printing a node comes before it.
        if isinstance(expr, Expr) and not kwargs and (frame := self.frame(expr)) is not None:
            return self._framed(frame)
        if isinstance(expr, Function) and type(expr).__name__ in NAMES:
            return self._function(expr, str(kwargs.get("exp", "")))
        own = getattr(self, f"_house_{type(expr).__name__}", None)
        return own(expr, **kwargs) if own is not None else super()._print(expr, **kwargs)

    # Formulas at a place

    @contextmanager
    def places_named(self) -> Iterator[None]:
        """While this lasts a long place is printed as its number; ``places_in`` says what the numbers stand for."""
        self._named = True
        try:
            yield
        finally:
            self._named = False

    def place(self, expr: At) -> str:
        """What stands below the bracket."""
        said = ",\\,".join(self._values(expr.args[1:]))
        if not self._named or measured(said) < LONG_PLACE:
            return said
        return self._places.setdefault(expr.args[1:], f"({len(self._places) + 1})")

    def _values(self, pairs: Sequence[Tuple]) -> list[str]:
        return [f"{self._print(symbol)}={self._print(value)}" for symbol, value in pairs]

    def places_in(self, expr: Expr) -> Iterator[tuple[str, list[str]]]:
        """The named places of a formula, in order, each with its equations."""
        used = {node.args[1:] for node in expr.atoms(At)}
        yield from ((name, self._values(pairs)) for pairs, name in self._places.items() if pairs in used)

    # Sums and products

    def ordered_terms(self, expr: Expr) -> list[Expr]:
        """The terms of a sum in the order of print."""
        plain, back = arrange.masked(expr)
        ordered = self._as_ordered_terms(plain) if plain.is_Add else [plain]
        return arrange.terms(expr, [term.xreplace(back) for term in ordered])

    def _house_Add(self, expr: Add) -> str:
        return "".join(self.signed(term, first=i == 0) for i, term in enumerate(self.ordered_terms(expr)))

    def signed(self, term: Expr, *, first: bool) -> str:
        """A term of a sum with the sign before it; the first has none where it is positive."""
        sign = "-" if arrange.is_negative(term) else ("" if first else "+")
        shown = -term if sign == "-" else term
        printed = self._print(shown)
        if isinstance(shown, Add) or printed.startswith("-"):
            printed = brackets(printed)
        return f"{sign}{printed}" if first else f" {sign} {printed}"

    def _house_Mul(self, expr: Mul) -> str:
        parts = arrange.fraction(expr)
        bar = self.bar(parts)
        printed = self.factors(parts.tail) if not bar else self.factors(parts.tail, after=bar)
        if not parts.negative:
            return printed or "1"
        factors = (*parts.numerator, *parts.tail)
        alone = len(factors) == 1 and isinstance(factors[0], Add) and not parts.denominator
        return f"-{brackets(printed) if alone or printed.startswith('-') else printed or '1'}"

    def bar(self, parts: arrange.Fraction) -> str:
        """The fraction of a product, or its plain factors where nothing stands below a bar; empty for 1."""
        if not parts.denominator:
            return self.factors(parts.numerator, more=bool(parts.tail)) if parts.numerator else ""
        above = self.factors(parts.numerator) if parts.numerator else "1"
        below = self.factors(parts.denominator)
        if (
            not self._slashed
            and len(parts.numerator) == 1
            and isinstance(parts.numerator[0], log)
            and r"\frac" in above
        ):
            # The argument of a logarithm over a bar would be set as small as a script.
            return rf"\frac{{1}}{{{below}}} {above}"
        if not self._slashed:
            return rf"\frac{{{above}}}{{{below}}}"
        above = brackets(above) if len(parts.numerator) == 1 and isinstance(parts.numerator[0], Add) else above
        several = len(parts.denominator) > 1 or isinstance(parts.denominator[0], (Add, Mul))
        return f"{above}/{brackets(below) if several else below}"

    def factors(self, factors: Sequence[Expr], *, after: str = "", more: bool = False) -> str:
        tex = after
        for i, factor in enumerate(factors):
            last = i == len(factors) - 1 and not more
            alone = len(factors) == 1 and not after and not more
            printed = self._print(factor)
            if not alone and arrange.needs_brackets(factor, last):
                printed = brackets(printed)
            # Two figures side by side would read as one number.
            times = r" \cdot " if tex and tex[-1].isdigit() and printed[0].isdigit() else " "
            times = r" \," if isinstance(factor.as_base_exp()[0], arrange.LARGE) else times
            tex = f"{tex}{times}{printed}" if tex else printed
        return tex

    def _house_Pow(self, expr: Pow) -> str:
        base, power = expr.as_base_exp()
        if expr.base == S.Exp1:
            return self._house_exp(exp_(expr.exp))
        if arrange.is_negative(power) and power.is_commutative:
            return self._house_Mul(expr)
        if power.is_Rational and power.p == 1 and power.q > 1:
            index = "" if power.q == 2 else f"[{power.q}]"
            return rf"\sqrt{index}{{{self._print(base)}}}"
        if isinstance(base, Function) and not isinstance(base, exp_) and power.is_Integer:
            own = getattr(base, "_latex", None)
            if own is not None and type(base).__name__ not in NAMES and "exp" in signature(own).parameters:
                return str(own(self, exp=self._print(power)))
            return self._function(base, self._print(power))
        printed = self._print(base)
        printed = brackets(printed) if self.is_compound(base) else printed
        return f"{printed}^{{{self.superscript(power)}}}"

    def is_compound(self, base: Expr) -> bool:
        """Whether the base of a power is put in brackets."""
        compound = isinstance(base, (Add, Mul, Pow, Rational, Function, *arrange.RUNS_ON)) and not base.is_Integer
        return compound or (isinstance(base, Number) and bool(base.is_negative))

    def superscript(self, power: Expr) -> str:
        """``power`` as it is set small, in an exponent or an index: fractions with a slash."""
        before, self._slashed = self._slashed, True
        try:
            return self._print(power)
        finally:
            self._slashed = before

    def _house_Rational(self, expr: Rational) -> str:
        sign, p, q = "-" if expr.p < 0 else "", abs(expr.p), expr.q
        return f"{sign}{p}/{q}" if self._slashed else rf"{sign}\frac{{{p}}}{{{q}}}"

    _house_Half = _house_Rational

    def _house_EulerGamma(self, expr: Expr) -> str:
        return r"\gamma_{\mathrm{E}}"

    def _house_exp(self, expr: Expr) -> str:
        (argument,) = expr.args
        small = self.superscript(argument)
        if not argument.has(*arrange.LARGE) and len(small) <= SHORT_EXPONENT:
            return f"e^{{{small}}}"
        before, self._slashed = self._slashed, False
        try:
            return rf"\exp{brackets(self._print(argument))}"
        finally:
            self._slashed = before

    def _house_Symbol(self, expr: Symbol) -> str:
        """A name or a script that is a word upright and in one piece: of ``rate`` TeX makes a product of four."""
        if (name := name_to_tex(expr.name)) != expr.name:
            return name
        upright = re.sub(r"^[A-Za-z]{2,}", lambda name: rf"\mathrm{{{name[0]}}}", super()._print_Symbol(expr))
        return WORD.sub(r"\1{\\mathrm{\2}}", upright)

    _house_Dummy = _house_Symbol

    # Nodes with an argument

    def _print_Function(self, expr: Expr, exp: str | None = None) -> str:
        return self._function(expr, exp or "")

    def function_name(self, expr: Expr) -> str:
        """LaTeX of the function's name, such as ``\\log`` or ``\\operatorname{erf}``."""
        own = type(expr).__name__
        if (name := name_to_tex(own)) != own:
            return name
        return NAMES.get(own) or self._hprint_Function(own)

    def _function(self, expr: Expr, power: str) -> str:
        raised = f"^{{{power}}}" if power else ""
        return f"{self.function_name(expr)}{raised}{brackets(', '.join(self._print(arg) for arg in expr.args))}"

    def is_named(self, expr: Expr) -> bool:
        """Whether a function is printed as its name and its arguments in brackets, not in signs of its own as a floor is."""
        own = type(expr).__name__
        return own in NAMES or not (hasattr(expr, "_latex") or hasattr(self, f"_print_{own}"))

    def _house_Indexed(self, expr: Indexed) -> str:
        return rf"{self._print(expr.base)}_{{{','.join(self.superscript(index) for index in expr.indices)}}}"

    def _house_KroneckerDelta(self, expr: Expr) -> str:
        indices = [self.superscript(index) for index in expr.args[:2]]
        return rf"\delta_{{{(' ' if all(len(i) == 1 for i in indices) else ', ').join(indices)}}}"

    # Nodes that are a body between signs

    def frame(self, expr: Expr) -> Frame | None:
        """The signs around the body of an expectation, an integral, a function; None for a node that is none of these.

        A node that is printed whole and one that is broken over lines have the same.
        """
        match expr:
            case Expectation():
                return Frame(self.expectation_sign(expr), expr.body, "[]")
            case PosteriorMean():
                return Frame("", expr.body, "<>")
            case Minimum():
                return Frame(rf"\min_{{{self._print(expr.variable)}}} ", expr.body, "{}")
            case JointMinimum():
                families = ",".join(self._print(family.label) for family in expr.families)
                return Frame(rf"\min_{{{families}}} ", expr.body, "{}")
            case At():
                return Frame("", expr.body, "[]", f"_{{{self.place(expr)}}}")
            case AtMinimiser():
                return Frame("", expr.value, "[]", r"_{\star}")
            case Solution():
                return Frame("", expr.body, "[]", inside=(rf"{self._print(expr.variable)}:\; ", " = 0"))
            case Piecewise() if arrange.indicator(expr) is not None and expr.args[0][0] == 1:
                return Frame(INDICATOR, expr.args[0][1], "{}")
            case Indicator():
                return Frame(INDICATOR, expr.condition, "{}")
            case Relu():
                return Frame(r"\mathrm{relu}", expr.args[0], "()")
            case ScoredActivation():
                return Frame(rf"\sigma_{{{self._print(expr.index)}}}", expr.bare_score(), "()")
            case Abs():
                return Frame("", expr.args[0], "||")
            case Integral():
                signs = " ".join(map(self._integral_sign, reversed(expr.limits)))
                over = "".join(rf" \,\mathrm{{d}}{self._print(limit[0])}" for limit in expr.limits)
                return Frame(f"{signs} ", expr.function, self._held(expr.function), over)
            case Sum() | Product():
                return Frame(f"{self._sum_sign(expr)} ", expr.function, self._held(expr.function))
            case Derivative():
                product = "()" if isinstance(expr.expr, Mul) else ""
                return Frame(f"{self._derivative_sign(expr)} ", expr.expr, product or self._held(expr.expr))
            case Limit():
                body, variable = expr.args[:2]
                sign = self._print_Limit(expr.func(variable, *expr.args[1:])).removesuffix(self._print(variable))
                return Frame(sign, body, "()" if isinstance(body, (Add, Mul)) else "")
        return None

    def _held(self, body: Expr) -> str:
        """The brackets around what a sign without brackets of its own stands before: a sum, or what begins with a minus."""
        return "()" if isinstance(body, Add) or arrange.is_negative(body) else ""

    def _framed(self, frame: Frame) -> str:
        before, after = frame.inside
        body = f"{before}{self._print(frame.body)}{after}"
        return f"{frame.head}{brackets(body, frame.pair) if frame.pair else body}{frame.foot}"

    def expectation_sign(self, expr: Expectation) -> str:
        """E with what it runs over below: the weight of sequences, a variable and its law, or what the node itself says."""
        if isinstance(expr, ScalarExpectation):
            below = rf"{self._print(expr.variable)}\sim {self.law_name(expr.law)}"
        elif isinstance(expr, ConfigurationExpectation) or (
            isinstance(expr, SequenceExpectation) and expr.law.weight != S.One
        ):
            below = self.weight_name(expr.law)
        else:
            below = expr.below(self)
        return r"\mathbb{E}" + (f"_{{{below}}}" if below else "")

    def attention_name(self, expr: Activation | ScoredActivation) -> str:
        """sigma, sigma', ...: a letter for every attention that is met, those with one kernel, normaliser and scale alike."""
        return self.attentions.setdefault(expr.args[1:5], r"\sigma" + "'" * len(self.attentions))

    def _house_Activation(self, expr: Activation) -> str:
        index = self.superscript(expr.index)
        if expr.is_softmax:
            return rf"\operatorname{{softmax}}({self._print(expr.scores)})_{{{index}}}"
        return rf"{self.attention_name(expr)}_{{{index}}}"

    def _house_ConditionalMean(self, expr: ConditionalMean) -> str:
        given_tokens = rf"{self._print(expr.label)} \mid X"
        return rf"\mathbb{{E}}{brackets(given_tokens, '[]')}"

    def law_name(self, law: ScalarLaw) -> str:
        """N(mean, variance), Laplace(mean, scale), or phi_i for a law that has no name."""
        found = family(law)
        if found is None:
            return self.laws.setdefault(law, rf"\varphi_{{{len(self.laws) + 1}}}")
        name, parameters = found
        return f"{name}({','.join(self.superscript(parameter) for parameter in parameters)})"

    def weight_name(self, law: SequenceLaw | ConfigurationLaw) -> str:
        """g, g', ...: a letter for every weight that is met, also where it is written in another way; of configurations
        w, w', ... for every law, 0, 0', ... for those without a weight.
        """
        if isinstance(law, ConfigurationLaw):
            kind = "0" if law.weight == S.One else "w"
            met = sum(name[0] == kind for name in self.configurations.values())
            return self.configurations.setdefault(law, kind + "'" * met)
        for (weight, base), name in self.weights.items():
            if base == law.base and (weight == law.weight or powsimp(law.weight / weight) == 1):
                return name
        return self.weights.setdefault((law.weight, law.base), "g" + "'" * len(self.weights))

    def _house_Piecewise(self, expr: Piecewise) -> str:
        parts = arrange.indicator(expr)
        if parts is None:
            return super()._print_Piecewise(expr)
        value, condition = parts
        return rf"{self.factors((value,), more=True)} \,{self._print(Indicator(condition))}"

    def _integral_sign(self, limit: Sequence[Expr]) -> str:
        lower, upper = limit[1:] if len(limit) == 3 else ("", "")
        bounds = f"_{{{self._print(lower)}}}^{{{self._print(upper)}}}" if len(limit) == 3 else ""
        return rf"\int{bounds}"

    def _sum_sign(self, expr: Sum | Product) -> str:
        sign = r"\sum" if isinstance(expr, Sum) else r"\prod"
        return " ".join(
            rf"{sign}_{{{self._print(index)}={self.superscript(low)}}}^{{{self.superscript(high)}}}"
            for index, low, high in reversed(expr.limits)
        )

    def _derivative_sign(self, expr: Derivative) -> str:
        sign = r"\partial" if requires_partial(expr.expr) else r"\mathrm{d}"
        below = (rf"{sign} {self._print(s)}" + (f"^{{{n}}}" if n != 1 else "") for s, n in expr.variable_count)
        order = expr.derivative_count
        return rf"\frac{{{sign}{f'^{{{order}}}' if order != 1 else ''}}}{{{' '.join(below)}}}"


def house_latex(expr: Expr, printer: HousePrinter | None = None) -> str:
    """LaTeX of ``expr``, without dollar signs, on one line."""
    return (printer or HousePrinter()).doprint(expr)
