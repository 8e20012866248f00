"""Parameters that separate and parameters that do not: exact probability against the real networks, with the reason."""

from symslr.evaluation.separation.law import NeuronLaw
from symslr.evaluation.separation.report import reason
from symslr.model.separation import Separation, separation
from symslr.simulate.separation import separation_frequency
from symslr.validation.validation import NamedComparison, by_frequency

SEED = 231011685

CASES: dict[str, tuple[dict[str, object], int]] = {
    "works: small": ({"n": 128, "d": 66, "t": 2, "a0": 0.05, "a1": 1.1, "b": 0.1, "c": 0.9, "m": 24}, 3000),
    "works: $n=256$": ({"n": 256, "d": 66, "t": 4, "a0": 0.05, "a1": 1.1, "b": 0.1, "c": 0.9, "m": 52}, 1000),
    "works: $n=1024$": ({"n": 1024, "d": 258, "t": 4, "a0": 0.05, "a1": 1.1, "b": 0.2, "c": 0.8, "m": 52}, 100),
    "fails: $a_1=0.7$": ({"n": 1024, "d": 258, "t": 4, "a0": 0.05, "a1": 0.7, "b": 0.1, "c": 0.9, "m": 52}, 100),
    "fails: $t=64$": ({"n": 1024, "d": 18, "t": 64, "a0": 0.05, "a1": 1.1, "b": 0.2, "c": 0.8, "m": 52}, 300),
    "fails: $n$ too small": ({"n": 64, "d": 18, "t": 4, "a0": 0.05, "a1": 1.1, "b": 0.2, "c": 0.8, "m": 52}, 3000),
    "fails: $a_0$ too large": ({"n": 256, "d": 66, "t": 4, "a0": 0.9, "a1": 1.1, "b": 0.2, "c": 0.8, "m": 52}, 1000),
    "fails: $b$ too large": ({"n": 256, "d": 66, "t": 4, "a0": 0.05, "a1": 1.1, "b": 0.7, "c": 0.8, "m": 52}, 1000),
    "fails: c too small": ({"n": 256, "d": 66, "t": 4, "a0": 0.05, "a1": 1.1, "b": 0.2, "c": 0.15, "m": 52}, 1000),
    "fails: m too small": ({"n": 256, "d": 66, "t": 4, "a0": 0.05, "a1": 1.1, "b": 0.1, "c": 0.9, "m": 2}, 3000),
    "in between": ({"n": 128, "d": 66, "t": 2, "a0": 0.05, "a1": 0.8, "b": 0.1, "c": 0.9, "m": 3}, 3000),
}
"""Name -> parameters and the number of networks that are drawn."""

ALL_ROWS: dict[str, object] = {"n": 32, "d": 34, "t": 1, "a0": 0.05, "a1": 1.2, "b": 0.15, "c": 0.9, "m": 8}


def validate() -> list[NamedComparison]:
    table = [_case(name, separation(**numbers), size) for name, (numbers, size) in CASES.items()]
    return [*table, _case("all rows at once", separation(**ALL_ROWS), 3000, all_rows=True)]


def _case(name: str, parameters: Separation, size: int, *, all_rows: bool = False) -> NamedComparison:
    law = NeuronLaw(parameters)
    probability = float(law.all_rows if all_rows else law.fixed_row)
    estimate = separation_frequency(parameters, size, SEED, all_rows=all_rows)
    note = f"seed {SEED}; {reason(law)}"
    return by_frequency(name, probability, round(estimate.mean * size), size, note)
