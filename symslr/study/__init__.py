"""Studies of many points: study files, executors, a store that survives interruption, and its table."""
