"""Whether the test risk of a fit exists: an element-wise kernel that grows like exp(b x^2) makes it infinite at long keys."""

from __future__ import annotations

from sympy import Float, Rational, sqrt

from symslr.evaluation.admission.admitted import check_means_exist
from symslr.evaluation.errors import CannotEvaluate
from symslr.expression.expectation import ScalarExpectation
from symslr.model.attention import Attention
from symslr.model.scalar_law import STANDARD_NORMAL
from symslr.model.symbols import x

WITHOUT = {2: "is infinite", 4: "scatters without bound, so that samples of it say nothing"}
"""What is said of the risk where the mean of this power of kappa(sqrt(q_k) x), x standard normal, does not exist."""


def check_risk(attention: Attention, q_k: float) -> None:
    """Refuse a fit whose test risk, or the standard error of samples of it, does not exist.

    The scores of a new sample are normal with variance q_k, up to the shift of the relevant token, which decides nothing.

    Raises:
        CannotEvaluate: in one line.
    """
    if attention.is_normalised:
        return
    length = sqrt(Rational(Float(q_k)))
    for power, what in WITHOUT.items():
        try:
            check_means_exist(ScalarExpectation(attention.kernel.subs(x, length * x) ** power, x, STANDARD_NORMAL), {})
        except CannotEvaluate:
            raise CannotEvaluate(
                f"kernel {attention.kernel}: at the fit's squared length of the key, q_k = {q_k:.4g}, the test risk {what}; "
                "expected a larger ridge r_k or a kernel that grows more slowly"
            ) from None
