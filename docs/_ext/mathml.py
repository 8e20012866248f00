"""Formulas of the site as MathML, by the converter of symslr's own report."""

from __future__ import annotations

from typing import Any

from docutils import nodes

from symslr.export.mathml import mathml


def inline(self: Any, node: Any) -> None:
    self.body.append(mathml(node.astext().strip()))
    raise nodes.SkipNode


def block(self: Any, node: Any) -> None:
    self.body.append(f'<div class="formula">{mathml(node.astext().strip(), block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
