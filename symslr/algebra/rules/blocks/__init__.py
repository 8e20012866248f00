"""Sums over the blocks of the companion construction."""
