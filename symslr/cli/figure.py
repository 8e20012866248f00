"""``symslr figure``: one of symslr's own figures, or the risk of one's own attention, as files for a paper."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from symslr.budget import end_after
from symslr.cli import options
from symslr.cli.grids import spaced
from symslr.export.places import refuse_unwritable_folder
from symslr.library.figures import figure_functions
from symslr.library.folders import builtin_folder, files_of
from symslr.model.request import read_attention, read_task

if TYPE_CHECKING:
    from symslr.export.figures import Figure

MOST = 1000
"""Strengths of the longest grid."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(figure)


def figure(
    what: str = typer.Argument(..., help="spiked, max or MODEL.toml; or the name of one of symslr's own figures."),
    length: str = options.LengthOption,
    nu: str = typer.Option(None, "--nu", help="Signal strengths A:B:N: N of them from A to B, evenly spaced."),
    noise: str = options.NoiseOption,
    attention: str = options.AnyAttentionOption,
    kernel: str = options.KernelOption,
    normalise: str = options.NormaliseOption,
    offset: str = options.OffsetOption,
    out: Path = typer.Option(..., "--out", help="Folder to write the files into.", parser=options.path),
    seconds: float = options.LongSecondsOption,
    as_json: bool = options.JsonOption,
) -> None:
    """Write a figure as PDF (fonts of type 42), SVG, PGF and CSV: the least risk of an attention beside softmax and Bayes.

    PGF, for \\input in a paper, needs TeX and is left out where there is none. A name such as figure2 writes one of symslr's
    own figures from its kept numbers.
    """
    refuse_unwritable_folder(out, "--out")
    own = {name for file in files_of(builtin_folder("figures"), "figures") for name in figure_functions(file)}
    if what in own:
        given = {"--length": length, "--nu": nu, "--noise": noise, "--attention": attention, "--kernel": kernel}
        if alone := [name for name, value in given.items() if value is not None]:
            raise ValueError(f"{alone[0]}: found with {what}, which has its own; leave it out")
        from symslr.export import standard_figures

        chosen = next(item for item in standard_figures() if item.name == what)
        _write(chosen, out, as_json)
        return
    if nu is None:
        raise ValueError("--nu: found none; expected strengths A:B:N, such as 0.1:20:40")
    strengths = _grid(nu)
    end_after(seconds, "ask for fewer strengths, or for more --seconds")
    chosen_attention = read_attention(attention, kernel, normalise, offset, dash="--")
    from symslr.cli.progress import stages
    from symslr.export.risk_figure import risk_figure

    with stages() as stage:
        posed = []
        for strength in strengths:
            problem, found = options.made(read_task(what, length, str(strength), noise, dash="--"), chosen_attention)
            posed.append((str(float(strength)), problem.task, found, problem.values))
        computing = stage("computing")
        name = f"risk-{Path(what).stem}"
        made = risk_figure(name, posed, lambda done, total: computing(done, total, "strengths"))
        _write(made, out, as_json)


def _write(chosen: Figure, out: Path, as_json: bool) -> None:
    from symslr.export.figures import write_figure

    out.mkdir(parents=True, exist_ok=True)
    files = write_figure(chosen, out, pgf=True)
    paths = [path for path in (files.pdf, files.svg, files.pgf, files.csv) if path is not None]
    if as_json:
        typer.echo(json.dumps({"files": list(map(str, paths)), "caption": chosen.caption}))
        return
    for path in paths:
        typer.echo(f"wrote {path}")
    if files.pgf is None:
        typer.echo("no PGF: found no pdflatex; install TeX Live (latex-extra)")


def _grid(text: str) -> list[Fraction]:
    """A:B:N as N strengths from A to B.

    Raises:
        ValueError: in one line, for another text.
    """
    expected = f"expected A:B:N with 0 <= A < B and N from 2 to {MOST}, such as 0.1:20:40"
    found = spaced(text, "--nu", expected, MOST)
    if not 0 <= found[0] < found[-1]:
        raise ValueError(f"--nu: found {options.shown(text)}; {expected}")
    return found
