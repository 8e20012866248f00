"""Figures in the house style: each is drawn from a table, and the table is written beside it."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from symslr.cache.content import NoContent, content
from symslr.cache.parts import Progress, Shown, cache_key, keeping
from symslr.cache.results import Cache, key_of
from symslr.export.curves import curves
from symslr.extras import need
from symslr.library.figures import figure_functions
from symslr.library.folders import CollectError
from symslr.library.records import Record, read_record, record_file
from symslr.validation.validation import NamedComparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from matplotlib.lines import Line2D
    from numpy import float64
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[float64]

Table = Mapping[str, Sequence[object]]
"""Columns by name, all of one length."""

COLOURS = {
    "bayes": "#000000",
    "softmax": "#0072B2",
    "softmax1": "#56B4E9",
    "linear": "#D55E00",
    "erf": "#009E73",
    "softplus": "#CC79A7",
}
"""One colour per predictor in every figure: the palette of Okabe and Ito, distinct to colour-blind readers."""

OTHER_COLOURS = ("#E69F00", "#7F3C8D", "#666666", "#11A579")
"""Colours for the attentions of one's own, in the order in which they appear."""

STYLES = {
    "bayes": (0, (4, 2)),
    "softmax": "-",
    "softmax1": (0, (6, 1, 1, 1)),
    "linear": (0, (1, 1)),
    "erf": "-.",
    "softplus": "--",
}
"""Colour is never alone: each predictor has its own dashes too."""

NAMES = {"bayes": "Bayes", "softmax1": "softmax-1"}
"""Predictors whose name in a drawing is another than in a table."""

BAND = 0.2
"""Opacity of a band of errors."""

TEXT_WIDTH = 6.3
"""Inches: the width of the report's text."""

STYLE = {
    "font.size": 9,
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "axes.titlesize": 10,
    "axes.labelsize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.formatter.use_mathtext": True,
    "lines.linewidth": 1.5,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "grid.linewidth": 0.4,
    "grid.color": "#DDDDDD",
    "axes.grid": True,
    "axes.axisbelow": True,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "figure.constrained_layout.use": True,
    "svg.fonttype": "path",
    "svg.hashsalt": "symslr",
    "pdf.fonttype": 42,
    "pgf.texsystem": "pdflatex",
    "pgf.rcfonts": False,
}
"""Type readable at column width; text in SVG as outlines, so that it looks the same without the fonts."""


def smooth(at: ArrayLike, values: ArrayLike, count: int = 200) -> tuple[FloatArray, FloatArray]:
    """(places, values) of a curve through the points by monotone cubics in log at, which never overshoot.

    Args:
        at: increasing positive places; where a value is not finite there is no point, and a single point stays one.
    """
    import numpy as np
    from scipy.interpolate import PchipInterpolator

    places, found = (np.asarray(part, dtype=float) for part in (at, values))
    known = np.isfinite(places) & np.isfinite(found)
    if known.sum() < 2:
        return places[known], found[known]
    logs = np.log(places[known])
    between = np.linspace(float(logs[0]), float(logs[-1]), count)
    return np.exp(between), np.asarray(PchipInterpolator(logs, found[known])(between))


def no_claims(table: Table) -> Sequence[NamedComparison]:
    """Nothing is said about the table."""
    return ()


@dataclass(frozen=True)
class Printed:
    """A table of running text, mathematics between dollar signs; the first cell of a row is its heading."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def nothing_printed(table: Table) -> Printed | None:
    """The figure stands without a table."""
    return None


@dataclass(frozen=True)
class Figure:
    """A figure and the numbers in it.

    Attributes:
        name: file name without ending: that of the function that makes it, with dashes for underscores.
        caption: LaTeX text, mathematics between dollar signs.
        data: computes the table; called once.
        draw: draws the table on a Matplotlib figure, inside the house style.
        alt: what the figure shows, in words, for who cannot see it.
        claims: what the table says about published statements, as comparisons.
        seeds: where chance enters, the seeds in words.
        settings: (parameter, value) pairs, text with mathematics between dollar signs, from the figure's own constants.
        file: where the figure is defined; its numbers may be kept beside it.
        chapter: heading of the derivations that it stands behind; with the other figures where there is no such chapter.
        printed: what of the table is printed under the figure.
    """

    name: str
    caption: str
    data: Callable[[], Table]
    draw: Callable[[Table], Drawing]
    alt: str = ""
    claims: Callable[[Table], Sequence[NamedComparison]] = no_claims
    seeds: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    file: Path | None = None
    chapter: str = ""
    printed: Callable[[Table], Printed | None] = nothing_printed

    @property
    def recorded(self) -> Record | None:
        """The kept parts of its numbers, if there are any."""
        return None if self.file is None else read_record(record_file(self.file, self.name))


@dataclass(frozen=True)
class Drawn:
    """A figure as a report shows it: its SVG, the data behind it as CSV, what they say; or why there is none."""

    figure: Figure
    svg: str = ""
    failure: str = ""
    csv: str = ""
    comparisons: tuple[NamedComparison, ...] = ()
    recorded: Record | None = None
    curves: str = "[]"
    printed: Printed | None = None


@dataclass(frozen=True)
class FigureFiles:
    """Where a figure was written (``pgf`` perhaps not), what its table says about published statements, and its record.

    ``curves`` are the points of its lines, see ``symslr.export.curves``; ``printed`` is the table under it.
    """

    svg: Path
    pdf: Path
    csv: Path
    pgf: Path | None = None
    comparisons: tuple[NamedComparison, ...] = ()
    recorded: Record | None = None
    curves: str = "[]"
    printed: Printed | None = None


def colour(name: str, position: int = 0) -> str:
    """The colour of a predictor; ``position`` chooses among the spare ones for a name without its own."""
    return COLOURS.get(name, OTHER_COLOURS[position % len(OTHER_COLOURS)])


def line(
    axes: Axes, at: ArrayLike, values: ArrayLike, name: str, *, errors: ArrayLike | None = None, **how: Any
) -> Line2D:
    """Draw a named line, with a band of errors if there are any: a predictor as in every figure, others unlike the lines before.

    Args:
        how: what is said to Matplotlib besides.
    """
    import numpy as np

    before = len(axes.lines)
    dashes = STYLES.get(name, list(STYLES.values())[(before + 1) % len(STYLES)])
    (drawn,) = axes.plot(
        at, values, **{"linestyle": dashes, "color": colour(name, before), "label": NAMES.get(name, name), **how}
    )
    if errors is not None:
        low, high = np.subtract(values, errors), np.add(values, errors)
        axes.fill_between(at, low, high, color=drawn.get_color(), alpha=BAND, linewidth=0)
    return drawn


def computed(
    figure: Figure, kept: Cache, progress: Progress = lambda done, total: None, record: Record | None = None
) -> Table:
    """The figure's table from the store or computed now, from the kept parts of ``record`` where there is one."""
    with keeping(kept, progress, None if record is None else Shown(record)):
        key = cache_key(figure.data)
        return figure.data() if key is None else kept.computed(key_of(key, repr(record)), figure.data)


def write_figure(
    figure: Figure,
    folder: Path,
    kept: Cache | None = None,
    progress: Progress = lambda done, total: None,
    *,
    pgf: bool = False,
) -> FigureFiles:
    """Compute the table, write it as CSV (shortest digits that give every float back), draw it as SVG and PDF.

    Args:
        figure: what to draw.
        folder: where the files go; it exists.
        kept: where the table and its drawing are found if they were made before, and written if not. Parts that are
            kept beside the figure's file are taken from there.
        progress: called with the parts of the table that are done, and their number.
        pgf: whether it is written as PGF too, where TeX is installed.

    Raises:
        MissingExtra: when matplotlib is not installed.
        ValueError: when the columns differ in length, or when the figure asks for other numbers than are kept.
    """
    need("matplotlib.pyplot", "a figure")
    found, store = figure.recorded, kept or Cache()
    table = computed(figure, store, progress, found)
    key = _drawing_key(figure, table)
    made = _made(figure, table) if key is None else store.computed(key, partial(_made, figure, table))
    svg, pdf, data = (folder / f"{figure.name}.{ending}" for ending in ("svg", "pdf", "csv"))
    for path, written in ((svg, made.svg), (pdf, made.pdf), (data, made.csv)):
        path.write_bytes(written)
    drawing = _pgf(figure, table, folder / f"{figure.name}.pgf") if pgf and shutil.which("pdflatex") else None
    return FigureFiles(svg, pdf, data, drawing, made.comparisons, found, made.curves, made.printed)


def _pgf(figure: Figure, table: Table, path: Path) -> Path:
    """The drawing as PGF, whose letters are those of the paper that inputs it."""
    mpl, plt = import_module("matplotlib"), import_module("matplotlib.pyplot")
    with mpl.rc_context(STYLE):
        drawing = figure.draw(table)
        drawing.savefig(path, format="pgf")
        plt.close(drawing)
    # Matplotlib's own command for the font of figures, which a paper need not have.
    path.write_text(f"\\providecommand{{\\mathdefault}}[1]{{#1}}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    return path


@dataclass(frozen=True)
class _Made:
    """The files of a figure, the points of its lines, and what its table says."""

    svg: bytes
    pdf: bytes
    csv: bytes
    comparisons: tuple[NamedComparison, ...]
    curves: str
    printed: Printed | None


def _drawing_key(figure: Figure, table: Table) -> str | None:
    """What a drawing depends on; None where a function has no name to find it again by."""
    try:
        said = content((figure.name, figure.alt, figure.draw, figure.claims, figure.printed))
    except NoContent:
        return None
    columns = repr({name: list(column) for name, column in table.items()})
    return key_of("drawing", said, columns, version("matplotlib"))


def _made(figure: Figure, table: Table) -> _Made:
    mpl, plt = import_module("matplotlib"), import_module("matplotlib.pyplot")
    lengths = {name: len(column) for name, column in table.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"figure {figure.name}: found columns of lengths {lengths}; expected one length")
    comparisons, printed = tuple(figure.claims(table)), figure.printed(table)
    data, svg, pdf = io.StringIO(newline=""), io.BytesIO(), io.BytesIO()
    writer = csv.writer(data, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    with mpl.rc_context(STYLE):
        drawing = figure.draw(table)
        # Without dates two runs write the same bytes.
        title = figure.alt or figure.name
        drawing.savefig(svg, format="svg", metadata={"Date": None, "Creator": "symslr", "Title": title})
        points = curves(drawing)
        drawing.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Creator": "symslr"})
        plt.close(drawing)
    return _Made(svg.getvalue(), pdf.getvalue(), data.getvalue().encode(), comparisons, points, printed)


def drawn(
    figure: Figure, folder: Path, kept: Cache | None = None, progress: Progress = lambda done, total: None
) -> Drawn:
    """``write_figure``, but where numbers cannot be had the figure says so, and the rest of a report still comes."""
    try:
        files = write_figure(figure, folder, kept, progress)
    except ValueError as error:
        return Drawn(figure, failure=str(error).splitlines()[0] if str(error) else type(error).__name__)
    svg, data = (path.read_text(encoding="utf-8") for path in (files.svg, files.csv))
    return Drawn(figure, svg, "", data, files.comparisons, files.recorded, files.curves, files.printed)


def figures_in(file: Path, module: ModuleType) -> list[Figure]:
    """The figures of a loaded file, in the order of definition; nothing is computed yet.

    Raises:
        CollectError: where a figure has another name than ``figure_functions`` reads from the file.
    """
    found = []
    for name, function in figure_functions(file).items():
        made: Figure = getattr(module, function)()
        if made.name != name:
            raise CollectError(f"{file}: {function} makes a figure called {made.name!r}; expected {name!r}")
        found.append(replace(made, file=file))
    return found
