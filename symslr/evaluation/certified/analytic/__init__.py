"""Proved integrals of any analytic kernel: strips and growth found from the expression; docs/proofs.md, section 7."""
