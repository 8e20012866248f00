"""Integrals over Laplace variables: one form, one table, one window finder and one refinement loop."""
