"""Derivations in LaTeX as a paper has them: a theorem with one numbered equation, and its proof as one align."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from symslr.export.breaking import Line
from symslr.export.content import Section, StepEntry
from symslr.export.latex import source
from symslr.export.lines import PAPER_WIDTH
from symslr.export.measure import width
from symslr.export.notation import HOUSE, Notation
from symslr.export.text import pieces, text_to_tex

DEPTH = ("", r"\quad ", r"\qquad ", r"\qquad\quad ")
"""How far a continuation line is set in; no more than these."""
INLINE = 0.6
"""Part of the width from which a formula of a sentence is displayed."""
ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")


@dataclass(frozen=True)
class Form:
    """How derivations are written.

    Attributes:
        width: room for a formula, in em.
        proof: whether the proof is written too.
        notation: an author's own letters.
        references: LaTeX that leads to a derivation, by its name; one that is not here is called by its title.
    """

    width: float = PAPER_WIDTH
    proof: bool = True
    notation: Notation = HOUSE
    references: Mapping[str, str] = field(default_factory=dict)


PLAIN = Form()


def fragment(section: Section, form: Form = PLAIN) -> str:
    """One derivation, to paste or to ``\\input``: a theorem, and its proof where ``form`` has one and there are steps."""
    parts = [theorem(section, form)]
    parts += [proof(section, form)] if form.proof and section.steps else []
    return "\n".join(parts) + "\n"


def theorem(section: Section, form: Form = PLAIN, *, after: str = "") -> str:
    """Hypotheses, what the letters stand for, and the result as one numbered equation.

    The labels are ``thm:NAME`` and ``eq:NAME``; ``after`` ends the statement.
    """
    say = form.notation.text
    given = [_displayed(say(sentence), form.width) for sentence in section.here]
    hypotheses = _listed([text_to_tex(say(text)) for text in section.hypotheses])
    given += [f"For {hypotheses}," if hypotheses else "Then" if given else "We have"]
    parts = [rf"\begin{{theorem}}[{{{text_to_tex(say(section.title))}}}]\label{{thm:{section.name}}}"]
    parts += [" ".join(given), numbered(section.equation, section.name, form.notation)]
    parts += [after] if after else []
    return "\n".join([*parts, r"\end{theorem}"])


def numbered(lines: Sequence[Line], name: str, notation: Notation = HOUSE) -> str:
    """A formula as an equation with the label ``eq:NAME``."""
    *before, last = lines
    rows = [*(notation.tex(line.tex) for line in before), f"{notation.tex(last.tex)}."]
    if before:
        rows = [f"&{DEPTH[min(line.depth, 3)]}{row}" for line, row in zip(lines, rows, strict=True)]
        rows = [r"\begin{split}", " \\\\\n".join(rows), r"\end{split}"]
    return "\n".join([rf"\begin{{equation}}\label{{eq:{name}}}", *rows, r"\end{equation}"])


def proof(section: Section, form: Form = PLAIN, tag: Callable[[StepEntry], str] | None = None, start: str = "") -> str:
    """The chain as a proof; ``tag`` says what made a step, by default its rule, and ``start`` stands beside the first line."""
    say, used = form.notation.text, _used(section, form)
    said = [text_to_tex(say(sentence)) for sentence in (section.introduction, *section.within) if sentence]
    if used:
        named = (f"({number})~{text_to_tex(say(title))}" for title, number in used.items())
        said.append(f"It uses {_listed(list(named))}.")
    origin = [source(item) for item in section.sources if item]
    said += [f"The definition is from {_listed(origin)}."] if origin else []
    alone = section.stem and section.start[0].tex == section.stem
    rows = [] if alone else _rows(section.start, section.stem, start, form.notation)
    for step in section.steps:
        rows += [rf"\intertext{{{text_to_tex(say(step.note))}}}"] if step.note else []
        rows += _rows(_shown(step, section), section.stem, (tag or _tag(form, used))(step), form.notation)
        if alone and step is section.steps[0]:
            rows[-len(step.lines)] = form.notation.tex(section.stem) + " " + rows[-len(step.lines)]
        rows += _rows(step.remainder, "", "", form.notation) if step.remainder else []
    return "\n".join([r"\begin{proof}", *said, align(rows), r"\end{proof}"])


def align(rows: Sequence[str]) -> str:
    """Rows under one another, without numbers; sentences between them are ``\\intertext``."""
    body = ""
    for row, after in zip(rows, [*rows[1:], ""], strict=True):
        body += row + ("\n" if not after or row.startswith(r"\intertext") else " \\\\\n")
    return f"\\begin{{align*}}\n{body}\\end{{align*}}"


def _rows(lines: Sequence[Line], stem: str, tag: str, notation: Notation) -> list[str]:
    """A formula in the columns of an align: the stem before the relation, and what made it behind its last line."""
    rows: list[str] = []
    for line in lines:
        left = stem if stem and not rows and line.tex.startswith(f"{stem} ") else ""
        before = f"{notation.tex(left)} &" if left else f"&{DEPTH[min(line.depth, 3)]}"
        rows.append(before + notation.tex(line.tex[len(left) :].strip()))
    rows[-1] += rf" \tag*{{\footnotesize {tag}}}" if tag else ""
    return rows


def _shown(step: StepEntry, section: Section) -> Sequence[Line]:
    """What a row prints of a step: of the last one the result itself, with its order where it leaves out terms."""
    return section.result if step.remainder and step is section.steps[-1] else step.lines


def _used(section: Section, form: Form) -> dict[str, str]:
    """The results that are called by their titles, each with its number in the proof."""
    titles = dict.fromkeys(
        step.cited_title for step in section.steps if step.cites and step.cites not in form.references
    )
    return {title: ROMAN[i] if i < len(ROMAN) else str(i + 1) for i, title in enumerate(titles)}


def _tag(form: Form, used: Mapping[str, str]) -> Callable[[StepEntry], str]:
    def made(step: StepEntry) -> str:
        if not step.cites:
            return text_to_tex(step.rule.name)
        return f"by~{form.references.get(step.cites) or f'({used[step.cited_title]})'}"

    return made


def _displayed(sentence: str, room: float) -> str:
    """A sentence whose long formulas are displayed."""

    def shown(tex: str) -> str:
        tex = tex.removeprefix(r"\displaystyle ")
        bare = tex.replace(r"\allowbreak", "")
        return f"\n\\[{bare}\\]\n" if INLINE * room < width(bare) < room else text_to_tex(f"${tex}$")

    said = "".join(shown(part) if is_math else text_to_tex(part) for is_math, part in pieces(sentence))
    return re.sub(r"\\\]\n([.,])", r"\1\\]\n", said)  # what ends a sentence stands in its display


def _listed(items: Sequence[str]) -> str:
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
