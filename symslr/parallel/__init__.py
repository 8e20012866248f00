"""Several processes, and one thread at a time."""
