"""``symslr.SequenceModel``: a sequence model of one's own that answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from symslr.face.curve import Curve
from symslr.library.folders import builtin_folder
from symslr.model.sequence import model

if TYPE_CHECKING:
    from symslr.evaluation.sequence.bayes_optimal import BayesOptimal
    from symslr.evaluation.sequence.dynamics import Dynamics
    from symslr.evaluation.sequence.fitted import Fitted
    from symslr.evaluation.sequence.thresholds import Threshold
    from symslr.export.sequence_model import Equation
    from symslr.expression.value import Value


class SequenceModel(model.SequenceModel):
    __doc__ = model.SequenceModel.__doc__

    def thresholds(self, *, ladder: bool = False, seed: int = 0) -> list[Threshold]:
        """The alpha = N/D from which on directions of the teachers are learnt; see ``evaluation.sequence.thresholds``.

        Raises:
            CannotEvaluate: for more than three fields in which the label is not affine.

        >>> phase = SequenceModel(["u"], 1, "u[1]**2")
        >>> print(f"{float(phase.thresholds()[0].value):.2f}")
        0.50
        """
        from symslr.evaluation.sequence.thresholds import thresholds

        return thresholds(self, ladder=ladder, seed=seed)

    @overload
    def bayes_optimal(self, alpha: float, *, seed: int = 0) -> BayesOptimal: ...

    @overload
    def bayes_optimal(self, alpha: Sequence[float], *, seed: int = 0) -> Curve: ...

    def bayes_optimal(self, alpha: float | Sequence[float], *, seed: int = 0) -> BayesOptimal | Curve:
        """The Bayes-optimal overlaps and risk at N = alpha D samples; of several alpha a curve over alpha and overlaps.

        Raises:
            CannotEvaluate, ValueError: as ``evaluation.sequence.bayes_optimal``.
        """
        from symslr.evaluation.sequence import bayes_optimal as own

        if isinstance(alpha, Iterable):
            return curve_of(own.curve(self, list(alpha), seed=seed))
        return own.bayes_optimal(self, alpha, seed=seed)

    def fitted(self, alpha: float, ridge: float | Sequence[float], *, seed: int = 0) -> Fitted:
        """The student fitted to N = alpha D samples with ridges: order parameters and losses of the replica-symmetric theory.

        Raises:
            ValueError, CannotEvaluate: as ``evaluation.sequence.fitted``.
        """
        from symslr.evaluation.sequence.fitted import fitted

        return fitted(self, alpha, ridge, seed=seed)

    def dynamics(self, times: Sequence[float], *, gamma: float = 0.0, ridge: float = 0.0, seed: int = 0) -> Dynamics:
        """Order parameters of one-pass SGD of the student at the given times t = gamma steps/D; gamma = 0 is gradient flow.

        Raises:
            ValueError: without a student, and for times that do not rise.
        """
        from symslr.evaluation.sequence.dynamics import dynamics

        return dynamics(self, times, gamma=gamma, ridge=ridge, seed=seed)

    def population_risk(self, M: Any, Q: Any, *, seed: int = 0) -> Value:
        """The mean loss of a student with overlaps M (r, p) with the teachers and Q (r, r) among its own directions.

        Raises:
            ValueError: without a student, and where Q - M M^T is negative.
        """
        from symslr.evaluation.sequence.dynamics import population_risk

        return population_risk(self, M, Q, seed=seed)

    @property
    def sources(self) -> tuple[str, ...]:
        """Keys and places of the sources of the derivations by which its equations are made, for ``symslr.cite``."""
        from symslr.check.collect import find

        names = dict.fromkeys(name for equation in self.equations() for name in equation.by)
        chains = (find(name, builtin_folder()) for name in names)
        return tuple(dict.fromkeys(source for chain in chains if chain is not None for source in chain.origins))

    def equations(self) -> list[Equation]:
        """State evolution, weak recovery and, of a student, fits and one-pass SGD, in the model's own letters."""
        from symslr.export.sequence_model import equations

        return equations(self)


def curve_of(points: Sequence[BayesOptimal]) -> Curve:
    """Overlaps, and the risk where there is one, over alpha; ``result`` of each is its point."""
    shown: dict[Any, dict[str, Any]] = {
        point.alpha: {**point.overlaps, **({"risk": point.risk} if point.risk is not None else {})} for point in points
    }
    from symslr.theory.sequence import BayesFreeEntropy

    names, sources = list(next(iter(shown.values()))), (BayesFreeEntropy.source,)
    axes = {"alpha": list(shown), "quantity": names}
    whole = {point.alpha: {"result": point, "sources": sources} for point in points}
    return Curve.over(lambda at: replace(shown[at["alpha"]][at["quantity"]], **whole[at["alpha"]]), axes)
