"""The folders of derivations and validations: their files, and the list of what stands in them; loads nothing slow."""
