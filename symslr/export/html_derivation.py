"""Derivations on the page: chapters, steps that fold, claims, and the rules they use."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from symslr.export.breaking import Line
from symslr.export.content import IN_RULES, ClaimEntry, RuleEntry, Section, StepEntry, Way
from symslr.export.html import detail, display, folded, folding, later, part, result, source, text, verdict
from symslr.export.tex_rules import statement_lines
from symslr.export.text import anchor
from symslr.export.verdicts import Word


def chapter(heading: str, sections: Sequence[Section], *figures: str) -> str:
    """The derivations of one chapter, and its figures."""
    return part(chapter_anchor(heading), text(heading), *map(derivation, sections), *figures)


def chapter_anchor(heading: str) -> str:
    """What links to a chapter point to."""
    return f"chapter-{anchor(heading)}"


def derivation(section: Section) -> str:
    """The result with its hypotheses, verdict and command; behind it, folded, the chain from the definition."""
    own = ", ".join(section.own_rules)
    parts = [f'<p class="status">{verdict(section.verdict)}{_command(section)}</p>']
    parts += [folding(section.equation)]
    given = [*section.here, f"For {', '.join(section.hypotheses)}." if section.hypotheses else ""]
    parts += [f'<p class="hypotheses">{text(" ".join(given))}</p>'] if any(given) else []
    parts += [f'<p class="meta">Compared for {text(", ".join(section.compared))}.</p>'] if section.compared else []
    parts += [f'<p class="meta">Rules of the author, not of symslr: {escape(own)}.</p>'] if own else []
    parts += [_chain(section)]
    link = f'<a class="here" href="#{section.name}" aria-label="Link to this result">#</a>'
    opening = f'<section class="theorem" aria-labelledby="{section.name}">'
    return "\n".join([opening, f'<h3 id="{section.name}">{text(section.title)} {link}</h3>', *parts, "</section>"])


def _command(section: Section) -> str:
    return f' <code class="command">{escape(section.command)}</code>' if section.command else ""


def _chain(section: Section) -> str:
    """How the result comes from the definition, with what was published beside it."""
    parts = [f"<p>{text(said)}</p>" for said in (section.introduction, " ".join(section.within)) if said]
    named = "; ".join(source(item) for item in section.sources if item)
    parts += [f'<p class="meta">Sources of the definition: {named}.</p>'] if named else []
    known = section.start_verdict.word is not Word.UNCHECKED
    found = verdict(section.start_verdict) if known else ""
    parts += [f'<h4 class="step-head"><span class="step-name">Start</span>{found}</h4>', folding(section.start)]
    parts += [detail(section.start_verdict), *(_step(step) for step in section.steps)]
    parts += [_claim(claim) for claim in section.claims]
    parts += [_way(section.way)] if section.way is not None else []
    steps = f"{len(section.steps)} step{'s' * (len(section.steps) != 1)}"
    beside = "".join(f"; {_beside(claim)}" for claim in section.claims)
    return f'<details class="chain"><summary>Proof in {steps}{beside}</summary>{later(*parts)}</details>'


def _beside(claim: ClaimEntry) -> str:
    """What a formula says that the result was held against, in a line that folds and holds no links."""
    place = source(claim.source, linked=False)
    whose = {"own": "a formula of our own", "reconstructed": f"our reconstruction of {place}"}.get(claim.label, place)
    to = {Word.EQUAL: "to", Word.CONFIRMED: "by", Word.DIFFERS: "from"}.get(claim.verdict.word, "against")
    return f"{escape(claim.verdict.word)} {to} {whose}"


def _way(way: Way) -> str:
    """What the result rests on, and the weakest verdict among it."""
    said = [f"<li>Definition: {display(lines)}</li>" for lines in way.definitions]
    said += [f"<li><strong>Postulate</strong>: {text(what)}: {display(lines)}</li>" for what, lines in way.postulates]
    links = "; ".join(map(result, way.results))
    said += [f"<li>Results used: {links}.</li>"] if way.results else []
    if not said:
        return ""
    head = f"What it rests on. Weakest verdict on the way: {verdict(way.weakest)}"
    return f'<details class="way"><summary>{head}</summary><ul>{"".join(said)}</ul></details>'


def _step(step: StepEntry) -> str:
    name = f'<span class="step-name">{step.number}. {text(step.rule.name)}</span>'
    rule = f'<a class="meta" href="#rule-{step.rule.anchor}">Rule R{step.rule.number}</a>'
    rule += f' <a class="meta" href="#{step.cites}">the result</a>' if step.cites else ""
    note = f"{text(step.note)} " if step.note else ""
    bound = display(step.remainder) if step.remainder else ""
    head = f'<p class="step-head">{name}{verdict(step.verdict)}</p>'
    return f'<div class="step">{head}<p>{note}{rule}</p>{folding(step.lines)}{bound}{detail(step.verdict)}</div>'


def _claim(claim: ClaimEntry) -> str:
    label = f'<strong title="{escape(claim.explained)}">{claim.label.capitalize()}</strong>'
    head = f"{label}: {source(claim.source)} {verdict(claim.verdict)}"
    return f'<div class="claim">{head}{folding(claim.lines)}{detail(claim.verdict)}</div>'


def rules(entries: Sequence[RuleEntry]) -> str:
    """Every rule that a step names: its statement, its conditions, where it is from."""
    items = []
    for rule in entries:
        origin = f' <span class="meta">{source(rule.source)}</span>' if rule.source else ""
        items.append(f'<dt id="rule-{rule.anchor}">R{rule.number} {text(rule.name)}{origin}</dt>')
        items.append(f"<dd>{display(tuple(Line(0, line) for line in statement_lines(rule.statement)))}</dd>")
        items += [f"<dd>Conditions: {text(rule.conditions)}.</dd>"] if rule.conditions else []
    listed = f'<p>{text(IN_RULES)}</p><dl class="rules">{"".join(items)}</dl>'
    return part("rules", "Rules used", folded(f"{len(entries)} rules, with their statements and conditions", listed))
