"""Least values: search, refinement, behaviour at infinity."""
