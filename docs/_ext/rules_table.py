"""``{rules}``: every rule of the library with its statement and its conditions, from the classes themselves."""

from __future__ import annotations

from typing import Any

from sphinx.util.docutils import SphinxDirective

from symslr.algebra import rules


class Rules(SphinxDirective):
    """One section of definition-list entries, in alphabetical order."""

    def run(self) -> list[Any]:
        lines = []
        known = {name: rule for name, rule in vars(rules).items() if isinstance(rule, type)}
        for name, rule in sorted(known.items()):
            summary = (rule.__doc__ or "").strip().splitlines()[0]
            lines += [f"`{name}` ({rule.name})", f": {summary}", "", f"  $${rule.statement}$$", ""]
            if rule.conditions:
                lines += [f"  Conditions: {rule.conditions}", ""]
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("rules", Rules)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
