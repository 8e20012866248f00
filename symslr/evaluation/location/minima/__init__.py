"""The least risk over all parameters of an attention under a law of location: a search, and how far its place may be off."""
