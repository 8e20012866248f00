"""The folders of derivations, figures and validations: their files and what stands in them, without running any."""
