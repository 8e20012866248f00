"""The proximal problem of many samples at once: for any kernel, and for linear attention."""
