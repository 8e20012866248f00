"""Derivations: chains of named rules, one idea a rule, applied to expectation nodes."""
