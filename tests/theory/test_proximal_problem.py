"""What one training sample asks of the fit, against its own definition at two tokens."""

from sympy import Rational, solve

from symslr.model.catalogue import linear
from symslr.model.symbols import L, chi, z
from symslr.theory.finite_sample import ProximalProblem, V_k, V_v, omega_chi, omega_z, y

NUMBERS = {
    V_k: Rational(2, 3),
    V_v: Rational(5, 7),
    y: Rational(11, 10),
    **{chi[i]: Rational(i, 3) for i in (1, 2)},
    **{omega_chi[i]: Rational(2 - 3 * i, 5) for i in (1, 2)},
    **{omega_z[i]: Rational(3 * i - 4, 7) for i in (1, 2)},
}


def test_the_reduced_objective_is_the_least_over_the_values() -> None:
    problem = ProximalProblem(linear)
    cost = problem.objective.subs(L, 2).doit().subs(NUMBERS)
    values = [z[1], z[2]]
    best = solve([cost.diff(v) for v in values], values)
    least = cost.subs(best)
    keys = sum((NUMBERS[chi[i]] - NUMBERS[omega_chi[i]]) ** 2 for i in (1, 2)) / (2 * NUMBERS[V_k])
    assert problem.key_term.subs(L, 2).doit().subs(NUMBERS) == keys
    assert problem.reduced.subs(L, 2).doit().subs(NUMBERS) == least
