"""Certified enclosures against references, brute force by other integrators, and each other."""

from __future__ import annotations

import mpmath
import pytest
import sympy
from flint import acb, arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf
from sympy import Abs, Expr, Integer, Integral, Rational, Symbol, erf, exp, gamma, log, oo, pi, sin, sqrt, symbols

from symslr.evaluation.certified.backend import Modulus, evaluate_arb, substitute
from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.expectation import LengthExpectation, ScalarExpectation
from symslr.expression.value import Kind, Value
from symslr.model.length_law import LengthLaw
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw, laplace, normal
from symslr.model.symbols import L, nu, x

u = Symbol("u", positive=True)


def mean(body: Expr, law: ScalarLaw = STANDARD_NORMAL) -> Expr:
    return ScalarExpectation(body, x, law)


TOKEN = exp(sqrt(nu) * x)
SIGNAL = normal(sqrt(nu))
SPIKED = (L - 1) * Integral(
    mean(exp(-u * TOKEN), SIGNAL) * mean(TOKEN * exp(-u * TOKEN)) * mean(exp(-u * TOKEN)) ** (L - 2), (u, 0, oo)
)
"""Bayes risk of spiked-SLR at Delta = 0, THEORY section 4."""

MAX_TOKEN = exp(nu * x)
MAX = 1 - L * Integral(u * mean(MAX_TOKEN**2 * exp(-u * MAX_TOKEN)) * mean(exp(-u * MAX_TOKEN)) ** (L - 1), (u, 0, oo))


def certified(expr: Expr, digits: int = 30, **values: object) -> Value:
    names = {"L": L, "nu": nu}
    result = evaluate_arb(expr, {names[name]: sympy.sympify(value) for name, value in values.items()}, digits)
    assert result.kind == Kind.CERTIFIED
    return result


def contains(value: Value, reference: mpf, slack: mpf | float = 0) -> bool:
    with mpmath.workdps(120):
        return bool(abs(value.value - reference) <= value.error + slack)


REFERENCES = [
    (2, 1, "0.324943297662434592837598527778"),
    (2, 5, "0.0843965125386967278684072653549"),
    (3, 2, "0.352423268884167107072769293457"),
    (100, 5, "0.745326342555008759491495297704"),
]


@pytest.mark.parametrize(("length", "strength", "reference"), REFERENCES)
def test_reference_values(length: int, strength: int, reference: str) -> None:
    value = certified(SPIKED, L=length, nu=strength)
    assert value.digits >= 30
    with mpmath.workdps(50):
        assert contains(value, mpf(reference), mpf(10) ** -(len(reference) - 2))


def two_tokens(strength: Expr, digits: int) -> mpf:
    """The spiked Bayes risk of two tokens, E[1/(1 + e^D)] with D ~ N(nu, 2 nu), by mpmath's tanh-sinh rule.

    Completing the square, e^{-nu/4} E[1/(2 cosh(sqrt(nu/2) z))], which keeps relative accuracy.
    """
    with mpmath.workdps(digits + 15):
        v = mpf(strength.p) / strength.q
        s = mpmath.sqrt(v / 2)
        body = lambda z: mpmath.exp(-(z**2) / 2) / (2 * mpmath.cosh(s * z)) / mpmath.sqrt(2 * mpmath.pi)  # noqa: E731
        return mpmath.exp(-v / 4) * mpmath.quad(body, [-20, -8, -4, -2, -1, 0, 1, 2, 4, 8, 20], maxdegree=10)


@pytest.mark.parametrize("strength", [Rational(1, 10), Integer(1), Integer(7), Integer(40), Integer(400)])
def test_two_tokens_by_brute_force_to_50_digits(strength: Expr) -> None:
    reference = two_tokens(strength, 50)
    value = certified(SPIKED, 50, L=2, nu=strength)
    assert value.digits >= 50
    # mpmath's rule agrees to 53 digits or more.
    with mpmath.workdps(60):
        assert contains(value, reference, mpf(10) ** -52 * reference)


def test_two_tokens_by_adaptive_ball_integration() -> None:
    """E[1/(1 + e^D)] with D = nu + sqrt(2 nu) z on |z| <= 24, a second proved enclosure by another algorithm."""
    with ctx.workprec(400):
        root = arb(6).sqrt()

        def integrand(z: acb, _: bool) -> acb:
            return (-z * z / 2).exp() / (1 + (3 + root * z).exp())

        tail = (-(arb(24) ** 2) / 2).exp()
        reference = acb.integral(integrand, -24, 24).real / (2 * arb.pi()).sqrt() + arb(0.5, 0.5) * tail
        value = certified(SPIKED, 100, L=2, nu=3)
        with mpmath.workdps(130):
            ours = arb(mpmath.nstr(value.value, 125)) + arb(0, arb(mpmath.nstr(2 * value.error, 5)).upper())
        assert ours.overlaps(reference)
        assert reference.rad() < 1e-100


@settings(max_examples=25)
@given(
    length=st.integers(2, 10**6),
    strength=st.fractions(Rational(1, 50), 120, max_denominator=50),
)
def test_enclosures_at_30_and_60_digits_overlap(length: int, strength: object) -> None:
    coarse, fine = (certified(SPIKED, digits, L=length, nu=strength) for digits in (30, 60))
    assert coarse.digits >= 30
    assert fine.digits >= 60
    assert contains(coarse, fine.value, fine.error)
    assert 0 < fine.value < 1


@settings(max_examples=15)
@given(
    length=st.integers(2, 2000),
    strength=st.fractions(Rational(1, 20), 12, max_denominator=20),
)
def test_max_enclosures_overlap(length: int, strength: object) -> None:
    coarse, fine = (certified(MAX, digits, L=length, nu=strength) for digits in (25, 45))
    assert fine.digits >= 45
    assert contains(coarse, fine.value, fine.error)


def test_max_risk_of_two_tokens_by_brute_force() -> None:
    """1 - 2 E[1/(1 + e^{nu D})^2] with D ~ N(0, 2)."""
    with mpmath.workdps(45):
        body = lambda y: mpmath.exp(-(y**2) / 4) / (1 + mpmath.exp(3 * y)) ** 2 / mpmath.sqrt(4 * mpmath.pi)  # noqa: E731
        reference = 1 - 2 * mpmath.quad(body, range(-24, 25, 2))
    assert contains(certified(MAX, 30, L=2, nu=3), reference, mpf(10) ** -32)


def test_no_signal_leaves_chance() -> None:
    value = certified(SPIKED, 40, L=7, nu=0)
    with mpmath.workdps(60):
        assert contains(value, mpf(6) / 7)
    assert value.digits >= 40


def test_one_token_has_no_error() -> None:
    value = certified(SPIKED, L=1, nu=2)
    assert (value.value, value.error) == (0, 0)


def test_one_token_softmax_keeps_all_mass() -> None:
    """int E[w e^{-uw}] du = 1, where only the moment bound of a single phi ends the right tail."""
    value = certified(Integral(mean(TOKEN * exp(-u * TOKEN)), (u, 0, oo)), 30, nu=3)
    assert contains(value, mpf(1))
    assert value.digits >= 30


def test_offset_and_gamma_function() -> None:
    """E[e^x/(1 + e^x + e^{x'})^2] by a double integral in mpmath."""
    integrand = u / gamma(2) * exp(-u) * mean(exp(x) * exp(-u * exp(x))) * mean(exp(-u * exp(x)))
    with mpmath.workdps(15):
        density = lambda s, t: mpmath.exp(-(s**2 + t**2) / 2) / (2 * mpmath.pi)  # noqa: E731
        body = lambda s, t: density(s, t) * mpmath.exp(s) / (1 + mpmath.exp(s) + mpmath.exp(t)) ** 2  # noqa: E731
        reference = mpmath.quad(body, [-9, 0, 9], [-9, 0, 9])
    assert contains(certified(Integral(integrand, (u, 0, oo))), reference, 1e-13)


def test_integral_scales_as_the_kernel_does() -> None:
    """kappa -> C kappa multiplies int u^{k-1} phi^n du by C^-k; mean and variance of the law move into s and C."""
    base = certified(Integral(u**2 * mean(exp(-u * exp(x))) ** 5, (u, 0, oo)), 40)
    shifted = normal(Rational(1, 3), 4)
    scaled = certified(Integral(u**2 * mean(exp(-3 * u * exp(-x / 2)), shifted) ** 5, (u, 0, oo)), 40)
    with mpmath.workdps(60):
        expected = base.value / 27 * mpmath.exp(mpf(1) / 2)
        assert contains(scaled, expected, base.error)


def test_powers_of_x_by_stein() -> None:
    """E[x^3 e^{x/2} e^{-u e^x}] under the Laplace integral of e^{-u} is E[x^3 e^{x/2}/(1 + e^x)]."""
    value = certified(Integral(exp(-u) * mean(x**3 * exp(x / 2) * exp(-u * exp(x))), (u, 0, oo)))
    body = lambda t: mpmath.exp(-(t**2) / 2 + t / 2) * t**3 / (1 + mpmath.exp(t)) / mpmath.sqrt(2 * mpmath.pi)  # noqa: E731
    with mpmath.workdps(40):
        reference = mpmath.quad(body, range(-20, 21, 2))
    # x^3 is odd and e^{x/2}/(1 + e^x) even: the mean is 0, and the enclosure says so without digits.
    assert abs(reference) < 1e-35
    assert contains(value, mpf(0))
    shifted = certified(Integral(exp(-u) * mean((x + 1) ** 2 * exp(-u * exp(2 * x))), (u, 0, oo)))
    body = lambda t: mpmath.exp(-(t**2) / 2) * (t + 1) ** 2 / (1 + mpmath.exp(2 * t)) / mpmath.sqrt(2 * mpmath.pi)  # noqa: E731
    with mpmath.workdps(40):
        assert contains(shifted, mpmath.quad(body, range(-20, 21, 2)), 1e-32)
    assert shifted.digits >= 30


def test_closed_forms() -> None:
    moments = mean((x**4 + x) * exp(x / 3), normal(1, 2))
    with mpmath.workdps(40):
        # x ~ N(1, 2) tilted by e^{x/3} is N(5/3, 2), with mass e^{1/3 + 1/9}.
        m, v = mpf(5) / 3, mpf(2)
        expected = mpmath.exp(mpf(4) / 9) * (m**4 + 6 * m**2 * v + 3 * v**2 + m)
    assert contains(certified(moments), expected, mpf(10) ** -36)
    other = erf(Rational(1, 3)) * sqrt(pi) / log(2) + sympy.Max(nu, 1)
    with mpmath.workdps(40):
        expected = mpmath.erf(mpf(1) / 3) * mpmath.sqrt(mpmath.pi) / mpmath.log(2) + 5
    assert contains(certified(other, nu=5), expected, mpf(10) ** -36)


def test_random_length_is_a_finite_sum() -> None:
    law = LengthLaw({1: Rational(1, 3), 3: Rational(2, 3)})
    value = certified(LengthExpectation(SPIKED, law), nu=2)
    single = certified(SPIKED, 40, L=3, nu=2)
    with mpmath.workdps(60):
        assert contains(value, 2 * single.value / 3, single.error)


def test_quotients_of_integrals() -> None:
    ratio = certified(SPIKED / (1 - SPIKED), 30, L=4, nu=1)
    risk = certified(SPIKED, 45, L=4, nu=1)
    with mpmath.workdps(60):
        assert contains(ratio, risk.value / (1 - risk.value), 10 * risk.error)


def test_the_size_of_an_integral_is_enclosed_without_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    """SymPy finds the sign inside of |.| by integrals over integrals, which take seconds, when numbers are put in."""
    risk = certified(SPIKED, 45, L=3, nu=2)
    monkeypatch.setattr("sympy.core.evalf.do_integral", lambda *_: pytest.fail("an integral in floats"))
    for sign in (1, -1):
        found = certified(nu * sympy.Abs(sign * (nu * SPIKED - 1)) - sympy.Abs(nu - 3), L=3, nu=2)
        assert found.digits >= 30
        with mpmath.workdps(60):
            assert contains(found, 2 * abs(2 * risk.value - 1) - 1, 4 * risk.error)


def test_cancellation_is_reported_not_hidden() -> None:
    """The same integral in u and in 3 u: the difference is 0, proved up to an error."""
    of_u, of_3u = (
        c * Integral(mean(TOKEN * exp(-c * u * TOKEN)) * mean(exp(-c * u * TOKEN)), (u, 0, oo)) for c in (1, 3)
    )
    difference = certified(of_u - of_3u, nu=sqrt(2) - 1)
    assert abs(difference.value) <= difference.error < 1e-60
    assert difference.digits == 0


REFUSED = [
    (Integral(mean(exp(-u * log(1 + exp(x)))), (u, 0, oo)), "kernel"),
    (Integral(mean(exp(-u * (exp(x) + exp(-x)))), (u, 0, oo)), "kernel"),
    (Integral(mean(exp(-u * exp(x)), laplace()), (u, 0, oo)), "Gaussian"),
    (Integral(mean(exp(u * exp(x))), (u, 0, oo)), "positive"),
    (Integral(mean(exp(-u * exp(x))) / u, (u, 0, oo)), "power above"),
    (Integral(mean(exp(-u * exp(x))), (u, 0, 1)), "expected"),
    (Integral(exp(u) * mean(exp(-u * exp(x))), (u, 0, oo)), "diverges"),
    (Integral(u, (u, 0, oo)), "diverges"),
    (mean(erf(x)), "token function"),
    (mean(exp(x**2)), "diverges"),
    (Symbol("y") + 1, "no value"),
    (sympy.Float("0.1") + sympy.sqrt(2), "inexact"),
    (1 / (exp(1) - exp(1 + sympy.Mul(0, 1, evaluate=False))), "zero"),
    (sympy.zeta(3), "no proof"),
]


@pytest.mark.parametrize(("expr", "reason"), REFUSED)
def test_refusals_say_why_in_one_line(expr: Expr, reason: str) -> None:
    with pytest.raises(CannotEvaluate, match=reason) as caught:
        evaluate_arb(expr, {}, 20)
    assert "\n" not in str(caught.value)


def test_infinite_values_are_refused() -> None:
    with pytest.raises(CannotEvaluate, match="finite"):
        certified(SPIKED, L=3, nu=oo)


def test_no_precision_is_left_behind() -> None:
    before = ctx.prec, mpmath.mp.prec
    certified(SPIKED, 60, L=3, nu=1)
    assert (ctx.prec, mpmath.mp.prec) == before


@pytest.mark.parametrize(("expr", "strength"), [(SPIKED, "1e300"), (SPIKED, "1e40"), (MAX, "1e160"), (MAX, "1e300")])
def test_parameters_beyond_float64_are_refused_in_one_line(expr: Expr, strength: str) -> None:
    with pytest.raises(CannotEvaluate, match=r"^certified: .*$"):
        certified(expr, L=3, nu=Integer(10) ** int(strength[2:]))


def test_no_integral_in_an_absolute_value_is_computed_to_order_its_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("SymPy integrates")

    monkeypatch.setattr("sympy.core.evalf.do_integral", never)
    y, z = symbols("y z")
    one, other = (Integral(sin(k * y * z) * exp(-(y**2)), (y, -oo, oo)) for k in (1, 2))
    filled = substitute(3 * Abs(z * one - other) + z, {z: Rational(1, 7)})
    value = (one / 7 - other).subs(z, Rational(1, 7))
    assert filled == Rational(1, 7) + 3 * Modulus(value)
