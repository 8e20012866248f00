"""The saddle-point map and its fixed point on one randomisation."""
