"""A study from its file: the points that its store lacks are computed, and all of them are a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symslr.extras import need
from symslr.study import run
from symslr.study.document import read_study
from symslr.study.executors import place_named
from symslr.study.point import Point
from symslr.study.run import Progress
from symslr.study.store import Row, Store
from symslr.study.table import as_numbers, as_xarray, table_of
from symslr.study.work import SECONDS

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


@dataclass(frozen=True)
class Study:
    """The points of a study that was run.

    Attributes:
        points: as its file asks for them.
        rows: one for every point, with its answers or the reason why it failed.
        others: points that the store holds besides.
    """

    points: list[Point]
    rows: list[Row]
    others: list[Point]

    def count(self, state: str) -> int:
        """How many points are "done" or have "failed"."""
        return sum(row.state == state for row in self.rows)

    def __repr__(self) -> str:
        return f"Study({len(self.points)} points: {self.count('done')} done, {self.count('failed')} failed)"

    def to_csv(self, path: str | Path | None = None) -> str:
        """One line a point and quantity, numbers in decimals; written to a path where one is given."""
        text = table_of(self.rows).as_csv
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_dataframe(self) -> pd.DataFrame:
        """The same lines as a pandas DataFrame; columns in which every text is a number are float64."""
        table = table_of(self.rows)
        columns = dict(zip(table.columns, map(list, zip(*table.lines))))
        return need("pandas", "a DataFrame").DataFrame({name: as_numbers(own) for name, own in columns.items()})

    def to_xarray(self) -> xr.Dataset:
        """An xarray Dataset of the finished points; parameters that vary are dimensions. See ``symslr.study.table.as_xarray``.

        Raises:
            ValueError: where nothing is finished.
        """
        found: Any = as_xarray(self.rows)
        return found


def run_study(
    file: str | Path,
    store: str | Path,
    *,
    executor: str = "local",
    workers: int | None = None,
    retry_failed: bool = False,
    seconds: float | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Study:
    """Compute the points of a study file that its store does not hold yet, and return all of them.

    Every point is stored as soon as it is finished: kill the process when you like and call this again. A script calls it under
    ``if __name__ == "__main__":``, as its processes load the script.

    Args:
        file: tables [common] and [[sweep]], of which a list of values is an axis; see the manual.
        store: an SQLite file, made where there is none.
        executor: "local" (processes of this machine) or "dask://HOST:PORT".
        workers: processes of this machine, one per processor by default.
        retry_failed: whether points are computed again that failed.
        seconds: processor time for each point, 3600 by default; one that uses it up has failed.
        report: called after every change with what is done.

    Raises:
        ValueError: in one line, for a file that is no study, a store that is none, and an executor that does not answer.
    """
    points = read_study(Path(file))
    with Store(Path(store)) as kept, place_named(executor, workers) as place:
        run.run_study(points, kept, place, retry_failed=retry_failed, seconds=seconds or SECONDS, report=report)
        asked = {point.content for point in points}
        return Study(list(points), [row for row in kept.rows() if row.point.content in asked], kept.others(points))
