"""``{terminal}``: each line is a symslr command, run by the build and shown with what it printed."""

from __future__ import annotations

import contextlib
import io
import shlex
from typing import Any, ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from symslr.cli import main


class Terminal(SphinxDirective):
    """Runs ``symslr ARGUMENTS`` for each line; a status other than the one in ``:status:`` fails the build."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"status": int}

    def run(self) -> list[Any]:
        shown = []
        for line in self.content:
            program, *arguments = shlex.split(line)
            if program != "symslr":
                raise self.error(f"terminal: found {program!r}; expected a symslr command")
            out, status = io.StringIO(), 0
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                try:
                    main(arguments)
                except SystemExit as ended:
                    status = int(ended.code or 0)
            if status != self.options.get("status", 0):
                raise self.error(f"{line}: exit status {status}: {out.getvalue()}")
            shown.append(f"$ {line}\n{out.getvalue().rstrip()}")
        text = "\n\n".join(shown)
        block = nodes.literal_block(text, text)
        block["language"] = "none"
        return [block]


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("terminal", Terminal)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
