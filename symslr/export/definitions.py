"""The report's first section: what is studied. Every formula in it is printed from the model, none is typed."""

from __future__ import annotations

from dataclasses import dataclass

from symslr.export.figures import NAMES
from symslr.export.printing import HousePrinter
from symslr.model.attention import Attention
from symslr.model.catalogue import ATTENTIONS, TASKS
from symslr.model.symbols import Delta, L, chi, epsilon, nu, xi, z
from symslr.model.task import Task


@dataclass(frozen=True)
class Row:
    """A row of a table: a name and formulas (LaTeX without dollar signs)."""

    name: str
    formulas: tuple[str, ...]


@dataclass(frozen=True)
class Definitions:
    """The opening section: a paragraph, a table of symbols, one of tasks, one of attentions."""

    opening: str
    symbols: tuple[tuple[str, str], ...]
    tasks: tuple[Row, ...]
    attentions: tuple[Row, ...]


def definitions() -> Definitions:
    """Symbols, tasks and attentions of the catalogue."""
    say = HousePrinter().doprint
    label = say(z[epsilon] + Delta * xi)
    opening = (
        rf"A sequence has ${say(L)}$ tokens, of which one, at the hidden position ${say(epsilon)}$, decides the"
        rf" label $y = {label}$. Tokens enter through two projections: the key projection ${say(chi)}_l$, by which"
        rf" the relevant token may be found, and the value projection ${say(z)}_l$. Before reweighting,"
        rf" ${say(epsilon)}$ is uniform and all ${say(chi)}_l$, ${say(z)}_l$ and ${say(xi)}$ are independent standard"
        rf" normal variables; the task's weight $g({say(epsilon)}, {say(chi)})$, of mean 1, ties the position to the"
        r" key projections. $\mathbb{E}_0$ is the expectation without the weight and"
        r" $\mathbb{E}_g[h] = \mathbb{E}_0[g\,h]$ the one with it. An attention"
        rf" predicts $f(X) = \sum_{{l=1}}^L \sigma_l {say(z)}_l$; its risk is $\mathbb{{E}}_g[(y - f(X))^2]$."
    )
    symbols = (
        (say(L), "number of tokens"),
        (say(nu), "signal strength"),
        (say(Delta), "standard deviation of the label noise"),
        (say(epsilon), "hidden position of the relevant token"),
        (rf"{say(chi)}_l,\ {say(z)}_l", "key and value projection of token $l$"),
        (say(xi), "noise of the label"),
        (r"p_l", "posterior probability that token $l$ is the relevant one"),
        (r"\sigma_l", "attention paid to token $l$"),
        (r"\operatorname{softmax}(\chi)_l", r"$e^{\chi_l} / \sum_{m=1}^L e^{\chi_m}$"),
        (r"\kappa", "kernel of the attention"),
        ("a", "scale of the key"),
        (r"\mathcal{E}_{\mathrm{Bayes}}", "Bayes risk, the least risk of any predictor"),
        (r"\mathcal{E}_{\sigma}", "risk of an attention at given parameters"),
        (r"\mathsf{E}_{\sigma}", "its least risk over all of its parameters"),
        (r"\mathbb{E}_L", "mean over a random length"),
        (r"\mathbb{E}_w,\ \langle\,\cdot\,\rangle", "mean over tokens and hidden configuration; its posterior mean"),
        (r"r_l", "1 where token $l$ is relevant, else 0"),
        (r"[\,\cdot\,]_{x=y}", "value at $x = y$"),
        (r"[\,\cdot\,]_{\star}", "value at the minimiser of a sample's energy"),
        (r"[x:\ e = 0]", "the $x$ that solves $e = 0$"),
    )
    tasks = tuple(_task(make(), HousePrinter()) for make in TASKS.values())
    return Definitions(opening, symbols, tasks, tuple(_attention(item, HousePrinter()) for item in ATTENTIONS.values()))


def _task(task: Task, printer: HousePrinter) -> Row:
    posterior = task.law.posterior_kernel
    ratio = printer.doprint(posterior) if posterior is not None else r"g(l, \chi)"
    return Row(f"{task.name}-SLR", (rf"\displaystyle {printer.doprint(task.law.weight)}", ratio))


def _attention(item: Attention, printer: HousePrinter) -> Row:
    total = r"\sum_{m=1}^L \kappa(a\chi_m)"
    below = "1" if not item.is_normalised else total
    below = below if item.offset == 0 else f"{printer.doprint(item.offset)} + {total}"
    return Row(NAMES.get(item.name, item.name), (printer.doprint(item.kernel), below))
