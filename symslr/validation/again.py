"""Kept numbers computed again: a drawn few of the cheap points, or all of a file, held against what is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, TypeVar

from symslr.cache.parts import Again, Lacking, Progress, Shown, keeping, name_of, timed
from symslr.cache.results import Cache
from symslr.expression.value import Kind
from symslr.library.records import Point, Record
from symslr.parallel.processes import each_done

Thing = TypeVar("Thing")

CHEAP = 5.0
"""Seconds of processor time up to which a point may be drawn."""

SAME_ERROR = 5.0
"""How far apart two estimates of one error may lie, on machines whose sums round differently; on one they are equal."""

ROUNDING = 2.0**-50
"""Relative: below it an error in float64 is that of the last digits, and two estimates of it say nothing of each other."""

STATISTICAL = str(Kind.STATISTICAL)

LARGEST_Z = 4.5
AGAIN = 4
"""Runs with other seeds, which together decide on a drawn number that lies beyond ``LARGEST_Z``."""


@dataclass(frozen=True)
class Place:
    """One kept point: of which record and part, and its number there."""

    record: str
    part: str
    index: int


@dataclass(frozen=True)
class Rerun:
    """A point computed again: what was asked, how kept and new numbers differ ("" where they agree), the time it took."""

    place: Place
    asked: object
    differences: tuple[str, ...]
    seconds: float


def cheap(records: Iterable[Record]) -> list[tuple[Place, float]]:
    """The points that may be drawn, each with its seconds: nothing in them is drawn at random, and they are cheap."""
    return [
        (Place(record.name, name, index), point.seconds)
        for record in records
        for name, part in record.parts.items()
        for index, point in enumerate(part.points)
        if not part.drawn and point.seconds <= CHEAP
    ]


def dealt(costs: Sequence[tuple[Thing, float]], count: int, seed: int) -> list[Thing]:
    """About ``count`` of some things with their costs: consecutive seeds deal all out, in packs that cost about the same.

    A pack has one of every run of neighbours in the order of cost, and a seed takes one of the packs.
    """
    packs = max(1, math.ceil(len(costs) / count))
    order = [thing for thing, _ in sorted(costs, key=lambda item: (item[1], str(item[0])))]
    drawn = []
    for start in range(0, len(order), packs):
        row: list[Thing | None] = [*order[start : start + packs]]
        row += [None] * (packs - len(row))
        Random(start).shuffle(row)
        drawn.append(row[seed % packs])
    return [thing for thing in drawn if thing is not None]


class _Asked(BaseException):
    """All parts have been asked for: what follows needs not be computed."""


class _Asking(Shown):
    """Points as they are kept, and the functions and jobs by which they are computed."""

    def __init__(self, record: Record, whole: bool) -> None:
        super().__init__(record)
        self.whole = whole
        self.found: dict[str, tuple[Callable[[Any], object], Sequence[Any], Again | None]] = {}

    def results(self, function: Callable[[Any], object], jobs: Sequence[Any], again: Again | None) -> list[object]:
        kept = super().results(function, jobs, again)
        self.found[name_of(function)] = function, jobs, again
        if not self.whole and self.found.keys() >= self.record.parts.keys():
            raise _Asked
        return kept


def again(
    records: Mapping[str, tuple[Record, Callable[[], object]]],
    places: Sequence[Place],
    progress: Progress,
    whole: Sequence[str] = (),
) -> Iterator[Rerun]:
    """Every point of ``places`` computed again, by what runs each record's figure or validation, as soon as it is there.

    Args:
        whole: records that have to hold all that their code asks for, and nothing else: it is run to its end.

    Raises:
        Lacking: where the code asks for something else than what is kept.
    """
    asked: dict[str, _Asking] = {}
    for name in dict.fromkeys([*whole, *(place.record for place in places)]):
        record, run = records[name]
        asked[name] = _Asking(record, name in whole)
        with Cache() as nothing, keeping(nothing, beside=asked[name]), suppress(_Asked):
            run()
        if more := record.parts.keys() - asked[name].found.keys():
            raise Lacking(f"{name}: its kept numbers have {', '.join(more)}, for which its code does not ask")
    jobs = {}
    for place in places:
        function, each, other = asked[place.record].found[place.part]
        point, job = records[place.record][0].parts[place.part].points[place.index], each[place.index]
        jobs[place] = point, function, [job] if other is None else [other(job, run + 1) for run in range(1 + AGAIN)]
    done = 0
    progress(done, len(jobs))
    for place, (differences, seconds) in each_done(_rerun, jobs):
        done += 1
        progress(done, len(jobs))
        yield Rerun(place, jobs[place][0].asked, differences, seconds)


def _rerun(job: tuple[Point, Callable[[Any], object], list[Any]]) -> tuple[tuple[str, ...], float]:
    """How a result differs from the kept one, and the processor time that it took."""
    point, function, (first, *others) = job
    found, seconds = timed(function, first)
    if not others:
        return tuple(_differences(point.found, found, "", _within)), seconds
    if not any(_measured_in(point.found)):
        return ("nothing measured to compare",), seconds
    if not any(_differences(point.found, found, "", partial(_by_z_score, 1))):
        return (), seconds
    more = [timed(function, one) for one in others]
    mean = _mean([found for found, _ in more])
    return tuple(_differences(point.found, mean, "", partial(_by_z_score, AGAIN))), seconds + sum(s for _, s in more)


Compare = Callable[[float, float, float, float], str]


def _differences(kept: Any, now: Any, where: str, compare: Compare) -> Iterator[str]:
    """How two results differ: measured numbers by ``compare``, all else by being the same.

    In a result that is drawn only measured numbers count, as the rest is the way of one run.
    """
    drawn = compare is not _within
    if _is_measured(kept) and _is_measured(now):
        if kept.get("kind") != now.get("kind"):
            yield f"{where}: kept the kind {kept.get('kind')}, now {now.get('kind')}"
        compare = partial(_by_z_score, 1) if not drawn and now.get("kind") == STATISTICAL else compare
        try:
            pairs = [list(_flat(one[key])) for one in (kept, now) for key in ("value", "error")]
        except (TypeError, ValueError):
            yield f"{where}: kept {kept}, which is no number"
            return
        if len({len(each) for each in pairs}) > 1:
            yield f"{where}: kept {len(pairs[0])} numbers, now {len(pairs[2])}"
            return
        for number, one in enumerate(zip(*pairs, strict=True)):
            if reason := compare(*one):
                yield f"{where}{f'[{number}]' if len(pairs[0]) > 1 else ''}: {reason}"
    elif isinstance(kept, dict) and isinstance(now, dict) and kept.keys() == now.keys():
        for key, one in kept.items():
            yield from _differences(one, now[key], f"{where} {key}".strip(), compare)
    elif isinstance(kept, list) and isinstance(now, list) and (len(kept) == len(now) or drawn):
        for number, (one, other) in enumerate(zip(kept, now)):
            yield from _differences(one, other, f"{where}[{number}]", compare)
    elif isinstance(kept, (dict, list)) or isinstance(now, (dict, list)):
        yield f"{where}: kept {_shape(kept)}, now {_shape(now)}"
    elif not drawn and kept != now and not (_is_nan(kept) and _is_nan(now)):
        yield f"{where}: kept {kept}, now {now}"


def _shape(found: object) -> str:
    return (
        f"{list(found)}"
        if isinstance(found, dict)
        else f"{len(found)} results"
        if isinstance(found, list)
        else f"{found}"
    )


def _within(kept: float, kept_error: float, now: float, error: float) -> str:
    """Whether two numbers agree within their errors, and the errors are of one size."""
    if _same(kept, now) and _same(kept_error, error):
        return ""
    least = ROUNDING * max(abs(kept), abs(now))
    if not abs(kept - now) <= kept_error + error + least:
        return f"kept {kept!r} +- {kept_error:.2g}, now {now!r} +- {error:.2g}"
    return _of_one_size(kept_error, error, least)


def _of_one_size(kept_error: float, error: float, least: float) -> str:
    """What is to be said where two estimates of one error lie far apart."""
    low, high = sorted((kept_error, error))
    return "" if high <= SAME_ERROR * low + least else f"kept the error {kept_error:.2g}, now {error:.2g}"


def _by_z_score(runs: int, kept: float, kept_error: float, now: float, error: float) -> str:
    """The same of drawn numbers with standard errors; ``error`` is the mean of that many runs."""
    spread = math.hypot(kept_error, error / math.sqrt(runs))
    if not (_same(kept, now) or abs(kept - now) <= LARGEST_Z * spread):
        return f"kept {kept:.6g} +- {kept_error:.2g}, with other seeds {now:.6g} +- {error / math.sqrt(runs):.2g}"
    # an error of 0 is that of runs that were all alike, as others need not be
    return _of_one_size(kept_error, error, 0.0) if kept_error and error else ""


def _same(one: float, other: float) -> bool:
    return one == other or (_is_nan(one) and _is_nan(other))


def _is_nan(found: object) -> bool:
    return isinstance(found, float) and math.isnan(found)


def _measured_in(found: Any) -> Iterator[bool]:
    """One for each measured number of a result."""
    if _is_measured(found):
        yield True
    elif isinstance(found, (dict, list)):
        for one in found.values() if isinstance(found, dict) else found:
            yield from _measured_in(one)


def _is_measured(found: object) -> bool:
    return isinstance(found, dict) and {"value", "error"} <= found.keys() <= {"value", "error", "kind"}


def _flat(found: Any) -> Iterator[float]:
    if isinstance(found, list):
        for one in found:
            yield from _flat(one)
    else:
        yield float(found)


def _mean(found: Sequence[Any]) -> Any:
    """Results of several runs as one: the means of their numbers and of their errors."""
    first = found[0]
    if isinstance(first, dict):
        return {key: _mean([one[key] for one in found]) for key in first}
    if isinstance(first, list):
        return [_mean(list(each)) for each in zip(*found)]
    return sum(found) / len(found) if isinstance(first, float) else first
