"""Why a choice of parameters separates or fails, in one sentence with the number that decides."""

from __future__ import annotations

from symslr.evaluation.separation.law import NeuronLaw
from symslr.evaluation.separation.outputs import DataSetOutputs
from symslr.model.separation import LINEAR_KERNEL, SOFTMAX_KERNEL
from symslr.theory.separation.definition import Column, Row

RARE = 0.02
"""Below this a neuron of the separating kind, whose probability is near 1/4, does not exist."""

NAMES = {SOFTMAX_KERNEL: "softmax", LINEAR_KERNEL: "linear attention"}


def reason(law: NeuronLaw) -> str:
    """The cause with the largest share in the failure, or why there is hardly any."""
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
    ball = DataSetOutputs(law.parameters, law.kernel, 1).share(Row.MARKED, Column.MARK)
    return float(ball.mid())


def _most(law: NeuronLaw) -> str:
    outputs = DataSetOutputs(law.parameters, law.kernel, 1)
    output, others = outputs.row(Row.MARKED), law.parameters.classes - 1
    most = float((output.mark + abs(output.own) + others * abs(output.other)).mid())
    margin = float(law.parameters.margin)
    return f"with every sign +1 the marked row of D1 pushes {most:.3f} against a margin of {margin:.3g}"


def _who(law: NeuronLaw) -> str:
    """The kind of row of D0 that lies nearest to the threshold, and how much the other signs move it."""
    outputs = DataSetOutputs(law.parameters, law.kernel, 0)
    pushes = {row: float((outputs.row(row).mark + outputs.row(row).own).mid()) for row in outputs.rows}
    row, push = max(pushes.items(), key=lambda item: item[1])
    others = law.parameters.classes - 1
    spread = abs(float(outputs.row(row).other.mid())) * others**0.5
    margin = float(law.parameters.margin)
    return f"; its {row} rows push {push:.3f} +- {spread:.3f} ({others} other signs) against a margin of {margin:.3g}"
