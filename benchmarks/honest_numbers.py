"""Random numbers of the library, each claimed error against a judge that shares no code: ``honest_numbers.py COUNT SEED MINUTES``.

Judges its points one by one until COUNT are there or MINUTES of processor time are used up. What became of each is kept as
a line beside this file, with a hash of the code that gave the number, and the same command goes on from there: delete the file
to begin anew. ``--steep`` draws from another list, with a file of its own. Two processes with ``--part 1/2`` and ``--part 2/2``
share the work. Prints what became of the points, how many were judged with the code as it is, and names every failure. The
table of failures is meant to be empty; exit status 1 if it is not.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from honesty import SECONDS, STEEP_SECONDS, Judged, Outcome, judge, random_point, steep_point

from symslr.cache.results import source_version

Line = tuple[int, str, str, str, float, float, str, str]
"""Number of the point, kind, outcome, judge, claimed error over value, distance over claimed error, reason, hash of the code."""
SHARP = ("formulas by hand", "sequences on a mesh", "pairs of tokens")
"""Judges as sharp as the claim."""
FAILURES = (Outcome.FALSE, Outcome.CRASHED)
CODE = source_version()[:12]


def line(number: int, found: Judged) -> Line:
    kind = f"{found.point.kind}, {'float64' if found.point.digits is None else found.point.backend}"
    return number, kind, str(found.outcome), found.judge, found.relative, found.used, found.reason[:100], CODE


def written(parts: Line) -> str:
    number, kind, outcome, judge, relative, used, reason, code = parts
    reason = " ".join(reason.split())
    return "\t".join((str(number), kind, outcome, judge, f"{relative:.1e}", f"{used:.1e}", reason, code))


def read(text: str) -> Line:
    number, kind, outcome, judge, relative, used, reason, code = text.split("\t")
    return int(number), kind, outcome, judge, float(relative), float(used), reason, code


def table(lines: list[Line]) -> None:
    outcomes = Counter(parts[2] for parts in lines)
    answered = [parts for parts in lines if parts[2] in (Outcome.TRUE, Outcome.FALSE, Outcome.UNJUDGED)]
    judged = [parts for parts in answered if parts[2] != Outcome.UNJUDGED]
    print(f"{len(lines)} points:", ", ".join(f"{n} {outcome}" for outcome, n in outcomes.most_common()))
    share = 100 * len(judged) / max(1, len(answered))
    now = sum(parts[7] == CODE for parts in lines)
    print(f"judged: {len(judged)} of the {len(answered)} numbers that came, {share:.1f} per cent")
    print(f"with the code as it is: {now} points; with code before it: {len(lines) - now}")
    for name, n in Counter(parts[3] for parts in judged).most_common():
        used = sorted(parts[5] for parts in judged if parts[3] == name)
        sharp = f"distance over claim: median {used[len(used) // 2]:.1e}, largest {used[-1]:.2g}"
        print(f"  {n:6} by {name}" + (f"; {sharp}" if name in SHARP else ""))
    print(f"  {'kind':40} {'points':>7} {'true':>6} {'false':>6} {'unjudged':>9} {'refused':>8} {'slow':>6}")
    for kind in sorted({parts[1].split(", ")[0] for parts in lines}):
        own = Counter(parts[2] for parts in lines if parts[1].split(", ")[0] == kind)
        counts = [own[o] for o in (Outcome.TRUE, Outcome.FALSE, Outcome.UNJUDGED, Outcome.REFUSED, Outcome.SLOW)]
        print(
            f"  {kind:40} {sum(own.values()):7} {counts[0]:6} {counts[1]:6} {counts[2]:9} {counts[3]:8} {counts[4]:6}"
        )
    for outcome in (Outcome.UNJUDGED, Outcome.REFUSED):
        for reason, n in Counter(parts[6] for parts in lines if parts[2] == outcome).most_common(6):
            print(f"  {n} {outcome}: {reason}")
    for parts in lines:
        if parts[2] in FAILURES:
            print(f"  {parts[2]}: point {parts[0]}, {parts[1]}: {parts[6]}")


def part_of(text: str) -> tuple[int, int]:
    """(0, 2) of 1/2."""
    part, parts = map(int, text.split("/"))
    if not 1 <= part <= parts:
        raise ValueError
    return part - 1, parts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=10_000)
    parser.add_argument("seed", nargs="?", type=int, default=20260921)
    parser.add_argument("minutes", nargs="?", type=float, default=float("inf"))
    parser.add_argument("--steep", action="store_true", help="another list, of strong signals and large scales")
    parser.add_argument("--part", type=part_of, default=(0, 1), help="which share of the points, as in 1/2")
    asked = parser.parse_args()
    part, parts = asked.part
    drawn, name, seconds = (steep_point, "steep.", STEEP_SECONDS) if asked.steep else (random_point, "", SECONDS)
    kept = Path(__file__).with_name(f"honest_numbers.{name}{asked.seed}.tsv")
    lines = [read(text) for text in kept.read_text().splitlines()] if kept.exists() else []
    done = {item[0] for item in lines}
    with kept.open("a") as file:
        for number in range(part, asked.count, parts):
            if time.process_time() > 60 * asked.minutes:
                break
            if number not in done:
                lines.append(line(number, judge(drawn(number, asked.seed), seconds)))
                print(written(lines[-1]), file=file, flush=True)
    print(f"seed {asked.seed}")
    table([item for item in lines if item[0] < asked.count])
    return int(any(item[2] in FAILURES for item in lines))


if __name__ == "__main__":
    raise SystemExit(main())
