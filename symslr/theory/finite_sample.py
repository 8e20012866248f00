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
from functools import cached_property

from sympy import Dummy, Expr, IndexedBase, Matrix, S, Sum, Symbol, simplify, solve

from symslr.expression.folded import Activation
from symslr.model.attention import Attention
from symslr.model.symbols import L, chi, l, x, z

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

FIELD, NORM, RESIDUAL = (Symbol(name, real=True) for name in ("A", "B", "rho"))
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
        return eliminate_values()[1].xreplace(self._named)

    @property
    def reduced(self) -> Expr:
        """The objective at the best values: |chi - omega_chi|^2/(2 V_k) + (y - sigma.omega_z)^2/(2(1+V_v |sigma|^2))."""
        return self.key_term + eliminate_values()[2].xreplace(self._named)

    @cached_property
    def token_sums(self) -> tuple[Expr, Expr, Expr]:
        """The summands of S_0, S_1, S_2 for a token of key ``x`` and field ``w``."""
        kernel = self.attention.kernel
        return kernel, kernel * w, kernel**2

    @cached_property
    def data_term(self) -> Expr:
        """(y - sigma.omega_z)^2/(2(1 + V_v |sigma|^2)) as a function G of the three sums, the label and the offset."""
        normaliser = offset + S_0 if self.attention.is_normalised else S.One
        return eliminate_values()[2].xreplace({FIELD: S_1 / normaliser, NORM: S_2 / normaliser**2})

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
        rate = simplify(self.attention.kernel.diff(x) / self.attention.kernel)
        return self.attention.is_normalised and self.attention.offset == 0 and not rate.has(x)

    @property
    def affine(self) -> tuple[Expr, Expr] | None:
        """(c0, c1) where sigma_l = c0 + c1 chi_l, element-wise; None for any other attention."""
        slope = simplify(self.attention.kernel.diff(x))
        if self.attention.is_normalised or slope.has(x):
            return None
        return self.attention.kernel.subs(x, 0), slope


_SIGMA, _OWN, _VALUE = (Dummy(name, real=True) for name in ("sigma", "omega", "z"))


def eliminate_values() -> tuple[Expr, Expr, Expr]:
    """(best value of a token, residual, data term) by stationarity in z, in terms of A = sigma.omega_z, B = |sigma|^2.

    Stationarity of token l reads (z_l - omega_l)/V_v = sigma_l rho with the residual rho = y - sum_l sigma_l z_l, the
    only thing that couples the tokens; summed against sigma it is one linear equation for rho.
    """
    own_slope = ((_VALUE - _OWN) ** 2 / (2 * V_v)).diff(_VALUE)
    value = solve(own_slope - _SIGMA * RESIDUAL, _VALUE)[0]
    # sum_l sigma_l z_l: the part of z_l that is omega_l sums to A, the part along sigma_l to B.
    seen = FIELD + (value - _OWN).coeff(_SIGMA) * NORM
    residual = solve(RESIDUAL - (y - seen), RESIDUAL)[0]
    moved = (value - _OWN).coeff(_SIGMA) ** 2 * NORM
    data = simplify((moved / (2 * V_v) + RESIDUAL**2 / 2).xreplace({RESIDUAL: residual}))
    return value, residual, data


def affine_dual() -> tuple[Expr, Expr, Expr]:
    """(dual slope, a, z) of the proximal problem of linear attention, as functions of the dual variable rho.

    With a = c0 + c1 chi and u, w its and z's fields, (y - a.z)^2/2 = max_rho rho (y - a.z) - rho^2/2 turns the bilinear
    problem, which is not convex, into a concave one: for rho^2 V_a V_v < 1 the inner minimum over (a, z) is

        a = (u + V_a rho w)/(1 - V_a V_v rho^2),   z = (w + V_v rho u)/(1 - V_a V_v rho^2)

    and the dual function is concave in rho with slope y - rho - a.z, which falls from +infinity to -infinity between
    the ends rho = -+1/sqrt(V_a V_v). Its one zero is the global minimum of the proximal problem (no duality gap), at
    any L. Returned: the slope in terms of the inner products u.u, u.w, w.w, and the coefficients above.
    """
    a, v = Symbol("a", real=True), Symbol("z", real=True)
    bilinear = (a - U) ** 2 / (2 * V_a) + (v - W) ** 2 / (2 * V_v) - RESIDUAL * a * v
    best = solve([bilinear.diff(a), bilinear.diff(v)], [a, v], dict=True)[0]
    product = (simplify(best[a]) * simplify(best[v])).expand()
    tokens = simplify(product.coeff(U, 2)) * UU + simplify(product.coeff(U, 1).coeff(W, 1)) * UW
    tokens += simplify(product.coeff(W, 2)) * WW
    return y - RESIDUAL - tokens, simplify(best[a]), simplify(best[v])


V_a = Symbol("V_a", positive=True)
"""Width of the response of a = c0 + c1 chi: c1^2 V_k."""
U, W = Symbol("u", real=True), Symbol("omega", real=True)
UU, UW, WW = Symbol("UU", nonnegative=True), Symbol("UW", real=True), Symbol("WW", nonnegative=True)
"""Inner products of the two fields over the tokens."""
