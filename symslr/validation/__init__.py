"""Claims checked from outside: simulated sequences, brute force and trained predictors against the theory."""
