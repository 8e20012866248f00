"""What the page says of the curve that is pointed at."""

from __future__ import annotations

import json

from matplotlib import pyplot as plt

from symslr.export.curves import curves


def test_a_curve_without_a_label_is_called_as_the_one_that_looks_the_same() -> None:
    drawing, (above, below) = plt.subplots(2)
    above.set_title("risk")
    above.plot([1, 2], [1, 2], color="C0", label="softmax")
    above.plot([1, 2], [2, 1], color="C1", linestyle="--", label="linear")
    below.plot([1, 2], [3, 4], color="C0")
    below.plot([1, 2], [4, 3], color="C1", linestyle=":")
    drawing.canvas.draw()
    found = [line["name"] for line in json.loads(curves(drawing))]
    plt.close(drawing)
    assert found == ["risk, softmax", "risk, linear", "softmax", ""]
