"""Laplace integrals under laws with a power tail."""
