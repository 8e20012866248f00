"""Proved enclosures in ball arithmetic; every inequality is in docs/proofs.md."""
