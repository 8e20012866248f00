"""One training sample at finite alpha = N/D: the proximal problem, elimination of the values, derivatives for any kernel.

In the limit N, D -> infinity the fit sees each sample only through the fields omega_chi, omega_z (what the keys and
values would be, had the sample been left out) and answers with the proximal point

    (chi, z) = argmin |chi - omega_chi|^2/(2 V_k) + |z - omega_z|^2/(2 V_v) + (y - sum_l sigma_l(chi) z_l)^2/2.

The values z stand in it quadratically and are eliminated; what is left depends on the keys through |chi - omega_chi|^2
and through the three sums S = (sum kappa, sum kappa omega_z, sum kappa^2), so the gradient and the Hessian in chi cost
O(L) for any kernel, and SymPy writes them.

Source: arXiv 2509.21936, Result 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar, final

from sympy import (
    Add,
    Basic,
    Derivative,
    Expr,
    IndexedBase,
    Matrix,
    S,
    Sum,
    Symbol,
    expand,
    together,
)
from sympy.printing.latex import LatexPrinter

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import (
    Collect,
    Envelope,
    GaussianMoments,
    Linearity,
    Minimise,
    MinimiseAtGivenSum,
    Unfold,
)
from symslr.expression.folded import Activation, Minimum
from symslr.expression.quantity import Quantity
from symslr.expression.scored import ScoredActivation
from symslr.model.attention import Attention
from symslr.model.exponential import constant_value
from symslr.model.powers import factored
from symslr.model.symbols import L, chi, epsilon, l, m, x, z
from symslr.model.task import Task
from symslr.theory.definitions import squared_loss
from symslr.theory.finite_sample_energy import FITTED, KEY, VALUE, Fit, SampleEnergy, sample_energy

V_k = Symbol("V_k", positive=True)
V_v = Symbol("V_v", positive=True)
y = Symbol("y", real=True)
w = Symbol("w", real=True)
"""The field omega_z of the token whose key is x."""
offset = Symbol("o", nonnegative=True)
omega_chi = IndexedBase(r"\omega^\chi", real=True)
omega_z = IndexedBase(r"\omega^z", real=True)

S_0, S_1, S_2 = SUMS = (Symbol("S_0", real=True), Symbol("S_1", real=True), Symbol("S_2", real=True))
"""sum_l kappa(chi_l), sum_l kappa(chi_l) omega_z,l and sum_l kappa(chi_l)^2."""

FIELD, RESIDUAL = (Symbol(name, real=True) for name in ("A", "rho"))
NORM = Symbol("B", positive=True)
"""sum_l sigma_l omega_z,l;  sum_l sigma_l^2;  the residual y - sum_l sigma_l z_l at the proximal point."""


@dataclass(frozen=True)
class ProximalProblem:
    """What one training sample asks of the fit, for any attention of the family and any length.

    Attributes:
        attention: kernel kappa, normaliser and offset; the key's scale is part of chi.

    The formulas are SymPy expressions in ``chi[l]``, ``z[l]``, the fields ``omega_chi[l]``, ``omega_z[l]``, the label
    ``y`` and the widths ``V_k``, ``V_v`` > 0 of the key's and value's response.
    """

    attention: Attention

    def _sigma(self, index: Expr) -> Activation:
        return Activation.of(index, self.attention, S.One)

    def _total(self, body: Expr) -> Sum:
        return Sum(body, (l, 1, L))

    @property
    def objective(self) -> Expr:
        """|chi - omega_chi|^2/(2 V_k) + |z - omega_z|^2/(2 V_v) + (y - sum_l sigma_l z_l)^2/2."""
        residual = y - self._total(self._sigma(l) * z[l])
        return self.key_term + self._total((z[l] - omega_z[l]) ** 2) / (2 * V_v) + residual**2 / 2

    @property
    def key_term(self) -> Expr:
        """|chi - omega_chi|^2/(2 V_k)."""
        return self._total((chi[l] - omega_chi[l]) ** 2) / (2 * V_k)

    @cached_property
    def _named(self) -> dict[Expr, Expr]:
        return {FIELD: self._total(self._sigma(l) * omega_z[l]), NORM: self._total(self._sigma(l) ** 2)}

    @property
    def residual(self) -> Expr:
        """y - sum_l sigma_l z_l at the best values: (y - sigma.omega_z)/(1 + V_v |sigma|^2)."""
        return residual_chain().result.xreplace(self._named)

    @property
    def reduced(self) -> Expr:
        """The objective at the best values: |chi - omega_chi|^2/(2 V_k) + (y - sigma.omega_z)^2/(2(1+V_v |sigma|^2))."""
        return self.key_term + data_chain().result.xreplace(self._named)

    @cached_property
    def token_sums(self) -> tuple[Expr, Expr, Expr]:
        """The summands of S_0, S_1, S_2 for a token of key ``x`` and field ``w``."""
        kernel = self.attention.kernel
        return kernel, kernel * w, kernel**2

    @cached_property
    def data_term(self) -> Expr:
        """(y - sigma.omega_z)^2/(2(1 + V_v |sigma|^2)) as a function G of the three sums, the label and the offset."""
        normaliser = offset + S_0 if self.attention.is_normalised else S.One
        return data_chain().result.xreplace({FIELD: S_1 / normaliser, NORM: S_2 / normaliser**2})

    @cached_property
    def slopes(self) -> tuple[Expr, ...]:
        """dG/dS_i."""
        return tuple(self.data_term.diff(s) for s in SUMS)

    @cached_property
    def curvatures(self) -> Matrix:
        """d^2 G/dS_i dS_j."""
        return Matrix(3, 3, lambda i, j: self.slopes[i].diff(SUMS[j]))

    @cached_property
    def token_slopes(self) -> tuple[Expr, ...]:
        """ds_i/dx of a token: with them dG/dchi_l = sum_i (dG/dS_i) s_i'(chi_l)."""
        return tuple(s.diff(x) for s in self.token_sums)

    @cached_property
    def token_curvatures(self) -> tuple[Expr, ...]:
        """d^2 s_i/dx^2: the Hessian of G is delta_lm sum_i G_i s_i''(chi_l) + sum_ij G_ij s_i'(chi_l) s_j'(chi_m)."""
        return tuple(s.diff(x) for s in self.token_slopes)

    @property
    def shift_invariant(self) -> bool:
        """Whether sigma depends on differences of keys only (softmax): then L - 1 dimensions are left."""
        rate = constant_value(self.attention.kernel.diff(x) / self.attention.kernel)
        return self.attention.is_normalised and self.attention.offset == 0 and rate is not None

    @property
    def affine(self) -> tuple[Expr, Expr] | None:
        """(c0, c1) where sigma_l = c0 + c1 chi_l, element-wise; None for any other attention."""
        slope = None if self.attention.is_normalised else constant_value(self.attention.kernel.diff(x))
        if slope is None:
            return None
        return self.attention.kernel.subs(x, 0), slope


FITTED_SUM = Symbol("t", real=True)
"""sum_l sigma_l z_l, the one number through which the values reach the label."""


@cache
def data_chain() -> Derivation:
    """min over t of (t - A)^2/(2 V B) + (y - t)^2/2: the data term at the best values, A = sigma.omega_z, B = |sigma|^2."""
    return Derivation(Minimum(_data_at_sum(), FITTED_SUM), name="finite-sample-data-term").apply(Minimise())


@cache
def residual_chain() -> Derivation:
    """y - t at the best t: the slope of that minimum in y, by the envelope theorem."""
    start = Derivative(Minimum(_data_at_sum(), FITTED_SUM), y)
    return Derivation(start, name="finite-sample-residual").apply(Envelope())


def _data_at_sum() -> Expr:
    return (FITTED_SUM - FIELD) ** 2 / (2 * V_v * NORM) + (y - FITTED_SUM) ** 2 / 2


@cache
def elimination_chain(attention: Attention) -> Derivation:
    """A sample's energy with the values minimised out, for any number of tokens."""
    return (
        Derivation(sample_energy(Fit.of(attention)), name=f"finite-sample-values-{attention.name}")
        .apply(Unfold(SampleEnergy))
        .apply(MinimiseAtGivenSum(FITTED["v"]))
        .apply(Minimise())
    )


@final
class FittedRisk(Quantity):
    """E_g (y - f(X))^2 on a new sample of a fit with these overlaps; ``args = (attention at the key's field, law, noise)``."""

    source: ClassVar[str] = "duranthon2025, Result 5.1"
    domain: ClassVar[str] = r"$q_k\geq m_k^2$, $q_v\geq m_v^2$"

    def definition(self) -> Expr:
        sigma, law, noise = self.args
        prediction = Sum(sigma.at(l) * VALUE.field(l), (l, 1, L))
        return squared_loss(prediction, law, noise)

    @property
    def free_symbols(self) -> set[Basic]:
        return self.definition().free_symbols

    def _latex(self, printer: LatexPrinter) -> str:
        return r"\mathcal{E}_{\mathrm{test}}"

    def _sympystr(self, printer: object) -> str:
        return "FittedRisk"


@cache
def risk_chain(task: Task, attention: Attention) -> Derivation:
    """From E_g (y - f(X))^2 to Delta^2 + 1 - 2 m_v E sigma_eps + q_v E |sigma|^2."""
    sigma = ScoredActivation.of(epsilon, attention, KEY.field(m), L)
    return (
        Derivation(FittedRisk(sigma, task.law, task.noise), name=f"finite-sample-risk-{attention.name}-{task.name}")
        .apply(Unfold(FittedRisk))
        .apply(Linearity())
        .apply(GaussianMoments())
        .apply(Collect())
    )


@cache
def dual_chain() -> Derivation:
    """One token's part of the dual function of linear attention, min over (a, z) of its share of the Lagrangian.

    (y - a.z)^2/2 is the largest of rho (y - a.z) - rho^2/2 over rho. At given rho the tokens part, and each pays

        (a - u)^2/(2 V_a) + (z - w)^2/(2 V_v) - rho a z,

    with the fields u of a = c0 + c1 chi and w of z. It has a minimum where s = 1/V_a - V_v rho^2 is positive; 1/V_a is
    written by s here.
    """
    a, v = Symbol("a", real=True), Symbol("z", real=True)
    share = (a - U) ** 2 * (STIFFNESS + V_v * RESIDUAL**2) / 2 + (v - W) ** 2 / (2 * V_v) - RESIDUAL * a * v
    return Derivation(Minimum(Minimum(share, v), a), name="finite-sample-dual").apply(Minimise()).apply(Minimise())


@cache
def dual_slope() -> Expr:
    """The slope in rho of the dual function of linear attention, in the inner products u.u, u.w and w.w.

    The dual function rho y - rho^2/2 + (the tokens' shares) is concave and its slope, the residual's own equation
    y - a.z - rho = 0, falls from +infinity to -infinity between rho = -+1/sqrt(V_a V_v). Its one zero is the global
    minimum of the proximal problem, which is not convex: there is no duality gap, at any L.
    """
    share = expand(dual_chain().result.subs(STIFFNESS, 1 / V_a - V_v * RESIDUAL**2))
    products = {UU: share.coeff(U, 2), UW: share.coeff(U, 1).coeff(W, 1), WW: share.coeff(U, 0).coeff(W, 2)}
    return y - RESIDUAL + Add(*(factored(together(c).diff(RESIDUAL)) * product for product, c in products.items()))


STIFFNESS = Symbol("s", positive=True)
"""1/V_a - V_v rho^2."""
V_a = Symbol("V_a", positive=True)
"""Width of the response of a = c0 + c1 chi: c1^2 V_k."""
U, W = Symbol("u", real=True), Symbol("omega", real=True)
UU, UW, WW = Symbol("UU", nonnegative=True), Symbol("UW", real=True), Symbol("WW", nonnegative=True)
"""Inner products of the two fields over the tokens."""
