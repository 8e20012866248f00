"""Rules that change the law: reweighting, conditioning, posteriors."""
