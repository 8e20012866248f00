"""Rules that use the exchangeability of tokens."""
