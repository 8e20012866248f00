"""Numbers that a plan is carried out in: floats, mpmath numbers, balls; expressions as functions of them."""
