"""Regularised empirical risk minimisation on real samples: data, objective, fits, test risk, a regression model."""

from symslr.simulate.erm.data import TrainingSet, sample_training_set
from symslr.simulate.erm.fit import OPTIMISERS, Fit, find_minima, fit_attention, lowest_fit
from symslr.simulate.erm.generalisation import Replicate, Replicates, erm_replicates, fresh_risk
from symslr.simulate.erm.objective import EmpiricalRisk
from symslr.simulate.erm.regressor import AttentionRegressor

__all__ = [
    "OPTIMISERS",
    "AttentionRegressor",
    "EmpiricalRisk",
    "Fit",
    "Replicate",
    "Replicates",
    "TrainingSet",
    "erm_replicates",
    "find_minima",
    "fit_attention",
    "fresh_risk",
    "lowest_fit",
    "sample_training_set",
]
