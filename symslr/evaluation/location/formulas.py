"""The Bayes risk as one-token integrals, where there are few kinds of positions: digits as many as wanted, and proofs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sympy import Add, Expr, Integral, Mul, S, Symbol, exp, oo, sqrt

from symslr.expression.expectation import ScalarExpectation
from symslr.model.location.task import LocationTask
from symslr.model.location.where import Independent, OnePosition
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import L, l, x

MOST_KINDS = 12
"""Different positions up to which every one has an integral of its own."""


def bayes_integral(task: LocationTask) -> Expr | None:
    """The Bayes risk of a task with independent keys and values along one direction; None where it is of another form.

    One position: E sum_l p_l (1 - p_l) = int du sum_{l, m; l != m} pi_l pi_m E[w e^{-u pi_l w}] E[w e^{-u pi_m w}] prod of the
    others' E[e^{-u pi_k w}], positive terms only. Coins: sum_l E_0[w pi_l (1 - pi_l)/(pi_l w + 1 - pi_l)].
    """
    if task.key_covariance is not None or task.value_covariance is not None or task.signal.directions > 1:
        return None
    tilts = ((value[0], share) for value, share in task.signal)
    key = sqrt(task.strength) * x
    weight = Add(*(share * exp(theta * key - theta**2 * task.strength / 2) for theta, share in tilts))
    if isinstance(task.location, Independent):
        return _coins(task, weight)
    if not isinstance(task.location, OnePosition):
        return None
    kinds = _kinds([task.prior_weight(place) for place in range(1, int(task.length) + 1)]) if _is_short(task) else None
    return None if kinds is None else task.noise**2 + _one(weight, kinds)


def _is_short(task: LocationTask) -> bool:
    return bool(task.length <= (10**4 if isinstance(task.prior, tuple) else MOST_KINDS))


def _kinds(weights: list[Expr]) -> dict[Expr, int] | None:
    found, total = Counter(weights), Add(*weights)
    return None if len(found) > MOST_KINDS else {weight / total: count for weight, count in found.items()}


def _one(weight: Expr, kinds: Mapping[Expr, int]) -> Expr:
    u = Symbol("u", positive=True)

    def moment(power: int, share: Expr) -> Expr:
        return ScalarExpectation(weight**power * exp(-u * share * weight), x, STANDARD_NORMAL)

    terms = []
    for first, count in kinds.items():
        for second, others in kinds.items():
            pairs = count * (others - (first == second))
            if not pairs:
                continue
            left = [n - (share == first) - (share == second) for share, n in kinds.items()]
            rest = Mul(*(moment(0, share) ** n for share, n in zip(kinds, left) if n))
            terms.append(pairs * first * second * moment(1, first) * moment(1, second) * rest)
    return Integral(Add(*terms), (u, 0, oo))


def _coins(task: LocationTask, weight: Expr) -> Expr | None:
    probability = task.location.probability if isinstance(task.location, Independent) else S.Zero
    if not probability.has(l):
        kinds: Mapping[Expr, Expr | int] = {probability.subs(L, task.length): task.length}
    elif task.length <= MOST_KINDS:
        kinds = Counter(probability.subs({l: place, L: task.length}) for place in range(1, int(task.length) + 1))
    else:
        return None
    risks = (
        count * ScalarExpectation(share * (1 - share) * weight / (share * weight + 1 - share), x, STANDARD_NORMAL)
        for share, count in kinds.items()
    )
    return task.noise**2 + Add(*risks)
