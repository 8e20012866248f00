"""The page with what it keeps packed in its place, as a reader has it who has opened everything."""

from __future__ import annotations

import gzip
import re
from base64 import b64decode
from pathlib import Path


def unpacked(page: Path) -> str:
    """The markup of a page, whole."""
    markup = page.read_text(encoding="utf-8")
    script = re.compile(r'<script type="application/gzip">([^<]*)</script>')
    return script.sub(lambda found: gzip.decompress(b64decode(found[1])).decode(), markup)
