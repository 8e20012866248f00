"""Exact probabilities of the separation construction."""

from symslr.evaluate.separation.law import NeuronLaw as NeuronLaw
from symslr.evaluate.separation.law import neuron_law as neuron_law
from symslr.evaluate.separation.probability import Probability as Probability
from symslr.evaluate.separation.report import SeparationReport as SeparationReport
from symslr.evaluate.separation.report import separation_report as separation_report
