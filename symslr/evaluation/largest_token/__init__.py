"""Laplace integrals conditioned on the largest token: their form, and one rule in float64 and in balls."""
