"""Rules for means over hidden configurations."""
