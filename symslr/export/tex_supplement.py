"""The supplement in LaTeX: every chain, the figures and tables that the paper leaves out, rules, checks, evidence, versions."""

from __future__ import annotations

from collections.abc import Sequence

from symslr.export import kept_numbers, latex, tex
from symslr.export.content import CHECKED, Content, Section
from symslr.export.figure_results import NAME as GRAPH
from symslr.export.figures import Drawn
from symslr.export.latex import verdict
from symslr.export.page import HANG_TOGETHER, in_order
from symslr.export.papers import papers_to_tex
from symslr.export.placing import before, numbers, paper_figures
from symslr.export.provenance import Provenance, provenance_to_tex
from symslr.export.published import evidence_to_tex
from symslr.export.tex_chain import chain
from symslr.export.tex_figures import figure, table
from symslr.export.tex_rules import rules_to_tex
from symslr.export.text import plain_to_tex, text_to_tex
from symslr.export.validated import validations_to_tex
from symslr.export.verdicts import Word

BEHIND = (
    "What stands behind the paper: every chain with the rules that it uses, the figures and tables that the paper leaves out,"
    " the papers entry by entry, the table of checks, the evidence for and against each published statement, and the"
    " validations. A row of a chain is one step: the formula that it made, its rule, and at how many points it holds"
    " and, of an equation, to how many digits at least. Chapters have the numbers that they have in the paper,"
    " and supplement.pdf#symslr:NAME opens the derivation NAME."
)

STYLE = r"""\AtBeginDocument{\small\abovedisplayskip=3pt plus 2pt\belowdisplayskip=3pt plus 2pt
  \abovedisplayshortskip=2pt plus 2pt\belowdisplayshortskip=3pt plus 2pt}
\makeatletter
\renewcommand{\subsection}{\@startsection{subsection}{2}{\z@}{-2.2ex plus -1ex}{.4ex}{\normalfont\normalsize\bfseries\raggedright}}
\renewcommand{\section}{\@startsection{section}{1}{\z@}{-3.2ex plus -1ex}{1ex}{\normalfont\large\bfseries\raggedright}}
\renewcommand*{\l@section}{\@dottedtocline{1}{0em}{2.6em}}
\makeatother
\setcounter{tocdepth}{1}
\renewcommand{\thesection}{S\arabic{section}}
\renewcommand{\thefigure}{S\arabic{figure}}
\renewcommand{\thetable}{S\arabic{table}}
"""


def supplement(content: Content, figures: Sequence[Drawn], title: str, made: Provenance | None = None) -> str:
    """What the paper has no room for, in the order of the page."""
    places = numbers(content)
    shown = {item.figure.name for item in paper_figures(content, figures)}
    left = [item for item in in_order(content, figures) if item.figure.name not in shown]
    parts = [
        *tex.head(title, "Supplement", tex.TITLES + STYLE, content.authors),
        r"\maketitle",
        plain_to_tex(BEHIND),
        r"\tableofcontents",
    ]
    parts += [rf"\setcounter{{section}}{{{before(content)}}}"]
    for item in left:
        if item.figure.name == GRAPH:
            parts += [rf"\section*{{{HANG_TOGETHER}}}", figure(item, tallest=TALLEST)]
    for heading, sections in content.chapters:
        parts.append(latex.section(heading))
        parts += [chain(section, places) for section in sections]
    parts += _figures([item for item in left if item.figure.name != GRAPH], figures)
    parts += [papers_to_tex(content.letter, content.settings)] if content.letter else []
    uses = {step.rule.anchor for section in content.sections for step in section.steps if step.cites in places}
    parts += [rules_to_tex([rule for rule in content.rules if rule.anchor not in uses])] if content.rules else []
    parts += [_checks(content.sections, places, content.checked)] if content.checked else []
    parts += [evidence_to_tex(content.published)] if content.published else []
    parts += [validations_to_tex(content.validations)] if content.validations else []
    parts += [provenance_to_tex(made)] if made is not None else []
    parts += _kept(figures)
    text = "\n".join(parts)
    return "\n".join([text, tex.references(content.references, text), r"\end{document}", ""])


TALLEST = 8.6
"""Inches of the tallest figure: that of the results has a page for itself."""


def _figures(left: Sequence[Drawn], figures: Sequence[Drawn]) -> list[str]:
    """The figures that the paper leaves out, and the tables of all."""
    tables = [table(item.figure.name, item.printed) for item in figures if item.printed is not None]
    if not left and not tables:
        return []
    return [r"\section{More figures, and tables}", *tables, *map(figure, left), r"\clearpage"]


def _kept(figures: Sequence[Drawn]) -> list[str]:
    """What made the numbers that were kept."""
    rows = [
        rf"\item[\texttt{{{plain_to_tex(item.figure.name)}}}] {kept_numbers.to_tex(item.recorded)}"
        for item in figures
        if item.recorded is not None
    ]
    return (
        [r"\paragraph{Figures from kept numbers.}", r"\begin{description}", *rows, r"\end{description}"] if rows else []
    )


def _checks(sections: Sequence[Section], places: dict[str, str], when: str) -> str:
    """A row for each derivation; those of its steps and claims stand in its chain."""
    body = "\n".join(_checked(section, places[section.name]) for section in sections)
    return rf"""\section{{Checks}}
{CHECKED} {plain_to_tex(when)} The verdict of each step, with its comparisons, stands beside it in its chain.

{{\footnotesize
\begin{{longtable}}{{@{{}}l>{{\raggedright\arraybackslash}}p{{.5\linewidth}}lrrrr@{{}}}}
\toprule
 & derivation & verdict & steps & claims & effective & digits \\
\midrule
\endhead
{body}
\bottomrule
\end{{longtable}}}}
"""


def _checked(section: Section, place: str) -> str:
    found = section.verdict
    good = sum(step.verdict.word is Word.TRUE for step in section.steps)
    fine = sum(claim.verdict.word in (Word.CONFIRMED, Word.EQUAL) for claim in section.claims)
    claims = f"{fine}/{len(section.claims)}" if section.claims else ""
    effective = f"{found.effective}/{found.total}" if found.total else ""
    digits = str(found.digits) if found.digits else ""
    cells = (
        rf"\hyperref[symslr:{section.name}]{{{place}}}",
        text_to_tex(section.title),
        verdict(found, tally=False),
        f"{good}/{len(section.steps)}",
        claims,
        effective,
        digits,
    )
    return " & ".join(cells) + r" \\"
