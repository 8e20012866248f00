"""Fits of finitely many samples, N = alpha D with D -> infinity: test risk by the replica-symmetric theory."""

from symslr.evaluation.finite_sample.fit import finite_sample as finite_sample
from symslr.evaluation.finite_sample.fit import tuned_finite_sample as tuned_finite_sample
from symslr.evaluation.finite_sample.randomised import FiniteSample as FiniteSample
