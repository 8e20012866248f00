"""The report on one choice of parameters that ``symslr separation`` prints: probabilities, bounds, and why separation works or
fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mpmath import nstr
from sympy import Expr, log

from symslr.evaluation.admission.inputs import checked_digits
from symslr.evaluation.numbers.balls import centre, radius
from symslr.evaluation.separation.law import NeuronLaw
from symslr.evaluation.separation.outputs import data_set_outputs
from symslr.evaluation.separation.probability import Probability
from symslr.evaluation.separation.widths import (
    HoeffdingBound,
    SufficientWidths,
    classes_that_suffice,
    hoeffding_bound,
    sufficient_widths,
)
from symslr.expression.value import Kind, Value
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL, Separation
from symslr.theory.separation.definition import Column, Row
from symslr.theory.separation.region import LimitVerdict, limit_verdict

SHARE_BITS = 256
"""Least working precision of the attention shares."""
FLOAT_DIGITS = 17
"""Significant digits that identify a float64 number."""


@dataclass(frozen=True)
class SeparationReport:
    """Exact law of the construction at one point.

    Attributes:
        fixed_row: P(the kernel's network is > 0 on D1 and 0 on D0, the rival's 0 on both), one marked row.
        all_rows: the same for every marked row at once.
        fixed_row_failure, all_rows_failure: one minus these, to full relative accuracy.
        rival_wins: the same as ``fixed_row`` with kernel and rival exchanged.
        neuron: probabilities of one neuron: that it fires on each data set for each kernel, is bad, is useful.
        shares: attention of the marked row on itself (p) and on its class (m), of other rows on their class (mu).
        hoeffding: the bound of the paper's kind.
        sufficient_classes: number of classes D that suffices by the simplified bound, at failure probability 1 %.
        limit: verdict for n -> oo with t = n**theta, theta fixed; for softmax self-attention, else None.
        reason: a sentence that says why separation works or fails.
    """

    parameters: Separation
    kernel: Expr
    rival: Expr
    fixed_row: Value
    fixed_row_failure: Value
    all_rows: Value
    all_rows_failure: Value
    rival_wins: Value
    neuron: dict[str, Value]
    shares: dict[str, Value]
    hoeffding: HoeffdingBound
    sufficient_classes: float
    limit: LimitVerdict | None
    reason: str

    def widths(self, delta: object) -> SufficientWidths:
        """The widths at which failure has at most the probability delta, for one marked row; see ``sufficient_widths``."""
        return sufficient_widths(self.parameters, delta, self.kernel, self.rival)

    def as_json(self) -> dict[str, Any]:
        """Numbers as decimal strings, in the form of ``Value.as_json``."""
        p = self.parameters
        marks = {"keys": {k: str(getattr(p.keys, k)) for k in "abc"}} if p.keys is not None else {}
        return {
            "parameters": {
                **{k: getattr(p, k) for k in ("n", "d", "t", "m")},
                **{k: str(getattr(p, k)) for k in ("a0", "a1", "b", "c", "margin", "beta")},
                **marks,
            },
            "kernel": str(self.kernel),
            "rival": str(self.rival),
            **{name: getattr(self, name).as_json() for name in PROBABILITIES},
            **{table: {k: v.as_json() for k, v in getattr(self, table).items()} for table in ("neuron", "shares")},
            "hoeffding": {
                "bad": nstr(self.hoeffding.bad, FLOAT_DIGITS),
                "useful": nstr(self.hoeffding.useful, FLOAT_DIGITS),
                "success": repr(self.hoeffding.success),
                "sufficient_classes": repr(self.sufficient_classes),
            },
            "limit": None if self.limit is None else {"separates": self.limit.separates, "reason": self.limit.reason},
            "reason": self.reason,
        }


PROBABILITIES = ("fixed_row", "fixed_row_failure", "all_rows", "all_rows_failure", "rival_wins")


def separation_report(
    parameters: Separation, kernel: Expr = SOFTMAX_KERNEL, rival: Expr = LINEAR_KERNEL, digits: int = 30
) -> SeparationReport:
    """The exact law of the networks with ``kernel`` and ``rival``, to ``digits`` digits.

    Args:
        parameters: the construction, see ``symslr.model.separation.separation``.
        kernel, rival: expressions in x that are positive at every score.
        digits: significant digits of every probability.

    Raises:
        ValueError: for a kernel that is not positive at a score, digits outside 1..10000, too many columns.
    """
    checked_digits(digits)
    law = NeuronLaw(parameters, kernel, rival)

    def number(probability: Probability) -> Value:
        return probability.value(digits)

    sides = (("kernel", kernel), ("rival", rival))
    events = {f"{name}_fires_on_D{which}": law.fires(of, which) for name, of in sides for which in (0, 1)}
    neuron = events | {"bad": law.single(law.bad), "useful": law.single(law.useful)}
    return SeparationReport(
        parameters=parameters,
        kernel=kernel,
        rival=rival,
        fixed_row=number(law.fixed_row),
        fixed_row_failure=number(law.fixed_row.complement()),
        all_rows=number(law.all_rows),
        all_rows_failure=number(law.all_rows.complement()),
        rival_wins=number(NeuronLaw(parameters, rival, kernel).fixed_row),
        neuron={name: number(probability) for name, probability in neuron.items()},
        shares=_shares(parameters, kernel, rival, digits),
        hoeffding=hoeffding_bound(parameters, kernel, rival),
        sufficient_classes=classes_that_suffice(parameters, 0.01),
        limit=_limit(parameters, kernel),
        reason=reason(law),
    )


def _limit(p: Separation, kernel: Expr) -> LimitVerdict | None:
    if kernel != SOFTMAX_KERNEL or p.keys is not None or not 1 < p.t < p.n:
        return None
    theta = log(p.t) / log(p.n)
    return limit_verdict(a0=p.a0, a1=p.a1, b=p.b, theta=theta, margin=p.margin, beta=p.beta)


def _shares(parameters: Separation, kernel: Expr, rival: Expr, digits: int) -> dict[str, Value]:
    def share(of: Expr, which: int, row: Row, column: Column) -> Value:
        outputs = data_set_outputs(parameters, of, which)
        ball = outputs.enclose(outputs.shares[row, column], max(SHARE_BITS, 4 * digits))
        return Value(centre(ball), radius(ball), Kind.CERTIFIED, digits, "derived formula in ball arithmetic")

    table = {}
    for name, of in (("kernel", kernel), ("rival", rival)):
        for which in (0, 1):
            table[f"p_{name}_D{which}"] = share(of, which, Row.MARKED, Column.MARK)
            table[f"m_{name}_D{which}"] = share(of, which, Row.MARKED, Column.OWN)
        table[f"mu_{name}"] = share(of, 0, Row.STRANGER, Column.OWN)
    return table


RARE = 0.02
"""Below this probability of firing no sign pattern of the separating kind, each of probability near 1/4, fires."""

NAMES = {SOFTMAX_KERNEL: "softmax", LINEAR_KERNEL: "linear attention"}


def reason(law: NeuronLaw) -> str:
    """A sentence with the largest cause of failure, or with why the failure is small."""
    p = law.parameters
    name, rival = (NAMES.get(kernel, f"the kernel {kernel}") for kernel in (law.kernel, law.rival))
    bad, useful = float(law.single(law.bad)), float(law.single(law.useful))
    spoiled, unlit = 1 - (1 - bad) ** p.m, (1 - useful / (1 - bad)) ** p.m if bad < 1 else 1.0
    share = _marked_share(law)
    if float(law.fixed_row) >= 0.5:
        return f"{name} gives {share:.3f} of the marked row of D1 to itself and {rival} stays below the threshold"
    if unlit >= spoiled:
        fires = float(law.fires(law.kernel, 1))
        if fires == 0:
            return f"nothing reaches the threshold: {_most(law)}"
        if fires < RARE:
            return (
                f"{name} does not concentrate: the marked row of D1 gives itself p = {share:.3f}, and a neuron fires "
                f"with probability {fires:.2g}"
            )
        if useful < fires / 2:
            return f"every neuron that fires for {name} on D1 also fires where it must not (probability {bad:.2g})"
        return f"too few neurons: m = {p.m}, each useful with probability {useful:.2g}"
    causes = {
        f"{name} fires on D0": float(law.fires(law.kernel, 0)),
        f"{rival} fires on D0": float(law.fires(law.rival, 0)),
        f"{rival} fires on D1": float(law.fires(law.rival, 1)),
    }
    cause, probability = max(causes.items(), key=lambda item: item[1])
    culprit = _who(law) if cause.startswith(name) else ""
    return f"{cause}: probability {probability:.2g} a neuron, m = {p.m} of them{culprit}"


def _marked_share(law: NeuronLaw) -> float:
    outputs = data_set_outputs(law.parameters, law.kernel, 1)
    return float(outputs.enclose(outputs.shares[Row.MARKED, Column.MARK]).mid())


def _most(law: NeuronLaw) -> str:
    output, others = data_set_outputs(law.parameters, law.kernel, 1).row(Row.MARKED), law.parameters.classes - 1
    most = float((output.mark + abs(output.own) + others * abs(output.other)).mid())
    margin = float(law.parameters.margin)
    return f"with every sign +1 the marked row of D1 pushes {most:.3f} against a margin of {margin:.3g}"


def _who(law: NeuronLaw) -> str:
    """The kind of row of D0 that lies nearest to the threshold, and how much the other signs move it."""
    outputs = data_set_outputs(law.parameters, law.kernel, 0)
    pushes = {row: float((outputs.row(row).mark + outputs.row(row).own).mid()) for row in outputs.rows}
    row, push = max(pushes.items(), key=lambda item: item[1])
    others = law.parameters.classes - 1
    spread = abs(float(outputs.row(row).other.mid())) * others**0.5
    margin = float(law.parameters.margin)
    return f"; its {row} rows push {push:.3f} +- {spread:.3f} ({others} other signs) against a margin of {margin:.3g}"
