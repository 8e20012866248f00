"""Nodes of a plan: formulas, integrals, products of integrals, minima."""
