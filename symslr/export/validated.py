"""Validations in TeX and HTML: each number of the theory beside the one that was found without it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from symslr.export import html, kept_numbers
from symslr.export.mathml import mathml
from symslr.export.text import pieces, plain_to_tex
from symslr.validation.validate import Validation
from symslr.validation.validation import NamedComparison

OPENING = (
    "Each number of the theory stands beside one that was found without it: by simulation, by brute force or by"
    " training networks. A simulation agrees within 4 standard errors, and a count where the exact binomial test finds"
    " it as likely as that (the note has the tail). Beside each verdict stands the distance that was allowed."
)
"""What the section says about itself; plain text."""

HEAD = ("what is compared", "theory", "found", "verdict", "note")


def validations_to_tex(items: Sequence[Validation]) -> str:
    """A section with one heading and one table, as wide as the text, per file."""
    return "\n\n".join([r"\section{Validation}", plain_to_tex(OPENING), *map(_to_tex, items)])


def validations_to_html(items: Sequence[Validation]) -> str:
    """The same as HTML; each table scrolls by itself where the screen is narrower."""
    return html.part("validation", "Validation", f"<p>{escape(OPENING)}</p>", *map(_to_html, items))


def _to_tex(item: Validation) -> str:
    heading = rf"\subsection*{{\raggedright {_words_to_tex(item.heading)}}}"
    kept = kept_numbers.to_tex(item.recorded)
    summary = rf"\texttt{{{plain_to_tex(item.name)}}}: {plain_to_tex(item.summary)}. {kept}"
    if not item.comparisons:
        return f"{heading}\n{summary}"
    # In braces, as a name may begin with [, which the \\ before it would take for a length.
    rows = "\n".join(
        rf"{{{_words_to_tex(row.name)}}} & {_number_to_tex(row.expected)} & {_number_to_tex(row.found)} & "
        rf"{_verdict_to_tex(row)} & {_words_to_tex(row.note)} \\"
        for row in item.comparisons
    )
    column = r">{{\raggedright\arraybackslash}}p{{{}\linewidth}}".format
    return rf"""{heading}
{summary}

{{\footnotesize\setlength{{\tabcolsep}}{{4pt}}
\begin{{longtable}}{{@{{}}{column(".22")}rrl{column(".35")}@{{}}}}
\toprule
{" & ".join(HEAD)} \\
\midrule
\endhead
\bottomrule
\endfoot
{rows}
\end{{longtable}}}}"""


def _to_html(item: Validation) -> str:
    summary = f'<p class="meta"><code>{escape(item.name)}</code>: {escape(item.summary)}.</p>'
    rows = rows_to_html(item.comparisons, item.heading)
    rows = html.folded(f"{len(item.comparisons)} comparisons", rows) if rows else ""
    kept = kept_numbers.to_html(item.recorded)
    return html.part(f"validation-{item.name}", _words_to_html(item.heading), summary, kept, rows, level=3)


def rows_to_html(rows: Sequence[NamedComparison], caption: str) -> str:
    """Comparisons as a table, named by its caption to a screen reader; nothing where there are none."""
    if not rows:
        return ""
    cells = [
        (
            _words_to_html(row.name),
            _number_to_html(row.expected),
            _number_to_html(row.found),
            _verdict_to_html(row),
            _words_to_html(row.note),
        )
        for row in rows
    ]
    return html.table(HEAD, cells, caption, "validation")


def _words_to_tex(name: str) -> str:
    return "".join(f"${part}$" if is_math else plain_to_tex(part) for is_math, part in pieces(name))


def _words_to_html(name: str) -> str:
    return "".join(mathml(part) if is_math else escape(part) for is_math, part in pieces(name))


def _verdict_to_tex(row: NamedComparison) -> str:
    within = f"within {_number_to_tex(row.tolerance)}"
    return rf"\symslrtrue{{{within}}}" if row.agrees else rf"\symslrfalse{{not {within}}}"


def _verdict_to_html(row: NamedComparison) -> str:
    within = f"within {_number_to_html(row.tolerance)}"
    return html.marked("good", f"✓ {within}") if row.agrees else html.marked("bad", f"✗ not {within}")


def _number_to_tex(number: float) -> str:
    if not math.isfinite(number):
        return str(number)
    mantissa, exponent = _scientific(number)
    return rf"${mantissa} \times 10^{{{exponent}}}$" if exponent else f"${mantissa}$"


def _number_to_html(number: float) -> str:
    mantissa, exponent = _scientific(number)
    mantissa = mantissa.replace("-", "−")
    return f"{mantissa}×10<sup>{exponent.replace('-', '−')}</sup>" if exponent else mantissa


def _scientific(number: float) -> tuple[str, str]:
    """Six digits; three, and the power of ten, where the number is far from 1."""
    if "e" not in f"{number:.6g}":
        return f"{number:.6g}", ""
    mantissa, exponent = f"{number:.2e}".split("e")
    return mantissa, str(int(exponent))
