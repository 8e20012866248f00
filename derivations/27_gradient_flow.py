"""Gradient flow closes on the order parameters, whatever the risk is."""

from collections.abc import Iterator

from sympy import Derivative, Matrix, Rational

from symslr.algebra.derivation import Derivation
from symslr.algebra.rules import ChainRule, Collect, Differentiate, PutInPlace
from symslr.model.symbols import m_kk, m_kv, m_vk, m_vv, q_kk, q_kv, q_vv
from symslr.theory.gradient_flow import OVERLAPS, RISK, rate
from symslr.theory.landscape import ADMISSIBLE, R_KK, R_KV, R_VV

m, q = Matrix([[m_kk, m_kv], [m_vk, m_vv]]), Matrix([[q_kk, q_kv], [q_kv, q_vv]])
R = Matrix([[R_KK, R_KV], [R_KV, R_VV]])
E_m = m.applyfunc(lambda overlap: Derivative(RISK, overlap))
E_q = Matrix(2, 2, lambda i, j: Derivative(RISK, q[i, j]) * (1 if i == j else Rational(1, 2)))
"""Slopes of the risk; that in q_kv is shared by the two entries of a symmetric matrix."""

STEM = (
    r"$k$ and $v$ follow $\mathrm{d}k/\mathrm{d}t=-D\,\partial\mathcal{E}/\partial k$ and "
    r"$\mathrm{d}v/\mathrm{d}t=-D\,\partial\mathcal{E}/\partial v$, for any differentiable risk of their overlaps; "
    r"$k_i$, $v_i$ are coordinates of $k/\sqrt D$, $v/\sqrt D$, the first along $k^\star$, the second along $v^\star$. "
)
PARTS = {
    "m": (m, -(E_m + 2 * E_q * m), r"In matrices $\dot m=-(\mathcal{E}_m+2\,\mathcal{E}_q m)$."),
    "q": (
        q,
        -(E_m * m.T + m * E_m.T + 2 * E_q * q + 2 * q * E_q),
        r"In matrices $\dot q=-(\mathcal{E}_m m^\top+m\,\mathcal{E}_m^\top+2\,\mathcal{E}_q q+2\,q\,\mathcal{E}_q)$.",
    ),
    "R": (
        R,
        -2 * (E_q * R + R * E_q),
        r"The slopes in $m$ drop out of $R=q-mm^\top$: $\dot R=-2(\mathcal{E}_qR+R\,\mathcal{E}_q)$ vanishes with $R$, so that "
        r"vectors within $\mathrm{span}(k^\star,v^\star)$ stay there.",
    ),
}
ENTRIES = {"m": ("kk", "kv", "vk", "vv"), "q": ("kk", "kv", "vv"), "R": ("kk", "kv", "vv")}


def derive_flow() -> Iterator[Derivation]:
    for letter, (parameter, claimed, words) in PARTS.items():
        for entry in ENTRIES[letter]:
            i, j = ("kv".index(side) for side in entry)
            overlap = parameter[i, j].subs(OVERLAPS, simultaneous=True)
            yield (
                Derivation(
                    rate(overlap),
                    title=f"Gradient flow of the order parameter ${letter}_{{{entry}}}$",
                    name=f"flow-{letter}-{entry}",
                    symbol=rf"\frac{{\mathrm{{d}}{letter}_{{{entry}}}}}{{\mathrm{{d}}t}}",
                    introduction=STEM + words,
                    sources=("duranthon2025, Sec. 4",),
                    ranges=ADMISSIBLE,
                )
                .apply(ChainRule(RISK, OVERLAPS))
                .apply(Differentiate())
                .apply(PutInPlace())
                .apply(Collect())
                .claim(
                    claimed[i, j],
                    "duranthon2025, Sec. 4" if letter != "R" else "symslr, from the two above",
                    label="own" if letter == "R" else "reconstructed",
                )
            )
