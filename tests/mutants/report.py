"""What became of every mutant that was chosen, by name and by folder."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from tests.mutants.operators import Mutant
from tests.mutants.trial import Outcome

EQUIVALENT, UNTRIED = "equivalent", "untried"
SAY_THE_SAME = (EQUIVALENT, Outcome.SAME, Outcome.ANOTHER)
"""What became of mutants that say nothing wrong: they are no part of the score."""


@dataclass(frozen=True)
class Fate:
    """A mutant, what became of it, by what, and the processor seconds that took."""

    mutant: Mutant
    outcome: str
    by: str = ""
    seconds: float = 0.0

    @property
    def folder(self) -> str:
        """Where the score is counted: ``symslr/theory``, ``symslr/algebra/rules``, ``derivations``."""
        return str(PurePath(*PurePath(self.mutant.file).parts[:-1][:3]))

    @property
    def is_wrong(self) -> bool:
        """Whether it was tried and says something else than the source."""
        return self.outcome != UNTRIED and self.outcome not in SAY_THE_SAME

    def __str__(self) -> str:
        by = f" [{self.by}]" if self.by else ""
        return f"{self.outcome}: {self.mutant.file}:{self.mutant.line}: {self.mutant.key}{by}"


def fates(
    items: Iterable[Mutant],
    found: Callable[[Mutant], Mapping[str, str | float] | None],
    equivalent: Iterable[str],
    failing: Iterable[str],
) -> list[Fate]:
    """What became of some mutants, in the order of the files.

    Args:
        items: the mutants.
        found: the kept result of one, or None.
        equivalent: keys of those that are argued to change nothing; a test that catches one is believed all the same.
        failing: tests that fail without a mutant too; what they caught counts as not caught.
    """
    made, argued, unsure = [], set(equivalent), set(failing)
    for item in sorted(items, key=lambda item: (item.file, item.line)):
        kept = found(item)
        if kept is None:
            made.append(Fate(item, UNTRIED))
            continue
        outcome = Outcome.SURVIVED if kept["by"] in unsure else str(kept["outcome"])
        if outcome not in (Outcome.CAUGHT, *SAY_THE_SAME) and item.key in argued:
            outcome = EQUIVALENT
        made.append(Fate(item, outcome, str(kept["by"]), float(kept["seconds"])))
    return made


def summary(made: Iterable[Fate]) -> str:
    """For each folder, and for all of them: how many were chosen, tried, and what became of them."""
    of_folder = defaultdict(list)
    for fate in made:
        of_folder[fate.folder].append(fate)
    everything = [fate for of in of_folder.values() for fate in of]
    of_all = {**dict(sorted(of_folder.items())), "all": everything}
    return "\n".join(f"{folder}: {_counts(of)}" for folder, of in of_all.items())


def _counts(of: list[Fate]) -> str:
    tried = [fate for fate in of if fate.outcome != UNTRIED]
    outcomes = Counter(str(fate.outcome) for fate in tried)
    words = "".join(f", {number} {outcome}" for outcome, number in sorted(outcomes.items()))
    return f"{len(of)} chosen, {len(tried)} tried{words}; {sum(fate.seconds for fate in tried):.0f} s of processor time"
