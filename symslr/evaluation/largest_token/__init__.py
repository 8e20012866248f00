"""Laplace integrals conditioned on the largest token: one form, one rule in floats and in balls."""
