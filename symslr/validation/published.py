"""Published statements and what was found about each: derived, estimated, differs, or open."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from symslr.check.report import CheckReport, DerivationCheck, Verdict
from symslr.validation.validate import Validation

FILE = "published.toml"
"""Stands in a folder of derivations."""

LISTS = ("derivations", "validations", "against")
FIELDS = {"source", "says", "remark", "reach", *LISTS}
REACH = ("whole", "part", "none")


class Standing(StrEnum):
    """What was found about a published statement.

    derived: it follows by rules from the definitions, and every step was checked.
    estimated: numbers agree with it that know nothing of it, or as far as its derivation goes.
    differs: what is derived or measured disagrees with it as it was quoted to us.
    open: nothing was found, or what was found decides nothing.
    """

    DERIVED = "derived"
    ESTIMATED = "estimated"
    DIFFERS = "differs"
    OPEN = "open"


@dataclass(frozen=True)
class Statement:
    """One published statement and where to look for it.

    Attributes:
        source: bibliography key and place.
        says: the statement; text with mathematics between dollar signs.
        derivations: names of derivations that end in it, or that contradict it.
        validations: (name of a validation, beginning of its comparisons' names) pairs.
        against: such pairs that contradict the statement where they hold.
        remark: what a reader should know beside the verdict.
        reach: how much of the statement its evidence covers: "whole"; "part", so that it is estimated at best; or
            "none", so that it stays open whatever agrees.
    """

    source: str
    says: str
    derivations: tuple[str, ...] = ()
    validations: tuple[tuple[str, str], ...] = ()
    against: tuple[tuple[str, str], ...] = ()
    remark: str = ""
    reach: str = "whole"


@dataclass(frozen=True)
class Evidence:
    """What one derivation or validation says.

    Attributes:
        kind: "derivation", "validation" or "against".
        name: of the derivation or the validation.
        holds: whether it is true; None where that was not found out.
        summary: the numbers behind it.
    """

    kind: str
    name: str
    holds: bool | None
    summary: str

    @property
    def speaks_for(self) -> bool | None:
        """Whether it supports the statement, contradicts it, or decides nothing."""
        if self.kind == "against":
            return False if self.holds else None
        return self.holds


@dataclass(frozen=True)
class Judged:
    """A statement, its standing, and what that rests on."""

    statement: Statement
    standing: Standing
    evidence: tuple[Evidence, ...]


def published_in(folder: Path) -> list[Statement]:
    """The statements of ``published.toml`` in a folder; none where there is no such file, or ``folder`` is a file.

    Raises:
        ValueError: for a file that is not a list of [[statement]] tables with these fields.
    """
    file = folder / FILE
    if not file.is_file():
        return []
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as problem:
        raise ValueError(f"{file}: {problem}; expected TOML") from None
    tables = found.get("statement", [])
    if set(found) - {"statement"} or not isinstance(tables, list):
        raise ValueError(f"{file}: found {', '.join(found)}; expected [[statement]] tables")
    return [_statement(file, number, table) for number, table in enumerate(tables, 1)]


def _statement(file: Path, number: int, table: Mapping[str, object]) -> Statement:
    where = f"{file}: statement {number}"
    if unknown := set(table) - FIELDS:
        raise ValueError(f"{where}: found {', '.join(sorted(unknown))}; expected {', '.join(sorted(FIELDS))}")
    texts = {name: table.get(name, "") for name in ("source", "says", "remark")}
    lists = {name: table.get(name, []) for name in LISTS}
    if not all(isinstance(text, str) for text in texts.values()) or not (texts["source"] and texts["says"]):
        raise ValueError(f"{where}: expected the texts source and says, and perhaps a remark")
    if not all(isinstance(items, list) and all(isinstance(i, str) for i in items) for items in lists.values()):
        raise ValueError(f"{where}: expected {', '.join(LISTS)} as lists of names")
    reach = table.get("reach", "whole")
    if reach not in REACH:
        raise ValueError(f"{where}: found reach = {reach!r}; expected one of {', '.join(REACH)}")
    return Statement(
        str(texts["source"]),
        str(texts["says"]),
        tuple(lists["derivations"]),  # type: ignore[arg-type]
        _pairs(lists["validations"]),
        _pairs(lists["against"]),
        str(texts["remark"]),
        str(reach),
    )


def _pairs(items: object) -> tuple[tuple[str, str], ...]:
    return tuple((name, rest) for name, _, rest in (str(item).partition(": ") for item in items))  # type: ignore[attr-defined]


def judge(
    statements: Sequence[Statement], checks: CheckReport | None, validations: Sequence[Validation]
) -> list[Judged]:
    """What was found about each statement; what was not checked or not run decides nothing.

    Raises:
        ValueError: for a derivation that was not checked though others were, or a validation without such comparisons.
    """
    checked = {item.name: item for item in checks.derivations} if checks is not None else {}
    ran = {item.name: item for item in validations}
    return [_judged(item, checked, ran) for item in statements]


def _judged(item: Statement, checked: Mapping[str, DerivationCheck], ran: Mapping[str, Validation]) -> Judged:
    derived = [_derived(item, name, checked) for name in item.derivations]
    measured = [_measured(item, "validation", *pair, ran) for pair in item.validations]
    measured += [_measured(item, "against", *pair, ran) for pair in item.against]
    evidence = (*derived, *measured)
    if any(each.speaks_for is False for each in evidence):
        standing = Standing.DIFFERS
    elif item.reach == "none" or not any(each.speaks_for for each in evidence):
        standing = Standing.OPEN
    elif derived and item.reach == "whole" and all(each.holds for each in derived):
        standing = Standing.DERIVED
    else:
        standing = Standing.ESTIMATED
    return Judged(item, standing, evidence)


def _derived(item: Statement, name: str, checked: Mapping[str, DerivationCheck]) -> Evidence:
    if checked and name not in checked:
        raise ValueError(f"{item.source}: found no derivation {name!r}; expected one of {', '.join(checked)}")
    if name not in checked:
        return Evidence("derivation", name, None, "not checked")
    found = checked[name]
    claims = [claim for claim in found.claims if claim.what.startswith(item.source.partition(",")[0])]
    differing = [claim for claim in claims if claim.verdict in (Verdict.DIFFERS, Verdict.FALSE)]
    steps = f"{len(found.steps)} step{'s' * (len(found.steps) != 1)}"
    if differing:
        return Evidence("derivation", name, False, f"{steps}, {len(differing)} of {len(claims)} claims differ")
    holds = {Verdict.TRUE: True, Verdict.FALSE: False}.get(found.verdict)
    return Evidence("derivation", name, holds, f"{steps} {'checked' if holds else found.verdict}")


def _measured(item: Statement, kind: str, name: str, beginning: str, ran: Mapping[str, Validation]) -> Evidence:
    found = ran.get(name)
    which = f" ({beginning} ...)" if beginning else ""
    if found is None or found.skipped:
        return Evidence(kind, name, None, f"{found.summary if found is not None else 'not run'}{which}")
    rows = [row for row in found.comparisons if row.name.startswith(beginning)]
    if not rows:
        raise ValueError(f"{item.source}: validation {name} compares nothing that begins with {beginning!r}")
    agree = sum(row.agrees for row in rows)
    return Evidence(kind, name, agree == len(rows), f"{agree} of {len(rows)} comparisons agree{which}")


def counted(items: Sequence[Judged]) -> Iterator[tuple[Standing, int]]:
    """How many statements have each standing."""
    for standing in Standing:
        yield standing, sum(item.standing is standing for item in items)
