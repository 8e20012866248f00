"""Ground truth for laws of location: draws from the definition, Bayes' rule by enumeration, risks of any attention."""

from symslr.simulate.location.attentions import Scores, entmax, heads, sigmoid, softmax, sparsemax, top
from symslr.simulate.location.posterior import Posterior
from symslr.simulate.location.risk import AttentionFunction, bayes_location_monte_carlo, location_monte_carlo
from symslr.simulate.location.sampler import LocationSample, LocationSampler
from symslr.simulate.location.training import TrainedHeads, train_heads

__all__ = [
    "AttentionFunction",
    "LocationSample",
    "LocationSampler",
    "Posterior",
    "Scores",
    "TrainedHeads",
    "bayes_location_monte_carlo",
    "entmax",
    "heads",
    "location_monte_carlo",
    "sigmoid",
    "softmax",
    "sparsemax",
    "top",
    "train_heads",
]
