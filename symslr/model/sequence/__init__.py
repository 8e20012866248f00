"""Sequence models of the user's own: teachers, tokens, a label in the fields of the tokens, hidden variables, a student."""
