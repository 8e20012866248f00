"""What a check found: a report of derivations, each of steps, each of comparisons. Unknown is never a pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

from mpmath import mpf, nstr


class Verdict(StrEnum):
    """Of a comparison, a step, a claim, a derivation."""

    TRUE = "true"
    UNKNOWN = "unknown"
    FALSE = "false"
    DIFFERS = "differs"
    """A claim quoted from a summary of its source differs from what is derived: no error of the derivation."""


@dataclass(frozen=True)
class Comparison:
    """Two routes to two sides at one point.

    Attributes:
        point: the values, in words.
        kind: what the point was for.
        routes: how the left and the right side were evaluated.
        left, right: the numbers; None where a route gave none.
        difference: |left - right|.
        tolerance: what the claimed errors (and a remainder) allow.
        digits: to which the sides agree.
        verdict: true within the tolerance, false beyond it, unknown without numbers or with too wide a tolerance.
        effective: whether this could have failed: sides nonzero, different expressions, a small tolerance.
        reason: why the verdict is unknown, or where the sides differ.
        z: the difference in standard errors, for simulated sequences.
        remainder: the bound on what the step truncates, part of the tolerance; None for an exact step.
        lengths: the values of L at the point, several where the length is random.
        values: the parameters at the point, (name, number) by (name, number).
        methods: how each number was made, in words.
        statistical: whether one of the numbers is a mean over sampled sequences.
        vanishing: whether both sides are 0, which could have failed and shows little.
        one_sided: whether the left side was to be at most the right one, and may be any amount smaller.
        functions: the formulas of open functions at the point, (name, formula) by (name, formula).
    """

    point: str
    kind: str
    routes: tuple[str, str]
    verdict: Verdict
    left: mpf | None = None
    right: mpf | None = None
    difference: mpf | None = None
    tolerance: mpf | None = None
    digits: int = 0
    effective: bool = False
    reason: str = ""
    z: float | None = None
    remainder: mpf | None = None
    lengths: frozenset[int] = frozenset()
    values: tuple[tuple[str, str], ...] = ()
    methods: tuple[str, str] = ("", "")
    statistical: bool = False
    vanishing: bool = False
    one_sided: bool = False
    functions: tuple[tuple[str, str], ...] = ()

    def as_json(self) -> dict[str, object]:
        """Numbers as decimal strings."""
        return {
            "point": self.point,
            "kind": self.kind,
            "routes": list(self.routes),
            "verdict": str(self.verdict),
            "left": _decimal(self.left, max(self.digits + 3, 6)),
            "right": _decimal(self.right, max(self.digits + 3, 6)),
            "difference": _decimal(self.difference, 3),
            "tolerance": _decimal(self.tolerance, 3),
            "digits": self.digits,
            "effective": self.effective,
            "statistical": self.statistical,
            "methods": list(self.methods),
            "remainder": _decimal(self.remainder, 3),
            "z": None if self.z is None else f"{self.z:.2f}",
            "reason": self.reason,
        }


def _decimal(number: mpf | None, digits: int) -> str | None:
    return None if number is None else nstr(number, digits)


def _as_decimals(covered: Mapping[str, tuple[Fraction, Fraction]]) -> dict[str, list[str]]:
    return {name: [f"{float(end):.3g}" for end in ends] for name, ends in covered.items()}


@dataclass(frozen=True)
class Tally:
    """What the comparisons of a step come to: all that a list of verdicts keeps of them.

    Attributes:
        tried: how many were made; ``made``, those with numbers on both sides.
        effective: those that could have failed.
        digits: fewest to which the effective deterministic comparisons of an exact step agree; None where there are none.
        sampled_digits: the same where sequences were sampled, because no grid reaches their length.
        lengths: of the effective comparisons.
        covered: the least and the largest value of every parameter but the length at these.
    """

    tried: int
    made: int
    effective: int
    digits: int | None
    sampled_digits: int | None
    lengths: tuple[int, ...]
    covered: Mapping[str, tuple[Fraction, Fraction]]

    def as_json(self) -> dict[str, object]:
        """Numbers as decimal strings."""
        return {**vars(self), "lengths": list(self.lengths), "covered": _as_decimals(self.covered)}


def _told(comparisons: Sequence[Comparison]) -> Tally:
    effective = [c for c in comparisons if c.effective]
    exact = [
        c for c in effective if c.z is None and c.remainder is None and not c.one_sided and c.verdict is Verdict.TRUE
    ]
    seen: dict[str, list[Fraction]] = {}
    for name, value in (pair for c in effective for pair in c.values):
        if name not in ("L", "P_L"):
            seen.setdefault(name, []).append(Fraction(value))
    return Tally(
        len(comparisons),
        sum(c.left is not None and c.right is not None for c in comparisons),
        len(effective),
        min((c.digits for c in exact if not c.statistical), default=None),
        min((c.digits for c in exact if c.statistical), default=None),
        tuple(sorted({length for c in effective for length in c.lengths})),
        {name: (min(values), max(values)) for name, values in seen.items()},
    )


@dataclass(frozen=True)
class StepCheck:
    """One step, one claim, or the start of a chain.

    Attributes:
        what: the rule's name, the claim's source, or "start".
        verdict: false if any comparison is; true if enough effective ones are; else unknown.
        comparisons: all that were made.
        reason: why the verdict is not true.
        symbolic: for a claim, whether SymPy proves it equal; None where it was not asked or does not say.
        sides: where it is false, both expressions.
        rule: where it is false, the statement of the rule in LaTeX.
        kept: what its comparisons came to, where they were made at an earlier check and are not at hand.
    """

    what: str
    verdict: Verdict
    comparisons: tuple[Comparison, ...] = ()
    reason: str = ""
    symbolic: bool | None = None
    sides: tuple[str, str] | None = None
    rule: str = ""

    kept: Tally | None = None

    @cached_property
    def tally(self) -> Tally:
        """What its comparisons come to."""
        return self.kept or _told(self.comparisons)

    def as_json(self) -> dict[str, object]:
        return {
            "what": self.what,
            "verdict": str(self.verdict),
            **self.tally.as_json(),
            "reason": self.reason,
            "symbolic": self.symbolic,
            "sides": None if self.sides is None else list(self.sides),
            "comparisons": [c.as_json() for c in self.comparisons],
        }


@dataclass(frozen=True)
class DerivationCheck:
    """One derivation: its start against Monte Carlo, its steps, its claims.

    Attributes:
        seconds: of processor time.
        stopped: why the check did not come to its end, such as that it was given no more time; then nothing is said of the chain.
        restrictions: the ranges within which it was compared, in words: it is true for them and for nothing else.
        own_rules: names of the rules that are not symslr's: what they do is compared, not known.
        tried: what the functions that it leaves open were replaced by, in words.
        version: of symslr, which checked it before, where its verdict was read from a list; empty where it was checked now.
    """

    name: str
    start: StepCheck | None
    steps: tuple[StepCheck, ...]
    claims: tuple[StepCheck, ...]
    seconds: float = 0.0
    restrictions: tuple[str, ...] = ()
    own_rules: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    stopped: str = ""
    version: str = ""

    @property
    def parts(self) -> tuple[StepCheck, ...]:
        """Start, steps and claims."""
        return (*(() if self.start is None else (self.start,)), *self.steps, *self.claims)

    @property
    def verdict(self) -> Verdict:
        """False if any part is, unknown if any is, else true; a quoted claim that differs does not count.

        A chain without steps and claims says nothing, so it is not true.
        """
        found = {part.verdict for part in self.parts}
        if Verdict.FALSE in found:
            return Verdict.FALSE
        silent = not self.steps and not self.claims
        return Verdict.UNKNOWN if Verdict.UNKNOWN in found or silent else Verdict.TRUE

    @property
    def covered(self) -> dict[str, tuple[Fraction, Fraction]]:
        """For every parameter the interval over which each step and claim with numbers was compared, from end to end."""
        parts = [part.tally.covered for part in (*self.steps, *self.claims) if part.tally.covered]
        names = {name for part in parts for name in part}
        ends = {name: [part[name] for part in parts if name in part] for name in sorted(names)}
        common = {name: (max(low for low, _ in each), min(high for _, high in each)) for name, each in ends.items()}
        return {name: (low, high) for name, (low, high) in common.items() if low < high}

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "verdict": None if self.stopped else str(self.verdict),
            "stopped": self.stopped or None,
            "start": None if self.start is None else self.start.as_json(),
            "steps": [{"step": i, **step.as_json()} for i, step in enumerate(self.steps, 1)],
            "claims": [claim.as_json() for claim in self.claims],
            "only_for": list(self.restrictions),
            "covered": _as_decimals(self.covered),
            "own_rules": list(self.own_rules),
            "tried": list(self.tried),
            "checked_by": self.version or None,
            "seconds": round(self.seconds, 2),
        }

    def __str__(self) -> str:
        """The verdict in a line, with what was compared; below it what is not true, and why."""
        if self.stopped:
            return f"stopped  {self.name}: {self.stopped}; no verdict, and none is kept"
        effective = sum(part.tally.effective for part in self.parts)
        made = sum(part.tally.tried for part in self.parts)
        held = "holds" if self.verdict is Verdict.TRUE else "compared"
        lines = [
            f"{self.verdict:8} {self.name or 'derivation'}: {len(self.steps)} step{'s' * (len(self.steps) != 1)}, "
            f"{held} at {effective} point{'s' * (effective != 1)}{_agreement(self)}"
            + f"; {made - effective} more could not tell"
            * (made != effective)
        ]
        if self.covered:
            ends = (f"{name} from {low} to {high}" for name, (low, high) in _as_decimals(self.covered).items())
            lines.append(f"         compared with {', '.join(ends)}")
        if self.restrictions:
            lines.append(f"         compared, and so claimed, only for {'; '.join(self.restrictions)}")
        lines += [f"         tried with {functions}" for functions in self.tried]
        if self.own_rules:
            lines.append(f"         rules of the author, not of symslr: {', '.join(self.own_rules)}")
        lines += [f"         {line}" for line in _remarks(self)]
        return "\n".join(lines)


@dataclass(frozen=True)
class CheckReport:
    """All derivations of a check; ``drawn`` says in words which were checked now, where not all were."""

    derivations: tuple[DerivationCheck, ...]
    seconds: float = 0.0
    drawn: str = ""

    @property
    def any_false(self) -> bool:
        """Whether any step, start or unquoted claim is false."""
        return any(item.verdict is Verdict.FALSE for item in self.derivations)

    @property
    def verdict(self) -> Verdict:
        """False if any derivation is, unknown if any is, else true."""
        found = {item.verdict for item in self.derivations}
        if Verdict.FALSE in found:
            return Verdict.FALSE
        return Verdict.UNKNOWN if Verdict.UNKNOWN in found or not found else Verdict.TRUE

    @property
    def any_stopped(self) -> bool:
        """Whether the check of any derivation did not come to its end."""
        return any(item.stopped for item in self.derivations)

    def counts(self) -> dict[str, object]:
        """Steps, claims and starts by verdict; comparisons tried, those with numbers on both sides, effective ones."""
        tallies = [part.tally for item in self.derivations for part in item.parts]
        return {
            "derivations": len(self.derivations),
            "steps": _tally(step for item in self.derivations for step in item.steps),
            "claims": _tally(claim for item in self.derivations for claim in item.claims),
            "starts": _tally(item.start for item in self.derivations if item.start is not None),
            "stopped": sum(bool(item.stopped) for item in self.derivations),
            "tried": sum(tally.tried for tally in tallies),
            "comparisons": sum(tally.made for tally in tallies),
            "effective": sum(tally.effective for tally in tallies),
        }

    @property
    def when(self) -> str:
        """Which chains were checked now, and which before and by what."""
        before = Counter(item.version for item in self.derivations if item.version)
        now = len(self.derivations) - before.total()
        if not before:
            return f"All {now} derivations were checked now."
        by = ", ".join(f"{number} by symslr {version}" for version, number in before.items())
        drawn = f" ({self.drawn})" if self.drawn else ""
        return f"{now} of {len(self.derivations)} derivations were checked now{drawn}; {by}, with the lines they have."

    def as_json(self) -> dict[str, object]:
        return {
            "verdict": None if self.any_stopped and not self.any_false else str(self.verdict),
            "counts": self.counts(),
            "seconds": round(self.seconds, 1),
            "derivations": [item.as_json() for item in self.derivations],
        }

    def as_text(self) -> str:
        """A line for each derivation, more where it is not true, and the counts."""
        lines = [
            line
            for item in self.derivations
            if not (item.version and item.verdict is Verdict.TRUE)
            for line in str(item).splitlines()
        ]
        counts = self.counts()
        for what in ("steps", "claims", "starts"):
            tally = ", ".join(f"{number} {verdict}" for verdict, number in dict(counts[what]).items())  # type: ignore[call-overload]
            lines.append(f"{what}: {tally or 'none'}")
        if self.any_stopped:
            lines.append(f"stopped: {counts['stopped']}")
        both, could_fail = counts["comparisons"], counts["effective"]
        lines.append(
            f"comparisons: {counts['tried']} tried, {both} with numbers on both sides, {could_fail} of them able to tell "
            "a wrong formula"
        )
        return "\n".join([*lines, *([self.when] if any(item.version for item in self.derivations) else [])])


def _agreement(item: DerivationCheck) -> str:
    """To how many digits the sides agree, by which route and at which lengths."""
    parts = [part.tally for part in (*item.steps, *item.claims) if part.tally.effective]
    exact = min((part.digits for part in parts if part.digits is not None), default=None)
    sampled = min((part.sampled_digits for part in parts if part.sampled_digits is not None), default=None)
    lengths = sorted({length for part in parts for length in part.lengths})
    words = f", equations to {exact} digits or more" if exact is not None else ""
    if sampled is not None:
        words += f", to {sampled} or more where sequences were sampled"
    return words + (f", at L = {', '.join(map(str, lengths))}" if lengths else "")


def _remarks(item: DerivationCheck) -> Iterable[str]:
    named: list[tuple[str, StepCheck | None]] = [("start", item.start)]
    named += [(f"step {i}", step) for i, step in enumerate(item.steps, 1)]
    named += [("claim", claim) for claim in item.claims]
    for name, part in named:
        if part is None or part.verdict is Verdict.TRUE:
            continue
        yield f"{name} ({part.what}): {part.verdict}: {part.reason}"
        yield from _sides(part)


def _sides(part: StepCheck) -> Iterable[str]:
    """Both sides of what is false, with their numbers at the first point that shows it, and the rule."""
    false = next((c for c in part.comparisons if c.verdict in (Verdict.FALSE, Verdict.DIFFERS)), None)
    if part.sides is None or false is None:
        return
    for word, side, number in zip(("before", "after "), part.sides, (false.left, false.right), strict=True):
        yield f"    {word} {side}"
        yield f"           = {_decimal(number, 16)}"
    if part.rule:
        yield f"    rule   {part.rule}"


def _tally(parts: Iterable[StepCheck]) -> dict[str, int]:
    return {str(verdict): number for verdict, number in Counter(part.verdict for part in parts).items()}
