"""``python -m tests.mutants [--every N] [--seed S] [--only TEXT ...] [--jobs J]``: break the code, count what is caught.

Targets are the rules and what they stand on, the theory, the files of derivations, and the error terms of evaluation and
referee. For code in symslr the tests that run
the changed line are run, the cheapest first, and then the chains that it makes are checked; for a file of derivations the
statements kept in tests/derivations and ``symslr check``. A chain that says the same in other steps, which the check calls
true, is another proof and no wrong one. Every result is kept in build/mutants/results.jsonl as it comes: a run that was killed
goes on, and a second run tries again only what changed: the source, or for a survivor the tests. Mutants that change nothing
anyone could see are argued one by one in equivalent.toml. Exit status 1 while there are survivors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import random
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.mutants import trial
from tests.mutants.operators import ERROR_TERMS, Mutant, mutants
from tests.mutants.report import SAY_THE_SAME, fates, summary
from tests.mutants.selection import KEPT, ROOT, Selection, chain_files, helpers

TARGETS = ("symslr/algebra/**/*.py", "symslr/theory/**/*.py", "derivations/*.py", *ERROR_TERMS)
HERE = Path(__file__).parent
RESULTS = KEPT / "results.jsonl"


def chosen(every: int, seed: int, only: list[str]) -> list[Mutant]:
    """One in ``every`` mutants of each file, drawn with a seed, in an order that goes through the files in turn."""
    found = []
    for pattern in TARGETS:
        for path in sorted(ROOT.glob(pattern)):
            file = str(path.relative_to(ROOT))
            if path.name != "__init__.py" and any(text in file for text in only or [""]):
                of_file = mutants(file, path.read_text(encoding="utf-8"))
                rng = random.Random(f"{seed} {file}")
                found += list(enumerate(rng.sample(of_file, -(-len(of_file) // every))))
    return [item for _, item in sorted(found, key=lambda pair: pair[0])]


def argued() -> dict[str, str]:
    """Key of a mutant -> why it is equivalent."""
    table = tomllib.loads((HERE / "equivalent.toml").read_text(encoding="utf-8"))
    return {item["mutant"]: item["why"] for item in table.get("equivalent", [])}


class Kept:
    """Results by mutant, on disk as they come."""

    def __init__(self) -> None:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
        self.found = {item["mutant"]: item for item in map(json.loads, lines)}

    def add(self, item: dict[str, str | float]) -> None:
        """Keep a result."""
        self.found[str(item["mutant"])] = item
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(item) + "\n")


def digest(*parts: object) -> str:
    """A short hash of some texts."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


class Trials:
    """The trials of some mutants: what is asked, in which order the tests run, what is known already."""

    def __init__(self, items: list[Mutant], most: float, *, as_is: bool, by_check: bool) -> None:
        self.items, self.most, self.by_check, self.kept = items, most, by_check, Kept()
        files = (item.file for item in items if item.file.startswith("symslr"))
        self.selection = Selection.of(files, as_is=as_is)
        self.helpers = {}
        self.caught: Counter[tuple[str, ...]] = Counter()

    def running(self, item: Mutant) -> set[str]:
        """The tests that run a mutant's statement: what a condition chose there may stand on a line of its own."""
        measured = {
            test for line in (item.line, item.place.statement) for test in self.selection.running(item.file, line)
        }
        return measured | self.selection.naming(item.file, item.place.names[0] if item.place.names else "")

    def tests(self, item: Mutant) -> list[str]:
        """The tests that run a mutant's line, the cheapest first, until they take ``most`` seconds together.

        Those that caught another mutant of the file, those that carry the name of the rule, and those that were not measured
        but name what is changed are tried earlier.
        """
        running = self.running(item)
        seconds = self.selection.seconds
        inside = item.place.names[0] if item.place.names else "?"
        naming = self.selection.named.get(inside, set())

        def cost(test: str) -> tuple[float, str]:
            known = 1 + 2 * self.caught[item.file, test] + 6 * self.caught[item.file, inside, test]
            known += 4 * (inside in test) + 20 * (test in naming)
            return (0.1 + seconds[test]) / known, test

        found: list[str] = []
        total = 0.0
        for test in sorted(running, key=cost):
            total += seconds[test]
            if found and total > self.most:
                break
            found.append(test)
        return found

    def chains(self, item: Mutant) -> list[str]:
        """The files of derivations that run a mutant's line, the cheapest first, until they take ``most`` seconds together."""
        seconds = {file: self.selection.seconds[test] for test, file in chain_files(self.running(item)).items()}
        found = sorted(seconds, key=lambda file: seconds[file])
        return [file for i, file in enumerate(found) if sum(seconds[other] for other in found[: i + 1]) <= self.most]

    def source(self, item: Mutant) -> str:
        """Changes where the file that is broken changes."""
        return digest(item.original)

    def judges(self, item: Mutant) -> str:
        """Changes where what judges the mutant changes."""
        if item.file.startswith(trial.DERIVATIONS):
            return ""
        running = sorted(self.running(item))
        modules = sorted({test.partition("::")[0] for test in running})
        for module in modules:
            self.helpers.setdefault(module, helpers(module)[module])
        return digest(self.most, running, [self.helpers[module] for module in modules])

    def found(self, item: Mutant) -> dict[str, str | float] | None:
        """The result that is kept for a mutant of the source as it is."""
        found = self.kept.found.get(item.key)
        return None if found is None or found["source"] != self.source(item) else found

    def known(self, item: Mutant) -> bool:
        """Whether the result that is kept still stands."""
        found = self.found(item)
        if found is None:
            return False
        if self.by_check and found["by"] == trial.STATEMENTS:
            return False
        fresh = found["outcome"] != trial.Outcome.BROKEN and found["judges"] == self.judges(item)
        return found["outcome"] in (trial.Outcome.CAUGHT, *SAY_THE_SAME) or fresh

    def learn(self, found: dict[str, str | float]) -> None:
        """Remember which test caught what."""
        if found["outcome"] == trial.Outcome.CAUGHT:
            by, (file, _, inside) = str(found["by"]), str(found["mutant"]).split(": ")[0].partition(" ")
            self.caught[file, by] += 1
            self.caught[file, inside.partition(".")[0], by] += 1

    def one(self, number: int) -> dict[str, str | float]:
        """The trial of a mutant."""
        item = self.items[number]
        before = trial.processor_seconds()
        if item.file.startswith(trial.DERIVATIONS):
            found = trial.under_check(item, by_check=self.by_check)
        else:
            on_import = self.selection.on_import(item.file, item.line) or not self.selection.running(
                item.file, item.line
            )
            found = trial.under_tests(item, self.tests(item), on_import=on_import)
            files = self.chains(item)
            if files and found.outcome in (trial.Outcome.SURVIVED, trial.Outcome.NOT_RUN):
                found = trial.under_chains(item, files, on_import=on_import)
        return {
            "mutant": item.key,
            "outcome": str(found.outcome),
            "by": found.by,
            "source": self.source(item),
            "judges": self.judges(item),
            "seconds": round(trial.processor_seconds() - before, 2),
        }

    def run(self, jobs: int) -> None:
        """Try what is not known, in forks of this process."""
        for item in self.items:
            if self.known(item):
                self.learn(self.kept.found[item.key])
        numbers = [i for i, item in enumerate(self.items) if not self.known(item)]
        numbers.sort(key=lambda i: self.items[i].key not in self.kept.found)  # what survived once comes first
        if numbers:
            trial.load(sorted({test.partition("::")[0] for test in self.selection.seconds}))
        for done, found in enumerate(self._results(numbers, jobs), 1):
            self.kept.add(found)
            self.learn(found)
            print(
                f"{done}/{len(numbers)} {found['seconds']} s {found['outcome']} {found['by']}: {found['mutant']}",
                flush=True,
            )

    def _results(self, numbers: list[int], jobs: int) -> Iterator[dict[str, str | float]]:
        if jobs == 1:
            yield from map(self.one, numbers)
            return
        with multiprocessing.get_context("fork").Pool(jobs, initializer=_set, initargs=(self,)) as pool:
            yield from pool.imap_unordered(_one, numbers)

    def control(self) -> list[str]:
        """The tests that caught something and fail without a mutant too; what they caught counts as not caught."""
        caught = {str(found["by"]) for item in self.items if (found := self.found(item)) is not None}
        seconds = self.selection.seconds
        tests = sorted(test for test in caught if test in seconds or test.partition("[")[0] in seconds)
        return sorted(set(tests) - trial.passing(tests))


_trials: Trials


def _set(trials: Trials) -> None:
    global _trials  # noqa: PLW0603 (what a forked worker was given)
    _trials = trials


def _one(number: int) -> dict[str, str | float]:
    return _trials.one(number)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--every", type=int, default=4, help="try one in this many mutants of each file")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--only", nargs="*", default=[], help="only files whose path holds one of these texts")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--most", type=float, default=20.0, help="seconds of tests for one mutant")
    parser.add_argument(
        "--as-is", action="store_true", help="measure nothing: tests of new modules by the names in them"
    )
    parser.add_argument(
        "--check", action="store_true", help="ask the check too where the statements of a derivation have seen a mutant"
    )
    parser.add_argument("--report", action="store_true", help="try nothing, say by name what became of each")
    parser.add_argument("--control", action="store_true", help="run the tests that caught something without a mutant")
    asked = parser.parse_args()
    items = chosen(asked.every, asked.seed, asked.only)
    trials = Trials(items, asked.most, as_is=asked.as_is, by_check=asked.check)
    if not asked.report:
        trials.run(asked.jobs)
    failing = trials.control() if asked.control else []
    for test in failing:
        print(f"fails without a mutant too: {test}")
    made = fates(items, trials.found, argued(), failing)
    for fate in made:
        if asked.report or (fate.is_wrong and fate.outcome != trial.Outcome.CAUGHT):
            print(fate)
    wrong = [fate for fate in made if fate.is_wrong]
    caught = sum(fate.outcome == trial.Outcome.CAUGHT for fate in wrong)
    print(
        f"one mutant in {asked.every}, seed {asked.seed}\n{summary(made)}\n"
        f"{len(wrong)} were tried and say something else; {caught} of them were caught"
    )
    return int(caught < len(wrong))


if __name__ == "__main__":
    sys.exit(main())
