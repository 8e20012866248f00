"""``{quantities}``: the risks of the library, each as the engine writes it: folded, then by its definition."""

from __future__ import annotations

from typing import Any

from sphinx.util.docutils import SphinxDirective

from symslr import MaxSLR, SpikedSLR, linear, minimal_risk, softmax
from symslr.export import house_latex
from symslr.expression.quantity import Quantity
from symslr.theory import bayes_risk, landscape_risk, population_risk


class Quantities(SphinxDirective):
    """One entry per quantity; nothing of it is typed in."""

    def run(self) -> list[Any]:
        spiked = SpikedSLR()
        shown = {
            "`bayes_risk(task)`": bayes_risk(spiked),
            "`population_risk(task, attention)`": population_risk(spiked, softmax),
            "`minimal_risk(task, linear)`, spiked": minimal_risk(spiked, linear).closed(),
            "`minimal_risk(task, linear)`, max": minimal_risk(MaxSLR(), linear).closed(),
            "`landscape_risk(task, softmax)`": landscape_risk(spiked, softmax),
        }
        lines = []
        for call, quantity in shown.items():
            formula = house_latex(quantity)
            if isinstance(quantity, Quantity):
                formula += f" = {house_latex(quantity.doit())}"
            lines += [call, f": $${formula}$$", ""]
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("quantities", Quantities)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
