"""Rules for Gaussian variables: shifts, moments, rotations, integration by parts."""
