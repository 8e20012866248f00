"""Attentions for laws of location: several heads, a positional bias, a filter over positions, and selections of scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sympy import Expr, exp

from symslr.model.attention import Attention
from symslr.model.exact import exact
from symslr.model.form import check_parameters
from symslr.model.location.covariance import Covariance
from symslr.model.request import MOST_HEADS, SELECTIONS, HeadsRequest, is_selection
from symslr.model.symbols import L, i, j, l, nu, x
from symslr.model.text import parse_expression

BIASES = ("matched", "free")


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

    @property
    def name(self) -> str:
        return f"top({self.size})" if self.kind == "top" else self.kind


def selection_from_text(name: str) -> Selection:
    """``"sparsemax"``, ``"entmax"`` or ``"top(3)"``.

    Raises:
        ValueError: for any other name.
    """
    if not is_selection(name):
        raise ValueError(f"attention: found {name!r}; expected {', '.join(SELECTIONS)}")
    return Selection("top", int(name[4:-1])) if name.startswith("top") else Selection(name)


def heads_of(
    wanted: HeadsRequest, base: Attention | Selection, parameters: Mapping[str, Expr] = {}
) -> LocatedAttention:
    """The attention with the heads, the bias and the filter that were asked for.

    Args:
        wanted: as ``read_heads`` reads it.
        base: the kernel or selection.
        parameters: the task's, which bias and filter may hold.

    Raises:
        ValueError: in one line, for text outside the whitelist and for what cannot be combined.
    """
    bias: Expr | str | None = wanted.bias
    if bias is not None and bias not in BIASES:
        bias = parse_expression(bias, {"l": l, "L": L, "nu": nu, **parameters}, what="bias")
    chosen: Covariance | str | None = None
    if wanted.filter is not None:
        symbols = {"i": i, "j": j, "L": L, "nu": nu, **parameters}
        is_matched = wanted.filter == "matched"
        chosen = (
            "matched" if is_matched else Covariance(parse_expression(wanted.filter, symbols, what="filter"), "filter")
        )
    return LocatedAttention(base, wanted.heads, wanted.separate, bias, chosen)


@dataclass(frozen=True)
class LocatedAttention:
    """sigma over positions from scores s = F chi, with H heads of scales a_h in R^p and weights c_h.

    Heads weighted jointly share one normaliser,

        sigma_l = sum_h c_h e^{b_l} kappa(a_h.s_l) / (o + sum_m sum_h c_h e^{b_m} kappa(a_h.s_m)).

    Separate heads are normalised one by one and each has its own value vector. Without a normaliser the bias stands
    inside, kappa(a.s_l + b_l); a selection takes the scores a.s_l + b_l.

    Args:
        base: the kernel with its normaliser, or a selection.
        heads: H.
        separate: whether every head is normalised by itself.
        bias: b_l as an expression in ``l``, "matched" for what the posterior has, "free" for one constant that risks are
            minimised over, or nothing. Matched is o_l - nu E|theta|^2 (C^-1)_ll / 2, with o_l = log pi_l under a normaliser
            and the log odds log P(l relevant)/P(l not relevant) of coins, or of a single token where nothing normalises.
        filter: F as an expression in the positions ``i`` and ``j``, "matched" for C^-1, or nothing.

    Raises:
        ValueError: for what cannot be combined, with the reason.
    """

    base: Attention | Selection
    heads: int = 1
    separate: bool = False
    bias: Expr | str | None = None
    filter: Covariance | Expr | str | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.heads <= MOST_HEADS:
            raise ValueError(f"heads: found {self.heads}; expected 1 to {MOST_HEADS}")
        if isinstance(self.bias, str):
            if self.bias not in BIASES:
                raise ValueError(f"bias: found {self.bias!r}; expected an expression in l, matched or free")
        elif self.bias is not None:
            object.__setattr__(self, "bias", exact(self.bias, "bias"))
            check_parameters(self.bias, "bias", allowed={l})
        if isinstance(self.filter, str):
            if self.filter != "matched":
                raise ValueError(f"filter: found {self.filter!r}; expected an expression in i and j, or matched")
        elif self.filter is not None and not isinstance(self.filter, Covariance):
            object.__setattr__(self, "filter", Covariance(exact(self.filter, "filter"), "filter"))
        if isinstance(self.base, Selection) and self.heads > 1 and not self.separate:
            raise ValueError(
                f"heads: {self.base.name} has no normaliser that heads could share; expected separate heads"
            )
        if self.bias == "free" and self._is_blind_to_constants:
            raise ValueError(
                "bias: a constant does not change a normalised attention without an offset; expected normalise none, "
                "an offset, or a bias that depends on l"
            )

    @property
    def _is_blind_to_constants(self) -> bool:
        return isinstance(self.base, Selection) or (self.base.is_normalised and self.base.offset == 0)

    def subs(self, values: Mapping[Expr, Expr]) -> LocatedAttention:
        """The attention at values of the task's parameters, which its bias and its filter may hold."""
        bias = self.bias.subs(values) if isinstance(self.bias, Expr) else self.bias
        chosen = self.filter.subs(values) if isinstance(self.filter, Covariance) else self.filter
        return LocatedAttention(self.base, self.heads, self.separate, bias, chosen)

    def with_constant_inside(self) -> LocatedAttention:
        """The attention with a bias that is one number in its kernel, or in its offset; itself with any other bias."""
        base, bias = self.base, self.bias
        if not isinstance(bias, Expr) or bias.free_symbols:
            return self
        if isinstance(base, Selection):
            return replace(self, bias=None)
        if base.is_normalised:
            return replace(self, base=replace(base, offset=base.offset * exp(-bias)), bias=None)
        return replace(self, base=replace(base, kernel=base.kernel.subs(x, x + bias)), bias=None)

    @property
    def is_joint(self) -> bool:
        """Whether several heads share one normaliser."""
        return self.heads > 1 and not self.separate and isinstance(self.base, Attention) and self.base.is_normalised

    @property
    def name(self) -> str:
        """What the attention is called in print."""
        parts = [self.base.name]
        if self.heads > 1:
            parts.append(f"{self.heads} {'joint' if self.is_joint else 'separate'} heads")
        if self.bias is not None:
            parts.append(f"bias {self.bias}")
        if self.filter is not None:
            parts.append(f"filter {self.filter.entry if isinstance(self.filter, Covariance) else self.filter}")
        return parts[0] if len(parts) == 1 else f"{parts[0]} ({', '.join(parts[1:])})"
