"""Progress of a long command on stderr: one line that changes on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task
from rich.text import Text

from symslr.study.remaining import Costs, in_words

Stage = Callable[[int, int, str], None]
"""(done, in all, what is being done or was done last)."""


def _now() -> float:
    return time.monotonic()


@dataclass
class _Clock:
    """The time of one stage: what is done, and how long the rest takes at the pace of what was done before."""

    name: str
    began: float = field(default_factory=_now)
    costs: Costs = field(default_factory=Costs)
    done: int = 0
    total: int = 0
    what: str = ""
    last: float = field(default_factory=_now)

    def reach(self, done: int, total: int, what: str) -> str:
        """Note how far the stage is, and say it."""
        now = _now()
        if done != self.done:
            if done == self.done + 1:  # more at once were found in a store
                self.costs.add(self.name, now - self.last)
            self.done, self.last = done, now
        self.total, self.what = total, what
        return self.said()

    def said(self) -> str:
        """Such as "checking 34/170 bayes-risk [12 s, about 3 min left]"; no guess before two things were done one by one."""
        now = _now()
        left = self.costs.remaining({self.name: max(0, self.total - self.done)}, 1)
        guess = ""
        if left is not None and self.done < self.total:
            guess = f", {in_words((max(0.0, left[0] - (now - self.last)), left[1]))} left"
        return f"{self.name} {self.done}/{self.total} {self.what} [{now - self.began:.0f} s{guess}]"


class _Said(ProgressColumn):
    """What the clock of a task says, anew at every refresh, so that its time goes on while one thing takes long."""

    def render(self, task: Task) -> Text:
        clock: _Clock | None = task.fields["clock"]
        return Text(clock.said() if clock else "")


@contextmanager
def stages() -> Iterator[Callable[[str], Stage]]:
    """A function that opens a stage by its name; stdout stays free for what is printed."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal or console.is_dumb_terminal:
        yield _lines
        return
    with Progress(SpinnerColumn(), _Said(), console=console, transient=True) as bar:
        line = bar.add_task("", total=None, clock=None)

        def open_stage(name: str) -> Stage:
            clock = _Clock(name)

            def show(done: int, total: int, what: str) -> None:
                said = clock.reach(done, total, what)
                bar.update(line, clock=clock, refresh=True)
                if done == total:
                    console.print(said, markup=False)

            return show

        yield open_stage


def _lines(name: str) -> Stage:
    clock, before = _Clock(name), (-1, "")

    def show(done: int, total: int, what: str) -> None:
        nonlocal before
        said = clock.reach(done, total, what)
        if (done, what) != before:
            print(said, file=sys.stderr, flush=True)
            before = done, what

    return show
