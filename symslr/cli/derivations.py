"""``symslr derive``, ``symslr check`` and ``symslr report``: derivations shown, checked and typeset."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from secrets import randbelow
from typing import TYPE_CHECKING, Any

import typer

from symslr.cli import options
from symslr.cli.stopping import resumable
from symslr.export.places import refuse_unwritable_file, refuse_unwritable_folder
from symslr.extras import need
from symslr.library.folders import builtin_folder, files_of, tree_of
from symslr.library.index import Entry, read_index

if TYPE_CHECKING:
    from symslr.algebra.derivation import Derivation
    from symslr.check.report import CheckReport, DerivationCheck
    from symslr.cli.progress import Stage
    from symslr.export import ReportFiles
    from symslr.validation.validate import Validation

    Stages = Callable[[str], Stage]

FALSE = 1
UNKNOWN = 3
"""Exit statuses: something is false; nothing is, and something could not be checked, or was not to its end."""


AllowUnknown = typer.Option(False, "--allow-unknown", help="Exit with status 0 where something is unknown.")


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(derive)
    app.command()(check)
    app.command()(report)


def _meant(folders: list[Path] | None) -> list[Path]:
    """The files and folders that are meant, symslr's own by default; refused before anything slow is loaded."""
    meant = folders or [builtin_folder()]
    for file in [file for folder in meant for file in files_of(folder)]:
        tree_of(file)
    return meant


def derive(
    what: str = typer.Argument(
        None, help="Name of a derivation, or a file or folder of derivations; by default the list of symslr's own."
    ),
    latex: bool = typer.Option(False, "--latex", help="Print LaTeX to paste: a theorem, and its proof in one align."),
    result_only: bool = typer.Option(False, "--result-only", help="With --latex: the theorem without its proof."),
    width: float = typer.Option(
        None,
        "--width",
        min=8,
        max=200,
        help="With --latex: room for a formula in em; 32 by default, 22 in two columns.",
    ),
    notation: Path = typer.Option(
        None,
        "--notation",
        help='With --latex: a TOML file of your letters: a table [symbols] with lines such as nu = "\\\\lambda".',
        parser=options.path,
    ),
    out: Path = typer.Option(
        None,
        "--out",
        help="With --latex: write it; a name that ends in .tex is one document, another a folder of fragments for a paper.",
        parser=options.path,
    ),
    as_json: bool = options.JsonOption,
) -> None:
    """Show derivations step by step, with the rule that made each step; or list symslr's own with their last verdicts."""
    asked = {"--result-only": result_only or None, "--width": width, "--notation": notation, "--out": out}
    if not latex and (lone := [name for name, value in asked.items() if value is not None]):
        raise ValueError(f"{lone[0]}: found without --latex; expected both")
    if latex and as_json:
        raise ValueError("--latex: found together with --json; expected one of them")
    if out is not None and out.suffix == ".tex":
        refuse_unwritable_file(out)
    elif out is not None:
        refuse_unwritable_folder(out, "--out")
    if what is None and out is None:
        if latex:
            raise ValueError("--latex: found no name; expected that of a derivation, or --out for all of them")
        _list(as_json)
        return
    if latex:
        _typeset([] if what is None else [what], out, notation, width, proof=not result_only)
        return
    chosen = chosen_by("derive", [] if what is None else [what])
    if as_json:
        typer.echo(json.dumps([_as_json(item) for item in chosen]))
        return
    from symslr.export.terminal import chain_to_terminal

    for item in chosen:
        typer.echo(f"{chain_to_terminal(item)}\n")


def _typeset(what: list[str], out: Path | None, notation: Path | None, width: float | None, *, proof: bool) -> None:
    """LaTeX of derivations, printed or written."""
    from symslr.export import Form, latex_of, notation_in, write_fragments, write_latex

    form = Form(proof=proof)
    form = form if notation is None else replace(form, notation=notation_in(notation))
    form = form if width is None else replace(form, width=width)
    chosen = chosen_by("derive", what)
    if out is None:
        typer.echo(latex_of(chosen, form), nl=False)
        return
    (write_latex if out.suffix == ".tex" else write_fragments)(chosen, out, form)
    typer.echo(f"LaTeX written to {out}")


def _list(as_json: bool) -> None:
    """Names, titles and the verdicts of the last check, file by file."""
    from symslr.export.typed import text_to_terminal

    folder = builtin_folder()
    entries = _listed(folder)
    if as_json:
        typer.echo(json.dumps([asdict(replace(entry, check={})) for entry in entries]))
        return
    wide = max(len(entry.name) for entry in entries)
    file = ""
    for entry in entries:
        if entry.file != file:
            file = entry.file
            typer.echo(f"{file}")
        typer.echo(f"  {entry.verdict or 'unchecked':9} {entry.name:{wide}}  {text_to_terminal(entry.title)}")
    counts = Counter(entry.verdict or "unchecked" for entry in entries)
    told = ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
    by = " and ".join(sorted({entry.version for entry in entries if entry.version}))
    typer.echo(f"{len(entries)} derivations, {f'at the last check, by symslr {by}: ' * bool(by)}{told}.")
    typer.echo("`symslr derive NAME` shows one, `symslr check` checks them anew.")


def _listed(folder: Path) -> list[Entry]:
    index = read_index(folder)
    known = [index.of_file(file) for file in files_of(folder)]
    if all(known):
        return [entry for entries in known for entry in entries or ()]
    from symslr.check.collect import listed

    return listed(folder)


def chosen_by(command: str, asked: list[str]) -> list[Derivation]:
    """The derivations of files and folders, and those of symslr's own that are named; all of its own by default."""
    if "" in asked:
        raise ValueError(f"{command}: found an empty text; expected a derivation's name, a file or a folder")
    names = [what for what in asked if not _is_place(what)]
    places = [Path(what) for what in asked if what not in names]
    meant = _meant(places) if places or not asked else []
    folder = builtin_folder()
    known = [entry.name for entry in _listed(folder)] if names else []
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 3, 0.4)
            hint = f"did you mean {' or '.join(near)}? " if near else ""
            raise ValueError(
                f"{command}: found no derivation, file or folder {name!r}; {hint}`symslr derive` lists the names"
            )
    from symslr.check.collect import collect, find

    found = collect(meant) if meant else []
    held = {item.name for item in found}
    named = (find(name, folder) for name in dict.fromkeys(names) if name not in held)
    return [*found, *(item for item in named if item is not None)]


def _is_place(what: str) -> bool:
    """Whether a file or a folder is meant, and not a name."""
    return Path(what).exists() or what.endswith(".py") or "/" in what


def _as_json(item: Derivation) -> dict[str, object]:
    from symslr.check.points import restrictions
    from symslr.export import house_latex
    from symslr.export.lines import rests_on
    from symslr.export.terminal import TerminalPrinter

    printer = TerminalPrinter()
    as_text = printer.doprint
    return {
        "name": item.name,
        "title": item.title,
        "introduction": item.introduction,
        "start": as_text(item.start),
        "steps": [
            {
                "rule": s.rule.name,
                "relation": s.relation,
                "result": as_text(s.after),
                "remainder": as_text(s.remainder),
                "latex": house_latex(s.after, printer.house),
            }
            for s in item.steps
        ],
        "assumptions": list(item.assumptions),
        "postulates": [quantity.postulate for quantity in rests_on(item) if quantity.postulate],
        "compared": list(restrictions(item)),
        "hypotheses": [hypothesis.text for hypothesis in item.hypotheses],
        "cites": [theorem.name for theorem in item.cited],
        "claims": [{"formula": as_text(c.formula), "source": c.source, "label": c.label} for c in item.claims],
    }


def check(
    what: list[str] = typer.Argument(
        None, help="Folders or files of derivations, or names of symslr's own; all of its own by default."
    ),
    allow_unknown: bool = AllowUnknown,
    seconds: float = typer.Option(
        None,
        "--seconds",
        parser=options.seconds,
        help="Processor time for each derivation, in seconds, after which it is stopped without a verdict; no end by default.",
    ),
    changed: bool = typer.Option(
        False,
        "--changed",
        help="Of symslr's own those whose lines have changed since their check, and a tenth of the others.",
    ),
    seed: int = typer.Option(None, "--seed", min=0, help="Which tenth; drawn anew and printed by default."),
    as_json: bool = options.JsonOption,
) -> None:
    """Check every step of every derivation: an independent evaluator compares both sides at random points.

    What is compared is the same in every run: a count of work limits it, and no clock. Exit status 0 where everything is
    true, 1 where anything is false, 3 where nothing is false and something is unknown, or was stopped by --seconds.
    """
    if changed and what:
        raise ValueError(f"--changed: found together with {what[0]}; expected symslr's own derivations, all of them")
    if seed is not None and not changed:
        raise ValueError("--seed: found without --changed; expected both")
    from symslr.cli.progress import stages

    with stages() as stage:
        if any(map(_is_place, what or [])):
            _tried_apart(lambda: chosen_by("check", what))
        found = _collected(stage, lambda: chosen_by("check", what or []), own=not what)
        from symslr.check import check as check_derivations

        known, drawn = _known(found, randbelow(10**6) if seed is None else seed) if changed else ({}, "")
        checking = stage("checking")
        result = check_derivations(
            found,
            seconds=seconds,
            known=known,
            progress=lambda done, name: checking(done, len(found), name),
        )
        result = replace(result, drawn=drawn)
    typer.echo(json.dumps(result.as_json()) if as_json else result.as_text())
    _exit(result, allow_unknown)


def _tried_apart(collect: Callable[[], list[Derivation]]) -> None:
    """Run an author's files once in a process of their own: one that ends its process, as by ``os._exit``, ends no check.

    This guards against accidents, not against malice.
    """
    import multiprocessing

    from symslr.parallel.processes import Lost, each_forked

    if "fork" not in multiprocessing.get_all_start_methods():
        return
    for _, found in each_forked(lambda _: len(collect()), [0], 1):
        if isinstance(found, Lost):
            raise ValueError(
                "check: found a file that ends the process; expected one that makes derivations and goes on"
            )


def _known(found: list[Derivation], seed: int) -> tuple[dict[int, DerivationCheck], str]:
    """What the list of verdicts has of symslr's own derivations, and in words which are checked now."""
    from symslr.check.known import spared

    known = spared(found, builtin_folder(), seed)
    return known, f"those whose lines have changed, and a tenth of the others by seed {seed}"


def _collected(stage: Stages, collect: Callable[[], list[Derivation]], *, own: bool) -> list[Derivation]:
    """What ``collect`` returns; announced for symslr's own, which take seconds, while other files may be refused in one line."""
    if not own:
        return collect()
    collecting = stage("collecting")
    collecting(0, 1, "the derivations")
    found = collect()
    collecting(1, 1, f"{len(found)} derivations")
    return found


def _exit(result: CheckReport, allow_unknown: bool, agrees: bool = True) -> None:
    from symslr.check.report import Verdict

    if result.any_false or not agrees:
        raise typer.Exit(FALSE)
    if result.any_stopped or (result.verdict is not Verdict.TRUE and not allow_unknown):
        raise typer.Exit(UNKNOWN)


def _beside(meant: list[Path], own: bool) -> dict[str, Any]:
    """What ``write_report`` is told besides derivations: the TOML files of their folders, and the command that derives one."""
    from symslr.export import abstract_in
    from symslr.validation.papers import papers_in
    from symslr.validation.published import published_in

    return {
        "published": [item for folder in meant for item in published_in(folder)],
        "papers": papers_in(meant[0]) if own else None,
        "abstract": next(filter(None, map(abstract_in, meant)), None),
        "command": "symslr derive {}" if own else f"symslr check {shlex.join(map(str, meant))}",
    }


def _written(
    meant: list[Path],
    beside: dict[str, Any],
    to_validate: list[Path],
    out: Path,
    stage: Stages,
    *,
    own: bool,
    every: bool,
) -> tuple[ReportFiles, CheckReport, list[Validation]]:
    """Collect, check, validate and write."""
    from symslr.cache.results import key_of
    from symslr.check import check as check_derivations
    from symslr.check.collect import collect
    from symslr.export import standard_figures, write_report
    from symslr.export.staging import kept_in
    from symslr.validation.validate import validate

    with kept_in(out) as kept:
        found = _collected(stage, lambda: collect(meant, kept), own=own)
        figures = standard_figures() if own else [item for folder in meant for item in standard_figures(folder)]
        checking = stage("checking")
        checking(0, len(found), "derivations")
        # the same tenth again where nothing has changed
        seed = kept.computed(key_of("seed"), partial(randbelow, 10**6))
        known, drawn = _known(found, seed) if own and not every else ({}, "")
        result = check_derivations(
            found, kept=kept, known=known, progress=lambda done, name: checking(done, len(found), name)
        )
        result = replace(result, drawn=drawn)
        validations = validate(to_validate, stage("validating"), kept, from_records=True) if to_validate else []
        how = {"checks": result, "validations": validations, "figures": figures, "kept": kept, **beside}
        files = write_report(found, out, progress=stage("writing"), **how)
    return files, result, validations


def report(
    folders: list[Path] = typer.Argument(
        None, help="Folders or files of derivations; symslr's own by default.", parser=options.path
    ),
    out: Path = typer.Option(..., "--out", help="Folder to write the report into.", parser=options.path),
    check_all: bool = typer.Option(
        False, "--check-all", help="Check every chain; by default those that have changed, and a tenth of the others."
    ),
    authors: list[str] = typer.Option([], "--author", help="An author of the report; may be repeated."),
    allow_unknown: bool = AllowUnknown,
    as_json: bool = options.JsonOption,
) -> None:
    """Write the report: LaTeX, PDF where TeX is installed, one HTML page, figures and the table of checks.

    Without folders it also shows symslr's own figures and validations; their slow parts are read from the numbers that
    `symslr compute` has stored, and the verdicts of most chains from the list that `symslr derive` prints; the page says
    what was checked when. DIR/.kept holds what a report computed, and the next one takes it from there unless symslr or
    the question has changed; delete that folder to compute all of it anew. Exit status 1 on a false step or
    a validation that differs, 3 where nothing is false and something is unknown.
    """
    need("latex2mathml", "a report")  # said before the checks, which take minutes, and not after them
    meant = _meant(folders)
    from symslr.export.staging import refuse_unusable  # loads what takes 0.02 s

    refuse_unusable(out)
    beside = {**_beside(meant, own=not folders), "authors": authors}
    from symslr.cli.progress import stages

    files_to_validate = [] if folders else files_of(builtin_folder("validation"), "validations")
    with stages() as stage, resumable(out):
        files, result, validations = _written(
            meant, beside, files_to_validate, out, stage, own=not folders, every=check_all
        )
    if as_json:
        written = {"files": list(map(str, files.paths)), "notes": list(files.notes)}
        validated = [item.as_json() for item in validations]
        typer.echo(json.dumps({**written, "checks": result.as_json(), "validations": validated}))
    else:
        typer.echo(result.as_text())
        for item in validations:
            typer.echo(f"validation {item.name}: {item.summary}")
        for path in files.paths:
            if path.parent == out:
                typer.echo(f"wrote {path}")
        for note in files.notes:
            typer.echo(note)
    _exit(result, allow_unknown, all(item.agrees for item in validations))
