"""Random expressions that the rules admit, and random ones that they must refuse."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st
from sympy import Abs, Expr, Heaviside, Max, Min, Piecewise, Rational, Sum, cosh, erf, exp, floor, log, sign, tanh

from symslr.expression.folded import Activation
from symslr.model.attention import Attention
from symslr.model.catalogue import softmax
from symslr.model.scalar_law import STANDARD_NORMAL, ScalarLaw, laplace, normal
from symslr.model.sequence_law import SequenceLaw
from symslr.model.symbols import L, chi, epsilon, l, m, x

KEY = chi[epsilon]


def rationals(low: Fraction | int, high: Fraction | int) -> st.SearchStrategy[Rational]:
    """Rational numbers with denominators up to 23: nothing that a special case could hide behind."""
    return st.fractions(Fraction(low), Fraction(high), max_denominator=23).map(
        lambda f: Rational(f.numerator, f.denominator)
    )


nonzero = rationals(Fraction(1, 7), Fraction(6, 5)).flatmap(lambda r: st.sampled_from([r, -r]))
positive = rationals(Fraction(1, 7), Fraction(6, 5))
lengths = st.sampled_from([1, 2, 3])


@st.composite
def smooth(draw: st.DrawFn) -> Expr:
    """A smooth function of x with Gaussian means of every order."""
    s, r = draw(nonzero), draw(positive)
    return draw(
        st.sampled_from(
            [
                x,
                x**2 + s,
                exp(s * x / 2),
                tanh(s * x),
                1 / (1 + r * x**2),
                x**3 - s * x,
                erf(s * x + r),
                cosh(s * x / 2),
            ]
        )
    )


@st.composite
def kinked(draw: st.DrawFn) -> Expr:
    """A function of x that bends at 0 and does not jump."""
    s = draw(positive)
    return draw(st.sampled_from([Abs(x), s * Max(x, 0), Abs(x) * x + s, Min(x, s * x) + x**2, exp(-s * Abs(x))]))


@st.composite
def jumping(draw: st.DrawFn) -> Expr:
    """A function of x with a jump or a pole."""
    s = draw(positive)
    return draw(
        st.sampled_from(
            [
                sign(x),
                Heaviside(x),
                s + floor(x),
                Piecewise((s, x > 0), (0, True)),
                sign(x) * x + sign(x),
                1 / x,
                log(Abs(x)),
            ]
        )
    )


@st.composite
def kernels(draw: st.DrawFn) -> Expr:
    """A positive function of x."""
    s, r = draw(nonzero), draw(positive)
    return draw(st.sampled_from([exp(s * x), 1 + r * x**2, log(1 + exp(s * x)), 1 / (1 + exp(-s * x)), r + Max(x, 0)]))


def token(h: Expr, index: Expr = epsilon) -> Expr:
    """h(chi_index)."""
    return h.subs(x, chi[index])


def total(h: Expr, index: Expr = l) -> Sum:
    """The sum of h over all tokens."""
    return Sum(token(h, index), (index, 1, L))


@st.composite
def parts(draw: st.DrawFn, h: st.SearchStrategy[Expr]) -> Sum:
    """A sum over some of the tokens, or over more than there are."""
    limits = draw(st.sampled_from([(l, 1, L - 1), (l, 2, L), (l, 1, 2), (l, 1, L + 1)]))
    return Sum(token(draw(h), l), limits)


@st.composite
def spikes(draw: st.DrawFn) -> SequenceLaw:
    """A weight that shifts the relevant token."""
    s = draw(nonzero)
    return SequenceLaw(exp(s * KEY - s**2 / 2), L)


@st.composite
def weights(draw: st.DrawFn) -> SequenceLaw:
    """A weight with mean one that vanishes on a null set only."""
    s, r = draw(nonzero), draw(positive)
    kernel = draw(st.sampled_from([exp(r * x), 1 + r * x**2, None, None]))
    if kernel is not None:
        return SequenceLaw(L * token(kernel) / total(kernel), L)
    single = [exp(s * KEY - s**2 / 2), KEY**2, cosh(s * KEY) * exp(-(s**2) / 2), 1 + tanh(s * KEY)]
    return SequenceLaw(draw(st.sampled_from(single)), L)


@st.composite
def vanishing(draw: st.DrawFn) -> SequenceLaw:
    """A weight with mean one that is zero with positive probability."""
    s = draw(positive)
    return draw(
        st.sampled_from(
            [
                SequenceLaw(1 + sign(KEY), L),
                SequenceLaw(2 * Heaviside(s * KEY), L),
                SequenceLaw(1 - sign(KEY), L),
                SequenceLaw(Max(KEY, 0) ** 2 * 2, L),
                SequenceLaw(Piecewise((2, KEY > 0), (0, True)), L),
                SequenceLaw((Abs(KEY) + KEY) ** 2 / 2, L),
            ]
        )
    )


UNWEIGHTED = SequenceLaw(Rational(1), L)
SOFT = Activation.of(epsilon, softmax, Rational(2, 3))
BASES: list[ScalarLaw] = [STANDARD_NORMAL, laplace(), normal(0, Rational(9, 4))]


@st.composite
def attentions(draw: st.DrawFn) -> Activation:
    """Attention paid to the relevant token, normalised or element-wise."""
    kernel, scale = draw(kernels()), draw(nonzero)
    attention = draw(
        st.sampled_from([Attention(kernel), Attention(kernel, offset=1), Attention(kernel, normaliser=None)])
    )
    return Activation.of(epsilon, attention, scale)


@st.composite
def polynomials(draw: st.DrawFn) -> Expr:
    """A polynomial in x of degree 1 or 2."""
    return sum((draw(nonzero) * x**power for power in draw(st.sampled_from([(1,), (2,), (1, 2), (0, 1)]))), 0 * x)


@st.composite
def token_polynomials(draw: st.DrawFn) -> Expr:
    """chi_eps^n times one or two sums of polynomials over the tokens, single or squared."""
    body = KEY ** draw(st.integers(0, 1)) * total(draw(polynomials()))
    if draw(st.booleans()):
        body *= total(draw(polynomials()), m)
    return body + draw(nonzero) * KEY
