"""The mean key projection of a selected token is of order sqrt(log L), by Gibbs' variational principle."""

from __future__ import annotations

from typing import final

from sympy import Expr, S, log, sqrt

from symslr.algebra.truncation import Truncation
from symslr.expression.expectation import SequenceExpectation
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import chi, epsilon


@final
class SelectedMean(Truncation):
    """Leave out the mean key projection of a token that is selected among standard normal ones.

    For every t, t E_g[X] <= log E_0[e^{tX}] + E_g[log g]; a selection has g <= L, and X = chi_epsilon is standard normal
    under E_0, so E_g[X] <= t/2 + log(L)/t, least at t = sqrt(2 log L). The same holds for -X.
    """

    name = "mean of a selected token"
    statement = (
        r"\left|\mathbb{E}_g[\chi_\epsilon]\right| \le \sqrt{2\,\mathbb{E}_g[\log g]} \le \sqrt{2\log L},\qquad"
        r" t\,\mathbb{E}_g[X]\le\log\mathbb{E}_0\left[e^{tX}\right]+\mathbb{E}_g[\log g]"
    )
    conditions = r"$\sum_l g(l,\chi)=L$ at every $\chi$, so $g\le L$; the tokens are standard normal"
    source = "donsker1983"

    def truncate(self, term: Expr) -> tuple[Expr, Expr] | None:
        if not isinstance(term, SequenceExpectation) or term.body != chi[epsilon] or term.law.weight == S.One:
            return None
        if not term.law.is_selection or term.law.base != STANDARD_NORMAL:
            raise self.refuse(f"the weight {term.law.weight} selects no token among standard normal ones")
        return S.Zero, sqrt(2 * log(term.law.length))
