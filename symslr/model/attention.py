"""The attention studied: an activation sigma built from a kernel and a normaliser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sympy import Expr, S, latex, oo

from symslr.model.admissible import check_kernel
from symslr.model.exact import exact
from symslr.model.form import check_parameters
from symslr.model.pieces import without_pieces
from symslr.model.symbols import x


@dataclass(frozen=True)
class Attention:
    """sigma_l(chi) = kappa(a chi_l) / N, with N = 1 or N = offset + sum_m kappa(a chi_m).

    The predictor is f(X) = sum_l sigma_l(X k/sqrt(D)) (X v)_l/sqrt(D); a is the scale of the key, k = a k*.

    Args:
        kernel: kappa, an expression in ``x`` and possibly free parameters of its own (the shift c of erf).
        normaliser: ``"sum"`` or ``None`` (element-wise).
        offset: o >= 0 in the normaliser; 1 makes softmax into softmax-1.
        name: what the attention is called in print.
        bounds: the free parameters of the kernel over which risks are minimised, and for each the interval in which a
            landscape is explored; the least population risk is sought on the whole line.
        tokens: the interval of the keys a chi at which the kernel is to be real and, under a normaliser, positive.

    Raises:
        ValueError: for an unknown normaliser, a negative offset, an offset without normaliser, a kernel that does not
            depend on x, or one that can vanish under its own normaliser.

    Source: arXiv 2509.21936, section 2; Table 1 for the activations.
    """

    kernel: Expr
    normaliser: str | None = "sum"
    offset: Expr = S.Zero
    name: str = "attention"
    bounds: Mapping[Expr, tuple[float, float]] = field(default_factory=dict, hash=False)
    tokens: tuple[Expr, Expr] = (-oo, oo)

    def __post_init__(self) -> None:
        if isinstance(self.kernel, str) and self.name == "attention":
            object.__setattr__(self, "name", self.kernel.strip())
        object.__setattr__(self, "kernel", without_pieces(exact(self.kernel, "kernel"), "kernel"))
        object.__setattr__(self, "offset", exact(self.offset, "offset"))
        if self.normaliser not in ("sum", None):
            raise ValueError(f"normaliser: found {self.normaliser!r}; expected 'sum' or None (element-wise)")
        object.__setattr__(self, "tokens", tuple(exact(end, "tokens") for end in self.tokens))
        check_parameters(self.kernel, "kernel", allowed={x})
        if not self.kernel.has(x):
            raise ValueError(f"kernel {self.kernel}: does not depend on x; expected an expression in x, such as exp(x)")
        check_parameters(self.offset, "offset")
        if self.offset.is_negative or self.offset.is_finite is False:
            raise ValueError(f"offset: found {self.offset}; expected a number >= 0")
        if self.normaliser is None and self.offset != 0:
            raise ValueError(f"offset: found {self.offset} without a normaliser; offsets belong to normalise sum")
        for parameter, interval in self.bounds.items():
            self._check_bounds(parameter, interval)
        vanishing = bool(self.offset.is_positive)
        check_kernel(
            self.kernel, self.parameters, normalised=self.is_normalised, may_vanish=vanishing, support=self.tokens
        )

    def _check_bounds(self, parameter: Expr, interval: tuple[float, float]) -> None:
        if parameter not in self.parameters:
            raise ValueError(f"bounds: found {parameter}; expected a free parameter of the kernel {self.kernel}")
        low, high = (exact(end, f"bounds of {parameter}") for end in interval)
        if not low < high or not (low.is_finite and high.is_finite):
            raise ValueError(f"bounds of {parameter}: found {interval}; expected a finite interval (low, high)")

    @property
    def parameters(self) -> set[Expr]:
        """Free parameters of the kernel."""
        return self.kernel.free_symbols - {x}

    @property
    def is_normalised(self) -> bool:
        return self.normaliser == "sum"

    def at(self, values: Mapping[Expr, Expr]) -> Attention:
        """The attention at values of some parameters, which its name then says; itself where the kernel holds none of them."""
        given = {symbol: value for symbol, value in values.items() if symbol in self.parameters}
        if not given:
            return self
        said = ", ".join(f"{symbol} = {value}" for symbol, value in given.items())
        bounds = {symbol: interval for symbol, interval in self.bounds.items() if symbol not in given}
        return replace(self, kernel=self.kernel.subs(given), name=f"{self.name} ({said})", bounds=bounds)

    def _repr_latex_(self) -> str:
        over = r"\sum_m\kappa(a\chi_m)" if self.offset == 0 else rf"{latex(self.offset)}+\sum_m\kappa(a\chi_m)"
        sigma = rf"\frac{{\kappa(a\chi_l)}}{{{over}}}" if self.is_normalised else r"\kappa(a\chi_l)"
        return rf"$\displaystyle \sigma_l={sigma},\quad \kappa(x)={latex(self.kernel)}$"
