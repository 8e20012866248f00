"""The equations of a sequence model in its own letters: channel, state evolution, weak recovery; fit and SGD of a student."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Basic, Expr, Indexed, Integer, Sum, Symbol
from sympy import latex as sympy_latex

from symslr.model.sequence.hidden import SIGN
from symslr.model.sequence.model import SequenceModel
from symslr.model.symbols import L


@dataclass(frozen=True)
class Equation:
    """What an equation is, its LaTeX, and the derivations whose statements it gathers for all fields at once."""

    title: str
    latex: str
    by: tuple[str, ...] = ()


def equations(model: SequenceModel) -> list[Equation]:
    """The statements for an open channel, with the model put in; those of a student where there is one."""
    length = model.length
    row = ", ".join(f"{name}_l" for name in model.teachers)
    fields = rf"z_l=({row})=W^{{*\top}}x_l/\sqrt D,\quad x_l\sim N(0,I_D),\quad l=1,\dots,{length}"
    found = [Equation("fields", fields), *_label(model)]
    hidden = "".join(rf"\sum_{{{latex(own.symbol)}}}" for own in model.hidden)
    evidence = rf"Z(y,\omega)={hidden}\mathbb{{E}}_{{z_l\sim N(\omega_l,\,I-Q)}}\left[{_channel(model)}\right]"
    outer = rf"\mathbb{{E}}\text{{ over }}\omega_l=Q^{{1/2}}\xi_l,\ \xi_l\sim N(0,I_{len(model.teachers)}),\ y\sim Z(y,\omega)"
    tokens = rf"\sum_{{l=1}}^{{{length}}}"
    pairs = rf"\sum_{{l,m=1}}^{{{length}}}"
    found += [
        Equation("evidence", evidence),
        Equation(
            "force",
            r"g_l=\partial_{\omega_l}\log Z=(I-Q)^{-1}\left(\mathbb{E}[z_l\mid y,\omega]-\omega_l\right)",
            ("bayes-optimal-score",),
        ),
        Equation(
            "state evolution",
            rf"\hat Q=\alpha\,\mathbb{{E}}{tokens}g_lg_l^\top,\qquad Q=\hat Q(I+\hat Q)^{{-1}}\qquad ({outer})",
            ("bayes-optimal-force", "bayes-optimal-overlap"),
        ),
        Equation(
            "free entropy",
            r"\Phi=\tfrac12\left(\operatorname{tr}Q+\log\det(I-Q)\right)+\alpha\,\mathbb{E}\log Z",
            ("bayes-optimal-information", "bayes-optimal-prior"),
        ),
        Equation(
            "weak recovery",
            rf"\alpha_c=1/\rho(F),\quad F(M)=\mathbb{{E}}{pairs}T_{{lm}}MT_{{lm}}^\top,\quad "
            r"T_{lm}=\mathbb{E}[z_lz_m^\top\mid y]-\delta_{lm}I\quad\text{where }\mathbb{E}[z_l\mid y]=0",
            ("weak-recovery-own", "weak-recovery-other"),
        ),
    ]
    return found + _student(model, tokens)


def _label(model: SequenceModel) -> list[Equation]:
    many = len(model.written) > 1
    sign = "" if SIGN not in model.hidden else rf"{latex(SIGN.symbol)}\,"
    noise = "" if model.noise == 0 else rf"+{_coefficient(latex(model.noise))}\xi"
    found = []
    for n, own in enumerate(model.written, 1):
        index = f"_{{{n}}}" if many else ""
        body = _in_letters(own, model)
        body = rf"\left({body}\right)" if sign and own.is_Add else body
        found.append(Equation("label", f"y{index}={sign}{body}{noise}{index if noise else ''}"))
    for hidden in model.hidden:
        law = ",\\ ".join(rf"{latex(value)}:\,{latex(share)}" for value, share in hidden.law)
        found.append(Equation("hidden variable", rf"{latex(hidden.symbol)}\sim\{{{law}\}}"))
    if model.values:
        given = ",\\ ".join(f"{latex(symbol)}={latex(number)}" for symbol, number in model.values)
        found.append(Equation("values", given))
    return found


def latex(expr: Basic) -> str:
    """As SymPy prints it, with eps as a letter."""
    names = {symbol: r"\epsilon" for symbol in expr.free_symbols if str(symbol) == "eps"}
    return str(sympy_latex(expr, symbol_names=names))


def _coefficient(number: str) -> str:
    return "" if number == "1" else rf"{number}\,"


def _channel(model: SequenceModel) -> str:
    """P(y, h | z) in the model's letters, the laws of hidden variables as P."""
    laws = "".join(rf"P({latex(own.symbol)})\," for own in model.hidden)
    weight = "" if model.weight_written == 1 else rf"{_in_letters(model.weight_written, model)}\;"
    mean = "f(h,z)" if model.hidden else "f(z)"
    like = rf"\delta(y-{mean})" if model.noise == 0 else rf"N(y;\,{mean},\,{latex(model.noise**2)}I)"
    return f"{laws}{weight}{like}"


def _student(model: SequenceModel, tokens: str) -> list[Equation]:
    own = model.student
    if own is None:
        return []
    row = ", ".join(f"{name}_l" for name in own.names)
    loss = latex(own.loss.xreplace({own.outputs[0]: Symbol("y")}) if len(own.outputs) == 1 else own.loss)
    d = r"d_l=\partial\ell/\partial s_l"
    return [
        Equation("student", rf"s_l=({row})=W^\top x_l/\sqrt D,\qquad \ell(y,s)={loss}"),
        Equation(
            "fit",
            r"\hat s=\operatorname{argmin}_s\ \ell(y,s)+\tfrac12\sum_l(s_l-\omega_l)^\top V^{-1}(s_l-\omega_l),\quad "
            r"\omega_l=mz_l+(q-mm^\top)^{1/2}\zeta_l,\quad f_l=V^{-1}(\hat s_l-\omega_l)",
        ),
        Equation(
            "forces",
            rf"\hat q=\alpha\,\mathbb{{E}}{tokens}f_lf_l^\top,\quad "
            rf"\hat V=-\alpha\,\mathbb{{E}}{tokens}f_l\zeta_l^\top(q-mm^\top)^{{-1/2}},\quad "
            rf"\hat m=\alpha\,\mathbb{{E}}{tokens}f_lz_l^\top+\hat Vm",
            ("empirical-risk-qhat", "empirical-risk-Vhat", "empirical-risk-mhat"),
        ),
        Equation(
            "saddle point",
            r"V=(\lambda+\hat V)^{-1},\qquad m=V\hat m,\qquad q-mm^\top=V\hat qV",
            ("empirical-risk-V", "empirical-risk-m", "empirical-risk-q"),
        ),
        Equation(
            "SGD",
            rf"\frac{{dM}}{{dt}}=-\mathbb{{E}}{tokens}d_lz_l^\top-\lambda M,\qquad {d},\quad M=W^\top W^*/D",
            ("online-m",),
        ),
        Equation(
            "SGD",
            rf"\frac{{dQ}}{{dt}}=-\mathbb{{E}}{tokens}(d_ls_l^\top+s_ld_l^\top)-2\lambda Q"
            rf"+\gamma\,\mathbb{{E}}{tokens}d_ld_l^\top,\qquad Q=W^\top W/D",
            ("online-q",),
        ),
    ]


def _in_letters(expr: Expr, model: SequenceModel) -> str:
    """A formula as it is written: fields as u_l, sums to the length."""
    shown = {own: Symbol(f"{own.base.label}_{{{latex(own.indices[0])}}}") for own in expr.atoms(Indexed)}
    return latex(_shown(expr, shown).xreplace({L: Integer(model.length)}))


def _shown(expr: Expr, shown: dict[Expr, Symbol]) -> Expr:
    """The fields as symbols; sums stay as they are, though SymPy would take out of one what no longer holds its index."""
    if expr in shown:
        return shown[expr]
    if isinstance(expr, Sum):
        return Sum(_shown(expr.function, shown), *expr.limits)
    return expr.func(*(_shown(part, shown) for part in expr.args)) if expr.args else expr
