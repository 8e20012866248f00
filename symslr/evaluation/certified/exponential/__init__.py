"""Proved Laplace integrals of exponential kernels under Gaussian laws: docs/proofs.md, sections 2 to 6."""
