"""report.tex to report.pdf, where TeX is installed."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from symslr.cache.results import MISSING, Cache, key_of

RUNS = 4
"""At most; three settle the table of contents, the references and the widths of the long table."""
SECONDS = 300
ERROR = re.compile(r"^(?:[^\s:]+:\d+: .+|! .+)$", re.MULTILINE)
WARNING = re.compile(r"^LaTeX Warning: .*(?:undefined|multiply).*$", re.MULTILINE)
OVERFULL = re.compile(r"^Overfull \\hbox \((\d+\.\d+)pt too wide\).*$", re.MULTILINE)
AGAIN = re.compile(r"Rerun to get|Rerun LaTeX|rerunfilecheck Warning|Table widths have changed")


@dataclass(frozen=True)
class PdfOutcome:
    """``path`` is None where there is no PDF, and ``message`` says why; ``overfull`` in points, the widest first."""

    path: Path | None
    message: str = ""
    warnings: tuple[str, ...] = ()
    overfull: tuple[float, ...] = ()


def compile_pdf(tex: Path) -> PdfOutcome:
    """Run pdflatex on ``tex`` until its references settle, in a folder of its own, and put the PDF beside it."""
    program = shutil.which("pdflatex")
    if program is None:
        return PdfOutcome(
            None, "no PDF: found no pdflatex; install TeX Live (latex-extra), or compile report.tex elsewhere"
        )
    with tempfile.TemporaryDirectory(prefix="symslr-tex-") as folder:
        place = Path(folder)
        command = [program, "-interaction=nonstopmode", "-halt-on-error", "-file-line-error", "-no-shell-escape"]
        command += [f"-output-directory={place}", tex.name]
        # TeX breaks long lines of its log, error messages too, unless told otherwise; a fixed date makes runs equal.
        settings = os.environ | {"max_print_line": "10000", "SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1"}
        for _ in range(RUNS):
            try:
                done = subprocess.run(
                    command, cwd=tex.parent, env=settings, capture_output=True, timeout=SECONDS, check=False
                )
            except subprocess.TimeoutExpired:
                return PdfOutcome(None, f"no PDF: pdflatex took more than {SECONDS} s")
            log = done.stdout.decode("utf-8", errors="replace")
            if done.returncode != 0:
                first = ERROR.search(log)
                return PdfOutcome(None, f"no PDF: {first[0] if first else f'pdflatex exited {done.returncode}'}")
            if not AGAIN.search(log):
                break
        path = tex.with_suffix(".pdf")
        shutil.copyfile(place / path.name, path)
    wide = sorted((float(width) for width in OVERFULL.findall(log)), reverse=True)
    return PdfOutcome(path, "", tuple(WARNING.findall(log)), tuple(wide))


def kept_pdf(tex: Path, kept: Cache) -> PdfOutcome:
    """As ``compile_pdf``, but where an earlier run had the same text, drawings and TeX, the PDF is the one that it made."""
    program = shutil.which("pdflatex")
    if program is None:
        return compile_pdf(tex)
    key, path = _key(tex, program), tex.with_suffix(".pdf")
    found = kept.get(key)
    if found is not MISSING:
        outcome, content = cast("tuple[PdfOutcome, bytes]", found)
        path.write_bytes(content)
        return replace(outcome, path=path)
    outcome = compile_pdf(tex)
    if outcome.path is not None:
        kept.put(key, (replace(outcome, path=None), path.read_bytes()))
    return outcome


def _key(tex: Path, program: str) -> str:
    """Of the PDF: the document, the files that it reads, and TeX; a date in it is fixed by ``compile_pdf``."""
    text = tex.read_text(encoding="utf-8")
    read = sorted((tex.parent / "figures").glob("*.pdf"))
    files = [
        f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in read
        if path.is_file() and f"{path.stem}}}" in text
    ]
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    return key_of("pdf", said, text, *files)
