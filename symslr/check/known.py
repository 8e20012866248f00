"""Verdicts of an earlier check, read from the list of a folder: a verdict belongs to a statement, its start, rules and lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from sympy import Basic

from symslr.algebra.derivation import Derivation
from symslr.cache.content import content
from symslr.check.replay import own_rules, replay, unclear
from symslr.check.report import DerivationCheck, StepCheck, Tally, Verdict
from symslr.expression.quantity import Quantity
from symslr.library.index import read_index

SHARE = 10
"""One of so many chains whose lines have not changed is checked all the same."""


def statement(item: Derivation) -> str:
    """SHA-256 of what a chain says: its start, rules and lines, hypotheses, claims, ranges, and what is meant by its names."""
    steps = [
        (s.before, s.after, s.remainder, s.relation, repr(s.hypotheses), s.rule.name, s.rule.statement)
        for s in item.steps
    ]
    # a chain of an author's own rules may have the lines of an honest one
    made = unclear(item), replay(item) if own_rules(item) else (), own_rules(item)
    said = item.name, item.start, steps, made, item.claims, item.ranges, _definitions(item)
    return sha256(content(said).encode()).hexdigest()


def _definitions(item: Derivation) -> list[tuple[Quantity, Basic]]:
    """The definitions of all quantities that a chain names, and of those that stand in these."""
    lines = [
        item.start,
        *(line for s in item.steps for line in (s.after, s.remainder)),
        *(c.formula for c in item.claims),
    ]
    found: dict[Quantity, Basic] = {}
    waiting = set[Quantity]().union(*(line.atoms(Quantity) for line in lines))
    while waiting:
        quantity = waiting.pop()
        found[quantity] = quantity.definition()
        waiting |= found[quantity].atoms(Quantity) - found.keys()
    return sorted(found.items(), key=lambda pair: content(pair[0]))


def spared(derivations: Sequence[Derivation], folder: Path, seed: int) -> dict[int, DerivationCheck]:
    """The verdicts that the list of a folder has, by the number of the derivation, but for a tenth drawn with a seed.

    Only a chain that says what it said is among them, and none that was false or unknown.
    """
    listed = {entry.statement: entry for entry in read_index(folder).entries if entry.verdict == Verdict.TRUE}
    known = {i: entry for i, item in enumerate(derivations) if (entry := listed.get(statement(item))) is not None}
    again = set(Random(seed).sample(sorted(known), len(known) // SHARE))
    return {i: _read(entry.check, entry.version) for i, entry in known.items() if i not in again}


def told(item: DerivationCheck) -> dict[str, object]:
    """A check as the list keeps it: verdicts, and what the comparisons came to."""
    parts = {name: [_part(part) for part in getattr(item, name)] for name in ("steps", "claims")}
    start = None if item.start is None else _part(item.start)
    limits = {"restrictions": item.restrictions, "own_rules": item.own_rules, "tried": item.tried}
    return {"name": item.name, "start": start, **parts, "seconds": round(item.seconds, 1), **limits}


def _part(part: StepCheck) -> dict[str, object]:
    tally = asdict(part.tally)
    tally["covered"] = {name: [str(end) for end in ends] for name, ends in part.tally.covered.items()}
    return {"what": part.what, "verdict": str(part.verdict), "reason": part.reason, "symbolic": part.symbolic, **tally}


def _read(found: Mapping[str, Any], version: str) -> DerivationCheck:
    start = None if found["start"] is None else _part_of(found["start"])
    steps, claims = (tuple(map(_part_of, found[name])) for name in ("steps", "claims"))
    made = DerivationCheck(found["name"], start, steps, claims, found["seconds"], version=version)
    limits, rules, tried = (tuple(found.get(name, ())) for name in ("restrictions", "own_rules", "tried"))
    return replace(made, restrictions=limits, own_rules=rules, tried=tried)


def _part_of(found: dict[str, Any]) -> StepCheck:
    tally = {name: found[name] for name in Tally.__dataclass_fields__}
    covered = {name: (Fraction(low), Fraction(high)) for name, (low, high) in found["covered"].items()}
    kept = replace(Tally(**tally), lengths=tuple(found["lengths"]), covered=covered)
    return StepCheck(found["what"], Verdict(found["verdict"]), (), found["reason"], found["symbolic"], kept=kept)
