"""The Laplace representation of powers of a normaliser."""
