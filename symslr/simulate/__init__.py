"""Ground truth: samples from a task's definition, and risks measured on them. Imports the model alone."""

from symslr.simulate.activation import activation
from symslr.simulate.estimate import Estimate, RunningMean
from symslr.simulate.overlaps import Overlaps
from symslr.simulate.projections import Projections, ProjectionSampler, sample_projections
from symslr.simulate.risk import bayes_monte_carlo, risk_monte_carlo
from symslr.simulate.sequences import Sequences, SequenceSampler, sample_sequences
from symslr.simulate.stream import length_counts, sample_by_length, stream
from symslr.simulate.weight import log_weight

__all__ = [
    "Estimate",
    "Overlaps",
    "ProjectionSampler",
    "Projections",
    "RunningMean",
    "SequenceSampler",
    "Sequences",
    "activation",
    "bayes_monte_carlo",
    "length_counts",
    "log_weight",
    "risk_monte_carlo",
    "sample_by_length",
    "sample_projections",
    "sample_sequences",
    "stream",
]
