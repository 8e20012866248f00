"""Laplace integrals whose token meshes move with the Laplace variables: under steep exponentials, and under power tails."""
