"""Exact probabilities of the separation construction."""

from symslr.evaluation.separation.law import NeuronLaw as NeuronLaw
from symslr.evaluation.separation.probability import Probability as Probability
from symslr.evaluation.separation.report import SeparationReport as SeparationReport
from symslr.evaluation.separation.report import separation_report as separation_report
