"""The report in LaTeX: macros, one fragment per derivation for a paper of one's own, and the document around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from symslr.export.bibliography import Reference
from symslr.export.content import Content
from symslr.export.definitions import Definitions, definitions
from symslr.export.figures import Drawn
from symslr.export.latex import display, section, verdict
from symslr.export.page import behind, in_order
from symslr.export.placing import chapters, numbers, paper_figures
from symslr.export.published import found_to_tex, to_figures
from symslr.export.tex_figures import figure
from symslr.export.tex_results import chapter
from symslr.export.text import plain_to_tex, text_to_tex
from symslr.export.theorem import Form, fragment
from symslr.export.typed import text_to_plain

PREAMBLE = r"""\documentclass[10pt,a4paper]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{lmodern}
\usepackage{amsmath,amssymb,amsthm,mathtools}
\usepackage[hmargin=2.4cm,top=2cm,bottom=2.2cm]{geometry}
\usepackage{booktabs,longtable,array}
\usepackage{graphicx}
\usepackage{xcolor}
\usepackage{microtype}
\usepackage[font=footnotesize,labelfont=bf]{caption}
% With destlabel a link from outside names a label.
\usepackage[destlabel,colorlinks,linkcolor=blue!45!black,filecolor=blue!45!black,citecolor=blue!45!black,urlcolor=blue!45!black]{hyperref}
\allowdisplaybreaks
\renewcommand{\topfraction}{.95}\renewcommand{\bottomfraction}{.95}\renewcommand{\textfraction}{.04}
\renewcommand{\floatpagefraction}{.7}\setcounter{totalnumber}{4}\setcounter{topnumber}{3}
\setlength{\parindent}{0pt}
\setlength{\emergencystretch}{6em} % formulas within lines break at few places
\setlength{\parskip}{4pt plus 1pt}
\newtheorem{theorem}{Theorem}
\providecommand{\symslrtrue}[1]{\textcolor{symslrgood}{$\checkmark$~#1}}
\providecommand{\symslrfalse}[1]{\textcolor{symslrbad}{$\times$~#1}}
\providecommand{\symslrdiffers}[1]{\textcolor{symslropen}{$\neq$~#1}}
\providecommand{\symslrunknown}[1]{\textcolor{symslropen}{?~#1}}
\definecolor{symslrgood}{HTML}{1B6E3A}
\definecolor{symslrbad}{HTML}{B3261E}
\definecolor{symslropen}{HTML}{8A5A00}
"""

PAPER = r"""\clubpenalty=10000\displaywidowpenalty=10000 % a title of two lines stays whole, above its formula
\postdisplaypenalty=10000 % and its verdict below it
\newcommand{\symslrlast}[1]{\unskip\nobreak\hfill\penalty50\hskip1em\hbox{}\nobreak\hfill\mbox{\small #1}}
\newcommand{\symslrsee}[2]{\href{supplement.pdf\#symslr:#1}{\small #2}}
\newcommand{\symslrmore}[1]{\par\smallskip\noindent{\small\emph{#1:}}\nopagebreak}
\newcommand{\symslrrow}[3]{\par\noindent\phantomsection\label{symslr:#1}{\small\hangindent=1.5em\interlinepenalty=10000\relax
  #2\symslrlast{#3}\par}}
\AtBeginDocument{\abovedisplayskip=4pt plus 2pt\belowdisplayskip=4pt plus 2pt
  \abovedisplayshortskip=2pt plus 2pt\belowdisplayshortskip=3pt plus 2pt}
\makeatletter
\@endparpenalty=10000
\renewcommand{\section}{\@startsection{section}{1}{\z@}{-3ex plus -1ex}{1ex}{\normalfont\large\bfseries\raggedright}}
\makeatother
"""


def document(content: Content, opening: Definitions, figures: Sequence[Drawn], title: str) -> str:
    """The paper: abstract, what was found with its figures, model, results; what else there is stands in the supplement.

    It reads ``figures/`` beside it.
    """
    shown = paper_figures(content, figures)
    places = numbers(content)
    first = [item for item in shown if content.abstract and item.figure.name == content.abstract.figure]
    others = behind("", content, shown)
    parts = [*head(title, "", PAPER, content.authors), r"\maketitle", _abstract(content)]
    parts += [figure(item, tallest=OPENING) for item in first]
    refer = _references(content, figures, shown)
    parts += [found_to_tex(content, refer)] if content.published or content.postulates else []
    parts += map(_shown, others)
    parts += [_definitions(opening), plain_to_tex(READING)]
    for item in chapters(content):
        parts.append(section(item.heading))
        parts += chapter(item, places, opening)
        beside = behind(item.heading, content, shown)
        parts += [f"\\par Numbers are in {to_figures([refer[each.figure.name] for each in beside])}."] if beside else []
        parts += map(_shown, beside)
    text = "\n".join(parts)
    return "\n".join([text, references(content.references, text), r"\end{document}", ""])


def _references(content: Content, figures: Sequence[Drawn], shown: Sequence[Drawn]) -> dict[str, str]:
    """How the paper refers to each figure: by its number, or by the one that it has in the supplement."""
    here = {item.figure.name: rf"\ref{{fig:{item.figure.name}}}" for item in shown}
    drawn = (item.figure.name for item in in_order(content, figures) if not item.failure)
    left = [name for name in drawn if name not in here]
    return here | {name: rf"\href{{supplement.pdf\#fig:{name}}}{{S{n}}}" for n, name in enumerate(left, 1)}


READING = (
    "Below each theorem stand its verdict and its place in the supplement (supplement.pdf), which has its proof whole, the"
    " rules and the figures that are left out here. A result that the same steps"
    " prove is a line below, and one that needs more room is named. A formula that the"
    " result was compared with is published (the source's, as textbooks have it), reconstructed (the source names the"
    " statement, and its formula was not at hand), quoted (from a summary) or our own. Confirmed says that the result is a"
    " published formula; equal, that it is the one that we wrote down for the statement."
)
OPENING = 3.2
"""Inches of the tallest figure of an abstract: it stands on its page."""


def _shown(item: Drawn) -> str:
    table = rf" Table: \symslrsee{{table-{item.figure.name}}}{{supplement}}."
    return figure(item, see=table if item.printed is not None else "")


def whole(content: Content, title: str, form: Form) -> str:
    """The derivations as one document that reads no other file; of the model it says what letters they use."""
    form = replace(form, references={section.name: rf"\eqref{{eq:{section.name}}}" for section in content.sections})
    text = "\n".join(fragment(section, form) for section in content.sections)
    printed = {form.notation.tex(symbol): form.notation.text(meaning) for symbol, meaning in definitions().symbols}
    used = [
        f"${letter}$ is the {text_to_tex(meaning)}" for letter, meaning in printed.items() if _stands_in(letter, text)
    ]
    parts = [*head(form.notation.text(title), "", ""), r"\maketitle", f"Throughout, {'; '.join(used)}." if used else ""]
    parts += [text, references(content.references, text), r"\end{document}", ""]
    return "\n".join(parts)


def _stands_in(letter: str, text: str) -> bool:
    """Whether a text has a letter, and not only the beginning of a longer command."""
    return re.search(rf"(?<![A-Za-z\\]){re.escape(letter)}(?![A-Za-z])", text) is not None


def head(title: str, after: str, more: str, authors: Sequence[str] = ()) -> list[str]:
    """The preamble and the beginning of a document."""
    names = list(map(text_to_tex, authors or ("symslr",)))
    shown = text_to_tex(title) + (rf" \\ {after}" if after else "")
    plain = text_to_tex(text_to_plain(title, greek=False)) + (f" ({after})" if after else "")
    return [
        PREAMBLE + more,
        rf"\title{{\vspace{{-3em}}{shown}}}",
        r"\author{" + r" \and ".join(names) + "}",
        r"\date{}",
        r"\hypersetup{pdftitle={" + plain + "},pdfauthor={" + ", ".join(names) + "}}",
        r"\begin{document}",
    ]


def _abstract(content: Content) -> str:
    """The opening sentences and the formulas that matter."""
    if content.abstract is None:
        return ""
    formulas = [
        rf"{display(section.equation)}{{\small {text_to_tex(says)} {verdict(section.verdict, tally=False)}}}\par"
        for section, says in content.formulas
    ]
    words = [rf"\paragraph{{{head}.}} {text_to_tex(said)}" for head, said in content.abstract.words]
    introduction = [r"\section*{Introduction}", *words] if words else []
    says = text_to_tex(content.abstract.says)
    return "\n".join([r"\begin{abstract}", says, *formulas, r"\end{abstract}", *introduction])


def _definitions(item: Definitions) -> str:
    cells = [rf"${symbol}$ & {text_to_tex(meaning)}" for symbol, meaning in item.symbols]
    half = (len(cells) + 1) // 2
    symbols = "\n".join(rf"{one} & {other} \\" for one, other in zip_longest(cells[:half], cells[half:], fillvalue="&"))
    tasks = "\n".join(rf"{row.name} & ${row.formulas[0]}$ & ${row.formulas[1]}$ \\[1.2ex]" for row in item.tasks)
    attentions = "\n".join(rf"{row.name} & ${row.formulas[0]}$ & ${row.formulas[1]}$ \\" for row in item.attentions)
    return rf"""\section{{The model}}
{text_to_tex(item.opening)}

\begin{{center}}\small
\begin{{tabular}}{{@{{}}lp{{.33\linewidth}}lp{{.36\linewidth}}@{{}}}}
\toprule
symbol & meaning & symbol & meaning \\
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


def references(records: Sequence[Reference], text: str) -> str:
    """The bibliography of what a text cites; nothing where it cites nothing."""
    cited = set(re.findall(r"\\cite(?:\[.*?\])?\{(\w+)\}", text))
    records = [item for item in records if item.key in cited]
    if not records:
        return ""
    items = [rf"\bibitem{{{item.key}}} {item.shown('latex')}" for item in records]
    return "\n".join(
        [r"{\small\begin{thebibliography}{99}\setlength{\itemsep}{0pt}", *items, r"\end{thebibliography}}"]
    )
