"""The report in LaTeX: macros, one fragment per derivation for a paper of one's own, and the document around them."""

from __future__ import annotations

from collections.abc import Sequence

from symslr.export import kept_numbers
from symslr.export.bibliography import Reference
from symslr.export.content import CHECKED, Content, RuleEntry, Section
from symslr.export.definitions import Definitions
from symslr.export.figure_results import NAME as GRAPH
from symslr.export.figures import Drawn, Printed
from symslr.export.latex import display, source, verdict
from symslr.export.page import behind, in_order
from symslr.export.papers import papers_to_tex
from symslr.export.provenance import Provenance, provenance_to_tex
from symslr.export.published import evidence_to_tex, found_to_tex
from symslr.export.tex_derivation import chain, chapter_results, fragment
from symslr.export.text import plain_to_tex, text_to_plain, text_to_tex
from symslr.export.validated import validations_to_tex
from symslr.export.verdicts import Word

MACROS = r"""% Macros for the fragments of symslr. In the preamble of your paper:
%   \usepackage{amsmath,amssymb,xcolor}
%   \input{macros}
% and then, for each derivation, \input{fragments/NAME}. Redefine a macro to change how it looks.
\providecommand{\symslrsection}[3]{\subsection{#1}\label{symslr:#2}}% title, name, title without mathematics
\providecommand{\symslrstep}[4]{\par\medskip\noindent\textbf{Step #1}~~\symslrrule{#2}{#3}\hfill{\small #4}}
\providecommand{\symslrrule}[2]{#2}
\providecommand{\symslrhead}[2]{\par\medskip\noindent\textbf{#1}\hfill{\small #2}}
\providecommand{\symslrtrue}[1]{\textcolor{symslrgood}{$\checkmark$~#1}}
\providecommand{\symslrfalse}[1]{\textcolor{symslrbad}{$\times$~#1}}
\providecommand{\symslrdiffers}[1]{\textcolor{symslropen}{$\neq$~#1}}
\providecommand{\symslrunknown}[1]{\textcolor{symslropen}{?~#1}}
\definecolor{symslrgood}{HTML}{1B6E3A}
\definecolor{symslrbad}{HTML}{B3261E}
\definecolor{symslropen}{HTML}{8A5A00}
"""

PREAMBLE = r"""\documentclass[10pt,a4paper]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{lmodern}
\usepackage{amsmath,amssymb,mathtools}
\usepackage[margin=2.4cm]{geometry}
\usepackage{booktabs,longtable,array}
\usepackage{graphicx}
\usepackage{xcolor}
\usepackage{microtype}
\usepackage[colorlinks,linkcolor=blue!45!black,citecolor=blue!45!black,urlcolor=blue!45!black]{hyperref}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\setlength{\emergencystretch}{6em} % formulas within lines break at few places
\setlength{\parskip}{4pt plus 1pt}
\newcommand{\symslrresult}[3]{\par\medskip\noindent\textbf{#1.}\label{symslr:#2}\hfill{\small #3}\nopagebreak}
"""


TITLES = r"""\newcommand{\symslrsection}[3]{\subsection{\texorpdfstring{#1}{#3}}\label{symslr:#2}}
\newcommand{\symslrrule}[2]{\hyperref[rule:#1]{#2}~{\small(R\ref*{rule:#1})}}
"""


def document(
    content: Content,
    opening: Definitions,
    figures: Sequence[Drawn],
    title: str,
    made: Provenance | None = None,
    *,
    whole: bool = False,
) -> str:
    """The paper: abstract, what was found, model, results, figures; the chains stand in the ``supplement``.

    It reads ``macros.tex`` and ``figures/`` beside it, or is ``whole`` in one file, with its chains and without figures.
    """
    results = []
    numbered = in_order(content, figures)
    for heading, items in content.chapters:
        results.append(rf"\section{{{plain_to_tex(heading)}}}")
        results += [fragment(item) for item in items] if whole else chapter_results(content, items)
        results += map(_figure, behind(heading, content, numbered))
    first = [item for item in numbered if content.abstract and item.figure.name == content.abstract.figure]
    graph = [item for item in numbered if item.figure.name == GRAPH]
    others = behind("", content, numbered)
    parts = [*_head(title, "", TITLES if whole else "", whole=whole), r"\maketitle"]
    parts += [_abstract(content), *(_figure(item, OPENING_WIDTH) for item in first)]
    parts += [r"\tableofcontents"] if whole else []
    parts += [found_to_tex(content)] if content.published or content.postulates else []
    parts += map(_figure, graph)
    parts += [_definitions(opening), *results]
    if others:
        parts += [r"\section{Figures}", *map(_figure, others)]
    parts += [papers_to_tex(content.letter, content.settings)] if content.letter else []
    parts += [_rules(content.rules)] if whole and content.rules else []
    parts += [_references(content.references)] if content.references else []
    return "\n".join([*parts, r"\end{document}", ""])


def supplement(content: Content, title: str, made: Provenance | None = None) -> str:
    """What stands behind the paper: chains, rules, checks, evidence, validation, versions."""
    parts = [*_head(title, "Supplement", TITLES), r"\maketitle", plain_to_tex(BEHIND), r"\tableofcontents"]
    for heading, items in content.chapters:
        parts.append(rf"\section{{{plain_to_tex(heading)}}}")
        parts += [chain(item) for item in items]
    parts += [_rules(content.rules)] if content.rules else []
    parts += [_checks(content.sections)] if content.checked else []
    parts += [evidence_to_tex(content.published)] if content.published else []
    parts += [validations_to_tex(content.validations)] if content.validations else []
    parts += [provenance_to_tex(made)] if made is not None else []
    parts += [_references(content.references)] if content.references else []
    return "\n".join([*parts, r"\end{document}", ""])


BEHIND = (
    "The chains behind the results of the paper, with the rules they use, the table of checks, the evidence for and"
    " against each published statement, and the validations. A long chain says in a line what each step does and prints"
    " the formulas that are short; report.html and fragments/ have all of them whole."
)


def _head(title: str, after: str, more: str, *, whole: bool = False) -> list[str]:
    shown = text_to_tex(title) + (rf" \\ {after}" if after else "")
    plain = text_to_tex(text_to_plain(title, greek=False)) + (f" ({after})" if after else "")
    return [
        PREAMBLE + more,
        MACROS if whole else r"\input{macros}",
        rf"\title{{\vspace{{-3em}}{shown}}}",
        r"\author{symslr}",
        r"\date{}",
        r"\hypersetup{pdftitle={" + plain + "},pdfauthor={symslr}}",
        r"\begin{document}",
    ]


def _abstract(content: Content) -> str:
    """The opening sentences and the formulas that matter."""
    if content.abstract is None:
        return ""
    formulas = [
        rf"{display(section.result)}{{\small {text_to_tex(says)} {verdict(section.verdict, tally=False)}}}\par"
        for section, says in content.formulas
    ]
    return "\n".join([r"\begin{abstract}", text_to_tex(content.abstract.says), *formulas, r"\end{abstract}"])


def _definitions(item: Definitions) -> str:
    symbols = "\n".join(rf"${symbol}$ & {text_to_tex(meaning)} \\" for symbol, meaning in item.symbols)
    tasks = "\n".join(rf"{row.name} & ${row.formulas[0]}$ & ${row.formulas[1]}$ \\[1.2ex]" for row in item.tasks)
    attentions = "\n".join(rf"{row.name} & ${row.formulas[0]}$ & ${row.formulas[1]}$ \\" for row in item.attentions)
    return rf"""\section{{The model}}
{text_to_tex(item.opening)}

\begin{{center}}\small
\begin{{tabular}}{{@{{}}ll@{{}}}}
\toprule
symbol & meaning \\
\midrule
{symbols}
\bottomrule
\end{{tabular}}

\bigskip
\begin{{tabular}}{{@{{}}lll@{{}}}}
\toprule
task & weight $g(\epsilon,\chi)$ & posterior $p_l \propto w(\chi_l)$ with $w(x)$ \\
\midrule
{tasks}
\bottomrule
\end{{tabular}}

\bigskip
\begin{{tabular}}{{@{{}}lll@{{}}}}
\toprule
attention & kernel $\kappa(x)$ & $N$ in $\sigma_l = \kappa(a\chi_l)/N$ \\
\midrule
{attentions}
\bottomrule
\end{{tabular}}
\end{{center}}
"""


OPENING_WIDTH = 0.78
"""Of the text: the figure of the abstract stands on its page."""


def _figure(shown: Drawn, width: float = 0.0) -> str:
    """A figure in its own size, or at a part of the text's width."""
    item = shown.figure
    size = rf"[width={width:g}\linewidth]" if width else ""
    if shown.failure:
        return f"{plain_to_tex(item.name)} could not be drawn: {plain_to_tex(shown.failure)}\n"
    return rf"""\begin{{center}}\begin{{minipage}}{{\linewidth}}\makeatletter\def\@captype{{figure}}\makeatother
\centering\includegraphics{size}{{figures/{item.name}}}
\caption{{{text_to_tex(item.caption)} {kept_numbers.to_tex(shown.recorded)}}}\label{{fig:{item.name}}}
\end{{minipage}}\end{{center}}{"" if shown.printed is None else _printed(shown.printed)}"""


def _printed(table: Printed) -> str:
    """The table under a figure."""
    rows = "\n".join(" & ".join(map(text_to_tex, row)) + r" \\" for row in table.rows)
    last = r">{\raggedright\arraybackslash}p{.2\linewidth}"
    return rf"""
\begin{{center}}\begin{{minipage}}{{\linewidth}}\makeatletter\def\@captype{{table}}\makeatother
\caption{{{text_to_tex(table.caption)}}}
{{\footnotesize\setlength{{\tabcolsep}}{{3pt}}
\begin{{tabular}}{{@{{}}l{"r" * (len(table.head) - 2)}{last}@{{}}}}
\toprule
{" & ".join(map(text_to_tex, table.head))} \\
\midrule
{rows}
\bottomrule
\end{{tabular}}}}
\end{{minipage}}\end{{center}}"""


def _rules(rules: Sequence[RuleEntry]) -> str:
    parts = [r"\section{Rules used}", r"\begin{description}"]
    for rule in rules:
        origin = f" {source(rule.source)}" if rule.source else ""
        parts += [
            rf"\item[R{rule.number}\ {text_to_tex(rule.name)}]\refstepcounter{{symslrrulecount}}",
            rf"\label{{rule:{rule.anchor}}}{origin}",
            rf"\par\nobreak\adjuststatement{{{rule.statement}}}",
            *([f"Conditions: {text_to_tex(rule.conditions)}."] if rule.conditions else []),
        ]
    return "\n".join([r"\newcounter{symslrrulecount}", ADJUST, *parts, r"\end{description}"])


ADJUST = r"""\newsavebox{\symslrbox}
\newcommand{\adjuststatement}[1]{\sbox{\symslrbox}{$\displaystyle #1$}%
\[\ifdim\wd\symslrbox>\linewidth\resizebox{\linewidth}{!}{\usebox{\symslrbox}}\else\usebox{\symslrbox}\fi\]}"""


def _checks(sections: Sequence[Section]) -> str:
    rows = []
    for section in sections:
        title = text_to_tex(section.title)
        rows.append(
            rf"\multicolumn{{5}}{{@{{}}p{{.95\linewidth}}@{{}}}}{{\hyperref[symslr:{section.name}]{{{title}}}}} \\*"
        )
        start = (
            [("start", "simulation", section.start_verdict)] if section.start_verdict.word is not Word.UNCHECKED else []
        )
        entries = start + [(f"step {step.number}", step.rule.name, step.verdict) for step in section.steps]
        entries += [("claim", claim.source, claim.verdict) for claim in section.claims]
        for where, what, found in entries:
            name = source(what) if where == "claim" else text_to_tex(what)
            digits = "" if found.digits is None else str(found.digits)
            numbers = rf"{found.effective}/{found.total}" if found.total else ""
            rows.append(rf"\quad {where} & {name} & {verdict(found, tally=False)} & {numbers} & {digits} \\")
        rows.append(r"\addlinespace")
    body = "\n".join(rows)
    return rf"""\section{{Checks}}
{CHECKED}

{{\small
\begin{{longtable}}{{@{{}}l>{{\raggedright\arraybackslash}}p{{.38\linewidth}}lrr@{{}}}}
\toprule
where & rule or source & verdict & effective & digits \\
\midrule
\endhead
{body}
\bottomrule
\end{{longtable}}}}
"""


def _references(references: Sequence[Reference]) -> str:
    items = []
    for item in references:
        venue = rf" {text_to_tex(item.place)}," if item.place else ""
        arxiv = rf" arXiv:{item.arxiv}." if item.arxiv else ""
        names, title = text_to_tex(item.names), text_to_tex(item.title)
        link = rf" \href{{{item.link}}}{{link}}." if item.link else ""
        items.append(rf"\bibitem{{{item.key}}} {names}. \emph{{{title}}}.{venue} {item.year}.{arxiv}{link}")
    return "\n".join([r"\begin{thebibliography}{99}", *items, r"\end{thebibliography}"])
