"""Figures in LaTeX, as floats, and the tables of numbers behind them."""

from __future__ import annotations

import re

from symslr.export.figures import TEXT_WIDTH, Drawn, Printed
from symslr.export.text import plain_to_tex, text_to_tex

TALLEST = 2.7
"""Inches: three figures and their captions have room on a page."""
LEAST = 0.8
"""Scale below which letters are too small to read."""
NARROW = 0.55
"""Part of the text's width up to which a figure has its caption beside it."""
INCH = 72.0
"""Points of a drawing."""
SIZE = re.compile(r'<svg[^>]*\bviewBox="0 0 ([\d.]+) ([\d.]+)"')


def figure(shown: Drawn, *, tallest: float = TALLEST, see: str = "") -> str:
    """A figure that is no taller than ``tallest`` inches; ``see`` ends its caption."""
    item = shown.figure
    if shown.failure:
        return f"{plain_to_tex(item.name)} could not be drawn: {plain_to_tex(shown.failure)}\n"
    found = SIZE.search(shown.svg)
    wide, tall = (float(length) / INCH for length in found.groups()) if found else (TEXT_WIDTH, TALLEST)
    scale = min(1.0, max(tallest / tall, LEAST))
    drawing = rf"\includegraphics[scale={scale:.3g}]{{figures/{item.name}}}"
    caption = rf"\caption{{{text_to_tex(item.caption)}{see}}}"
    caption += rf"\label{{fig:{item.name}}}"
    if wide * scale > NARROW * TEXT_WIDTH:
        return f"\\begin{{figure}}[!htbp]\\centering\n{drawing}\n{caption}\n\\end{{figure}}"
    beside = rf"\begin{{minipage}}{{\dimexpr.96\linewidth-{wide * scale:.2f}in}}{caption}\end{{minipage}}"
    return f"\\begin{{figure}}[!htbp]\\centering\n$\\vcenter{{\\hbox{{{drawing}}}}}$\\hfill{beside}\n\\end{{figure}}"


def table(name: str, item: Printed) -> str:
    """What of a figure's numbers is printed."""
    rows = "\n".join(" & ".join(map(text_to_tex, row)) + r" \\" for row in item.rows)
    last = r">{\raggedright\arraybackslash}p{.2\linewidth}"
    return rf"""
\begin{{center}}\begin{{minipage}}{{\linewidth}}\makeatletter\def\@captype{{table}}\makeatother
\caption{{{text_to_tex(item.caption)}}}\label{{symslr:table-{name}}}
{{\footnotesize\setlength{{\tabcolsep}}{{3pt}}
\begin{{tabular}}{{@{{}}l{"r" * (len(item.head) - 2)}{last}@{{}}}}
\toprule
{" & ".join(map(text_to_tex, item.head))} \\
\midrule
{rows}
\bottomrule
\end{{tabular}}}}
\end{{minipage}}\end{{center}}"""
