"""Expansions with bounds on what they leave out, and limits."""
