"""Figure 3 draws from its table: every curve a panel promises, with and without a hard phase."""

import math

import pytest

from figures.figure3 import COLUMNS, PANELS, figure3
from symslr.export.figures import STYLE


def _toy(hard: bool) -> dict[str, list[object]]:
    rows = []
    for panel in range(len(PANELS)):
        for name in ("softmax", "linear"):
            rows += [(panel, name, at, 1 / (1 + at), 0.01, 0.1, 0.1, 0.5) for at in (0.5, 2.0, 20.0)]
            rows.append((panel, f"{name}_fit", 2.0, 0.3, 0.02, 0.1, 0.1, math.nan))
            rows.append((panel, f"{name}_limit", math.inf, 0.04, 0.0, math.nan, math.nan, math.nan))
        rows += [(panel, "bayes", at, 0.5 / (1 + at), 0.01, *[math.nan] * 3) for at in (0.5, 2.0, 20.0)]
        if hard and panel == 0:
            rows += [(panel, "uninformed", at, 0.4, 0.01, *[math.nan] * 3) for at in (1.1, 1.3)]
            rows += [(panel, "hard", at, *[math.nan] * 5) for at in (1.1, 1.3)]
    return {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}


@pytest.mark.needs("matplotlib")
@pytest.mark.parametrize("hard", [True, False])
def test_every_panel_has_its_curves(hard):
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    with mpl.rc_context(STYLE):
        drawing = figure3().draw(_toy(hard))
    assert len(drawing.axes) == len(PANELS)
    first, other = drawing.axes[0], drawing.axes[1]
    assert len(first.collections) == len(other.collections)
    assert len(first.patches) == len(other.patches) + hard
    assert len(first.lines) == len(other.lines) + hard
    plt.close(drawing)
