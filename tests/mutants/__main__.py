"""``python -m tests.mutants [--every N] [--seed S] [--only TEXT] [--jobs J]``: break the code, count what is caught.

Targets are the rules and what they stand on, the theory, and the files of derivations. For code in symslr the tests that run
the changed line are run; for a file of derivations the statements kept in tests/derivations and ``symslr check``. Mutants that
change nothing anyone could see are argued one by one in equivalent.toml. Exit status 1 while there are survivors.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants.operators import Mutant, mutants
from tests.mutants.selection import ROOT

TARGETS = ("symslr/algebra/**/*.py", "symslr/theory/**/*.py", "derivations/*.py")
TESTS = ("tests/algebra", "tests/theory")
EQUIVALENT = "equivalent"
PASSED = {"caught", "same chains", EQUIVALENT}
HERE = Path(__file__).parent
KEPT = ROOT / "build" / "mutants"


def chosen(every: int, seed: int, only: str) -> list[Mutant]:
    """One in ``every`` mutants of each file, drawn with a seed."""
    found = []
    for pattern in TARGETS:
        for path in sorted(ROOT.glob(pattern)):
            file = str(path.relative_to(ROOT))
            if only in file and path.name != "__init__.py":
                of_file = mutants(file, path.read_text(encoding="utf-8"))
                rng = random.Random(f"{seed} {file}")
                found += sorted(rng.sample(of_file, -(-len(of_file) // every)), key=lambda m: m.line)
    return found


def argued() -> dict[str, str]:
    """Key of a mutant -> why it is equivalent."""
    table = tomllib.loads((HERE / "equivalent.toml").read_text(encoding="utf-8"))
    return {item["mutant"]: item["why"] for item in table.get("equivalent", [])}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--every", type=int, default=4, help="try one in this many mutants of each file")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--only", default="", help="only files whose path holds this text")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--most", type=float, default=25.0, help="seconds of tests for one mutant")
    asked = parser.parse_args()
    items = chosen(asked.every, asked.seed, asked.only)
    if any(item.file.startswith("symslr") for item in items):
        _measure()
    equivalent = argued()
    with ThreadPoolExecutor(asked.jobs) as pool:
        groups = [items[i :: asked.jobs] for i in range(asked.jobs)]
        parts = list(pool.map(lambda group: _tried(group, asked.most), groups))
    tally: Counter[str] = Counter()
    for group, part in zip(groups, parts, strict=True):
        for item, outcome in zip(group, part, strict=True):
            if outcome not in PASSED and item.key in equivalent:
                outcome = EQUIVALENT
            tally[outcome] += 1
            if outcome not in PASSED:
                print(f"{outcome}: {item.file}:{item.line}: {item.change}: {item.text}")
    counts = ", ".join(f"{number} {outcome}" for outcome, number in tally.items())
    print(f"{sum(tally.values())} mutants (one in {asked.every}, seed {asked.seed}): {counts}")
    return int(bool(tally.keys() - PASSED))


def _measure() -> None:
    """The selection of tests, measured once in a process of its own; delete build/mutants to measure anew."""
    if not (KEPT / "selection.json").exists():
        tests = [name for name in TESTS if (ROOT / name).exists()]
        code = (
            "from pathlib import Path; from tests.mutants.selection import measured; "
            f"measured({tests!r}).write(Path({str(KEPT / 'selection.json')!r}))"
        )
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def _tried(group: list[Mutant], most: float) -> list[str]:
    """Outcomes in the same order, from a server process that has imported the libraries and forks one child a mutant."""
    KEPT.mkdir(parents=True, exist_ok=True)
    asked = [{"file": m.file, "line": m.line, "change": m.change, "text": m.text, "source": m.source} for m in group]
    made = subprocess.run(
        [sys.executable, "-m", "tests.mutants.server", str(most)],
        input=json.dumps(asked),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(made.stdout)


if __name__ == "__main__":
    sys.exit(main())
