"""The least value of an expensive function with errors: a scan, its continuation outwards, and local refinement of minima."""
