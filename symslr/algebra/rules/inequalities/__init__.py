"""Inequalities: factors of one sign, upper bounds."""
