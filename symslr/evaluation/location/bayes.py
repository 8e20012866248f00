"""The Bayes risk of a law of location: an exact formula where there is one, else quadrature, else sampling."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy
from mpmath import mp, mpf, workdps
from sympy import Add, Expr, Integral, Mul, N, S, Symbol, exp, oo, sqrt

from symslr.evaluation.closed_form import closed_value
from symslr.evaluation.engine import digits_of, evaluate
from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.fewer import or_fewer, usual_digits
from symslr.evaluation.location.chains.bayes import chain_means
from symslr.evaluation.location.means import Estimate, Means, by_two_rules, sum_of_estimates
from symslr.evaluation.location.posterior import posterior
from symslr.evaluation.location.samples.points import quadrature, sampled_until_sharp
from symslr.evaluation.location.setting import Setting, relevant
from symslr.evaluation.location.subsets.compressed import compressed_means
from symslr.evaluation.location.subsets.controls import subset_means
from symslr.evaluation.location.subsets.pairs import pairs_means
from symslr.evaluation.location.tables.laplace import one_position, positions
from symslr.evaluation.location.tables.one_correlation import common_means
from symslr.evaluation.location.tables.rules import Rule, has_grid, key_step
from symslr.evaluation.location.tables.tokens import nodes
from symslr.expression.expectation import ScalarExpectation
from symslr.expression.value import Kind, Value
from symslr.model.length_law import LengthLaw
from symslr.model.location.covariance import Equicorrelated
from symslr.model.location.where import Independent, OnePosition, Subset
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import L, l, x
from symslr.model.task import Task
from symslr.parallel.blas import on_one_blas_thread
from symslr.theory.bayes import bayes_risk
from symslr.theory.symbolic import formula_of_bayes

LARGEST_SCATTER = 0.1
"""Relative standard error above which a sampled value is refused: a few rare sequences carry it, and the error is unreliable."""
SHARP = 1e-6
"""Relative error of ``compressed_means`` below which no sampling is tried."""
SECONDS = 6.0
"""Processor time of one sampled value, unless asked otherwise."""
FEWEST_TOKENS = 3
"""Sequence length from which the structured routes are tried; for two tokens a quadrature over both keys is as good."""
GUARD_DIGITS = 30
"""Extra decimal digits in which parts are added up, beyond those asked for."""
MOST_COINS = 10**6
"""Most different probabilities of relevance: each one costs a sum over the nodes of a key."""


@on_one_blas_thread
def bayes_value(
    task: Task,
    values: Mapping[Any, object] | None = None,
    digits: int | None = None,
    backend: str | None = None,
    seconds: float = SECONDS,
) -> Value:
    """The Bayes risk Delta^2 + E (r - a)^T C_v (r - a), a_l = E[r_l | chi].

    Args:
        task: with any law of location, or any weight.
        values: a number for every free symbol, by symbol or name.
        digits: significant digits wanted; by default what the route to the number gives.
        backend: "arb" for a proof, "mpmath" for any digits, where one-token integrals are known.
        seconds: processor time after which sampling stops, where nothing else gives the number.

    Raises:
        CannotEvaluate: when the digits are out of reach, with the reason.
        ValueError: for missing or inadmissible values.
    """
    if task.has_weight:
        return value_of_bayes(bayes_risk(task), values or {}, digits, backend)
    began, here = time.perf_counter(), with_values(task, values)
    lengths = tuple(here.length) if isinstance(here.length, LengthLaw) else ((here.length, S.One),)
    with workdps(GUARD_DIGITS + (digits or GUARD_DIGITS)):
        parts = [
            bayes_excess(replace(here, length=length, noise=0).at({}), digits, backend, seconds / len(lengths)).scaled(
                mpf(share.p) / share.q
            )
            for length, share in lengths
        ]
        return risk_from_excess(sum_of_estimates(parts), here.noise, digits, began)


def value_of_bayes(
    risk: Expr, values: Mapping[Any, object], digits: int | None = None, backend: str | None = None
) -> Value:
    """The value of a formula of the Bayes risk; in closed form where there is one.

    Args:
        risk: ``bayes_risk(task)``.
        values, digits, backend: as for ``bayes_value``.
    """
    closed = closed_value(formula_of_bayes(risk), risk, values, digits) if backend in (None, "arb") else None
    if closed is not None:
        return closed[0]

    def compute(wanted: int | None) -> Value:
        if backend is not None:
            return evaluate(risk, values, wanted, backend)
        return usual_digits(wanted, lambda n: evaluate(risk, values, n))

    return or_fewer(digits, compute)


def risk_from_excess(excess: Estimate, noise: Expr, digits: int | None, began: float) -> Value:
    """Delta^2 + excess, as a ``Value`` with its error, its digits and the time it took.

    Args:
        excess: the risk above Delta^2.
        noise: Delta.
        digits: significant digits wanted; None for those that the error leaves.
        began: start of the computation, by ``time.perf_counter``.

    Raises:
        OutOfDigits: where more digits are wanted than the error leaves.
    """
    with workdps(GUARD_DIGITS + (digits or GUARD_DIGITS)):
        value = _to_mpf(noise**2) + mpf(excess.value)
        error = mpf(excess.error)
        if noise != 0:
            error += 2 * mp.eps * abs(value)  # 16/25 is no binary number
    reached = digits_of(value, error)
    if digits is not None and reached < digits:
        raise OutOfDigits(f"{excess.method}: reaches {reached} of {digits} digits here; ask for fewer")
    return Value(value, error, excess.kind, reached, excess.method, time.perf_counter() - began)


def with_values(task: Task, values: Mapping[Any, object] | None) -> Task:
    """The task with a number for each of its symbols.

    Raises:
        ValueError: naming the symbols without a value.
    """
    here = task.at(values or {})
    missing = ", ".join(sorted(map(str, here.free_symbols)))
    if missing:
        raise ValueError(f"task {task.name}: no value for {missing}; expected one for every symbol")
    return here


def bayes_excess(task: Task, digits: int | None, backend: str | None, seconds: float) -> Estimate:
    """E (r - a)^T C_v (r - a), the Bayes risk above Delta^2, at a fixed length."""
    if task.length == relevant(task.location):
        return Estimate(mpf(0), mpf(0), Kind.CERTIFIED, "every position is relevant")
    plain, factor = without_common_parts(task)
    plain, share = complement_task(plain)
    factor = factor * share
    formula = bayes_risk(plain) if plain.has_weight else bayes_integral(plain)
    if formula is not None:
        found = usual_digits(digits, lambda n: evaluate(formula, {}, n, backend))
        part = Estimate(found.value, found.error, found.kind, found.method)
        return part.scaled(_to_mpf(factor))
    if backend in ("arb", "mpmath"):
        raise CannotEvaluate(
            f"{backend}: no formula by one-token integrals for this law of location; expected no backend"
        )
    return bayes_means(Setting.of(plain), seconds).estimate().scaled(float(factor))


def _to_mpf(number: Expr) -> Any:
    return mpf(str(N(number, mp.dps)))


def without_common_parts(task: Task) -> tuple[Task, Expr]:
    """A simpler task and the factor by which its excess risk is multiplied: no common shift of keys, no common part of values.

    As sum_l (r_l - a_l) = 0 for one position or subsets, values of correlation rho and variance v leave the factor v (1 - rho).
    """
    task = task.without_common_shift()
    covariance = task.value_covariance
    found = None if covariance is None else covariance.structure
    if isinstance(found, Equicorrelated) and not isinstance(task.location, Independent):
        return replace(task, value_covariance=None), found.own_variance
    return task, S.One


def complement_task(task: Task) -> tuple[Task, Expr]:
    """The complementary task, to find the L - s irrelevant positions where these are fewer, and the factor of its excess risk.

    For independent keys and one value of theta, exchanging relevant and irrelevant keys is a reflection of the key: the weights
    become 1/w with the same law, and p_l becomes 1 - p_l.
    """
    where, covariances = task.location, (task.key_covariance, task.value_covariance)
    if not isinstance(where, Subset) or len(task.signal.support) > 1 or any(c is not None for c in covariances):
        return task, S.One
    left = task.length - where.size
    if left >= where.size:
        return task, S.One
    prior = tuple(1 / weight for weight in task.prior) if isinstance(task.prior, tuple) else task.prior
    prior = 1 / prior if isinstance(prior, Expr) else prior
    found = OnePosition() if left <= 1 else Subset(left)
    return replace(task, location=found, prior=prior), (left / where.size) ** 2


def bayes_means(setting: Setting, seconds: float = SECONDS) -> Means:
    """E (r - a)^T C_v (r - a) in float64, by the most accurate method that applies."""
    if setting.size == setting.length:
        return Means(np.zeros((2, 1)), Kind.ESTIMATED, "every position is relevant", rounding=0.0)
    where, independent = setting.task.location, setting.are_keys_independent and has_grid(setting)
    if independent and isinstance(where, OnePosition) and setting.are_values_independent:
        method = "Laplace transform over one-token tables in float64"
        return by_two_rules(partial(_one, setting), method)
    if independent and isinstance(where, Independent):
        return by_two_rules(partial(_coins, setting), "quadrature over one token in float64")
    rough = None
    if setting.length >= FEWEST_TOKENS:
        for route in (common_means, chain_means) if isinstance(where, OnePosition) else (pairs_means,):
            found = route(setting)
            if found is not None:
                return found
        rough = compressed_means(setting, seconds / 2)
        if rough is not None and rough.estimate().error <= SHARP * rough.estimate().value:
            return rough
    return _over_all_keys(setting, seconds, rough)


def _over_all_keys(setting: Setting, seconds: float, rough: Means | None) -> Means:
    """Quadrature over all keys where these are few, else samples, with control variates where tokens are exchangeable.

    Args:
        rough: an estimate that is at hand; it is returned where its error is smaller, as under a strong signal.

    Raises:
        CannotEvaluate: where a few rare sequences carry the risk, so that the standard error is unreliable.
    """
    left = posterior(setting)

    def integrand(keys: Any, mass: Any) -> Any:
        return np.array([mass @ left(keys)[1]])

    by_rules = quadrature(setting, integrand, seconds)
    if by_rules is not None:
        return by_rules
    means = subset_means(setting, seconds)
    if means is None:
        means = sampled_until_sharp(setting, integrand, lambda row: float(row[0]), seconds)
    part = means.estimate()
    if rough is not None and rough.estimate().error <= part.error:
        return rough
    if part.error >= LARGEST_SCATTER * part.value:
        raise CannotEvaluate(
            f"{means.method}: {part.value:.1g} with an error of {part.error:.1g}; so few sequences carry it that the error "
            "is not to be trusted; expected a weaker signal, or a law with a route of its own"
        )
    return means


def _one(setting: Setting, rule: Rule) -> float:
    found = nodes(setting, key_step(setting, rule))
    own = positions(setting, None if setting.is_uniform else setting.log_prior)
    return float(one_position(found, setting.token_log_weight(found.keys), own, 0.0, rule)[2])


def _coins(setting: Setting, rule: Rule) -> float:
    """sum_l C_ll E_l[p (1 - p)] under the law of every token."""
    found = nodes(setting, key_step(setting, rule))
    logs = setting.token_log_weight(found.keys)
    shares, inverse = np.unique(setting.coin_probabilities, return_inverse=True)
    counts = np.bincount(inverse.ravel(), setting.value_variances)
    if len(shares) > MOST_COINS:
        raise CannotEvaluate(f"found {len(shares)} different coins; expected at most {MOST_COINS}")
    total = 0.0
    for start in range(0, len(shares), 4096):
        share, count = shares[start : start + 4096], counts[start : start + 4096]
        logits = logs[:, None] + np.log(share) - np.log1p(-share)
        mass = share * found.relevant[:, None] + (1 - share) * found.others[:, None]
        total += float(np.sum(count * mass * scipy.special.expit(logits) * scipy.special.expit(-logits)))
    return total


MOST_KINDS = 12
"""Most different priors, or probabilities of relevance, for which a formula is written: each one has its own integrals."""


def bayes_integral(task: Task) -> Expr | None:
    """A formula of one-token integrals for the Bayes risk; None unless keys and values are independent, along one direction.

    One position: E sum_l p_l (1 - p_l) = int du sum_{l, m; l != m} pi_l pi_m E[w e^{-u pi_l w}] E[w e^{-u pi_m w}] prod of the
    others' E[e^{-u pi_k w}], positive terms only. Each position by itself with probability pi_l: sum_l
    E_0[w pi_l (1 - pi_l)/(pi_l w + 1 - pi_l)].
    """
    if task.key_covariance is not None or task.value_covariance is not None or task.signal.directions > 1:
        return None
    tilts = ((value[0], share) for value, share in task.signal)
    key = sqrt(task.strength) * x
    weight = Add(*(share * exp(theta * key - theta**2 * task.strength / 2) for theta, share in tilts))
    if isinstance(task.location, Independent):
        return _coins_integral(task, task.location.probability, weight)
    if not isinstance(task.location, OnePosition):
        return None
    if task.length > (10**4 if isinstance(task.prior, tuple) else MOST_KINDS):
        return None
    weights = Counter(task.prior_weight(place) for place in range(1, int(task.length) + 1))
    if len(weights) > MOST_KINDS:
        return None
    total = Add(*weights.elements())
    return task.noise**2 + _one_integral(weight, {own / total: count for own, count in weights.items()})


def _one_integral(weight: Expr, kinds: Mapping[Expr, int]) -> Expr:
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


def _coins_integral(task: Task, probability: Expr, weight: Expr) -> Expr | None:
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
