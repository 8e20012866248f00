"""Derivatives and the equations that they satisfy."""
