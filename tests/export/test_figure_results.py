"""The graph of results: its headings are words of the field, not names of a program."""

from __future__ import annotations

from symslr.check.graph import Graph, Kind, Node
from symslr.export.figure_results import results_figure


def test_headings_have_no_names_of_classes_and_no_formula_that_is_cut_off() -> None:
    starts = (
        "BayesRisk",
        "ReplicaSymmetricEnergy",
        "spiked-SLR",
        "weight-g(epsilon,chi)",
        "weight-exp(sqrt(2)*sqrt(kappa)*…",
    )
    kinds = (Kind.DEFINITION, Kind.POSTULATE, *[Kind.DEFINITION] * 3)
    nodes = {name: Node(name, kind) for name, kind in zip(starts, kinds, strict=True)}
    table = results_figure(Graph({**nodes, "a-result": Node("a-result", Kind.RESULT, starts)})).data()
    lines = [str(name) for name, kind in zip(table["name"], table["kind"], strict=True) if kind == "heading"]
    assert " ".join(lines).replace("\u00a0", " ") == (
        "1 Bayes risk, 2 Replica symmetric energy (postulate), 3 spiked-SLR, 4 weight g(ε,χ), 5 a weight of its own"
    )
