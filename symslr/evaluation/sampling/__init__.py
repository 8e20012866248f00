"""Sequences drawn from the law of a task: points, quantiles, the posterior of the relevant token, and the error of a mean."""
