"""How we reason: expectation nodes, one named rule per idea, derivations as chains of applied rules."""
