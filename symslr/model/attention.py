"""The attention studied: scores of the keys, weighted by a kernel or by a selection; heads, a bias, a filter over positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sympy import Expr, S, erf, exp, latex, log, oo

from symslr.model.admissible import check_kernel, hold_admissible
from symslr.model.exact import exact
from symslr.model.form import check_parameters
from symslr.model.location.covariance import Covariance
from symslr.model.pieces import without_pieces
from symslr.model.request import ATTENTION_NAMES, MOST_HEADS, SELECTIONS, is_selection
from symslr.model.symbols import c, l, x

BIASES = ("matched", "free")

NAMED: dict[str, dict[str, Any]] = {
    "softmax": {"kernel": exp(x)},
    "softmax1": {"kernel": exp(x), "offset": S.One},
    "linear": {"kernel": 1 + x, "normaliser": None},
    "erf": {"kernel": 1 + erf(c + x), "normaliser": None, "bounds": {c: (-6.0, 6.0)}},
    "softplus": {"kernel": log(1 + exp(x))},
}
"""The attentions of the papers, by name. Source: arXiv 2509.21936, Table 1."""

assert tuple(NAMED) == ATTENTION_NAMES
hold_admissible(kernels=(own["kernel"] for own in NAMED.values()))


@dataclass(frozen=True)
class Selection:
    """Weights that vanish beyond a few tokens: ``sparsemax``, ``entmax`` (alpha = 3/2), or softmax over the ``top`` k scores.

    Raises:
        ValueError: for another kind, or a size below 1.
    """

    kind: str
    size: int = 0

    def __post_init__(self) -> None:
        if self.kind not in ("sparsemax", "entmax", "top") or (self.kind == "top") != (self.size >= 1):
            raise ValueError(f"attention: found {self.kind} {self.size}; expected {', '.join(SELECTIONS)} with k >= 1")

    @classmethod
    def from_text(cls, name: str) -> Selection:
        """``"sparsemax"``, ``"entmax"`` or ``"top(3)"``."""
        return cls("top", int(name[4:-1])) if name.startswith("top") else cls(name)

    def __str__(self) -> str:
        return f"top({self.size})" if self.kind == "top" else self.kind


@dataclass(frozen=True)
class Attention:
    """sigma_l(chi) = kappa(a chi_l) / N, with N = 1 or N = offset + sum_m kappa(a chi_m); or a selection of the scores a chi.

    The predictor is f(X) = sum_l sigma_l(X k/sqrt(D)) (X v)_l/sqrt(D); a is the scale of the key, k = a k*. In general the
    scores are s = F chi, with H heads of scales a_h in R^p and weights c_h. Heads weighted jointly share
    one normaliser,

        sigma_l = sum_h c_h e^{b_l} kappa(a_h.s_l) / (o + sum_m sum_h c_h e^{b_m} kappa(a_h.s_m)).

    Separate heads are normalised one by one and each has its own value vector. Without a normaliser the bias stands
    inside, kappa(a.s_l + b_l); a selection takes the scores a.s_l + b_l.

    Args:
        kernel: kappa, an expression in ``x`` and possibly free parameters of its own (the shift c of erf); a selection,
            "sparsemax", "entmax" or "top(k)"; or the name of one of ``NAMED``, with all that belongs to it.
        normaliser: ``"sum"``, or ``None`` or ``"none"`` (element-wise).
        offset: o >= 0 in the normaliser; 1 makes softmax into softmax-1. "free" is the best one, by a free bias beside 1.
        name: what the kernel is called in print.
        bounds: the free parameters of the kernel over which risks are minimised, and for each the interval in which a
            landscape is explored; the least population risk is sought on the whole line.
        tokens: the interval of the keys a chi at which the kernel is to be real and, under a normaliser, positive.
        heads: H.
        separate: whether every head is normalised by itself.
        bias: b_l as an expression in ``l``, "matched" for what the posterior has, "free" for one constant that risks are
            minimised over, or nothing. Matched is o_l - nu E|theta|^2 (C^-1)_ll / 2, with o_l = log pi_l under a normaliser
            and the log odds log P(l relevant)/P(l not relevant) of coins, or of a single token where nothing normalises.
        filter: F as an expression in the positions ``i`` and ``j``, "matched" for C^-1, or nothing.

    Raises:
        ValueError: for an unknown normaliser, a negative offset, an offset without normaliser, a kernel that does not
            depend on x, one that can vanish under its own normaliser, and for what cannot be combined.

    Source: arXiv 2509.21936, section 2; Table 1 for the activations.
    """

    kernel: Expr
    normaliser: str | None = "sum"
    offset: Expr = S.Zero
    name: str = "attention"
    bounds: Mapping[Expr, tuple[float, float]] = field(default_factory=dict, hash=False)
    tokens: tuple[Expr, Expr] = (-oo, oo)
    heads: int = 1
    separate: bool = False
    bias: Expr | str | None = None
    filter: Covariance | Expr | str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.kernel, str):
            said = self.kernel.strip()
            for what, value in NAMED.get(said, {}).items():
                object.__setattr__(self, what, value)
            if is_selection(said):
                object.__setattr__(self, "kernel", Selection.from_text(said))
            if self.name == "attention":
                object.__setattr__(self, "name", said)
        if self.offset == "free":
            if self.bias is not None:
                raise ValueError(f"bias: found {self.bias} together with a free offset; expected one of them")
            object.__setattr__(self, "bias", "free")
        object.__setattr__(self, "offset", S.One if self.offset == "free" else exact(self.offset, "offset"))
        if self.normaliser == "none":  # as on the command line
            object.__setattr__(self, "normaliser", None)
        if self.normaliser not in ("sum", None):
            raise ValueError(f"normaliser: found {self.normaliser!r}; expected 'sum' or 'none' (element-wise)")
        object.__setattr__(self, "tokens", tuple(exact(end, "tokens") for end in self.tokens))
        check_parameters(self.offset, "offset")
        if self.offset.is_negative or self.offset.is_finite is False:
            raise ValueError(f"offset: found {self.offset}; expected a number >= 0")
        if self.normaliser is None and self.offset != 0:
            said = "free" if self.bias == "free" else self.offset
            raise ValueError(f"offset: found {said} without a normaliser; offsets belong to normalise sum")
        if isinstance(self.kernel, Selection):
            if (self.normaliser, self.offset) != ("sum", 0) or self.bounds:
                raise ValueError(
                    f"attention: found {self.kernel} with a normaliser, an offset or bounds; it has its own"
                )
        else:
            self._check_kernel()
        self._check_heads()

    def _check_kernel(self) -> None:
        object.__setattr__(self, "kernel", without_pieces(exact(self.kernel, "kernel"), "kernel"))
        check_parameters(self.kernel, "kernel", allowed={x})
        if not self.kernel.has(x):
            raise ValueError(f"kernel {self.kernel}: does not depend on x; expected an expression in x, such as exp(x)")
        own = {symbol.name: symbol for symbol in self.parameters}
        object.__setattr__(self, "bounds", {own.get(str(name), name): ends for name, ends in self.bounds.items()})
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

    def _check_heads(self) -> None:
        if not 1 <= self.heads <= MOST_HEADS:
            raise ValueError(f"heads: found {self.heads}; expected 1 to {MOST_HEADS}")
        if self.bias is not None and self.bias not in BIASES:
            object.__setattr__(self, "bias", exact(self.bias, "bias"))
            check_parameters(self.bias, "bias", allowed={l})
        if self.filter not in (None, "matched") and not isinstance(self.filter, Covariance):
            object.__setattr__(self, "filter", Covariance(exact(self.filter, "filter"), "filter"))
        if self.is_selection and self.heads > 1 and not self.separate:
            raise ValueError(f"heads: {self.name} has no normaliser that heads could share; expected separate heads")
        if self.bias == "free" and self.is_normalised and self.offset == 0:
            raise ValueError(
                "bias: a constant does not change a normalised attention without an offset; expected normalise none, "
                "an offset, or a bias that depends on l"
            )

    @property
    def parameters(self) -> set[Expr]:
        """Free parameters of the kernel."""
        return set() if isinstance(self.kernel, Selection) else self.kernel.free_symbols - {x}

    @property
    def is_selection(self) -> bool:
        """Whether a few scores are selected, instead of weighted by a kernel."""
        return isinstance(self.kernel, Selection)

    @property
    def is_normalised(self) -> bool:
        """Whether the weights are divided by a sum; those of a selection are."""
        return self.normaliser == "sum"

    @property
    def is_joint(self) -> bool:
        """Whether several heads share one normaliser."""
        return self.heads > 1 and not self.separate and self.is_normalised

    @property
    def is_plain(self) -> bool:
        """Whether it has one head and neither bias nor filter."""
        return self.heads == 1 and self.bias is None and self.filter is None

    @property
    def title(self) -> str:
        """What the attention with all that it has is called in print."""
        parts = [f"{self.heads} {'joint' if self.is_joint else 'separate'} heads"] if self.heads > 1 else []
        if self.bias is not None:
            parts.append(f"bias {self.bias}")
        if self.filter is not None:
            parts.append(f"filter {self.filter.entry if isinstance(self.filter, Covariance) else self.filter}")
        return f"{self.name} ({', '.join(parts)})" if parts else self.name

    def having(self, **what: Any) -> Attention:
        """The attention with other ``heads``, ``separate``, ``bias`` or ``filter``; the kernel is not looked at again.

        Raises:
            ValueError: for what cannot be combined.
        """
        if unknown := what.keys() - {"heads", "separate", "bias", "filter"}:
            raise TypeError(f"having: found {min(unknown)}; expected heads, separate, bias or filter")
        found = object.__new__(Attention)
        for name, value in {**self.__dict__, **what}.items():
            object.__setattr__(found, name, value)
        found._check_heads()
        return found

    def at(self, values: Mapping[Expr, Expr]) -> Attention:
        """The attention at values of some parameters, which its name then says; itself where the kernel holds none of them."""
        given = {symbol: value for symbol, value in values.items() if symbol in self.parameters}
        if not given:
            return self
        said = ", ".join(f"{symbol} = {value}" for symbol, value in given.items())
        bounds = {symbol: interval for symbol, interval in self.bounds.items() if symbol not in given}
        return replace(self, kernel=self.kernel.subs(given), name=f"{self.name} ({said})", bounds=bounds)

    def for_task(self, values: Mapping[Expr, Expr]) -> Attention:
        """The attention at values of the task's parameters, which its bias and its filter may hold."""
        bias = self.bias.subs(values) if isinstance(self.bias, Expr) else self.bias
        chosen = self.filter.subs(values) if isinstance(self.filter, Covariance) else self.filter
        return self.having(bias=bias, filter=chosen)

    def with_constant_inside(self) -> Attention:
        """The attention with a bias that is one number in its kernel, or in its offset; itself with any other bias."""
        bias = self.bias
        if not isinstance(bias, Expr) or bias.free_symbols:
            return self
        if isinstance(self.kernel, Selection):
            return self.having(bias=None)
        if self.is_normalised:
            return replace(self, offset=self.offset * exp(-bias), bias=None)
        return replace(self, kernel=self.kernel.subs(x, x + bias), bias=None)

    def _repr_latex_(self) -> str:
        over = r"\sum_m\kappa(a\chi_m)" if self.offset == 0 else rf"{latex(self.offset)}+\sum_m\kappa(a\chi_m)"
        sigma = rf"\frac{{\kappa(a\chi_l)}}{{{over}}}" if self.is_normalised else r"\kappa(a\chi_l)"
        if isinstance(self.kernel, Selection):
            return rf"$\displaystyle \sigma=\text{{{self.title}}}(a\chi)$"
        beside = "" if self.is_plain else rf",\quad \text{{{self.title}}}"
        return rf"$\displaystyle \sigma_l={sigma},\quad \kappa(x)={latex(self.kernel)}{beside}$"
