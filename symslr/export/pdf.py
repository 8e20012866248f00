"""report.tex to report.pdf, where TeX is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

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
