"""Many points: study files, executors, a store that survives being killed, and its table."""
