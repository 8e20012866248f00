"""Proved enclosures of the least value over a scale, by Taylor models and branch and bound; docs/proofs.md, section 8."""
