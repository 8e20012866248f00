"""Curves in alpha: the order asked for, branches continued where no start finds them, the lowest energy first."""

import pytest

from symslr.evaluation.finite_sample import finite_sample, finite_sample_curve, fit
from symslr.evaluation.finite_sample.fit import track
from symslr.evaluation.finite_sample.problem import numeric_problem, training
from symslr.evaluation.finite_sample.randomised import branches
from symslr.model.catalogue import SpikedSLR, linear

TASK = SpikedSLR(2, length=3, noise=0)
TWO_BRANCHES = 3.0, (0.05, 0.05)
"""alpha and ridges at which the two starts of linear attention, nu = 16, end apart; on some seeds, and then by rounding, they
end on the lower branch both."""
APART = 1
"""A seed on which they end apart, at the same twelve digits under two forms of the same equations."""


def test_points_come_in_the_order_asked_for_and_equal_the_single_call():
    points = finite_sample_curve(TASK, linear, {}, alphas=[4, 2], ridge=(0.6, 12.0), precision=0.01)
    alone = finite_sample(TASK, linear, {}, alpha=2, ridge=(0.6, 12.0), precision=0.01)
    assert [point.alpha for point in points] == [4, 2]
    assert float(points[1].fit.risk) == pytest.approx(float(alone.risk), rel=1e-4)


def test_every_branch_is_shown_the_lowest_energy_first():
    strong = SpikedSLR(16, length=3, noise=0)
    alpha, ridge = TWO_BRANCHES
    (point,) = finite_sample_curve(strong, linear, {}, alphas=[alpha], ridge=ridge, precision=0.05, seed=APART)
    energies = [float(fit.energy) for fit in point.fits]
    assert {fit.branch for fit in point.fits} == {"informed", "uninformed"}
    assert energies == sorted(energies)
    assert energies[0] < energies[1] - 0.01


def test_continuation_finds_a_branch_where_no_start_arrives(monkeypatch):
    """Where no start settles at alpha = 5, as on some seeds, the branch that comes down from alpha = 8 has risk 0.27."""
    problem = numeric_problem(SpikedSLR(16, length=3, noise=0), linear, {})
    fits = [training(alpha, (0.05, 0.05)) for alpha in (5, 8)]
    monkeypatch.setattr(
        fit, "branches", lambda problem, one, seed: {} if one is fits[0] else branches(problem, one, seed)
    )
    (continued,) = track(problem, fits, seed=0)[0].values()
    assert continued.change < 1e-5
    assert continued.risk == pytest.approx(0.27, abs=0.01)


@pytest.mark.parametrize("alphas", [[], [2, 2]])
def test_alphas_must_be_distinct(alphas):
    with pytest.raises(ValueError, match="expected distinct numbers"):
        finite_sample_curve(TASK, linear, {}, alphas=alphas, ridge=(1, 1))


def test_the_tuners_branch_is_shown_where_no_start_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as here:
        here.setattr(fit, "branches", lambda *asked: {})
        (point,) = finite_sample_curve(TASK, linear, {}, alphas=[4], precision=0.02)
    again = finite_sample(TASK, linear, {}, alpha=4, ridge=point.ridge, precision=0.02)
    assert [fit.branch for fit in point.fits] == ["tuned"]
    assert abs(float(point.fit.risk) - float(again.risk)) < 4 * (float(point.fit.risk.error) + float(again.risk.error))
