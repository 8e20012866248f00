"""Recall: the kept runs are those of the figure, and the tables are drawn."""

import pytest

from figures import retrieval
from symslr.export.figures import STYLE
from symslr.simulate.recipe import Recipe
from symslr.simulate.retrieval import Recall, train_recall


def test_the_kept_runs_are_all_of_them() -> None:
    runs = retrieval._runs()
    kept = list(zip(*(runs[name] for name in ("attention", "length", "keys", "blur", "learned", "seed"))))
    assert kept == retrieval.jobs()


def test_softmax_recalls_and_linear_attention_does_not() -> None:
    """What the page of retrieval says of the kept numbers."""
    runs = retrieval._runs()
    rows = [dict(zip(runs, values)) for values in zip(*runs.values())]
    clean = [row for row in rows if row["blur"] == 0]
    assert all(row["wrong"] < 0.01 for row in clean if row["attention"] in ("softmax", "softmax1", "sigmoid"))
    assert all(row["wrong"] > 0.04 for row in clean if row["attention"] in ("linear", "feature map"))
    hard = [row for row in rows if (row["length"], row["keys"], row["blur"], row["learned"]) == (256, 64, 1.0, False)]
    ranked = {row["attention"]: (row["elsewhere"], row["wrong"]) for row in hard}
    assert ranked["linear"][0] == pytest.approx(ranked["softmax"][0], abs=0.02)
    assert ranked["linear"][1] > 2 * ranked["softmax"][1]


@pytest.mark.needs("matplotlib", "torch")
def test_tables_are_drawn() -> None:
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    run = train_recall("softmax", Recall(12, 2), 1.0, Recipe("adam", steps=2, batch=2, dimension=4), 1, test=4)
    table = retrieval._columns([retrieval.row_of(run)])
    assert set(retrieval.MOMENTS) <= set(table)
    row = {name: column[0] for name, column in table.items()}
    assert retrieval._law(row) == run.found.law
    predictions = retrieval._predictions(tuple(row.items()))
    assert set(predictions) == set(retrieval.PREDICTED)
    compared = {name: table[name] for name in (*retrieval.LABELS, *retrieval.PREDICTED)}
    compared |= {f"{name}_predicted": [value["value"]] for name, value in predictions.items()}
    with mpl.rc_context(STYLE):
        drawn = [
            retrieval.figure_retrieval().draw(retrieval._runs()),
            retrieval.figure_retrieval_theory().draw(compared),
        ]
    assert [len(drawing.axes) for drawing in drawn] == [4, 3]
    for drawing in drawn:
        plt.close(drawing)
