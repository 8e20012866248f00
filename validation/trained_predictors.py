"""Key and value vectors trained on fresh samples, by SGD and by Adam: their risk against the least risk."""

from symslr.evaluation import evaluate
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax, softplus
from symslr.simulate import risk_monte_carlo
from symslr.simulate.training import Recipe, train
from symslr.theory import minimal_risk
from symslr.verify.validation import NamedComparison, by_z_score

VALUES = {"L": 3, "nu": 3, "Delta": 0}
SEEDS, SIZE = (1, 2, 3), 60_000
RECIPES = {
    ("softmax", "sgd"): Recipe("sgd", steps=2500, batch=256, rate=0.1, dimension=30, start=0.5),
    ("softmax", "adam"): Recipe("adam", steps=1500, batch=256, rate=0.02, dimension=30, start=0.5),
    ("softplus", "sgd"): Recipe("sgd", steps=2500, batch=256, rate=0.1, dimension=30, start=0.5),
    ("softplus", "adam"): Recipe("adam", steps=1500, batch=256, rate=0.02, dimension=30, start=0.5),
    ("linear", "sgd"): Recipe("sgd", steps=6000, batch=256, rate=0.05, dimension=30, start=0.2),
    ("linear", "adam"): Recipe("adam", steps=1500, batch=256, rate=0.01, dimension=30, start=0.2),
}
"""Rates fall to zero over the last half; SGD on the unbounded linear attention diverges at a rate of 0.1."""


def validate() -> list[NamedComparison]:
    """Trained vectors can only be worse than the minimum, so a risk below it would count against the theory as well."""
    rows = []
    for task in (SpikedSLR(), MaxSLR()):
        for attention in (softmax, softplus, linear):
            expected = float(evaluate(minimal_risk(task, attention), VALUES, digits=8))
            for optimiser in ("sgd", "adam"):
                recipe = RECIPES[attention.name, optimiser]
                tests = []
                for seed in SEEDS:
                    run = train(task, attention, VALUES, recipe, seed)
                    tests.append(
                        risk_monte_carlo(task, attention, VALUES, size=SIZE, seed=1000 + seed, overlaps=run.overlaps)
                    )
                found = sum(test.mean for test in tests) / len(tests)
                error = sum(test.standard_error**2 for test in tests) ** 0.5 / len(tests)
                note = (
                    f"{recipe.steps} steps of {recipe.batch} fresh sequences in dimension {recipe.dimension}; "
                    f"{len(SEEDS)} seeds, tested on {SIZE} sequences each"
                )
                rows.append(by_z_score(f"{attention.name} on {task.name}, {optimiser}", expected, found, error, note))
    return rows
