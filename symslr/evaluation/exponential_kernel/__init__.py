"""Laplace integrals of one exponential kernel, on a mesh that all points share."""
