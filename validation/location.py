"""Laws of location: Bayes risks and risks of attentions against sequences drawn from the definition, row by row and combined."""

from collections.abc import Mapping
from typing import Any

from sympy import Abs, Integer, Rational, Symbol, exp, sqrt

from symslr.cache.parts import OTHER_SEEDS, computed_once, measured
from symslr.evaluation.location import bayes_value, least_value, risk_value
from symslr.expression.value import Value
from symslr.model.attention import Attention
from symslr.model.catalogue import softmax as plain_softmax
from symslr.model.symbols import L, i, j, l, nu
from symslr.model.task import Task
from symslr.simulate.estimate import Estimate
from symslr.simulate.location import (
    AttentionFunction,
    bayes_location_monte_carlo,
    entmax,
    location_monte_carlo,
    softmax,
    sparsemax,
    top,
)
from symslr.validation.validation import NamedComparison, by_z_score

rho = Symbol("rho", positive=True)
CHAIN = rho ** Abs(i - j)
SIGN = "1:1/2,-1:1/2"
VALUES: Mapping[object, object] = {nu: 2, rho: Rational(1, 2), L: 3}
SIZE, SEED = 200_000, 20_260_303
SCALE = 1.2

LAWS = {
    "prior": {"prior": 2**-l},
    "signal of random sign": {"signal": SIGN},
    "signal of random size": {"signal": "1/2:1/3,2:2/3"},
    "two directions": {"signal": "(1,0):1/2,(0,1):1/2"},
    "AR(1) keys": {"key_covariance": CHAIN},
    "AR(1) keys and values": {"key_covariance": CHAIN, "value_covariance": CHAIN},
    "equally correlated keys": {"key_covariance": rho + (1 - rho) * 0 ** Abs(i - j)},
    "independent coins": {"location": "independent(1/8)"},
    "coins by position": {"location": "independent(1/(1+l))"},
    "two relevant tokens": {"location": "subset(2)"},
    "prior with sign": {"prior": 2**-l, "signal": SIGN},
    "prior with AR(1) keys": {"prior": 2**-l, "key_covariance": CHAIN},
    "sign with AR(1) keys": {"signal": SIGN, "key_covariance": CHAIN},
    "prior with two relevant tokens": {"prior": exp(-l), "location": "subset(2)"},
    "sign with two relevant tokens": {"signal": SIGN, "location": "subset(2)"},
    "two relevant tokens in an AR(1) chain": {"location": "subset(2)", "key_covariance": CHAIN},
    "coins in an AR(1) chain": {"location": "independent(1/3)", "key_covariance": CHAIN},
    "prior with AR(1) values": {"prior": 2**-l, "value_covariance": CHAIN},
    "a law of no example": {
        "prior": 1 / (1 + l**2),
        "signal": "1:1/5,-2:3/10,1/3:1/2",
        "key_covariance": 1 / (1 + (i - j) ** 2),
        "value_covariance": CHAIN,
    },
}

ATTENTIONS: dict[str, tuple[Attention, AttentionFunction]] = {
    "softmax": (plain_softmax, lambda chi: softmax(SCALE * chi[:, :, 0])),
    "sparsemax": (Attention("sparsemax"), lambda chi: sparsemax(SCALE * chi[:, :, 0])),
    "entmax-1.5": (Attention("entmax"), lambda chi: entmax(SCALE * chi[:, :, 0])),
    "top 2": (Attention("top(2)"), lambda chi: top(2)(SCALE * chi[:, :, 0])),
}
ATTENDED = ("prior", "AR(1) keys and values", "two relevant tokens", "independent coins")


def validate() -> list[NamedComparison]:
    attended = [(law, name, SEED + 1) for law in ATTENDED for name in ATTENTIONS]
    rows = [
        _row(f"Bayes risk, {name}", found)
        for name, found in zip(LAWS, computed_once(bayes, [(law, SEED) for law in LAWS], again=_others))
    ]
    for (law, name, _), found in zip(attended, computed_once(risk, attended, again=_others)):
        rows.append(_row(f"{name} at key scale $a={SCALE}$, {law}", found))
    return [*rows, *_one_head()]


def _others(job: tuple[Any, ...], run: int) -> tuple[Any, ...]:
    return (*job[:-1], job[-1] + OTHER_SEEDS * run)


Found = dict[str, Any]
"""Number, what was drawn, note."""


def _row(name: str, found: Found) -> NamedComparison:
    number, drawn = found["number"], found["drawn"]
    error = (drawn["error"] ** 2 + number["error"] ** 2) ** 0.5
    return by_z_score(name, number["value"], drawn["value"], error, found["note"])


def _found(number: Value, drawn: Estimate) -> Found:
    note = f"{number.method}; {drawn.size} sequences, seed {drawn.seed}"
    return {"number": measured(number), "drawn": measured(drawn.mean, drawn.standard_error), "note": note}


def bayes(job: tuple[str, int]) -> Found:
    """The number against Bayes' rule on drawn sequences, every configuration's density written out."""
    name, seed = job
    task = Task(noise=Rational(1, 2), name=name, **LAWS[name])
    given = {symbol: value for symbol, value in VALUES.items() if symbol in task.free_symbols}
    number = bayes_value(task, given)
    return _found(number, bayes_location_monte_carlo(task, VALUES, size=SIZE, seed=seed))


def risk(job: tuple[str, str, int]) -> Found:
    """An attention with its best value vector at one scale."""
    law, name, seed = job
    chosen, attention = ATTENTIONS[name]
    task = Task(noise=Rational(1, 2), name=law, **LAWS[law])
    given = {symbol: value for symbol, value in VALUES.items() if symbol in task.free_symbols}
    number = risk_value(task, chosen, SCALE, given)
    return _found(
        number, location_monte_carlo(task, attention, VALUES, size=SIZE, seed=seed, value_norm=None, name=name)
    )


def _one_head() -> list[NamedComparison]:
    """One softmax head sees one sign of the signal, so it attends to the right token half of the time.

    At the matched scale sqrt(nu) it attends to one wrong token the other half: 1 - (1/2)^2/1 = 3/4. At its best scale, which is
    small, it spreads itself over all tokens instead and adds nothing to the prediction: 1 - (1/2)^2/(1/2) = 1/2 for many tokens.
    """

    def task(length: int) -> Task:
        return Task(signal=SIGN, noise=0, length=length)

    head = plain_softmax
    rows = []
    for length, strength in ((1_000, 400), (100_000, 400)):
        least, _ = least_value(task(length), head, {nu: strength})
        best = float(bayes_value(task(length), {nu: strength}).value)
        name = rf"one head at its best scale, $L={length}$, $\nu={strength}$"
        rows.append(NamedComparison(name, 0.5, float(least.value), 0.002, f"Bayes risk {best:.1e}"))
    matched = risk_value(task(3), head, sqrt(Integer(900)), {nu: 900})
    rows.append(
        NamedComparison(r"one head at key scale $a=\sqrt\nu$, $L=3$, $\nu=900$", 0.75, float(matched.value), 0.01)
    )
    weak, _ = least_value(task(3), head, {nu: 2})
    rows.append(NamedComparison(r"one head at $L=3$, $\nu=2$: its best scale is 0", 2 / 3, float(weak.value), 1e-6))
    return rows
