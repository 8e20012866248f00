"""Numbers of a law of location: the Bayes risk, the risk of given attentions, and the least over their parameters."""

from symslr.evaluation.location.bayes import bayes_value as bayes_value
from symslr.evaluation.location.risk import least_value as least_value
from symslr.evaluation.location.risk import risk_value as risk_value
