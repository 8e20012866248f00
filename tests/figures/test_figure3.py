"""Figure 3 draws from its table: every curve a panel promises, with and without a hard phase."""

import math

import pytest

from figures.figure3 import ALPHA, COLUMNS, FEWER, FULL, MEDIUM, SOURCE, figure3
from symslr.export.figures import STYLE


def _toy(hard: bool, shift: float = 0.0) -> dict[str, list[object]]:
    """Fits lie above the theory by ``shift``, beside a scatter of one per cent."""
    rows: list[dict[str, object]] = []
    for panel in SOURCE:
        for name in ("softmax", "linear"):
            curve = {at: 1 / (1 + at) + 0.1 * (name == "linear") for at in (0.5, 2.0, 20.0)}
            rows += [
                {"panel": panel, "curve": name, "alpha": at, "risk": risk, "error": 0.001, "stable": 1.0}
                for at, risk in curve.items()
            ]
            rows += [
                {
                    **{"panel": panel, "curve": f"{name}_fit", "alpha": 2.0, "risk": curve[2.0] * scatter + shift},
                    **{"error": 0.002, "entries": entries, "dimension": 400, "stationary": 1.0},
                }
                for entries, scatters in ((1500, (0.99, 1.01)), (10_000, (1.0,)))
                for scatter in scatters
            ]
            rows.append({"panel": panel, "curve": f"{name}_limit", "alpha": math.inf, "risk": 0.04})
        for at in (0.5, 2.0, 20.0):
            rows.append({"panel": panel, "curve": "bayes", "alpha": at, "risk": 0.5 / (1 + at), "error": 0.001})
        if hard and panel == SOURCE[0]:
            for at in (1.1, 1.3):
                rows.append({"panel": panel, "curve": "uninformed", "alpha": at, "risk": 0.4, "error": 0.01})
                rows.append({"panel": panel, "curve": "hard", "alpha": at})
    return {name: [row.get(name, math.nan) for row in rows] for name in COLUMNS}


@pytest.mark.needs("matplotlib")
@pytest.mark.parametrize("hard", [True, False])
def test_every_panel_has_its_curves(hard):
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    with mpl.rc_context(STYLE):
        drawing = figure3().draw(_toy(hard))
    assert len(drawing.axes) == len(SOURCE)
    first, other = drawing.axes[0], drawing.axes[1]
    assert len(first.collections) == len(other.collections)
    assert len(first.patches) == len(other.patches) + hard
    assert len(first.lines) == len(other.lines) + hard
    plt.close(drawing)


@pytest.mark.parametrize(("shift", "agrees"), [(0.0, True), (0.1, False)])
def test_fits_that_are_not_the_theorys_are_said(shift, agrees):
    rows = [row for row in figure3().claims(_toy(False, shift)) if row.name.startswith("fits and theory agree")]
    assert len(rows) == len(SOURCE)
    assert all(row.agrees is agrees for row in rows)
    assert "6 of 6 fits are stationary" in rows[0].note


def test_every_fit_is_at_an_alpha_of_the_theory():
    for panel in SOURCE:
        assert set(FEWER.get(panel, ALPHA)) >= {*MEDIUM.alphas, *FULL.alphas}
