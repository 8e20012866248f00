"""Figures of the separation: where it holds, which kernels it needs, how the gap scales, what it is sensitive to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sympy import Expr, latex

from symslr.evaluation.separation import NeuronLaw
from symslr.evaluation.separation.sweeps import by_degree, gap, with_parameter
from symslr.evaluation.separation.widths import sufficient_widths
from symslr.export.figures import TEXT_WIDTH, Figure, Printed, Table, colour
from symslr.model import separation as symbols
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Separation, power_kernel, separation, taylor_kernel
from symslr.theory import cost
from symslr.theory.separation.boundary import boundary_mark, boundary_width
from symslr.theory.separation.windows import lower_degree, upper_degree
from symslr.validation.validation import NamedComparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

BASE = separation(n=1024, d=258, t=4, a0=0.05, a1=1.1, b=0.2, c=0.8, m=52)
"""Parameters that work: exact success probability 1 - 3.2e-7."""

LAYOUTS = ((32, 2), (1024, 4), (32768, 8))
"""(n, t) with t = n^0.2."""
MAP_COLUMNS = ("n", "t", "a1", "b", "success", "boundary_a1", "boundary_b")
MARKS = tuple(np.round(np.linspace(0.4, 1.4, 26), 3))
WIDTHS = tuple(np.round(np.linspace(0.05, 0.95, 19), 3))
DEGREES = (*range(1, 13), *range(14, 48, 4), *range(48, 64, 2), *range(66, 102, 6), *range(104, 116), 119)
SIZES = (64, 256, 1024, 4096, 16384)
FAILURES = tuple(float(f"{allowed:.3g}") for allowed in np.geomspace(1e-4, 0.5, 25))
WIDTH_SIZES = (256, 1024)
SWEEPS = {
    "n": (32, 64, 128, 256, 512, 1024, 4096),
    "t": (1, 2, 4, 8, 16, 32, 64, 128),
    "a0": tuple(np.round(np.linspace(0.05, 1.1, 22), 3)),
    "a1": tuple(np.round(np.linspace(0.5, 1.2, 29), 3)),
    "b": tuple(np.round(np.linspace(0.05, 0.95, 19), 3)),
    "c": tuple(np.round(np.linspace(0.02, 1.0, 25), 3)),
    "m": (1, 2, 4, 8, 16, 32, 64, 128),
    "margin": tuple(np.round(np.linspace(0.02, 0.5, 25), 3)),
    "beta": tuple(np.round(np.linspace(0.4, 1.8, 29), 3)),
}


def figure_separation_map(marks: Sequence[float] = MARKS, widths: Sequence[float] = WIDTHS) -> Figure:
    """Exact success probability over (a1, b) at three n, with the asymptotic and the finite-n boundary."""
    caption = (
        r"Exact probability that softmax separates $D_0$ from $D_1$ and linear attention does not, over the mark"
        r" $a_1$ and the class mark $b$, for $t=n^\theta$, $\theta=0.2$, $a_0=0.05$, $c=0.8$, $m=52$, $\gamma=0.1$, $\beta=1$."
        r" Solid: the boundary as $n\to\infty$, $a_1^2=1-b^2$ and $b^2=1-\theta$; it is approached like $1/\log n$, and"
        r" is still far at these sizes. Dashed: at finite $n$, where the"
        r" marked row of $D_1$ (left) or a row without the mark (top) reaches the threshold when the other signs"
        r" cancel; at small $n$ they seldom do, and it fails below that line. Dotted: $a_1=0.7$, from which on the"
        r" source says that it works."
    )
    alt = "Three heat maps of success probability over a1 and b at n = 32, 1024, 32768; the region grows with n."
    return Figure("figure-separation-map", caption, partial(_map, tuple(marks), tuple(widths)), _draw_map, alt)


def figure_separation_degrees(scan: Sequence[int] = DEGREES) -> Figure:
    """Exact success probability against the degree of x^p and of the Taylor polynomial of exp."""
    caption = (
        r"Exact success probability of the kernels $x^p$ (solid) and of the Taylor polynomials of $\exp$ of degree $p$"
        r" (dashed), at $n=256$ and $n=4096$, $t=4$. Powers work in a window of degrees whose ends grow like $\log n$,"
        r" since high powers attend to the class as well; Taylor polynomials work from a degree of order $\log n$ on."
        r" Dotted: the ends of the window as derived where the other signs cancel; the upper one is where they start to fail at"
        r" the latest."
    )
    alt = "Success probability against the degree: a window for powers, a step for Taylor polynomials."
    return Figure("figure-separation-degrees", caption, partial(_degrees, scan), _draw_degrees, alt)


def figure_separation_gap(sizes: Sequence[int] = SIZES) -> Figure:
    """The gap between D1 and D0 on the marked row against n."""
    caption = (
        r"How far the marked row of $D_1$ lies above that of $D_0$, $a_1p+bm_\star$ less $a_0p+bm_\star$, against $n$"
        r" at $t=4$: of order 1 for softmax, of order $1/n$ for linear attention (dotted: slope $-1$)."
    )
    alt = "Log-log plot: the softmax gap stays near 1, the linear gap falls like 1/n."
    return Figure("figure-separation-gap", caption, partial(_gaps, tuple(sizes)), _draw_gap, alt)


def figure_separation_sensitivity() -> Figure:
    """Exact success probability along every parameter but d."""
    caption = (
        r"Exact success probability along one parameter at a time from $n=1024$, $d=258$, $t=4$, $a_0=0.05$, $a_1=1.1$,"
        r" $b=0.2$, $c=0.8$, $m=52$, $\gamma=0.1$, $\beta=1$; $n$ moves at fixed $t$, $t$ at fixed $n$, and $d=2+n/t$ follows."
    )
    alt = "Nine panels: success against n, t, a0, a1, b, c, m, the margin and beta."
    return Figure("figure-separation-sensitivity", caption, _sensitivity, _draw_sensitivity, alt)


def figure_separation_width(failures: Sequence[float] = FAILURES) -> Figure:
    """Widths that suffice against the allowed probability of failure: exact law, union bound, Hoeffding."""
    caption = (
        r"Widths $m$ at which separation fails with probability at most $\delta$, between the lines of one colour: by the exact"
        r" law, by the union bound $mP_{\mathrm{bad}}+e^{-mP_{\mathrm{either}}}$ with exact probabilities of"
        r" one neuron, and with Hoeffding's bounds on these. Left $n=256$, right $n=1024$; $t=4$, $a_0=0.05$,"
        r" $a_1=1.1$, $b=0.2$, $c=0.8$. Too narrow a network has no useful neuron,"
        r" too wide a one has a bad neuron; a line that ends has no width beyond."
    )
    alt = "Least and largest width against delta on logarithmic axes, three nested regions, for two sizes."
    return Figure("figure-separation-width", caption, partial(_widths, tuple(failures)), _draw_widths, alt)


def figure_attention_cost(columns: int = 64) -> Figure:
    """Arithmetic operations of attention against the number of rows."""
    caption = (
        rf"Arithmetic operations of attention on $n$ rows of $d={columns}$ numbers, counted: softmax forms all $n^2$ scores,"
        r" and so may linear attention (the two lines coincide);"
        r" multiplied out as $A_1(A_2^\top A_3)$ it takes $4d^2n$ operations in place of"
        r" $4dn^2$. They cost the same at $n=d$ (dotted). Times on a processor stand in \texttt{benchmarks/README.md}."
    )
    alt = "Log-log plot of operations against n: two lines of slope 2 that coincide and one of slope 1, crossing at n = d."
    return Figure(
        "figure-attention-cost", caption, partial(_costs, columns), _draw_costs, alt, _cost_claims, printed=_cost_table
    )


FIGURES = (
    figure_attention_cost,
    figure_separation_width,
    figure_separation_map,
    figure_separation_degrees,
    figure_separation_gap,
    figure_separation_sensitivity,
)


ORDERS = {
    "softmax": cost.pairwise_attention(1),
    "linear": cost.pairwise_attention(0),
    "multiplied out": cost.associative_attention(),
}


def _costs(columns: int) -> Table:
    sizes = [2**power for power in range(4, 17)]
    counts = {
        name: [int(formula.subs({cost.n: n, cost.d: columns})) for n in sizes] for name, formula in ORDERS.items()
    }
    return {"n": sizes, "d": [columns] * len(sizes), **counts}


def _cost_table(table: Table) -> Printed:
    """Operations at every second size, and the formula of each."""
    rows = [
        (str(table["n"][i]), *(f"{float(str(table[name][i])):.3g}" for name in ORDERS))
        for i in range(2, len(table["n"]), 2)
    ]
    formulas = ("$n$", *(f"${latex(formula)}$" for formula in ORDERS.values()))
    caption = "Arithmetic operations of attention: formulas and numbers."
    return Printed(caption, ("$n$", "softmax", "linear, pairwise", "linear, multiplied out"), (formulas, *rows))


def _cost_claims(table: Table) -> list[NamedComparison]:
    """The largest size costs n^2 and n of the smallest in the limit; both orders cost the same at n = d to a few per cent."""
    data = {name: np.asarray(column, dtype=float) for name, column in table.items()}
    last = {name: float(np.log2(data[name][-1] / data[name][-2])) for name in ORDERS}
    square = {cost.n: int(data["d"][0]), cost.d: int(data["d"][0])}
    same = float((ORDERS["softmax"] / ORDERS["multiplied out"]).subs(square))
    note = "from the two largest sizes"
    return [
        NamedComparison("softmax: exponent of n", 2.0, last["softmax"], 0.001, note),
        NamedComparison(
            "linear attention multiplied out: exponent of n",
            1.0,
            last["multiplied out"],
            0.001,
            "from the two largest sizes",
        ),
        NamedComparison("both at n = d: ratio of operations", 1.0, same, 0.02, f"d = {int(data['d'][0])}"),
    ]


def _draw_costs(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, axes = plt.subplots(figsize=(TEXT_WIDTH / 2, 2.4))
    styles = {"softmax": "-", "linear": "--", "multiplied out": "-."}
    for position, name in enumerate(ORDERS):
        label = {"linear": "linear, pairwise", "multiplied out": "linear, multiplied out"}.get(name, name)
        axes.plot(table["n"], table[name], styles[name], color=colour(name, position), label=label)
    axes.axvline(float(str(table["d"][0])), color="#666666", linestyle=":", linewidth=0.9)
    axes.set(xscale="log", yscale="log", xlabel="$n$", ylabel="operations")
    axes.legend(fontsize=7.5)
    return drawing


ROUTES = ("exact", "union", "hoeffding")


def _widths(failures: Sequence[float]) -> Table:
    columns: dict[str, list[object]] = {"n": [], "delta": []}
    columns |= {f"{route}_{end}": [] for route in ROUTES for end in ("least", "most")}
    for rows in WIDTH_SIZES:
        for allowed in failures:
            found = sufficient_widths(with_parameter(BASE, "n", rows), allowed)
            columns["n"].append(rows)
            columns["delta"].append(allowed)
            for route in ROUTES:
                least, most = getattr(found, route) or (float("nan"), float("nan"))
                columns[f"{route}_least"].append(float(least))
                columns[f"{route}_most"].append(float("inf") if most is None else float(most))
    return columns


def _draw_widths(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(1, len(WIDTH_SIZES), figsize=(TEXT_WIDTH, 2.5))
    data = {name: np.asarray(column, dtype=float) for name, column in table.items()}
    labels = {"exact": "exact law", "union": "union bound", "hoeffding": "Hoeffding"}
    for axes, rows in zip(panels, WIDTH_SIZES, strict=True):
        here = data["n"] == rows
        for position, route in enumerate(ROUTES):
            for end in ("least", "most"):
                label = labels[route] if end == "least" else None
                widths = data[f"{route}_{end}"][here]
                axes.plot(data["delta"][here], widths, ROUTE_STYLES[route], color=colour("", position), label=label)
        axes.set(xscale="log", yscale="log", xlabel=r"$\delta$", title=rf"$n={rows}$")
    panels[0].set_ylabel("width $m$")
    panels[0].legend()
    return drawing


ROUTE_STYLES = {"exact": "-", "union": "--", "hoeffding": ":"}


def _success(parameters: Separation) -> float:
    return float(NeuronLaw(parameters).fixed_row)


def _map(marks: Sequence[float], widths: Sequence[float]) -> Table:
    columns: dict[str, list[object]] = {name: [] for name in MAP_COLUMNS}
    for rows, blocks in LAYOUTS:
        for width in widths:
            edge, top = _boundary(rows, blocks, float(width)), boundary_width(rows, blocks, 0.1)
            for mark in marks:
                numbers = {"n": rows, "d": rows // blocks + 2, "t": blocks, "a0": 0.05, "a1": mark, "b": width}
                success = _success(separation(**numbers, c=0.8, m=52))
                for name, value in zip(columns, (rows, blocks, float(mark), float(width), success, edge, top)):
                    columns[name].append(value)
    return columns


def _boundary(rows: int, blocks: int, width: float) -> float:
    try:
        return boundary_mark(rows, blocks, width, 0.1)
    except ValueError:
        return float("nan")


def _draw_map(table: Table) -> Drawing:
    from matplotlib import pyplot as plt
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("probability", SHADES)
    drawing, panels = plt.subplots(1, len(LAYOUTS), figsize=(TEXT_WIDTH, 2.5), sharey=True)
    data = {name: np.asarray(column, dtype=float) for name, column in table.items()}
    for axes, (rows, blocks) in zip(panels, LAYOUTS, strict=True):
        here = data["n"] == rows
        marks, widths = np.unique(data["a1"][here]), np.unique(data["b"][here])
        grid = data["success"][here].reshape(len(widths), len(marks))
        image = axes.pcolormesh(marks, widths, grid, cmap=shades, vmin=0, vmax=1, shading="nearest", rasterized=True)
        _draw_boundaries(axes, widths, data["boundary_a1"][here].reshape(grid.shape)[:, 0], data["boundary_b"][here][0])
        axes.set(xlabel=r"$a_1$", title=rf"$n={rows}$, $t={blocks}$", xlim=(marks[0], marks[-1]))
        axes.grid(visible=False)
    panels[0].set_ylabel(r"$b$")
    drawing.colorbar(image, ax=panels, label="exact P(separation)")
    return drawing


def _draw_boundaries(axes: Axes, widths: np.ndarray, finite: np.ndarray, finite_top: float) -> None:
    top = np.sqrt(1 - THETA)
    inside = np.linspace(widths[0], top, 100)
    axes.plot(np.sqrt(1 - inside**2), inside, color=LINES, linewidth=1.4)
    axes.plot([np.sqrt(1 - top**2), 2], [top, top], color=LINES, linewidth=1.4)
    axes.plot(finite, widths, color=LINES, linewidth=1.0, linestyle="--")
    axes.axhline(finite_top, color=LINES, linewidth=1.0, linestyle="--")
    axes.axvline(0.7, color=LINES, linewidth=0.8, linestyle=":")


LINES = "#111111"
SHADES = ("#f7f7f7", "#56B4E9")
"""Dark lines on light shades, in a light page and in a dark one: none of these follows the page."""

THETA = 0.2


def _degrees(scan: Sequence[int]) -> Table:
    columns: dict[str, list[object]] = {"p": list(scan)}
    for rows in (256, 4096):
        for name, family in (("power", power_kernel), ("taylor", taylor_kernel)):
            columns[f"{name}_n{rows}"] = list(by_degree(with_parameter(BASE, "n", rows), family, scan).values())
        for name, end in (("low", lower_degree()), ("high", upper_degree())):
            columns[f"{name}_n{rows}"] = [_at(end, with_parameter(BASE, "n", rows))] * len(scan)
    return columns


def _at(formula: Expr, p: Separation) -> float:
    values = {symbols.a: p.a1, symbols.b: p.b, symbols.c: p.c, symbols.n: p.n, symbols.t: p.t, symbols.margin: p.margin}
    return float(formula.subs(values))


def _draw_degrees(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, axes = plt.subplots(figsize=(TEXT_WIDTH, 2.4))
    for position, rows in enumerate((256, 4096)):
        for end in ("low", "high"):
            axes.axvline(float(table[f"{end}_n{rows}"][0]), color=colour("", position), linestyle=":", linewidth=0.9)  # type: ignore[arg-type]
        for name, line in (("power", "-"), ("taylor", "--")):
            label = rf"{'$x^p$' if name == 'power' else 'Taylor of exp'}, $n={rows}$"
            style = {"color": colour("", position), "label": label, "markersize": 2.5}
            axes.plot(table["p"], table[f"{name}_n{rows}"], f"o{line}", **style)
    axes.set(xscale="log", xlabel=r"degree $p$", ylabel="exact P(separation)")
    axes.set_xticks([1, 2, 5, 10, 20, 50, 100], labels=["1", "2", "5", "10", "20", "50", "100"])
    axes.minorticks_off()
    axes.legend(loc="center", bbox_to_anchor=(0.62, 0.5))
    return drawing


def _gaps(sizes: Sequence[int]) -> Table:
    here = [with_parameter(BASE, "n", size) for size in sizes]
    kernels = {"softmax": SOFTMAX_KERNEL, "linear": LINEAR_KERNEL}
    return {"n": list(sizes)} | {name: [gap(each, kernel) for each in here] for name, kernel in kernels.items()}


def _draw_gap(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, axes = plt.subplots(figsize=(TEXT_WIDTH / 2, 2.4))
    sizes = np.asarray(table["n"], dtype=float)
    for name in ("softmax", "linear"):
        axes.plot(sizes, table[name], "o-", color=colour(name), label=name, markersize=3)
    first = float(np.asarray(table["linear"], dtype=float)[0])
    axes.plot(sizes, first * sizes[0] / sizes, ":", color="#666666", label=r"$\propto 1/n$")
    axes.set(xscale="log", yscale="log", xlabel=r"$n$", ylabel=r"gap over $\sqrt{\log n}$")
    axes.legend()
    return drawing


def _sensitivity() -> Table:
    columns: dict[str, list[object]] = {"parameter": [], "value": [], "success": []}
    for name, values in SWEEPS.items():
        for value in values:
            columns["parameter"].append(name)
            columns["value"].append(float(value))
            columns["success"].append(_success(with_parameter(BASE, name, value)))
    return columns


def _draw_sensitivity(table: Table) -> Drawing:
    from matplotlib import pyplot as plt

    drawing, panels = plt.subplots(3, 3, figsize=(TEXT_WIDTH, 4.8), sharey=True)
    names = np.asarray(table["parameter"])
    for axes, name in zip(panels.flat, SWEEPS, strict=True):
        here = names == name
        values = np.asarray(table["value"], dtype=float)[here]
        axes.plot(
            values, np.asarray(table["success"], dtype=float)[here], "o-", color=colour("softmax"), markersize=2.5
        )
        symbol = {"a0": "a_0", "a1": "a_1", "margin": r"\gamma", "beta": r"\beta"}.get(name, name)
        axes.set(xlabel=rf"${symbol}$", xscale="log" if name in {"n", "t", "m"} else "linear")
    for axes in panels[:, 0]:
        axes.set_ylabel("P(separation)")
    return drawing
