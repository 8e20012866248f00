"""The nodes of a plan."""
