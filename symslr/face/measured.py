"""A user's own Monte Carlo as a number that is compared with theory."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from symslr.evaluation.sampling.scatter import standard_error as scatter
from symslr.evaluation.sampling.scatter import statistical
from symslr.expression.value import Value
from symslr.model.exact import exact
from symslr.model.ranges import real_number

PREDICTIONS, LOSSES, WEIGHTS = ("scores", "y"), "losses", "weights"
"""Columns of samples: predictions and labels, or losses; weights of either, which may be left out."""
EXPECTED = "expected scores and y, or losses"


def measured(samples: Any, standard_error: Any = None, *, size: int | None = None, seed: int | None = None) -> Value:
    """A mean of independent samples of your own, with its standard error: ``(risk(nu=2) - measured(.36, .002))``, or its z-score.

    Of predictions ("scores") and labels ("y") the loss is (y - score)^2, whose mean the risks of tasks are. The standard error
    is that of the mean loss, s/sqrt(n), times Student's factor for few samples.

    Args:
        samples: the mean, beside its standard error; or losses; or {"scores": predictions, "y": labels}, {"losses": losses},
            each with one number a sample, and "weights", importance weights of mean 1, by which losses are multiplied; or the
            path of an .npz or a .csv file with these names.
        size: number of samples of a mean; recorded in ``method``, as ``seed``.

    Raises:
        ValueError, OSError: in one line, for a standard error that is not positive, fewer than two samples or equal ones,
            shapes that differ, what is not finite, and a file that cannot be read.
    """
    said = "" if seed is None else f", seed {seed}"
    if standard_error is not None:
        mean = real_number(exact(samples, "mean"), "mean")
        error = real_number(exact(standard_error, "standard_error"), "standard_error")
        if not 0 < error < inf:
            raise ValueError(f"standard_error: found {error:g}; expected a positive number")
        if not isfinite(mean):
            raise ValueError(f"mean: found {mean:g}; expected a finite number")
        return statistical([mean], error, f"as given{'' if size is None else f', {size} samples'}{said}", 0.0)
    if size is not None:
        raise ValueError("size: found without a standard error; samples have a size of their own")
    if isinstance(samples, (bool, int, float)):
        raise ValueError(
            f"standard_error: found none beside the mean {samples}; expected one, or samples in place of a mean"
        )
    where = f" of {samples}" if isinstance(samples, (str, Path)) else ""
    columns = _read(Path(samples)) if where else samples
    losses, what = _losses(columns)
    error = scatter(losses)
    if error == 0:
        raise ValueError(f"samples: found {len(losses)} equal losses; expected a scatter, which is the standard error")
    return statistical(losses, error, f"mean of {len(losses)} {what}{where}{said}", 0.0)


def _losses(columns: Any) -> tuple[np.ndarray, str]:
    """A loss for each sample, and in words which."""
    named = columns if hasattr(columns, "keys") else {LOSSES: columns}
    known = [name for name in (*PREDICTIONS, LOSSES, WEIGHTS) if name in named.keys()]  # noqa: SIM118, of a file or a DataFrame
    found = {name: _column(name, named[name]) for name in known}
    if (LOSSES in found) == any(name in found for name in PREDICTIONS) or len(found.keys() & set(PREDICTIONS)) == 1:
        raise ValueError(f"samples: found {', '.join(map(str, named.keys())) or 'no column'}; {EXPECTED}")
    (first, shape), *others = ((name, own.shape) for name, own in found.items())
    for name, other in others:
        if other != shape:
            raise ValueError(f"samples: found {shape[0]} {first} and {other[0]} {name}; expected as many")
    if shape[0] < 2:
        raise ValueError(f"samples: found {shape[0]}; expected two or more")
    losses = found[LOSSES] if LOSSES in found else (found["y"] - found["scores"]) ** 2
    what = "losses" if LOSSES in found else "squared errors"
    return (losses * found[WEIGHTS], f"weighted {what}") if WEIGHTS in found else (losses, what)


def _column(name: str, numbers: Any) -> np.ndarray:
    try:
        found = np.asarray(numbers)
    except (TypeError, ValueError, RuntimeError) as problem:  # a ragged list, a tensor with gradients
        raise ValueError(f"{name}: {' '.join(str(problem).split())}; expected one number a sample") from None
    if found.dtype.kind not in "biuf":
        raise ValueError(f"{name}: found {found.dtype} in place of numbers; expected one number a sample")
    if found.ndim != 1:
        raise ValueError(f"{name}: found an array of shape {found.shape}; expected one number a sample, (n,)")
    if not np.all(np.isfinite(found)):
        at = int(np.argmin(np.isfinite(found)))
        raise ValueError(f"{name}: found {found[at]} at sample {at}; expected finite numbers")
    return found.astype(float)


def _read(path: Path) -> Mapping[str, np.ndarray]:
    """The columns of a file."""
    if path.suffix == ".npz":
        try:
            with np.load(path, allow_pickle=False) as file:
                return dict(file)
        except (ValueError, BadZipFile, EOFError):
            raise ValueError(f"{path}: found no arrays of numbers; expected a file as numpy.savez writes it") from None
    if path.suffix != ".csv":
        raise ValueError(f"{path}: found {path.suffix or 'no ending'}; expected an .npz or a .csv file")
    with path.open(encoding="utf-8-sig") as file:
        names = [name.strip() for name in file.readline().split(",")]
        own = [n for n, name in enumerate(names) if name in (*PREDICTIONS, LOSSES, WEIGHTS)]
        if not own:
            raise ValueError(f"{path}: found the columns {', '.join(names)}; {EXPECTED}")
        rows = file.readlines()
    try:
        table = np.loadtxt(rows, delimiter=",", usecols=own, ndmin=2) if rows else np.empty((0, len(own)))
    except (ValueError, IndexError) as problem:
        raise ValueError(
            f"{path}: {' '.join(str(problem).split())}; expected a number in every row of {names}"
        ) from None
    return {names[n]: column for n, column in zip(own, table.T)}
