"""The nodes that formulas are made of: expectations, folded names, quantities, and the numbers they take."""
