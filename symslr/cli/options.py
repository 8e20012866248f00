"""Options and arguments that several commands share, and how they are read."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_type_hints

import typer

from symslr.budget import LONGEST
from symslr.model.ranges import MOST_DIGITS
from symslr.model.request import AttentionRequest, TaskRequest, read_attention, read_task
from symslr.model.text_numbers import read_number

if TYPE_CHECKING:
    from symslr.expression.value import Value
    from symslr.model.attention import Attention
    from symslr.model.written import Problem


def path(text: str) -> Path:
    """A path; an empty text, as of a variable that is not set, is none, though Python takes it for the current folder."""
    if not text:
        raise typer.BadParameter("found an empty text; expected a path, such as . for the current folder")
    return Path(text)


SHORTEST = 0.01
"""Seconds."""
LONGEST_INTEGER = 18
"""Digits: of these every number is one of 64 bits."""
TELLING = 40
"""Characters of a long text that are repeated in a line about it."""


def integer(text: str | int) -> int:
    """An integer; a default, which Typer reads too, is one."""
    if isinstance(text, str) and not re.fullmatch(r" *[-+]?[0-9]+ *", text, re.ASCII):
        raise typer.BadParameter(f"found {shown(text)}; expected an integer")
    if len(str(text)) > LONGEST_INTEGER:
        raise typer.BadParameter(f"found {shown(text)}; expected an integer of at most {LONGEST_INTEGER} digits")
    return int(text)


def digits(text: str | int) -> int:
    """Significant digits."""
    found = integer(text)
    if not 1 <= found <= MOST_DIGITS:
        raise typer.BadParameter(f"found {found}; expected an integer from 1 to {MOST_DIGITS}")
    return found


def natural(text: str | int) -> int:
    """An integer from 0 on."""
    found = integer(text)
    if found < 0:
        raise typer.BadParameter(f"found {found}; expected an integer from 0 on")
    return found


def number(text: str | float) -> float:
    """A number as float64 has it, also 1/3."""
    try:
        return float(read_number(text, allow_infinite=True)) if isinstance(text, str) else text
    except ValueError:
        raise typer.BadParameter(f"found {shown(text)}; expected a number such as 2, 0.25, 1/3 or 1e-3") from None


def positive(text: str | float) -> float:
    """A finite number above 0."""
    found = number(text)
    if not 0 < found < inf:
        raise typer.BadParameter(f"found {found:g}; expected a positive number")
    return found


def seconds(text: str | float) -> float:
    """A time that a timer takes."""
    found = number(text)
    if not SHORTEST <= found <= LONGEST:
        raise typer.BadParameter(f"found {shown(text)}; expected a number from {SHORTEST:g} to {LONGEST:g}")
    return found


def shown(text: str | float) -> str:
    """What was found, in quotes, and no more of it than tells which it is."""
    return ascii(text if len(str(text)) <= TELLING else f"{str(text)[:TELLING]}...")


def where(described: dict[str, Any]) -> str:
    """The length, the parameters and the noise that a number is printed for, of a task's ``as_json``."""
    values = {"L": described["length"], **described["values"], "Delta": described["noise"]}
    return ", ".join(f"{name}={text}" for name, text in values.items())


TaskOption = typer.Option("spiked", "--task", help="Task: spiked, max, or the path of a model file, MODEL.toml.")
LengthOption = typer.Option(
    None,
    "--length",
    help='Number of tokens L: an integer such as 3, or a law LENGTH:PROBABILITY,... such as "1:1/3,2:2/3".',
)
NuOption = typer.Option(None, "--nu", help="Signal strength nu >= 0, such as 2 or 1/2; for max also inf.")
NoiseOption = typer.Option(
    None, "--noise", help="Standard deviation Delta >= 0 of the label noise; by default that of the model file, else 0."
)
AttentionOption = typer.Option(
    None,
    "--attention",
    help="softmax, softmax1, linear, erf, softplus or MODEL.toml; by default that of --task's model file, else softmax.",
)
AnyAttentionOption = typer.Option(
    None,
    "--attention",
    help="softmax, softmax1, linear, erf, softplus, sparsemax, entmax, top(k) with an integer k, or MODEL.toml; "
    "by default that of --task's model file, else softmax.",
)
HeadsOption = typer.Option(
    1, "--heads", parser=integer, help="Number of heads, 1 to 8, each with its own key; they share one normaliser."
)
SeparateOption = typer.Option(
    False, "--separate", help="Give each of --heads 2 or more its own normaliser and value vector."
)
BiasOption = typer.Option(
    None,
    "--bias",
    help='Bias of position l: an expression in l, "matched" (that of the posterior), or "free" (the best constant; '
    "needs an offset or no normaliser).",
)
FilterOption = typer.Option(
    None,
    "--filter",
    help="Linear filter of the keys over positions: an expression in i and j that is symmetric in them, "
    'or "matched" (the inverse of the keys\' covariance).',
)
KernelOption = typer.Option(
    None, "--kernel", help='Kernel, in place of --attention: an expression in x such as "log(1+exp(x))".'
)
NormaliseOption = typer.Option("sum", "--normalise", help="Normaliser of --kernel: sum, or none (element-wise).")
FreeOffsetOption = typer.Option(
    "0",
    "--offset",
    help="Number o >= 0 that is added to the sum which normalises --kernel; free for the best one, of any attention with a kernel.",
)
ScaleOption = typer.Option(
    None,
    "--scale",
    help="Key scale: a number or inf, in a formula also the letter a; by default the best one is sought.",
)
OffsetOption = typer.Option("0", "--offset", help="Number o >= 0 that is added to the sum which normalises --kernel.")
USUAL_DIGITS = 15
DigitsOption = typer.Option(
    USUAL_DIGITS, "--digits", parser=digits, help=f"Significant digits wanted, 1 to {MOST_DIGITS}."
)
BayesDigitsOption = typer.Option(
    None,
    "--digits",
    parser=digits,
    help=f"Significant digits wanted, 1 to {MOST_DIGITS}; by default {USUAL_DIGITS}, or fewer where the method has no more.",
)
RiskDigitsOption = typer.Option(
    None,
    "--digits",
    parser=digits,
    help=f"Significant digits wanted, 1 to {MOST_DIGITS}; by default {USUAL_DIGITS} where a quick proof has them, "
    "else what float64 gives.",
)
CertifiedOption = typer.Option(
    False,
    "--certified",
    help="Prove the error by ball arithmetic, for risks of one-token integrals; refuse where no proof is found.",
)
SymbolicOption = typer.Option(
    False, "--symbolic", help="Print a formula, as text and LaTeX, not a number; what has no value stays a symbol."
)
SecondsOption = typer.Option(
    30.0,
    "--seconds",
    parser=seconds,
    help="Processor time allowed, in seconds; at the limit one line says how far it came.",
)
LongSecondsOption = typer.Option(
    300.0,
    "--seconds",
    parser=seconds,
    help="Processor time allowed, in seconds; at the limit one line says how far it came.",
)
SIMPLER = "ask for fewer digits (--digits 6), or a simpler task or attention"
"""What may be asked instead of what uses up its time."""

SeedOption = typer.Option(0, "--seed", parser=natural, help="Seed of the scrambled Sobol points.")
JsonOption = typer.Option(False, "--json", help="Print JSON; values and errors are decimal strings.")


@dataclass(frozen=True)
class OfTask:
    """The options of a task, as text; what the command line says wins over the model file."""

    task: str = TaskOption
    length: str | None = LengthOption
    nu: str | None = NuOption
    noise: str | None = NoiseOption

    def at(self, point: Mapping[str, Any]) -> Self:
        """With the texts of a point of a grid; names that are no options here are left out."""
        return replace(self, **{option.name: point[option.name] for option in fields(self) if option.name in point})

    def read(self, *, symbolic: bool = False) -> TaskRequest:
        """Where a formula is wanted what has no value stays a symbol.

        Raises:
            ValueError: in one line, for an unknown task, a missing length or a value out of range.
        """
        return read_task(self.task, self.length, self.nu, self.noise, dash="--", symbolic=symbolic)

    def problem(self, *, symbolic: bool = False) -> Problem:
        """The task.

        Raises:
            ValueError: as ``read``.
        """
        wanted = self.read(symbolic=symbolic)
        from symslr.model import written

        return written.problem(wanted, dash="--", symbolic=symbolic)


@dataclass(frozen=True)
class OfKernel(OfTask):
    """The options of a task and of an attention with one kernel of single keys."""

    attention: str | None = AttentionOption
    kernel: str | None = KernelOption
    normalise: str = NormaliseOption
    offset: str = OffsetOption

    def read_both(self, *, symbolic: bool = False) -> tuple[TaskRequest, AttentionRequest]:
        """The task and the attention.

        Raises:
            ValueError: as ``read``; for an unknown attention, a kernel outside the whitelist, or two attentions at once.
        """
        start = "0" if self.offset == "free" else self.offset
        wanted = read_attention(self.attention, self.kernel, self.normalise, start, dash="--")
        return self.read(symbolic=symbolic), wanted


@dataclass(frozen=True)
class OfAttention(OfKernel):
    """The options of a task, of any attention, and of the scale of its key."""

    attention: str | None = AnyAttentionOption
    offset: str = FreeOffsetOption
    heads: int = HeadsOption
    separate: bool = SeparateOption
    bias: str | None = BiasOption
    filter_: str | None = FilterOption
    scale: str | None = ScaleOption

    @property
    def names_attention(self) -> bool:
        """Whether anything is said of an attention."""
        own: Any = fields(self)[len(fields(OfTask)) :]
        return any(getattr(self, option.name) != option.default.default for option in own)


def command(asked_of: Callable[..., None]) -> Callable[..., None]:
    """A command whose first parameter, a dataclass of options, is given as these options."""
    types = get_type_hints(asked_of)
    first, *others = inspect.signature(asked_of).parameters.values()
    shared, own = types[first.name], get_type_hints(types[first.name])

    @wraps(asked_of)
    def taken(**given: Any) -> None:
        asked_of(shared(**{option.name: given.pop(option.name) for option in fields(shared)}), **given)

    of = inspect.Parameter.KEYWORD_ONLY
    options = [inspect.Parameter(o.name, of, default=o.default, annotation=own[o.name]) for o in fields(shared)]
    options += [other.replace(kind=of, annotation=types[other.name]) for other in others]
    taken.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return taken


def made(task: TaskRequest, attention: AttentionRequest, *, symbolic: bool = False) -> tuple[Problem, Attention]:
    """The task and the attention of requests that are read: the attention of the model file or softmax where they name none.

    Raises:
        ValueError: in one line, as for ``problem``; for an unknown attention, a bad kernel, or two attentions at once.
    """
    from symslr.model import written

    found = written.problem(task, dash="--", symbolic=symbolic)
    return found, written.attention(attention, found.attention, found.task.keys)


Intervals = dict[str, tuple[float, float]]


def read_intervals(texts: list[str], known: Sequence[str]) -> Intervals:
    """``--bounds`` a:LOW:HIGH as {"a": (low, high)}.

    Raises:
        ValueError: in one line, for a name that is not ``known``, ends that are no interval, or two intervals for one name.
    """
    found: Intervals = {}
    for text in texts:
        name, *ends = text.split(":")
        if not name.isidentifier() or len(ends) != 2:
            raise ValueError(f"--bounds: found {text!r}; expected NAME:LOW:HIGH, such as a:0:10")
        if name not in known:
            raise ValueError(f"--bounds: found {name!r}; expected NAME:LOW:HIGH with NAME among {', '.join(known)}")
        low, high = (float(read_number(end, what="--bounds")) for end in ends)
        if not (isfinite(low) and isfinite(high) and low < high):
            raise ValueError(f"--bounds: found {text!r}; expected finite ends LOW < HIGH")
        if name in found:
            raise ValueError(f"--bounds: found {text!r} behind another interval for {name}; expected one for each name")
        found[name] = low, high
    return found


def with_error(value: Value) -> str:
    """The number with one digit more than is known, and the error of what is printed, rounded upwards."""
    from dataclasses import replace

    shown = replace(value, digits=max(value.digits + 1, 2)).as_json()
    return f"{shown['value']} ± {shown['error']}"
