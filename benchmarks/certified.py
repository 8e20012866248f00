"""What is certified: Bayes risk, a value at a scale and the least risk, to 30 digits, for a list of kernels and both tasks.

``certified.py`` prints one line each with the error, or the reason why not, in processor time of the first call, from the
expression to the value; L = 2, nu = 2, a = 13/10. The least risks of max are at L = 3: at L = 2 that of 1 + x^4 lies at
a = 0, where the risk is flat, and no proof is found.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from sympy import Rational, erf, exp, log

from symslr import MaxSLR, SpikedSLR, evaluate
from symslr.evaluation import CannotEvaluate, Value, least_risk
from symslr.model.attention import Attention
from symslr.model.symbols import x
from symslr.theory import bayes_risk, population_risk

DIGITS = 30
PLACE = {"L": 2, "nu": 2}
KERNELS = {
    "exp": Attention(exp(x)),
    "softmax-1": Attention(exp(x), offset=1),
    "softplus": Attention(log(1 + exp(x))),
    "1 + x^4": Attention(1 + x**4),
    "sigmoid": Attention(1 / (1 + exp(-x))),
    "erf + 3/2": Attention(erf(x) + Rational(3, 2)),
}


def row(name: str, call: Callable[[], Value]) -> None:
    begin = time.process_time()
    try:
        value = call()
        outcome = f"{value.kind}, error {float(value.error):.0e}"
        if " over " in value.method:
            outcome += f", {value.method.split(', ')[-1]}"
    except CannotEvaluate as reason:
        outcome = f"refused: {reason}"
    print(f"{name:40} {time.process_time() - begin:8.1f} s  {outcome}", flush=True)


def main() -> None:
    for task, length in ((SpikedSLR(noise=0), 2), (MaxSLR(noise=0), 3)):
        row(f"{task.name}, Bayes risk", lambda t=task: evaluate(bayes_risk(t), PLACE, DIGITS, "arb"))
        for name, attention in KERNELS.items():
            risk = population_risk(task, attention, Rational(13, 10))
            row(f"{task.name}, {name}, a = 13/10", lambda r=risk: evaluate(r, PLACE, DIGITS, "arb"))
        for name, attention in KERNELS.items():
            row(
                f"{task.name}, {name}, least risk, L = {length}",
                lambda t=task, k=attention, n=length: least_risk(t, k, {**PLACE, "L": n}, DIGITS, "arb")[0],
            )


if __name__ == "__main__":
    main()
