"""KaTeX as a strict parser of LaTeX."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

PARSE = """
const katex = require('katex'), wrong = [];
for (const [tex, displayMode] of JSON.parse(require('fs').readFileSync(0, 'utf8'))) {
  try { katex.renderToString(tex, {displayMode, throwOnError: true, strict: 'error', trust: false}); }
  catch (error) { wrong.push([tex, error.message]); }
}
console.log(JSON.stringify(wrong));
"""
KATEX = Path(__file__).parent / "katex"
"""Pins KaTeX; `npm ci` there installs it."""


def parsed(items: list[tuple[str, bool]], node: str) -> list[tuple[str, str]]:
    """The formulas that KaTeX refuses, with its reason."""
    done = subprocess.run(
        [node, "-e", PARSE],
        input=json.dumps(items),
        cwd=KATEX,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if "Cannot find module 'katex'" in done.stderr:
        message = "needs katex: npm ci --prefix tests/export/katex"
        if os.environ.get("SYMSLR_REQUIRE_TOOLS") == "1":
            pytest.fail(message, pytrace=False)
        pytest.skip(message)
    assert done.returncode == 0, done.stderr
    return [(tex, why) for tex, why in json.loads(done.stdout)]
