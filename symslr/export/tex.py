"""The report in LaTeX: macros, one fragment per derivation for a paper of one's own, and the document around them."""

from __future__ import annotations

from collections.abc import Sequence

from symslr.export import kept_numbers
from symslr.export.bibliography import Reference
from symslr.export.content import CHECKED, ClaimEntry, Content, RuleEntry, Section, StepEntry, Way
from symslr.export.definitions import Definitions
from symslr.export.figures import Drawn
from symslr.export.latex import detail, display, source, verdict
from symslr.export.provenance import Provenance, provenance_to_tex
from symslr.export.published import published_to_tex
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

PREAMBLE = r"""\documentclass[11pt,a4paper]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{lmodern}
\usepackage{amsmath,amssymb,mathtools}
\usepackage[margin=2.5cm]{geometry}
\usepackage{booktabs,longtable,array}
\usepackage{graphicx}
\usepackage{xcolor}
\usepackage{microtype}
\usepackage[colorlinks,linkcolor=blue!45!black,citecolor=blue!45!black,urlcolor=blue!45!black]{hyperref}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt plus 1pt}
\newcommand{\symslrsection}[3]{\subsection{\texorpdfstring{#1}{#3}}\label{symslr:#2}}
\newcommand{\symslrrule}[2]{\hyperref[rule:#1]{#2}~{\small(R\ref*{rule:#1})}}
"""


def fragment(section: Section) -> str:
    """One derivation, to ``\\input`` after ``macros.tex``."""
    bookmark = text_to_tex(text_to_plain(section.title, greek=False))
    parts = [rf"\symslrsection{{{text_to_tex(section.title)}}}{{{section.name}}}{{{bookmark}}}"]
    parts += [text_to_tex(section.introduction), ""] if section.introduction else []
    parts += [" ".join(text_to_tex(sentence) for sentence in section.here), ""] if section.here else []
    named = [item for item in section.sources if item]
    parts += [f"Sources of the definition: {'; '.join(source(item) for item in named)}.", ""] if named else []
    parts += [rf"\symslrhead{{Start}}{{{verdict(section.start_verdict)}}}", display(section.start)]
    parts += [detail(section.start_verdict)] if section.start_verdict.detail else []
    parts += [_step(step) for step in section.steps]
    if section.steps:
        parts += [rf"\symslrhead{{Result}}{{{verdict(section.verdict)}}}", display(section.result, boxed=True)]
    parts += [f"For {', '.join(map(text_to_tex, section.hypotheses))}.", ""] if section.hypotheses else []
    own = ", ".join(map(text_to_tex, section.own_rules))
    parts += [f"Rules of the author, not of symslr: {own}.", ""] if own else []
    parts += [_claim(claim) for claim in section.claims]
    parts += [_way(section.way)] if section.way is not None else []
    return "\n".join(part for part in parts if part is not None) + "\n"


def _way(way: Way) -> str:
    """What the result rests on, and the weakest verdict among it."""
    said = [f"Definition:\n{display(lines)}\n" for lines in way.definitions]
    said += [f"\\textbf{{Postulate}}: {text_to_tex(what)}:\n{display(lines)}\n" for what, lines in way.postulates]
    # A typewriter font has no hyphen to break at.
    names = ", ".join(rf"\texttt{{{plain_to_tex(name)}}}".replace("-", r"-\allowbreak{}") for name in way.results)
    said += [rf"{{\raggedright Results used: {names}.\par}}"] if way.results else []
    if not said:
        return ""
    return rf"\symslrhead{{Rests on}}{{weakest: {verdict(way.weakest)}}}" + "\\\\*\n{\\small " + " ".join(said) + "}"


def _step(step: StepEntry) -> str:
    rule = rf"{{{step.rule.anchor}}}{{{text_to_tex(step.rule.name)}}}"
    head = rf"\symslrstep{{{step.number}}}{rule}{{{verdict(step.verdict)}}}"
    # In one paragraph with its heading: a display that begins a paragraph leaves an empty line above.
    note = f"\\\\*\n{text_to_tex(step.note)}" if step.note else ""
    bound = display(step.remainder) if step.remainder else ""
    return "\n".join(part for part in (head + note, display(step.lines), bound, detail(step.verdict)) if part)


def _claim(claim: ClaimEntry) -> str:
    head = rf"\symslrhead{{{claim.label.capitalize()}}}{{{verdict(claim.verdict)}}}"
    return f"{head}\\\\*\n{source(claim.source)}:\n{display(claim.lines)}\n{detail(claim.verdict)}"


def document(
    content: Content,
    opening: Definitions,
    figures: Sequence[Drawn],
    title: str,
    made: Provenance | None = None,
    *,
    whole: bool = False,
) -> str:
    """The report; it reads ``macros.tex``, ``fragments/`` and ``figures/`` beside it, or is ``whole`` in one file."""
    sections = []
    for heading, items in content.chapters:
        sections.append(rf"\section{{{plain_to_tex(heading)}}}")
        sections += [fragment(item) if whole else rf"\input{{fragments/{item.name}}}" for item in items]
    parts = [
        PREAMBLE,
        MACROS if whole else r"\input{macros}",
        rf"\title{{{text_to_tex(title)}}}",
        r"\author{symslr}",
        r"\date{}",
        r"\hypersetup{pdftitle={" + text_to_tex(text_to_plain(title, greek=False)) + "},pdfauthor={symslr}}",
        r"\begin{document}",
        r"\maketitle",
        r"\tableofcontents",
        *([published_to_tex(content.published)] if content.published else []),
        _definitions(opening),
        *sections,
    ]
    if figures:
        parts += [r"\section{Figures}", *map(_figure, figures)]
    parts += [_rules(content.rules)] if content.rules else []
    parts += [_checks(content.sections)] if content.checked else []
    parts += [validations_to_tex(content.validations)] if content.validations else []
    parts += [provenance_to_tex(made)] if made is not None else []
    parts += [_references(content.references)] if content.references else []
    return "\n".join([*parts, r"\end{document}", ""])


def _definitions(item: Definitions) -> str:
    symbols = "\n".join(rf"${symbol}$ & {text_to_tex(meaning)} \\" for symbol, meaning in item.symbols)
    tasks = "\n".join(rf"{row.name} & ${row.formulas[0]}$ & ${row.formulas[1]}$ \\[1.2ex]" for row in item.tasks)
    attentions = "\n".join(rf"{row.name} & ${row.formulas[0]}$ & ${row.formulas[1]}$ \\" for row in item.attentions)
    return rf"""\section{{Definitions}}
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


def _figure(shown: Drawn) -> str:
    item = shown.figure
    if shown.failure:
        return f"{plain_to_tex(item.name)} could not be drawn: {plain_to_tex(shown.failure)}\n"
    return rf"""\begin{{center}}\begin{{minipage}}{{\linewidth}}\makeatletter\def\@captype{{figure}}\makeatother
\centering\includegraphics{{figures/{item.name}}}
\caption{{{text_to_tex(item.caption)} {kept_numbers.to_tex(shown.recorded)}}}\label{{fig:{item.name}}}
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
