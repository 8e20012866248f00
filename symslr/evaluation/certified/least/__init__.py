"""The least value over a scale, enclosed: Taylor models of the integrals and branch and bound; docs/proofs.md, section 8."""
