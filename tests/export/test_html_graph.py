"""The graph of results: its headings are words of the field, not names of a program."""

from __future__ import annotations

from symslr.check.graph import Graph, Kind, Node
from symslr.export.html_graph import graph_to_html, in_words


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
    found = Graph({**nodes, "a-result": Node("a-result", Kind.RESULT, starts)})
    assert [in_words(found, name).replace("\u00a0", " ") for name in starts] == [
        *("Bayes risk", "Replica symmetric energy (postulate)", "spiked-SLR", "weight g(ε,χ)", "a weight of its own")
    ]
    assert "1 result from Bayes risk, Replica symmetric energy (postulate), spiked-SLR" in graph_to_html(found)
