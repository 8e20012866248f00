"""Thousands of random numbers of the library, each claimed error against a referee: ``honest_numbers.py [COUNT] [SEED] [SECONDS]``.

SECONDS of processor time are given to one number, and to each of its referees. Prints what became of them and names every
failure. The table of failures is meant to be empty; exit status 1 if it is not.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from symslr.check.honesty import SECONDS, Outcome, judge, random_points


def main() -> int:
    start = time.process_time()
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 20260921
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else SECONDS
    judged = []
    for number, point in enumerate(random_points(count, seed), start=1):
        judged.append(judge(point, seconds))
        if judged[-1].outcome in (Outcome.FALSE, Outcome.CRASHED):
            print(f"{judged[-1].outcome}: {point.name}: {judged[-1].reason} [{judged[-1].referee}]", flush=True)
        elif number % 100 == 0:
            print(f"  {number} of {count}", file=sys.stderr, flush=True)
    print(f"seed {seed}:", ", ".join(f"{n} {outcome}" for outcome, n in Counter(j.outcome for j in judged).items()))
    for outcome in (Outcome.REFUSED, Outcome.UNJUDGED):
        for reason, times in Counter(j.reason for j in judged if j.outcome is outcome).most_common(12):
            print(f"  {outcome} {times} times: {reason}")
    kinds = Counter(j.point.kind for j in judged if j.outcome is Outcome.UNJUDGED)
    print("  unjudged by kind:", ", ".join(f"{times} {kind}" for kind, times in kinds.most_common()))
    floats = [j.relative for j in judged if j.outcome is Outcome.TRUE and j.point.digits is None]
    if floats:
        within = sum(r <= 1e-11 for r in floats)
        print(
            f"  float64: {within} of {len(floats)} claim a relative error of 1e-11 or less, the widest {max(floats):.1e}"
        )
    asked = Counter((j.point.backend, j.referee) for j in judged if j.outcome is Outcome.TRUE)
    for (backend, referee), times in sorted(asked.items()):
        print(f"  {times} values of {backend} judged by {referee}")
    print(f"  processor time {time.process_time() - start:.0f} s")
    return int(any(j.outcome in (Outcome.FALSE, Outcome.CRASHED) for j in judged))


if __name__ == "__main__":
    raise SystemExit(main())
