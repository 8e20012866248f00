"""Growth and normalisation: how kernels grow, what rules derive of their risks, and the drawing of a table."""

import pytest
from sympy import sqrt

from figures.growth import KERNELS, ROWS, TASKS, attention, derived, figure_growth, growth
from symslr.export.figures import STYLE
from symslr.model.symbols import x


def test_growth_of_kernels() -> None:
    found = {name: growth(kernel) for name, kernel in KERNELS.items()}
    assert found["exp(x)"] == "exponentially"
    assert (found["x^4"], found["log(1 + exp(x))"], growth(2 + sqrt(x**2 + 1))) == ("like x^4", "like x", "like x")
    assert {found[name] for name in KERNELS if "tanh" in name or name.startswith("1/")} == {"bounded"}


def test_what_rules_derive() -> None:
    spiked = TASKS["spiked"](length=3, noise=0)
    found = {row: derived(spiked, attention(row)) for row in ROWS if row[0] in ("exp(x)", "1 + x")}
    assert list(found.values()) == [
        "attains the Bayes risk",
        "Laplace integral over means of one token",
        "risk at a scale in closed form",
        "least risk in closed form",
    ]


@pytest.mark.needs("matplotlib")
def test_a_table_is_drawn() -> None:
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    count = len(ROWS)
    table: dict[str, list[object]] = {
        "attention": [attention(row).name for row in ROWS],
        "growth": ["like x^4", *["bounded"] * (count - 1)],
        "normalised": [row[1] for row in ROWS],
    }
    for task in TASKS:
        table |= {task: [0.5 + 0.01 * i for i in range(count)], f"{task}_bayes": [0.5] * count}
        table[f"{task}_derived"] = ["means of one token"] * count
    with mpl.rc_context(STYLE):
        drawing = figure_growth().draw(table)
    assert [axes.get_title() for axes in drawing.axes] == ["spiked-SLR", "max-SLR"]
    plt.close(drawing)
    printed = figure_growth().printed(table)
    assert printed is not None
    assert printed.rows[0][1] == "like $x^4$"
    assert printed.rows[1] == ("$e^{x}$", "bounded", "1 + sum", *["0.5100, means of one token"] * 2)
