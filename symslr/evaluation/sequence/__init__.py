"""Sequence models of the user's own in numbers: thresholds of weak recovery, Bayes-optimal learning, learning dynamics."""
