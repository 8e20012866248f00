"""``symslr``: one application, one line for bad input, exit status 2."""

from __future__ import annotations

import errno
import inspect
import re
import sys
from decimal import DecimalException
from typing import Any

import typer

from symslr import __version__
from symslr.cli import (
    compare,
    compute,
    derivations,
    figure,
    finite,
    landscape,
    new,
    numbers,
    optimal,
    separation,
    sequence,
    study,
    validate,
)

ClickException: Any = typer.BadParameter.__mro__[2]
"""Typer's own base class of bad usage: some releases carry their own copy of click."""

app = typer.Typer(
    name="symslr",
    help="Derive, evaluate, check and typeset the theory of attention.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"symslr {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


numbers.register(app)
compare.register(app)
optimal.register(app)
finite.register(app)
landscape.register(app)
derivations.register(app)
figure.register(app)
separation.register(app)
sequence.register(app)
study.register(app)
validate.register(app)
compute.register(app)
new.register(app)

for _command in app.registered_commands:  # typer keeps the line ends of later paragraphs, and wraps what they leave
    if _command.callback is not None:
        _paragraphs = inspect.cleandoc(_command.callback.__doc__ or "").split("\n\n")
        _command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in _paragraphs)

BAD_INPUT = 2
INTERRUPTED = 130
LONG = 160
"""Characters of a path, or of another word, that is repeated as a whole in a line about it."""
REFUSED = {
    errno.ENOENT: "found no such file or folder; expected a path whose folders exist",
    errno.EACCES: "found no permission; expected a file or folder that this user may use",
    errno.EPERM: "found no permission; expected a file or folder that this user may use",
    errno.EROFS: "found a file system that cannot be written; expected a folder that can",
    errno.ENOSPC: "found no room on the disk; expected a disk with some",
    errno.EISDIR: "found a folder; expected a file",
    errno.ENOTDIR: "found a file on the way to it; expected folders",
    errno.ENAMETOOLONG: "found a name too long for the file system; expected a shorter one",
}
"""What an error of the operating system about a file means."""
CLOSED = 141
"""Of a command whose reader has gone, such as ``head``: that of SIGPIPE, which is no verdict."""


def run(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input prints one line on stderr and exits with status 2."""
    try:
        status = app(args=arguments, standalone_mode=False)
    except ClickException as problem:
        _fail(_unread(problem) or _misused(problem) or "found no command; expected one of those listed above")
    except OSError as problem:
        _fail(_system(problem))
    except (ValueError, TypeError) as problem:
        _fail(_as_typed(str(problem), sys.argv[1:] if arguments is None else arguments))
    except _of_a_database() as problem:  # a full disk, while a command keeps what it has computed
        _fail(f"what is computed cannot be kept ({problem}); expected a file that can be written, on a disk with room")
    except ArithmeticError as problem:
        reason = "" if isinstance(problem, DecimalException) else f" ({problem})"  # which names classes, no reason
        _fail(f"a number leaves the range of float64{reason}; expected parameters nearer to 1")
    except (typer.Abort, KeyboardInterrupt):
        print("symslr: interrupted", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    except SystemExit as problem:  # typer's own, with status 1, where what is printed cannot be read by anybody
        raise SystemExit(CLOSED if isinstance(problem.__context__, BrokenPipeError) else problem.code) from None
    except typer.Exit as problem:
        raise SystemExit(problem.exit_code) from None
    raise SystemExit(status if isinstance(status, int) else 0)


def _of_a_database() -> tuple[type[Exception], ...]:
    """What SQLite raises, where a command has loaded it, which takes 0.01 s."""
    return (sys.modules["sqlite3"].Error,) if "sqlite3" in sys.modules else ()


def _unread(problem: Any) -> str | None:
    """What the reader of an option or an argument found and expected, as other refusals say it; None of other bad usage."""
    parameter, message = getattr(problem, "param", None), getattr(problem, "message", "")
    return f"{parameter.opts[0]}: {message}" if parameter is not None and message.startswith("found ") else None


def _misused(problem: Any) -> str:
    """What is wrong with the command line, and where it is said what is expected; nothing where the help was printed."""
    message, context = problem.format_message().rstrip(".?"), getattr(problem, "ctx", None)
    if (option := getattr(problem, "option_name", None)) and context is None:
        is_switch = "not take a value" in message
        return f"{option}: found {'a value; expected none' if is_switch else 'nothing after it; expected a value'}"
    if not message or context is None:
        return message
    if option and "id you mean" not in message:
        known = (own for parameter in context.command.params for own in parameter.opts)
        message += "".join([f". Did you mean {own}" for own in known if own.startswith(str(option).lower())][:1])
    words: list[str] = []
    while context.parent is not None:
        words, context = [context.info_name, *words], context.parent
    message = f"{message[0].lower()}{message[1:]}".replace(". Did you mean", "; did you mean")
    asking = "? " if "did you mean" in message else "; "
    return f"{message}{asking}`{' '.join(('symslr', *words, '--help'))}` lists what is expected"


def _as_typed(message: str, arguments: list[str]) -> str:
    """A refusal of the library, which names a parameter, with the option that was typed: --digits for digits."""
    name, colon, rest = message.partition(": ")
    plain = name.replace("_", "-"), name.replace("_", "")
    typed = {text.partition("=")[0] for text in arguments if text.startswith("--")}
    meant = [f"--{word}" for word in plain]
    return next((f"{option}{colon}{rest}" for option in meant if colon and option in typed), message)


def _system(problem: OSError) -> str:
    """What the operating system refuses, and what to give instead."""
    if problem.errno not in REFUSED:
        return str(problem)
    place = problem.filename if problem.filename2 is None else problem.filename2  # of a copy the place it was meant for
    return REFUSED[problem.errno] if place is None else f"{place}: {REFUSED[problem.errno]}"


def _fail(message: str) -> None:
    told = re.sub(rf"\S{{{LONG},}}", lambda word: f"{word[0][: LONG // 2]}...{word[0][-LONG // 4 :]}", message)
    print("symslr: " + " ".join(told.split()), file=sys.stderr)
    raise SystemExit(BAD_INPUT) from None
