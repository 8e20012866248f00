"""The house printer: what a formula looks like, and that it says what the formula says."""

from __future__ import annotations

import pytest
from sympy import Expr, Function, Gt, Integral, Piecewise, Rational, S, Sum, Symbol, erf, exp, gamma, log, oo, pi, sqrt

from symslr.export.printing import HousePrinter, house_latex
from symslr.expression.expectation import ScalarExpectation, SequenceExpectation
from symslr.expression.folded import Activation, ConditionalMean, Minimum, Posterior
from symslr.model.catalogue import SpikedSLR, softmax
from symslr.model.open_function import OpenFunction
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw, laplace, normal, student
from symslr.model.symbols import Delta, L, a, c, chi, epsilon, k, l, m, nu, x, xi, z

LAW = SpikedSLR().law
u = Symbol("u", positive=True)

CASES = [
    (Rational(-1, 2), r"-\frac{1}{2}"),
    (sqrt(2) / 2, r"\frac{1}{\sqrt{2}}"),
    (2 * sqrt(2 * pi), r"2 \sqrt{2 \pi}"),
    (pi ** Rational(3, 2) / sqrt(3), r"\frac{\pi \sqrt{\pi}}{\sqrt{3}}"),
    (STANDARD_NORMAL.density, r"\frac{e^{-x^{2}/2}}{\sqrt{2 \pi}}"),
    (normal(sqrt(nu)).density, r"\frac{e^{-(x - \sqrt{\nu})^{2}/2}}{\sqrt{2 \pi}}"),
    (Symbol("rate") * Symbol("st_1") ** 2, r"\mathrm{rate} \mathrm{st}_{1}^{2}"),
    (Symbol("a_b_%$#&\\x"), r"\mathrm{a\_b\_\%\$\#\&{\setminus}x}"),
    (Symbol("x_{"), r"\mathrm{x\_\{}"),
    (Symbol(r"\hat{q}_1"), r"\hat{q}_1"),
    (Function("f#")(x), r"\mathrm{f\#}(x)"),
    (1 + erf(c + x), r"1 + \operatorname{erf}(c + x)"),
    (log(1 + exp(x)), r"\log(1 + e^{x})"),
    (log(x) ** 2, r"\log^{2}(x)"),
    (log(nu) ** L, r"(\log(\nu))^{L}"),
    (log(x / nu) / log(k), r"\frac{1}{\log(k)} \log\left(\frac{x}{\nu}\right)"),
    (log(x) / log(nu), r"\frac{\log(x)}{\log(\nu)}"),
    ((L - 1) * x / gamma(k), r"\frac{x (L - 1)}{\Gamma(k)}"),
    (2 * 3**k, r"2 \cdot 3^{k}"),
    ((-S.One) ** k, r"(-1)^{k}"),
    (chi[epsilon] - sqrt(nu) / 2, r"\chi_{\epsilon} - \frac{\sqrt{\nu}}{2}"),
    (Delta**2 + L * (L - 1) / (L**2 + nu * (L - 1)), r"\Delta^{2} + \frac{L (L - 1)}{L^{2} + \nu (L - 1)}"),
    (
        SequenceExpectation((z[epsilon] - ConditionalMean(z[epsilon], LAW)) ** 2, LAW),
        r"\mathbb{E}_{g}[(z_{\epsilon} - \mathbb{E}[z_{\epsilon} \mid X])^{2}]",
    ),
    (
        Delta**2 + 1 - SequenceExpectation(Posterior(epsilon, LAW) ** 2, LAW),
        r"\Delta^{2} + 1 - \mathbb{E}_{g}[p_{\epsilon}^{2}]",
    ),
    (
        Minimum(1 - SequenceExpectation(Activation.of(epsilon, softmax, a), LAW) ** 2, a),
        r"\min_{a} \{1 - \mathbb{E}_{g}[\operatorname{softmax}(a \chi)_{\epsilon}]^{2}\}",
    ),
    (Sum(exp(chi[m]), (m, 1, L)) ** 2, r"\left(\sum_{m=1}^{L} e^{\chi_{m}}\right)^{2}"),
    (
        x * Sum(chi[m], (m, 1, L)) * Integral(u + xi, (u, 0, oo)),
        r"x \,\left(\int_{0}^{\infty} (u + \xi) \,\mathrm{d}u\right) \,\sum_{m=1}^{L} \chi_{m}",
    ),
    (
        ScalarExpectation(exp(x), x, normal(sqrt(nu))) ** (L - 1),
        r"\mathbb{E}_{x\sim \mathcal{N}(\sqrt{\nu},1)}[e^{x}]^{L - 1}",
    ),
    (Piecewise((nu, Gt(nu, L)), (0, True)), r"\nu \,\mathbf{1}\{L < \nu\}"),
    (ScalarExpectation(x, x, laplace(nu, 2)), r"\mathbb{E}_{x\sim \mathrm{Laplace}(\nu,2)}[x]"),
]


@pytest.mark.parametrize(("expr", "expected"), CASES, ids=[str(i) for i in range(len(CASES))])
def test_formula(expr: Expr, expected: str) -> None:
    assert house_latex(expr) == expected


def test_long_exponent_goes_behind_exp() -> None:
    argument = -sum((x**i for i in range(2, 14)), S.Zero)
    assert house_latex(exp(argument)).startswith(r"\exp(")
    assert house_latex(exp(-u * Sum(exp(chi[m]), (m, 1, L)))).startswith(r"\exp\left(-u \,\sum_{m=1}^{L}")


def test_law_without_a_name_gets_one_and_keeps_it() -> None:
    printer = HousePrinter()
    law = student(5)
    printed = printer.doprint(ScalarExpectation(x**2, x, law) + ScalarExpectation(x**4, x, law))
    assert printed.count(r"x\sim \varphi_{1}") == 2
    assert list(printer.laws) == [law]


def test_printing_does_not_compute() -> None:
    class Unprintable(Function):
        def _eval_evalf(self, prec: int) -> Expr:
            raise AssertionError("printing asked for a number")

    constant = Integral(Unprintable(x), (x, 0, oo))
    assert house_latex(1 + nu * constant - constant**2).count(r"\int") == 2


def test_normal_law_on_half_a_line_is_not_called_normal() -> None:
    half = ScalarLaw(2 * STANDARD_NORMAL.density, 0, oo)
    assert r"\mathcal{N}" not in house_latex(ScalarExpectation(x, x, half))


@pytest.mark.parametrize("expr", [case[0] for case in CASES], ids=[str(i) for i in range(len(CASES))])
def test_braces_and_growing_brackets_pair_up(expr: Expr) -> None:
    tex = house_latex(expr)
    assert tex.replace(r"\{", "").count("{") == tex.replace(r"\}", "").count("}")
    assert tex.count(r"\left") == tex.count(r"\right")


def test_a_power_of_a_function_with_a_print_of_its_own_keeps_that_print() -> None:
    opened = OpenFunction.of("sigma", l)
    assert house_latex(opened**2) == r"\sigma^{2}(l,\chi)"
    assert house_latex(OpenFunction.of("h") ** 2) == r"h^{2}(\chi)"
