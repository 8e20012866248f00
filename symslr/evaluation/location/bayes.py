"""The Bayes risk of a law of location: an exact formula where there is one, else quadrature, else sampling."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy
from mpmath import mp, mpf, workdps
from sympy import Add, Expr, Integral, Mul, N, S, Symbol, exp, oo, sqrt

from symslr.evaluation.closed_form import closed_value
from symslr.evaluation.engine import as_asked, digits_of, evaluate
from symslr.evaluation.errors import CannotEvaluate, OutOfDigits
from symslr.evaluation.fewer import or_fewer, usual_digits
from symslr.evaluation.location.chains.bayes import chain_means
from symslr.evaluation.location.means import Estimate, Means, by_two_rules, sum_of_estimates
from symslr.evaluation.location.posterior import posterior
from symslr.evaluation.location.samples.points import SECONDS, is_griddable, quadrature, sampled_until_sharp
from symslr.evaluation.location.setting import Setting, chain_parameters, relevant
from symslr.evaluation.location.subsets.compressed import compressed_means
from symslr.evaluation.location.subsets.controls import subset_means
from symslr.evaluation.location.subsets.pairs import pairs_means
from symslr.evaluation.location.tables import one_correlation
from symslr.evaluation.location.tables.attention import given_common_part
from symslr.evaluation.location.tables.laplace import one_position, positions
from symslr.evaluation.location.tables.rules import Rule, has_grid, key_step
from symslr.evaluation.location.tables.tokens import nodes
from symslr.evaluation.routes import Need, Route, tried
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
FEWEST_TOKENS = 3
"""Sequence length from which the structured routes are tried; for two tokens a quadrature over both keys is as good."""
GUARD_DIGITS = 30
"""Extra decimal digits in which parts are added up, beyond those asked for."""
INTEGRALS_METHOD = "one-token integrals, as ``evaluate`` takes them"
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
            f"{as_asked(backend)}: no formula by one-token integrals for this law of location, which needs "
            f"{FORMULA.lacks(plain)}; leave it out"
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
    """E (r - a)^T C_v (r - a) in float64, by the first route of ``BAYES`` that applies.

    Raises:
        CannotEvaluate: where a few rare sequences carry the risk, so that the standard error is unreliable.
    """
    means: Means = tried(BAYES, setting, seconds)
    part = means.estimate()
    if part.kind is Kind.STATISTICAL and part.error >= LARGEST_SCATTER * part.value:
        raise CannotEvaluate(
            f"{means.method}: {part.value:.1g} with an error of {part.error:.1g}; so few sequences carry it that the error "
            "is not to be trusted; expected a weaker signal, or a law with a route of its own"
        )
    return means


def _excess_at(setting: Setting) -> Any:
    """E (r - a)^T C_v (r - a) given keys, as an integrand over all of them."""
    left = posterior(setting)
    return lambda keys, mass: np.array([mass @ left(keys)[1]])


def _by_counts(setting: Setting, seconds: float) -> Means | None:
    """Compressed laws of counts where they are sharp; else the better of them and of what is done for any law."""
    rough = compressed_means(setting, seconds / 2)
    if rough is None or rough.estimate().error <= SHARP * rough.estimate().value:
        return rough
    other: Means = tried(OVER_ALL_KEYS, setting, seconds)
    return rough if rough.estimate().error <= other.estimate().error else other


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


def _by_rules(needs: tuple[Need, ...], method: str, risk: Callable[[Setting, Rule], float]) -> Route:
    return Route(needs, method, "10 to 13", lambda setting, _: by_two_rules(partial(risk, setting), method))


EVERY = Need("every position relevant", lambda s: s.size == s.length)
ONE = Need("one relevant position", lambda s: isinstance(s.task.location, OnePosition))
COINS = Need("independent coins", lambda s: isinstance(s.task.location, Independent))
SEVERAL = Need("a subset of relevant positions", lambda s: isinstance(s.task.location, Subset))
KEYS = Need("independent keys", lambda s: s.are_keys_independent)
VALUES = Need("independent values", lambda s: s.are_values_independent)
FEW_DIRECTIONS = Need("up to three directions", has_grid)
DIRECTION = Need("one direction", lambda s: s.directions == 1)
ALIKE = Need("every position alike", lambda s: s.is_uniform)
LONG = Need("three positions or more", lambda s: s.length >= FEWEST_TOKENS)
COMMON = Need("keys of one positive correlation", lambda s: given_common_part(s) is not None)
SHORT_PRIOR = Need("a prior up to 300 positions", lambda s: s.is_uniform or s.length <= one_correlation.LONGEST)
CHAINS = Need(
    "keys and values along chains v rho^abs(i-j)",
    lambda s: None not in (chain_parameters(s.task.key_covariance), chain_parameters(s.task.value_covariance)),
)
TWO = Need("two relevant", lambda s: s.size == 2)
SIGNAL = Need("a signal", lambda s: s.strength > 0 and bool(np.any(s.values)))

OVER_ALL_KEYS = (
    Route(
        (Need("up to four keys and 128 configurations", lambda s: is_griddable(s, alike=True)),),
        "trapezoid rule over all keys, while the time lasts",
        "7 to 13",
        lambda s, seconds: quadrature(s, _excess_at(s), seconds),
    ),
    Route(
        (SEVERAL, KEYS, VALUES, ALIKE, FEW_DIRECTIONS),
        "samples with counts of coins as control variates, up to 32 of up to 4096; standard error",
        "4 to 6",
        subset_means,
    ),
    Route(
        (),
        "randomised quasi-Monte Carlo; standard error with Student's factor",
        "3 to 5",
        lambda s, seconds: sampled_until_sharp(s, _excess_at(s), lambda row: float(row[0]), seconds),
    ),
)
BAYES = (
    Route(
        (EVERY,),
        "nothing is left to find",
        "all",
        lambda s, _: Means(np.zeros((2, 1)), Kind.ESTIMATED, "every position is relevant", rounding=0.0),
    ),
    _by_rules((ONE, KEYS, VALUES, FEW_DIRECTIONS), "Laplace transform over one-token tables in float64", _one),
    _by_rules((COINS, KEYS, FEW_DIRECTIONS), "quadrature over one token in float64", _coins),
    Route(
        (ONE, COMMON, VALUES, SHORT_PRIOR, LONG),
        "tables with phases of what keys share in float64",
        "12 to 14",
        lambda s, _: one_correlation.common_means(s),
    ),
    Route(
        (ONE, CHAINS, DIRECTION, LONG),
        "transfer operator along the chain in float64",
        "10 to 13",
        lambda s, _: chain_means(s),
    ),
    Route(
        (TWO, KEYS, VALUES, DIRECTION, ALIKE, SIGNAL, LONG),
        "Laplace integral and series below the largest weight in float64",
        "11 to 14",
        lambda s, _: pairs_means(s),
    ),
    Route(
        (SEVERAL, KEYS, VALUES, FEW_DIRECTIONS, LONG),
        "laws of coins compressed to a few hundred points in float64, for two to 16 of up to 256 with up to 64 priors",
        "7 to 13",
        _by_counts,
    ),
    *OVER_ALL_KEYS,
)
"""Routes to the Bayes risk in float64, in the order in which they are tried."""


MOST_KINDS = 12
"""Most different priors, or probabilities of relevance, for which a formula is written: each one has its own integrals."""


def bayes_integral(task: Task) -> Expr | None:
    """A formula of one-token integrals for the Bayes risk; None unless keys and values are independent, along one direction.

    One position: E sum_l p_l (1 - p_l) = int du sum_{l, m; l != m} pi_l pi_m E[w e^{-u pi_l w}] E[w e^{-u pi_m w}] prod of the
    others' E[e^{-u pi_k w}], positive terms only. Each position by itself with probability pi_l: sum_l
    E_0[w pi_l (1 - pi_l)/(pi_l w + 1 - pi_l)].
    """
    if FORMULA.lacks(task) is not None:
        return None
    tilts = ((value[0], share) for value, share in task.signal)
    key = sqrt(task.nu) * x
    weight = Add(*(share * exp(theta * key - theta**2 * task.nu / 2) for theta, share in tilts))
    if isinstance(task.location, Independent):
        return _coins_integral(task, task.location.probability, weight)
    weights = Counter(task.prior_weight(place) for place in range(1, int(task.length) + 1))
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


def _has_few_kinds(task: Task) -> bool:
    """Whether there are at most ``MOST_KINDS`` different priors, or coins."""
    if isinstance(task.location, Independent) and not task.location.probability.has(l):
        return True
    if isinstance(task.prior, tuple):
        return task.length <= 10**4 and len(set(task.prior)) <= MOST_KINDS
    return bool(task.length <= MOST_KINDS)


FORMULA = Route(
    (
        Need("one relevant position, or coins", lambda t: not isinstance(t.location, Subset)),
        Need("independent keys", lambda t: t.key_covariance is None),
        Need("independent values", lambda t: t.value_covariance is None),
        Need("one direction", lambda t: t.signal.directions == 1),
        Need("up to 12 different priors or coins", _has_few_kinds),
    ),
    INTEGRALS_METHOD,
    "any, with proofs where the kernel is an exponential",
    bayes_integral,
)
"""Of a task at a fixed length."""


def _coins_integral(task: Task, probability: Expr, weight: Expr) -> Expr:
    if not probability.has(l):
        kinds: Mapping[Expr, Expr | int] = {probability.subs(L, task.length): task.length}
    else:
        kinds = Counter(probability.subs({l: place, L: task.length}) for place in range(1, int(task.length) + 1))
    risks = (
        count * ScalarExpectation(share * (1 - share) * weight / (share * weight + 1 - share), x, STANDARD_NORMAL)
        for share, count in kinds.items()
    )
    return task.noise**2 + Add(*risks)
