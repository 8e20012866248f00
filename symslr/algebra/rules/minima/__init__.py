"""Minimisation and its derivative."""
