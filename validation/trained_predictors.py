"""Key and value vectors trained on fresh samples, by SGD and by Adam: their risk against the least risk."""

from symslr.evaluation import evaluate
from symslr.model.catalogue import MaxSLR, SpikedSLR, linear, softmax, softplus
from symslr.simulate import risk_monte_carlo
from symslr.simulate.training import Recipe, train
from symslr.theory import minimal_risk
from symslr.verify.validation import NamedComparison, by_z_score

VALUES = {"L": 3, "nu": 3, "Delta": 0}
SEEDS, SIZE = (1, 2, 3), 60_000
STEPS = {"softmax": 1500, "softplus": 1500, "linear": 4000}
STARTS = {"softmax": 0.5, "softplus": 0.5, "linear": 0.2}
RATES = {
    "sgd": {"softmax": 0.15, "softplus": 0.15, "linear": 0.05},
    "adam": {"softmax": 0.02, "softplus": 0.03, "linear": 0.01},
}


def validate() -> list[NamedComparison]:
    rows = []
    for task in (SpikedSLR(), MaxSLR()):
        for attention in (softmax, softplus, linear):
            expected = float(evaluate(minimal_risk(task, attention), VALUES, digits=8))
            for optimiser, rates in RATES.items():
                recipe = Recipe(
                    optimiser,
                    steps=1000,
                    batch=256,
                    rate=rates[attention.name],
                    dimension=30,
                    start=STARTS[attention.name],
                )
                means, squares = [], []
                for seed in SEEDS:
                    run = train(task, attention, VALUES, recipe, seed)
                    test = risk_monte_carlo(task, attention, VALUES, size=SIZE, seed=1000 + seed, overlaps=run.overlaps)
                    means.append(test.mean)
                    squares.append(test.standard_error**2)
                found, error = sum(means) / len(SEEDS), sum(squares) ** 0.5 / len(SEEDS)
                note = (
                    f"{recipe.steps} steps of {recipe.batch} fresh sequences in dimension {recipe.dimension}; "
                    f"{len(SEEDS)} seeds, tested on {SIZE} sequences each"
                )
                rows.append(by_z_score(f"{attention.name} on {task.name}, {optimiser}", expected, found, error, note))
    return rows
