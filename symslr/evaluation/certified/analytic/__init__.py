"""Proved integrals for any analytic kernel: strips of analyticity and growth bounds from its expression; docs/proofs.md, section
7."""
