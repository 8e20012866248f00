"""Fits of finitely many samples, N = alpha D with D -> infinity: test risk by the replica-symmetric theory."""

from symslr.evaluation.finite_sample.bayes_optimal import bayes_optimal as bayes_optimal
from symslr.evaluation.finite_sample.bayes_optimal import hard_phase as hard_phase
from symslr.evaluation.finite_sample.fit import CurvePoint as CurvePoint
from symslr.evaluation.finite_sample.fit import finite_sample as finite_sample
from symslr.evaluation.finite_sample.fit import finite_sample_curve as finite_sample_curve
from symslr.evaluation.finite_sample.fit import fit_at as fit_at
from symslr.evaluation.finite_sample.fit import tuned_finite_sample as tuned_finite_sample
from symslr.evaluation.finite_sample.randomised import FiniteSample as FiniteSample
from symslr.evaluation.finite_sample.tuning import Tuned as Tuned
