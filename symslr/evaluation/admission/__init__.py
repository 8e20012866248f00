"""Checks made before any number: the inputs, the model at these values, the existence of means, the definition."""
