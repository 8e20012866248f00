"""Claims compared with simulated sequences, brute force and trained predictors."""
