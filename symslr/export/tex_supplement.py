"""The supplement in LaTeX: every proof whole, the figures and tables that the paper leaves out, and the rules.

The page has what is no proof: the papers entry by entry, the evidence, every comparison, versions and seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symslr.export import latex, tex
from symslr.export.content import CHECKED, ClaimEntry, Content, Section, StepEntry
from symslr.export.figures import Drawn
from symslr.export.latex import detail, display, source, verdict
from symslr.export.page import in_order
from symslr.export.placing import before, numbers, paper_figures
from symslr.export.tex_figures import figure, table
from symslr.export.tex_rules import rules_to_tex
from symslr.export.text import plain_to_tex, text_to_tex
from symslr.export.theorem import Form, proof
from symslr.export.typed import text_to_plain
from symslr.export.verdicts import Word

BEHIND = (
    "Every proof whole, the figures and tables that the paper leaves out, and the rules. A row of a proof is one step: the"
    " formula that it made, its rule, and at how many points it holds and, of an equation, to how many digits at least."
    " Chapters have the numbers that they have in the paper. The page, report.html, has the papers entry by entry, the"
    " evidence for and against each published statement, the validations, versions and seeds."
)

STYLE = r"""\AtBeginDocument{\small\abovedisplayskip=3pt plus 2pt\belowdisplayskip=3pt plus 2pt
  \abovedisplayshortskip=2pt plus 2pt\belowdisplayshortskip=3pt plus 2pt}
\makeatletter
\renewcommand{\subsection}{\@startsection{subsection}{2}{\z@}{-2.2ex plus -1ex}{.4ex}{\normalfont\normalsize\bfseries\raggedright}}
\renewcommand{\section}{\@startsection{section}{1}{\z@}{-3.2ex plus -1ex}{1ex}{\normalfont\large\bfseries\raggedright}}
\renewcommand*{\l@section}{\@dottedtocline{1}{0em}{2.6em}}
\def\@pnumwidth{2.2em}\def\@tocrmarg{3.2em} % a page number has three digits
\makeatother
\setcounter{tocdepth}{1}
\renewcommand{\thesection}{S\arabic{section}}
\renewcommand{\thefigure}{S\arabic{figure}}
\renewcommand{\thetable}{S\arabic{table}}
\newcommand{\symslrsection}[3]{\subsection{\texorpdfstring{#1}{#3}}\label{symslr:#2}}
\newcommand{\symslrrule}[2]{\hyperref[rule:#1]{#2}~{\small(R\ref*{rule:#1})}}
"""
CLAIM_LINES = 2
"""Lines of the longest formula of a source that is printed though it is the result in another form."""


def supplement(content: Content, figures: Sequence[Drawn], title: str) -> str:
    """What the paper has no room for, in the order of the page."""
    places = numbers(content)
    shown = {item.figure.name for item in paper_figures(content, figures)}
    left = [item for item in in_order(content, figures) if item.figure.name not in shown]
    tables = [table(item.figure.name, item.printed) for item in figures if item.printed is not None]
    parts = [*tex.head(title, "Supplement", STYLE, content.authors), r"\maketitle", plain_to_tex(BEHIND)]
    parts += [f"{CHECKED} {plain_to_tex(content.checked)}"] if content.checked else []
    parts += [r"\tableofcontents", rf"\setcounter{{section}}{{{before(content)}}}"]
    for heading, sections in content.chapters:
        parts += [latex.section(heading), *(whole(section, places) for section in sections)]
    parts += (
        [r"\section{More figures, and tables}", *tables, *map(figure, left), r"\clearpage"] if left or tables else []
    )
    uses = {step.rule.anchor for section in content.sections for step in section.steps if step.cites in places}
    parts += [rules_to_tex([rule for rule in content.rules if rule.anchor not in uses])] if content.rules else []
    text = "\n".join(parts)
    return "\n".join([text, tex.references(content.references, text), r"\end{document}", ""])


def whole(section: Section, numbers: Mapping[str, str]) -> str:
    """A derivation: what its letters stand for, its hypotheses, the proof, the formulas it was held against, its postulates.

    Args:
        section: the derivation.
        numbers: where each derivation stands; a step that uses one of them links to it.
    """
    bookmark = text_to_tex(text_to_plain(section.title, greek=False))
    said = [text_to_tex(sentence) for sentence in section.here]
    said += [f"For {', '.join(map(text_to_tex, section.hypotheses))}."] if section.hypotheses else []
    said += [f"Compared for {', '.join(map(text_to_tex, section.compared))}."] if section.compared else []
    own = ", ".join(map(text_to_tex, section.own_rules))
    said += [f"Rules of the author, not of symslr: {own}."] if own else []
    start, form = verdict(section.start_verdict), Form(references=numbers)
    chain = (
        proof(section, form, lambda step: _tag(step, numbers), start) if section.steps else display(section.equation)
    )
    troubles = [detail(found) for found in (section.start_verdict, *(step.verdict for step in section.steps))]
    postulates = [text_to_tex(says) for says, _ in section.way.postulates] if section.way is not None else []
    rests = [rf"\par\noindent Rests on the \textbf{{postulate}}: {text}.\par" for text in postulates]
    heading = rf"\symslrsection{{{text_to_tex(section.title)}}}{{{section.name}}}{{{bookmark}}}"
    claims = [_claim(claim, section) for claim in section.claims]
    return "\n".join([heading, " ".join(said), chain, *filter(None, troubles), *claims, *rests])


def _tag(step: StepEntry, numbers: Mapping[str, str]) -> str:
    """Number and rule, linked to its statement, or the result that is used; then the verdict."""
    if step.cites in numbers:
        made = rf"by~\hyperref[symslr:{step.cites}]{{{numbers[step.cites]}}}"
    else:
        made = rf"\symslrrule{{{step.rule.anchor}}}{{{text_to_tex(step.rule.name)}}}"
    found = step.verdict
    if found.word is Word.UNCHECKED:
        return f"{step.number}.~{made}"
    digits = f", {found.digits} digits" if found.digits else ""
    counted = f"{found.effective}{digits}" if found.effective else ""
    word = counted if found.word is Word.TRUE else f"{found.word} {counted}".strip()
    return f"{step.number}.~{made}~~{verdict(found, tally=False).replace(f'{{{found.word}}}', f'{{{word}}}')}"


def _claim(claim: ClaimEntry, section: Section) -> str:
    """A formula that the result was held against; printed where it is another one and not long, or differs."""
    head = rf"\par\noindent {claim.label.capitalize()}: {source(claim.source)} {verdict(claim.verdict)}."
    other = len(claim.lines) <= CLAIM_LINES and claim.lines != section.result
    shown = f"\n{display(claim.lines)}\n" if other or claim.verdict.word is Word.DIFFERS else " "
    return f"{head}{shown}{detail(claim.verdict)}"
