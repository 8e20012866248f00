"""Running text: what TeX and HTML make of it."""

from __future__ import annotations

import pytest

from symslr.export.text import plain_to_tex, text_to_html, text_to_tex
from symslr.export.typed import text_to_plain, text_to_terminal


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("5 % & more_x #1", r"5 \% \& more\_x \#1"),
        (r"already 5 \% done", r"already 5 \% done"),
        (r"$x_1 & y$ stays", r"$x_1 & y$ stays"),
        ("σ grows", r"\ensuremath{\sigma} grows"),
        (r"\emph{kept}", r"\emph{kept}"),
        ("a lone $ sign", r"a lone \$ sign"),
        ("t = n^theta", r"t = n\textasciicircum{}theta"),
        ("one { too many", r"one \{ too many"),
        (r"}{ and \emph{one $\frac{1}{2}$ kept}", r"\}\{ and \emph{one $\frac{1}{2}$ kept}"),
        (r"already \{ escaped", r"already \{ escaped"),
        (r"$5\% # 6%$", r"$5\% \# 6\%$"),
        ("at the end \\", r"at the end \textbackslash{}"),
        (r"half a formula $\frac{1}{$", r"half a formula \$\textbackslash{}frac\{1\}\{\$"),
        (r"1 -- 2 with \texttt{--keys}", r"1 -- 2 with \texttt{-{}-keys}"),
    ],
)
def test_text_to_tex(text: str, tex: str) -> None:
    assert text_to_tex(text) == tex


def test_plain_text_holds_no_command() -> None:
    assert plain_to_tex(r"\input{x} $5_0 ~ 10%") == r"\textbackslash{}input\{x\} \$5\_0 \textasciitilde{} 10\%"


def test_plain_text_has_no_dashes_that_tex_makes() -> None:
    assert plain_to_tex("--keys, a---b") == "-{}-keys, a-{}-{}-b"


def test_text_to_html() -> None:
    said = text_to_html(r"\emph{If} $a<b$ --- 5\,\% & <b>", lambda tex: f"[{tex}]")
    assert said == "<em>If</em> [a<b] — 5\u202f% &amp; &lt;b&gt;"


def test_no_line_breaks_between_a_formula_and_its_comma() -> None:
    """A page began lines with the comma behind a formula."""
    said = text_to_html("Bayes' risk at ($x$), then $y$ and $z$.", lambda tex: f"<math>{tex}</math>")
    kept = '<span class="whole">{}</span>'.format
    shown = f"{kept('(<math>x</math>),')} then <math>y</math> and {kept('<math>z</math>.')}"
    assert said == f"Bayes’ risk at {shown}"


def test_what_is_typed_has_no_dashes_in_html() -> None:
    assert text_to_html(r"1 -- 2 with \texttt{--keys}", str) == "1 – 2 with <code>--keys</code>"


def test_text_to_plain() -> None:
    assert text_to_plain(r"Risk $\mathcal{E}$ at $\nu$ and $\nullity$") == r"Risk E at ν and nullity"
    assert text_to_plain(r"at $\nu$", greek=False) == "at nu"
    assert text_to_plain(r"$L\sim\mathrm{Unif}\{1,2\}$, $a\to\infty$") == "L ~ Unif{1,2}, a → ∞"
    assert text_to_plain(r"$L\in\{1\}$, $\nu\leq2$", greek=False) == "L in {1}, nu <= 2"


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        (r"at scale $a$", "at scale a"),
        (r"$g(\epsilon,\chi)\ge0$ with $\mathbb{E}_0[g]=1$", "g(epsilon,chi) >= 0 with E_0[g]=1"),
        (r"$\frac{n}{t}$ an integer, $n \neq 1$", "n/t an integer, n != 1"),
        (r"$3 b^{2} + 2 \geq 2 \sqrt{2} b \sqrt{\kappa}$", "3 b^2 + 2 >= 2 sqrt(2) b sqrt(kappa)"),
        (r"the covariance $K{\left(l,m \right)}$", "the covariance K(l,m)"),
        (r"a bias $-\log(L-1)$", "a bias -log(L-1)"),
        (r"a key along $k^\star$", "a key along k*"),
        (r"$\frac{L}{L-1}\frac1\nu+o(1)$", "(L/(L-1)) 1/nu+o(1)"),
        (r"$\frac{M}{\nu}\left(1-\frac{\pi^2}{12\nu^2}\right)$", "(M/nu)(1-pi^2/(12 nu^2))"),
        (r"$\bar\kappa(y)=\mathbb{E}_t\,\kappa(y+\sqrt{R_{kk}}\,t)$", "kappabar(y)=E_t kappa(y+sqrt(R_kk) t)"),
        (r"$b\ge\sqrt2\lambda\log(L-1)$", "b >= sqrt(2) lambda log(L-1)"),
        (r"$\beta\langle A_i,A_j\rangle\in\mathbb{R}$", "beta <A_i,A_j> in R"),
        (r"$aI+b\mathbf{1}\mathbf{1}^{\top}$", "aI+b 1 1^T"),
        (r"$(L-1)^re^{-\nu/2}$, $\mathrm{d}k/\mathrm{d}t$", "(L-1)^r e^(-nu/2), dk/dt"),
        (r"$\mathsf{E}_\sigma(\text{law of }L)$", "E_sigma(law of L)"),
        ("no formula, 5_0", "no formula, 5_0"),
    ],
)
def test_text_to_terminal(text: str, typed: str) -> None:
    assert text_to_terminal(text) == typed
