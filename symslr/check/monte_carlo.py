"""An expectation over sequences by simulation: samples from ``symslr.simulate``, the body written out by SymPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sympy import Expr, Heaviside, Indexed, Integer, Mul, Pow, S, Sum, Symbol, lambdify

from symslr.check.zscore import SampleMean
from symslr.expression.expectation import SequenceExpectation
from symslr.expression.folded import FOLDED, ConditionalMean
from symslr.model.exact import exact
from symslr.model.largest import IsLargest
from symslr.model.put_in import put_in
from symslr.model.symbols import OTHERS, chi, epsilon, eta, xi, z, zeta
from symslr.referee.arithmetic import CannotReferee
from symslr.simulate.sequences import sample_sequences

DIMENSION = 3
"""D of the sampled sequences X in R^{L x D}, one more than there are hidden directions; the law of the projections is the same
at every D."""


def simulate_expectation(node: SequenceExpectation, values: Mapping[str, Any], size: int, seed: int) -> SampleMean:
    """E_g[body] as a mean over ``size`` sequences X in R^{L x D} drawn from the definition of the law.

    Args:
        node: the expectation; every other symbol in it has a value.
        values: name -> number.
        size: number of sequences.
        seed: of NumPy's default generator.

    Raises:
        CannotReferee: when a value is missing or the law cannot be sampled.
    """
    numbers = {s: exact(values[s.name]) for s in node.free_symbols if s.name in values}
    missing = node.free_symbols - numbers.keys()
    if missing:
        raise CannotReferee(f"no value for {', '.join(sorted(map(str, missing)))}")
    fixed = node.subs(numbers)
    law = fixed.law
    if not isinstance(law.length, Integer):
        raise CannotReferee(f"the length {law.length} is not a number")
    length = int(law.length)
    rng = np.random.default_rng(seed)
    try:
        sample = sample_sequences(law, {}, size, DIMENSION, rng)
    except ValueError as refusal:
        raise CannotReferee(f"no samples: {refusal}") from refusal
    body = _written_out(fixed.body, length)
    tokens = {chi: sample.chi, z: sample.z}
    tokens |= {base: rng.standard_normal((size, length)) for base in (zeta, eta) if body.has(base)}
    result = np.empty(size)
    for position in range(length):
        mine = np.flatnonzero(sample.epsilon == position)
        if len(mine):
            result[mine] = _evaluate(body, position + 1, length, tokens, mine, sample.xi)
    return SampleMean.of(result, seed, sample.weights)


def _written_out(body: Expr, length: int) -> Expr:
    """The body with folded names, conditional means and sums over tokens written out."""
    body = body.replace(lambda n: isinstance(n, FOLDED), lambda n: n.doit())
    body = body.replace(lambda n: isinstance(n, ConditionalMean), lambda n: _conditional_mean(n, length))
    return body.replace(lambda n: isinstance(n, Sum), lambda n: n.doit())


def _conditional_mean(node: ConditionalMean, length: int) -> Expr:
    """sum_e g(e, chi) label(e) / sum_e g(e, chi) for a label that is affine in the noise."""
    if node.label.diff(xi, 2) != 0:
        raise CannotReferee(f"the label {node.label} is not affine in the noise")
    label = node.label.subs(xi, 0)
    weights = [node.law.weight.subs(epsilon, e) for e in range(1, length + 1)]
    total = sum((w * label.subs(epsilon, e) for e, w in enumerate(weights, 1)), S.Zero)
    return total / sum(weights, S.Zero)


def _is_largest(node: IsLargest, length: int) -> Expr:
    """1 where a token lies above every other one."""
    own = node.args[1]
    return Mul(*(Heaviside(chi[own] - chi[other]) for other in range(1, length + 1) if other != own))


def _evaluate(
    body: Expr, position: int, length: int, arrays: Mapping[Any, np.ndarray], chosen: np.ndarray, noise: np.ndarray
) -> Any:
    """The body at the chosen sequences, whose relevant token is the one at ``position``."""
    rest = [e for e in range(1, length + 1) if e != position]
    at = put_in(body, {epsilon: position, **dict(zip(OTHERS, rest))})
    at = at.replace(lambda n: isinstance(n, IsLargest), lambda n: _is_largest(n, length))
    tokens = sorted(at.atoms(Indexed), key=str)
    letters = {token: Symbol(f"t{i}", real=True) for i, token in enumerate(tokens)}
    columns = []
    for token in tokens:
        if not isinstance(token.indices[0], Integer) or not 1 <= token.indices[0] <= length:
            raise CannotReferee(f"{token} is no token of a sequence of length {length}")
        columns.append(arrays[token.base][chosen, int(token.indices[0]) - 1])
    arguments = [*letters.values(), xi]
    written = at.xreplace(letters)
    # NumPy has no roots of integers beyond 64 bits
    written = written.xreplace({power: power.evalf(17) for power in written.atoms(Pow) if power.is_number})
    function = lambdify(arguments, written, modules=["scipy", "numpy"])
    with np.errstate(all="ignore"):
        return np.broadcast_to(function(*columns, noise[chosen]), chosen.shape)
