"""Every statement, figure and experiment of the sources with ours beside it, and the settings of the figures.

What ``published.toml`` states is not written down a second time: its statements are listed with their standing, and
the files here hold the figures, experiments and remarks that are no such statement, and the settings.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from symslr.check.report import CheckReport
from symslr.validation.published import Judged, Standing, Statement, judge
from symslr.validation.validate import Validation

FILES = "papers*.toml"
"""Stand in a folder of derivations; read in the order of their names."""

ENTRY = {"source", "theirs", "ours", "verdict", "why"}
SETTING = {"figure", "source", "setting", "theirs", "why"}


class Likeness(StrEnum):
    """How ours stands beside theirs.

    same: what is derived, drawn or measured here is what the source has.
    partly: a part of it is, or the question is answered in part; the reason says which.
    differs: it is something else, or comes out otherwise.
    answered: the source, or a reader of it, asks; here is an answer.
    reconstructed: the source's own text was not at hand; ours is a reading that is consistent with what was.
    out of reach: there is nothing of ours beside it.
    undecided: said to be the same, or answered, which the checks of this report do not bear out.
    """

    SAME = "same"
    PARTLY = "partly"
    DIFFERS = "differs"
    ANSWERED = "answered"
    RECONSTRUCTED = "reconstructed"
    OUT_OF_REACH = "out of reach"
    UNDECIDED = "not decided"


WRITTEN = tuple(one for one in Likeness if one is not Likeness.UNDECIDED)
"""The verdicts that a file may give."""


@dataclass(frozen=True)
class Entry:
    """A statement, figure or experiment of a source with ours beside it.

    Attributes:
        source: bibliography key and place.
        theirs: what it states or shows; text with mathematics between dollar signs.
        ours: derivations, figures and validations, perhaps none; NAME or, of rows of the last two, NAME: BEGINNING.
        verdict: as it was written down, or as the checks leave it.
        why: where it is not the same the reason, else what a reader should know; may be empty.
    """

    source: str
    theirs: str
    ours: tuple[str, ...]
    verdict: Likeness
    why: str = ""


@dataclass(frozen=True)
class Setting:
    """One parameter of a figure of a source.

    Attributes:
        figure: name of our figure that stands beside it.
        source: bibliography key and place of theirs; "note on" before the key where a note on the paper gives the value.
        setting: the parameter, as our figure names it.
        theirs: its value there, "not said" where what was at hand is silent.
        why: the reason where ours is another; may be empty.
    """

    figure: str
    source: str
    setting: str
    theirs: str
    why: str = ""


@dataclass(frozen=True)
class Papers:
    """All that the files of a folder hold."""

    entries: tuple[Entry, ...] = ()
    settings: tuple[Setting, ...] = ()


def papers_in(folder: Path) -> Papers:
    """The entries and settings of the files ``papers*.toml`` of a folder; none where there is no such file.

    Raises:
        ValueError: in one line, for a file that is not a list of [[entry]] and [[setting]] tables with these fields.
    """
    entries: list[Entry] = []
    settings: list[Setting] = []
    for file in sorted(folder.glob(FILES)) if folder.is_dir() else []:
        try:
            found = tomllib.loads(file.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as problem:
            raise ValueError(f"{file}: {problem}; expected TOML") from None
        tables = found.get("entry", []), found.get("setting", [])
        if set(found) - {"entry", "setting"} or not all(isinstance(listed, list) for listed in tables):
            raise ValueError(f"{file}: found {', '.join(found)}; expected [[entry]] and [[setting]] tables")
        entries += [_entry(f"{file}: entry {i}", table) for i, table in enumerate(tables[0], 1)]
        settings += [_setting(f"{file}: setting {i}", table) for i, table in enumerate(tables[1], 1)]
    return Papers(tuple(entries), tuple(settings))


def _entry(where: str, table: Mapping[str, object]) -> Entry:
    ours = table.get("ours", [])
    if not isinstance(ours, list) or not all(isinstance(name, str) for name in ours):
        raise ValueError(f"{where}: found ours = {ours!r}; expected a list of names")
    texts = _texts(where, {key: value for key, value in table.items() if key != "ours"}, ENTRY, ("why",))
    if texts["verdict"] not in WRITTEN:
        raise ValueError(f"{where}: found verdict = {texts['verdict']!r}; expected one of {', '.join(WRITTEN)}")
    verdict = Likeness(texts["verdict"])
    if verdict is not Likeness.SAME and not texts["why"]:
        raise ValueError(f"{where}: found the verdict {verdict} without a reason; expected why")
    if verdict is Likeness.SAME and not ours:
        raise ValueError(f"{where}: found the verdict same and nothing of ours; expected names in ours")
    return Entry(texts["source"], texts["theirs"], tuple(ours), verdict, texts["why"])


def _setting(where: str, table: Mapping[str, object]) -> Setting:
    return Setting(**_texts(where, table, SETTING, ("why",)))


def _texts(where: str, table: Mapping[str, object], fields: set[str], optional: Sequence[str]) -> dict[str, str]:
    """The fields as texts; an optional one that is missing is empty."""
    if unknown := set(table) - fields:
        raise ValueError(f"{where}: found {', '.join(sorted(unknown))}; expected {', '.join(sorted(fields))}")
    texts = {name: table.get(name, "") for name in sorted(fields - {"ours"})}
    for name, text in texts.items():
        if not isinstance(text, str) or not (text or name in optional):
            raise ValueError(f"{where}: found {name} = {text!r}; expected a text")
    return {name: str(text) for name, text in texts.items()}


def weighed(
    papers: Papers,
    published: Sequence[Judged],
    checks: CheckReport | None,
    validations: Sequence[Validation],
    figures: Sequence[str] = (),
) -> list[Entry]:
    """All that the chapter lists: published statements by what was found about each, then the entries of the files.

    An entry that is said to be the same keeps this only if what was found bears it out.

    Args:
        papers: as they were written.
        published: statements with their standing.
        checks: verdicts on derivations; None where nothing was checked.
        validations: comparisons, those of figures too.
        figures: names of figures; one without comparisons neither bears out nor contradicts.

    Raises:
        ValueError: for a name that is neither a derivation nor a validation nor a figure, where all were looked at.
    """
    derived = {item.name for item in checks.derivations} if checks is not None else set()
    compared = {item.name for item in validations}
    found = [_of_statement(item) for item in published]
    for entry in papers.entries:
        names = [name.partition(": ")[0] for name in entry.ours]
        if checks is not None and (missing := set(names) - derived - compared - set(figures)):
            raise ValueError(
                f"{entry.source}: found no {min(missing)!r}; expected a derivation, a validation or a figure"
            )
        statement = Statement(
            entry.source,
            entry.theirs,
            tuple(name for name in names if name in derived),
            tuple((name, rest) for name, _, rest in (each.partition(": ") for each in entry.ours) if name in compared),
        )
        (judged,) = judge([statement], checks, validations)
        unsure = entry.verdict in BORNE_OUT and judged.standing not in HOLDS
        found.append(replace(entry, verdict=Likeness.UNDECIDED) if unsure else entry)
    return found


HOLDS = (Standing.DERIVED, Standing.ESTIMATED)
BORNE_OUT = (Likeness.SAME, Likeness.ANSWERED)
"""Verdicts that stand only where the checks bear them out."""


def _of_statement(item: Judged) -> Entry:
    """A published statement as an entry; its verdict is its standing."""
    said = item.statement
    if item.standing is Standing.DIFFERS:
        verdict = Likeness.DIFFERS
    elif item.standing in HOLDS:
        whole = Likeness.PARTLY if said.reach == "part" else Likeness.SAME
        verdict = Likeness.RECONSTRUCTED if "reconstructed" in said.source else whole
    else:
        verdict = Likeness.OUT_OF_REACH if said.reach == "none" else Likeness.UNDECIDED
    ours = tuple(dict.fromkeys(each.name for each in item.evidence))
    return Entry(said.source, said.says, ours, verdict, said.remark)


@dataclass(frozen=True)
class Beside:
    """One parameter of one of our figures, and the source's.

    Attributes:
        figure: name of ours.
        setting: the parameter.
        ours, theirs: its values; ``theirs`` is empty where the source has no such figure or parameter.
        source: where theirs stands.
        why: the reason where they differ.
    """

    figure: str
    setting: str
    ours: str
    theirs: str = ""
    source: str = ""
    why: str = ""

    @property
    def equal(self) -> bool | None:
        """Whether both are the same; None where theirs is not known."""
        return None if self.theirs in ("", NOT_SAID) else self.ours == self.theirs

    @property
    def said(self) -> str:
        """What stands in the column of the source's setting; a note that gives it is named."""
        said = {True: "the same", None: self.theirs and NOT_SAID, False: self.theirs}[self.equal]
        return f"{said} (a note on the paper)" if self.source.startswith("note on ") and said != NOT_SAID else said


NOT_SAID = "not said"


def beside(settings: Sequence[Setting], figures: Mapping[str, Sequence[tuple[str, str]]]) -> list[Beside]:
    """Every parameter of every figure, beside the source's where that is known.

    Args:
        settings: theirs.
        figures: ours: (parameter, value) pairs by name of the figure.

    Raises:
        ValueError: for a setting of a figure or of a parameter that is not there, two of one parameter, or one that
            differs without a reason.
    """
    theirs: dict[tuple[str, str], Setting] = {}
    for item in settings:
        key = item.figure, item.setting
        names = [name for name, _ in figures.get(item.figure, ())]
        if item.setting not in names:
            raise ValueError(f"setting {item.setting!r} of {item.figure}: found no such one; expected of {names}")
        if key in theirs:
            raise ValueError(f"setting {item.setting!r} of {item.figure}: found twice; expected once")
        theirs[key] = item
    found = []
    for figure, pairs in figures.items():
        for name, value in pairs:
            other = theirs.get((figure, name))
            row = Beside(figure, name, value)
            row = row if other is None else Beside(figure, name, value, other.theirs, other.source, other.why)
            if row.equal is False and not row.why:
                raise ValueError(f"setting {name!r} of {figure}: found {value!r} beside {row.theirs!r}; expected why")
            found.append(row)
    return found
